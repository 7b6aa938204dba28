//! What the controller says, in words.

use wavetank_component::Description;
use wavetank_engine::Note;

use super::controller::LetsClaimGo;

/// What it says.
pub(super) fn note(note: &Note) -> Option<Description> {
    let LetsClaimGo { claim } = note.body.get()?;
    Some(Description {
        text: format!("lets the claim {claim} go, which no pod uses"),
        about: vec![claim.to_string()],
    })
}
