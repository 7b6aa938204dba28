//! What the controller of namespaces says, and what is stored of them, in words.

use serde_json::Value as Json;
use wavetank_api::json;
use wavetank_api::kinds::NAMESPACES;
use wavetank_component::{Description, Stored};
use wavetank_engine::Note;

use super::notes::{Empties, Finalizes};

/// What it says; `None` for what no story needs.
pub(super) fn note(note: &Note) -> Option<Description> {
    if let Some(Finalizes { namespace }) = note.body.get() {
        return Some(Description {
            text: format!("lets the namespace {namespace} go"),
            about: vec![namespace.to_string()],
        });
    }
    let Empties {
        namespace,
        remaining,
    } = note.body.get()?;
    let left: Vec<String> = remaining
        .0
        .iter()
        .map(|(of, n)| format!("{n} {of}"))
        .collect();
    let left = match left.is_empty() {
        true => "nothing".to_owned(),
        false => left.join(", "),
    };
    Some(Description {
        text: format!("has emptied the namespace {namespace}; {left} is left"),
        about: vec![namespace.to_string()],
    })
}

/// A namespace.
pub(super) fn stored(key: &str, value: Option<&Json>) -> Option<Stored> {
    let name = key.strip_prefix(NAMESPACES.registry)?.strip_prefix('/')?;
    let text = value.map(|namespace| {
        let phase = json::text(namespace, &["status", "phase"]);
        let deleted = json::at(namespace, &["metadata", "deletionTimestamp"]).is_some();
        match deleted {
            true => format!("{phase}, being deleted"),
            false => phase.to_owned(),
        }
    });
    Some(Stored {
        text,
        about: vec![name.to_owned()],
    })
}
