//! What nodes say of themselves, for properties and stories.

use std::sync::Arc;

use wavetank_component::Description;
use wavetank_engine::Note;

/// The node is lost: its kubelet does nothing any more.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct IsLost(pub Arc<str>);

/// Its kubelet begins anew.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ComesBack(pub Arc<str>);

/// In words.
pub(super) fn describe(note: &Note) -> Option<Description> {
    let (text, node) = match note.body.get() {
        Some(IsLost(node)) => ("is lost", node),
        None => match note.body.get()? {
            ComesBack(node) => ("comes back", node),
        },
    };
    Some(Description {
        text: format!("the node {node} {text}"),
        about: vec![node.to_string()],
    })
}
