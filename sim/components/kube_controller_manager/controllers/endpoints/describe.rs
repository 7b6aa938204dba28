//! What the controller says, and what is stored of Endpoints, in words.

use serde_json::Value as Json;
use wavetank_api::kinds::ENDPOINTS;
use wavetank_component::{Description, Stored};
use wavetank_engine::Note;

use super::notes::Writes;
use crate::endpoint_utils::Subset;

/// What the controller says; `None` for what no story needs.
pub(super) fn note(note: &Note) -> Option<Description> {
    let Writes {
        service,
        ready,
        not_ready,
    } = note.body.get()?;
    Some(Description {
        text: format!(
            "finds {ready} addresses of {service} that are ready, and {not_ready} that are not"
        ),
        about: vec![service.to_string()],
    })
}

/// Endpoints.
pub(super) fn stored(key: &str, value: Option<&Json>) -> Option<Stored> {
    let name = key.strip_prefix(ENDPOINTS.registry)?.strip_prefix('/')?;
    // Those of the apiservers are told of by the bootstrap controller.
    if name == "default/kubernetes" {
        return None;
    }
    let text = value.map(|endpoints| {
        let all = Subset::all_of(endpoints);
        let ips = |list: fn(&Subset) -> &Vec<Json>| {
            let ips = all
                .iter()
                .flat_map(list)
                .filter_map(|own| own["ip"].as_str());
            ips.collect::<Vec<_>>().join(", ")
        };
        let (ready, not_ready) = (
            ips(|own| &own.addresses),
            ips(|own| &own.not_ready_addresses),
        );
        match (&*ready, &*not_ready) {
            ("", "") => "no addresses".to_owned(),
            (ready, "") => format!("ready: {ready}"),
            ("", not_ready) => format!("not ready: {not_ready}"),
            (ready, not_ready) => format!("ready: {ready}; not ready: {not_ready}"),
        }
    });
    Some(Stored {
        text,
        about: vec![name.to_owned()],
    })
}
