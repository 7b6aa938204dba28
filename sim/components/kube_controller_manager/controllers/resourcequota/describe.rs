//! What the controller and the admission plugin say, and what is stored of quotas, in words.

use serde_json::Value as Json;
use wavetank_api::kinds::RESOURCE_QUOTAS;
use wavetank_api::quota::ResourceList;
use wavetank_apiserver::Admitted;
use wavetank_component::{Description, Stored};
use wavetank_engine::Note;

use super::notes::Counts;

/// What is said.
pub(super) fn note(note: &Note) -> Option<Description> {
    if let Some(Counts { quota, used }) = note.body.get() {
        return Some(Description {
            text: format!("has counted what is used of the quota {quota}: {used}"),
            about: vec![quota.to_string()],
        });
    }
    let Admitted {
        object,
        charged,
        refused_by,
        ..
    } = note.body.get()?;
    let quotas = |count: usize| match count {
        1 => "1 quota".to_owned(),
        count => format!("{count} quotas"),
    };
    let refused = match refused_by.len() {
        0 => String::new(),
        count => format!(", although {} refused it", quotas(count)),
    };
    Some(Description {
        text: format!(
            "admits {object}, charged to {}{refused}",
            quotas(charged.len())
        ),
        about: vec![object.to_string()],
    })
}

/// A quota.
pub(super) fn stored(key: &str, value: Option<&Json>) -> Option<Stored> {
    let name = key
        .strip_prefix(RESOURCE_QUOTAS.registry)?
        .strip_prefix('/')?;
    Some(Stored {
        text: value.map(quota),
        about: vec![name.to_owned()],
    })
}

fn quota(quota: &Json) -> String {
    let list = |path: [&str; 2]| match ResourceList::of(quota, &path).pretty_print() {
        nothing if nothing.is_empty() => "nothing".to_owned(),
        list => list,
    };
    format!(
        "allows {}, used {}",
        list(["spec", "hard"]),
        list(["status", "used"])
    )
}
