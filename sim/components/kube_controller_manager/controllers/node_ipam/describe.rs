//! What the controller of ranges says, in words. What is stored of nodes is told by those who make them.

use wavetank_component::Description;
use wavetank_engine::Note;

use super::cidr_set::Cidr;
use super::notes::{Assigns, Books, Did};

fn listed(cidrs: &[Cidr]) -> String {
    let all: Vec<String> = cidrs.iter().map(Cidr::to_string).collect();
    all.join(" and ")
}

/// What it says.
pub(super) fn note(note: &Note) -> Option<Description> {
    if let Some(Assigns { node, cidrs }) = note.body.get() {
        return Some(Description {
            text: format!("is about to give {} to {node}", listed(cidrs)),
            about: vec![node.to_string()],
        });
    }
    let Books {
        node,
        did,
        cidrs,
        used,
        ..
    } = note.body.get()?;
    let (cidrs, count) = (listed(cidrs), used.len());
    let did = match did {
        Did::Begins => "knows the ranges of all nodes".to_owned(),
        Did::Allocates if cidrs.is_empty() => format!("has no range for {node}"),
        Did::Allocates => format!("takes {cidrs} for {node}"),
        Did::Occupies => format!("finds that {node} has {cidrs}"),
        Did::Releases => format!("takes {cidrs} of {node} for free again"),
    };
    Some(Description {
        text: format!("{did}; {count} ranges are taken"),
        about: vec![node.to_string()],
    })
}
