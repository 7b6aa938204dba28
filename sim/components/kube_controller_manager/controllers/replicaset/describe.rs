//! What the controllers say, and what is stored of sets and pods, in words.

use serde_json::Value as Json;
use wavetank_api::json;
use wavetank_api::kinds::PODS;
use wavetank_component::{Description, Stored};
use wavetank_engine::Note;

use super::kind::Kind;
use super::notes::{Deleted, Made, Manages};
use crate::controller_utils::{get_controller_of, is_pod_ready};

/// What a controller says; `None` for what no story needs.
pub(super) fn note(note: &Note) -> Option<Description> {
    if let Some(Manages {
        kind,
        set,
        active,
        replicas,
        ..
    }) = note.body.get()
    {
        let (kind, counted) = (kind.resource().kind, active.len());
        return Some(Description {
            text: format!("counts {counted} pods of the {kind} {set}, which asks for {replicas}"),
            about: vec![set.to_string()],
        });
    }
    if let Some(Made { pod, .. }) = note.body.get() {
        return Some(Description {
            text: format!("made the pod {pod}"),
            about: vec![pod.to_string()],
        });
    }
    let Deleted { pod, .. } = note.body.get()?;
    Some(Description {
        text: format!("has the pod {pod} deleted"),
        about: vec![pod.to_string()],
    })
}

/// A set or a pod.
pub(super) fn stored(key: &str, value: Option<&Json>) -> Option<Stored> {
    let name_in = |registry: &str| key.strip_prefix(registry)?.strip_prefix('/');
    if let Some(name) = name_in(PODS.registry) {
        let mut about = vec![name.to_owned()];
        let controller = value.and_then(get_controller_of);
        let namespace = name.split('/').next().unwrap_or_default();
        about.extend(controller.map(|own| format!("{namespace}/{}", json::text(own, &["name"]))));
        return Some(Stored {
            text: value.map(pod_in_words),
            about,
        });
    }
    let mut kinds = Kind::ALL.into_iter();
    let name = kinds.find_map(|kind| name_in(kind.resource().registry))?;
    let text = value.map(|set| {
        let number = |path: &[&str]| json::number(set, path).unwrap_or(0);
        let (wanted, counted) = (
            number(&["spec", "replicas"]),
            number(&["status", "replicas"]),
        );
        format!("asks for {wanted} pods, status {counted}")
    });
    Some(Stored {
        text,
        about: vec![name.to_owned()],
    })
}

fn pod_in_words(pod: &Json) -> String {
    let phase = json::text(pod, &["status", "phase"]);
    let state = match json::at(pod, &["metadata", "deletionTimestamp"]).is_some() {
        true => "being deleted",
        false if is_pod_ready(pod).is_some() => "ready",
        false => phase,
    };
    let app = json::text(pod, &["metadata", "labels", "app"]);
    let of = match get_controller_of(pod) {
        None => "nobody".to_owned(),
        Some(own) => {
            let (kind, name) = (json::text(own, &["kind"]), json::text(own, &["name"]));
            format!("the {kind} {name}")
        }
    };
    let on = match json::text(pod, &["spec", "nodeName"]) {
        "" => String::new(),
        node => format!(", on {node}"),
    };
    // What it waits for that is being deleted, or that nothing but this is left of.
    let held = json::list(pod, &["metadata", "finalizers"]).iter();
    let held: Vec<&str> = held.filter_map(Json::as_str).collect();
    let held = match held.is_empty() {
        true => String::new(),
        false => format!(", held by {}", held.join(" and ")),
    };
    format!("{state}, labelled {app}, of {of}{on}{held}")
}
