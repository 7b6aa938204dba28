//! What the controller says in words.

use wavetank_component::Description;
use wavetank_engine::Note;

use super::notes::{Asks, Cancels, Evicts, Schedules};

/// What it says.
pub(super) fn note(note: &Note) -> Option<Description> {
    let body = &note.body;
    let (text, pod) = if let Some(Asks { pod, .. }) = body.get() {
        (format!("looks whether the pod {pod} has to go"), pod)
    } else if let Some(Schedules(pod)) = body.get() {
        (format!("will evict the pod {pod} in a while"), pod)
    } else if let Some(Cancels(pod)) = body.get() {
        (format!("will not evict the pod {pod}"), pod)
    } else {
        let Evicts { pod, .. } = body.get()?;
        (format!("evicts the pod {pod}"), pod)
    };
    Some(Description {
        text,
        about: vec![pod.to_string()],
    })
}
