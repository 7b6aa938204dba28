//! What the controller says, and what is stored of sets, in words.

use serde_json::Value as Json;
use wavetank_api::json;
use wavetank_api::kinds::DAEMON_SETS;
use wavetank_component::{Description, Stored};
use wavetank_engine::Note;

use super::notes::{AwaitsDaemons, SyncsNodes};
use super::util::of_status;

/// What the controller says; `None` for what no story needs.
pub(super) fn note(note: &Note) -> Option<Description> {
    let body = &note.body;
    let (text, about) = if let Some(syncs) = body.get::<SyncsNodes>() {
        let SyncsNodes {
            set,
            counted,
            nodes,
            deletes,
            ..
        } = syncs;
        let list = |all: &[std::sync::Arc<str>]| match all {
            [] => "none".to_owned(),
            _ => all.join(", "),
        };
        let (nodes, deletes) = (list(nodes), list(deletes));
        let text = format!(
            "counts {} pods of the DaemonSet {set}, makes pods for the nodes {nodes} and deletes {deletes}",
            counted.len()
        );
        (text, set)
    } else {
        let AwaitsDaemons { set, .. } = body.get()?;
        let text = format!("waits for its cache to show what it did for the DaemonSet {set}");
        (text, set)
    };
    Some(Description {
        text,
        about: vec![about.to_string()],
    })
}

/// A set.
pub(super) fn stored(key: &str, value: Option<&Json>) -> Option<Stored> {
    let name = key.strip_prefix(DAEMON_SETS.registry)?.strip_prefix('/')?;
    Some(Stored {
        text: value.map(set),
        about: vec![name.to_owned()],
    })
}

fn set(set: &Json) -> String {
    let goes = json::at(set, &["metadata", "deletionTimestamp"]).is_some();
    let goes = if goes { "being deleted, " } else { "" };
    let [desired, current, updated, ready] = [
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "updatedNumberScheduled",
        "numberReady",
    ]
    .map(|field| of_status(set, field));
    format!("{goes}wants {desired} pods; {updated} of {current} are new, {ready} ready")
}
