//! What the controller says, and what is stored of sets, claims and revisions, in words.

use serde_json::Value as Json;
use wavetank_api::json;
use wavetank_api::kinds::{CONTROLLER_REVISIONS, PERSISTENT_VOLUME_CLAIMS, STATEFUL_SETS};
use wavetank_component::{Description, Stored};
use wavetank_engine::Note;

use super::notes::{DeletesPod, GaveClaim, MakesPod, StatusIsInvalid, UpdatesSet, Why};
use super::util::{of_spec, of_status};

/// What the controller says; `None` for what no story needs.
pub(super) fn note(note: &Note) -> Option<Description> {
    let body = &note.body;
    let (text, about) = if let Some(UpdatesSet { set, pods, .. }) = body.get() {
        let counted = pods.len();
        (
            format!("counts {counted} pods of the StatefulSet {set}"),
            set,
        )
    } else if let Some(MakesPod { pod, .. }) = body.get() {
        (format!("is about to make the pod {pod}"), pod)
    } else if let Some(deleted) = body.get::<DeletesPod>() {
        (deletes(deleted), &deleted.pod)
    } else if let Some(GaveClaim { claim, to }) = body.get() {
        let to = match to {
            Some(uid) => format!("has the claim {claim} go with the pod {uid}"),
            None => format!("has the claim {claim} go with no pod"),
        };
        (to, claim)
    } else {
        let StatusIsInvalid { set, why } = body.get()?;
        (format!("wrote an invalid status of {set}: {why}"), set)
    };
    Some(Description {
        text,
        about: vec![about.to_string()],
    })
}

fn deletes(deletes: &DeletesPod) -> String {
    let DeletesPod { pod, uid, why, .. } = deletes;
    let why = match why {
        Why::Ended => "which has ended",
        Why::ScaledDown => "which the set does not ask for",
        Why::Update => "which is of another revision",
    };
    format!("asks for the deletion of the pod {pod} ({uid}), {why}")
}

/// A set, a claim or a revision.
pub(super) fn stored(key: &str, value: Option<&Json>) -> Option<Stored> {
    let name_in = |registry: &str| key.strip_prefix(registry)?.strip_prefix('/');
    let (name, text) = if let Some(name) = name_in(STATEFUL_SETS.registry) {
        (name, value.map(set))
    } else if let Some(name) = name_in(PERSISTENT_VOLUME_CLAIMS.registry) {
        (name, value.map(claim))
    } else {
        let name = name_in(CONTROLLER_REVISIONS.registry)?;
        let number = |of: &Json| json::number(of, &["revision"]).unwrap_or(0);
        (name, value.map(|of| format!("revision {}", number(of))))
    };
    Some(Stored {
        text,
        about: vec![name.to_owned()],
    })
}

fn set(set: &Json) -> String {
    let wanted = of_spec(set, "replicas");
    let [all, updated, ready] =
        ["replicas", "updatedReplicas", "readyReplicas"].map(|field| of_status(set, field));
    format!("asks for {wanted} pods; {updated} of {all} are new, {ready} ready")
}

fn claim(claim: &Json) -> String {
    let owners = json::list(claim, &["metadata", "ownerReferences"]).iter();
    let owners: Vec<String> = owners
        .map(|own| {
            format!(
                "{} {}",
                json::text(own, &["kind"]),
                json::text(own, &["name"])
            )
        })
        .collect();
    let goes = json::at(claim, &["metadata", "deletionTimestamp"]).is_some();
    let goes = if goes { ", being deleted" } else { "" };
    let phase = json::text(claim, &["status", "phase"]);
    let volume = match json::text(claim, &["spec", "volumeName"]) {
        "" => String::new(),
        volume => format!(", its volume {volume}"),
    };
    let of = match owners.is_empty() {
        true => "nobody".to_owned(),
        false => owners.join(" and "),
    };
    let uid = json::text(claim, &["metadata", "uid"]);
    format!("{phase}{volume}, of {of} ({uid}){goes}")
}
