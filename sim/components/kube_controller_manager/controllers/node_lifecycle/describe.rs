//! What the controller says in words.

use wavetank_component::Description;
use wavetank_engine::Note;

use super::notes::{AsksForLease, MarksPod, MarksUnknown, Taints, Why};

/// What it says.
pub(super) fn note(note: &Note) -> Option<Description> {
    let body = &note.body;
    let (text, about) = if let Some(AsksForLease(node)) = body.get() {
        (format!("asks for the Lease of the node {node}"), node)
    } else if let Some(MarksUnknown { node, .. }) = body.get() {
        (
            format!("has not heard of the node {node} for too long"),
            node,
        )
    } else if let Some(MarksPod { pod, .. }) = body.get() {
        (
            format!("says that the pod {pod} is not ready: its node is not"),
            pod,
        )
    } else {
        let Taints { node, why } = body.get()?;
        let text = match why {
            Why::Conditions => "makes the taints of the node {} fit its conditions",
            Why::Queue => "taints the node {}, so that its pods go",
            Why::Swap => "taints the node {} otherwise",
            Why::Reachable => "takes the taints of the node {} away, so that its pods stay",
        };
        (text.replace("{}", node), node)
    };
    Some(Description {
        text,
        about: vec![about.to_string()],
    })
}
