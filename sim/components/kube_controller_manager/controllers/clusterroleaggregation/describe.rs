//! What the controller that aggregates ClusterRoles says, and what is stored of these, in words.

use serde_json::Value as Json;
use wavetank_api::kinds::CLUSTER_ROLES;
use wavetank_component::{Description, Stored};
use wavetank_engine::Note;

use super::notes::Aggregates;
use super::rules::{aggregation_rule, rules};

fn count(rules: usize) -> String {
    match rules {
        0 => "no rules".to_owned(),
        1 => "one rule".to_owned(),
        more => format!("{more} rules"),
    }
}

/// What it says.
pub(super) fn note(note: &Note) -> Option<Description> {
    let Aggregates { role, rules } = note.body.get()?;
    Some(Description {
        text: format!("applies {} to the ClusterRole {role}", count(*rules)),
        about: vec![role.to_string()],
    })
}

/// A ClusterRole.
pub(super) fn stored(key: &str, value: Option<&Json>) -> Option<Stored> {
    let name = key
        .strip_prefix(CLUSTER_ROLES.registry)?
        .strip_prefix('/')?;
    let text = value.map(|role| {
        let is = match aggregation_rule(role) {
            Some(_) => "aggregated, ",
            None => "",
        };
        format!("{is}{}", count(rules(role).len()))
    });
    Some(Stored {
        text,
        about: vec![name.to_owned()],
    })
}
