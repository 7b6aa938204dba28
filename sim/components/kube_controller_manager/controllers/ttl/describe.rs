//! What the TTL controller says, in words. What is stored of nodes is told by those who make them.

use wavetank_component::Description;
use wavetank_engine::Note;

use super::notes::{CountsNodes, SetsTtl};

/// What it says.
pub(super) fn note(note: &Note) -> Option<Description> {
    if let Some(SetsTtl { node, ttl }) = note.body.get() {
        return Some(Description {
            text: format!("sets the TTL of {node} to {ttl} s"),
            about: vec![node.to_string()],
        });
    }
    let CountsNodes {
        node, count, ttl, ..
    } = note.body.get()?;
    Some(Description {
        text: format!("counts {count} nodes, for which the TTL is {ttl} s"),
        about: vec![node.to_string()],
    })
}
