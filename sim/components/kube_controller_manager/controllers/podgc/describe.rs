//! What the collector says, and what is stored of nodes, in words.

use serde_json::Value as Json;
use wavetank_api::json;
use wavetank_api::kinds::NODES;
use wavetank_component::{Description, Stored};
use wavetank_engine::Note;

use super::controller::{is_node_ready, is_out_of_service};
use super::notes::{AsksForNode, Collects};

/// What it says.
pub(super) fn note(note: &Note) -> Option<Description> {
    if let Some(AsksForNode { node, .. }) = note.body.get() {
        return Some(Description {
            text: format!("asks for the node {node}"),
            about: vec![node.to_string()],
        });
    }
    let Collects { pod, why, node, .. } = note.body.get()?;
    let about = [&**pod, &**node].into_iter();
    Some(Description {
        text: format!("collects the pod {pod}, {}", why.text()),
        about: about
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect(),
    })
}

/// A node. Pods are told by who makes sets of them.
pub(super) fn stored(key: &str, value: Option<&Json>) -> Option<Stored> {
    let name = key.strip_prefix(NODES.registry)?.strip_prefix('/')?;
    let text = value.map(|node| {
        let state = match is_node_ready(node) {
            _ if is_out_of_service(node) => "out of service",
            true => "ready",
            false => "not ready",
        };
        let taints = json::list(node, &["spec", "taints"]).iter();
        let taints: Vec<String> = taints.map(taint).collect();
        let tainted = match taints.is_empty() {
            true => String::new(),
            false => format!(", tainted {}", taints.join(" and ")),
        };
        format!("{state}{tainted}")
    });
    Some(Stored {
        text,
        about: vec![name.to_owned()],
    })
}

/// A taint as `kubectl` writes it.
fn taint(taint: &Json) -> String {
    let field = |field| json::text(taint, &[field]);
    match field("value") {
        "" => format!("{}:{}", field("key"), field("effect")),
        value => format!("{}={value}:{}", field("key"), field("effect")),
    }
}
