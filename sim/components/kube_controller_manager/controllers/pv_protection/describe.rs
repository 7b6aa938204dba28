//! What the controller says, in words.

use wavetank_component::Description;
use wavetank_engine::Note;

use super::controller::LetsVolumeGo;

/// What it says.
pub(super) fn note(note: &Note) -> Option<Description> {
    let LetsVolumeGo { volume } = note.body.get()?;
    Some(Description {
        text: format!("lets the volume {volume} go, which no claim is bound to"),
        about: vec![volume.to_string()],
    })
}
