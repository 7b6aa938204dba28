//! What the publisher says, and what is stored of its ConfigMaps, in words.

use serde_json::Value as Json;
use wavetank_api::kinds::CONFIG_MAPS;
use wavetank_component::{Description, Stored};
use wavetank_engine::Note;

use super::controller::{ROOT_CA_CERT_CONFIG_MAP_NAME, is_published};
use super::notes::Publishes;

/// What it says.
pub(super) fn note(note: &Note) -> Option<Description> {
    let Publishes { namespace, mends } = note.body.get()?;
    let does = match mends {
        true => "mends",
        false => "publishes",
    };
    Some(Description {
        text: format!("{does} the root certificate in {namespace}"),
        about: vec![namespace.to_string()],
    })
}

/// A root certificate; other ConfigMaps are told by others.
pub(super) fn stored(key: &str, value: Option<&Json>) -> Option<Stored> {
    let name = key.strip_prefix(CONFIG_MAPS.registry)?.strip_prefix('/')?;
    let (namespace, name) = name.split_once('/')?;
    if name != ROOT_CA_CERT_CONFIG_MAP_NAME {
        return None;
    }
    let text = value.map(|config_map| match is_published(config_map) {
        true => "the root certificate".to_owned(),
        false => "something else than the root certificate".to_owned(),
    });
    Some(Stored {
        text,
        about: vec![namespace.to_owned()],
    })
}
