//! What the controller says, and what is stored of Deployments, in words.

use serde_json::Value as Json;
use wavetank_api::json;
use wavetank_api::kinds::DEPLOYMENTS;
use wavetank_component::{Description, Stored};
use wavetank_engine::Note;

use super::notes::Scales;
use super::util::{of_status, spec_replicas};

/// What the controller says; `None` for what no story needs.
pub(super) fn note(note: &Note) -> Option<Description> {
    let Scales {
        deployment,
        set,
        to,
    } = note.body.get()?;
    let namespace = deployment.split('/').next().unwrap_or_default();
    Some(Description {
        text: format!("scales the ReplicaSet {set} of {deployment} to {to}"),
        about: vec![deployment.to_string(), format!("{namespace}/{set}")],
    })
}

/// A Deployment.
pub(super) fn stored(key: &str, value: Option<&Json>) -> Option<Stored> {
    let name = key.strip_prefix(DEPLOYMENTS.registry)?.strip_prefix('/')?;
    let text = value.map(|deployment| {
        let wanted = spec_replicas(deployment);
        let [all, updated, ready] = ["replicas", "updatedReplicas", "readyReplicas"]
            .map(|field| of_status(deployment, field));
        let paused = json::at(deployment, &["spec", "paused"]) == Some(&Json::Bool(true));
        let paused = if paused { ", paused" } else { "" };
        format!("asks for {wanted} pods{paused}; {updated} of {all} are new, {ready} ready")
    });
    Some(Stored {
        text,
        about: vec![name.to_owned()],
    })
}
