//! What the controller says, and what is stored of volumes and claims, in words.

use serde_json::Value as Json;
use wavetank_api::json;
use wavetank_api::kinds::PERSISTENT_VOLUMES;
use wavetank_component::{Description, Stored};
use wavetank_engine::Note;

use super::fields::{claim_key, claim_ref, phase};
use super::notes::{Act, Acts, LooksUp};

/// What it says.
pub(super) fn note(note: &Note) -> Option<Description> {
    if let Some(LooksUp { claim, volume }) = note.body.get() {
        return Some(Description {
            text: format!(
                "asks an apiserver for the claim {claim}, which the volume {volume} is for"
            ),
            about: vec![claim.to_string(), volume.to_string()],
        });
    }
    let Acts { on, act } = note.body.get()?;
    let text = match act {
        Act::BindsVolume(claim) => format!("is about to bind the volume {on} to {claim}"),
        Act::BindsClaim(volume) => format!("is about to bind the claim {on} to {volume}"),
        Act::UnbindsVolume => format!("is about to unbind the volume {on}"),
        Act::SetsPhase(phase, "") => format!("is about to say that {on} is {phase}"),
        Act::SetsPhase(phase, why) => format!("{why}: is about to say that {on} is {phase}"),
        Act::AssignsClass(class) => format!("is about to give the claim {on} the class {class}"),
        Act::AsksProvisioner(by) => format!("is about to ask {by} for a volume of {on}"),
    };
    Some(Description {
        text,
        about: vec![on.to_string()],
    })
}

/// A volume. Claims are told by who makes them for sets.
pub(super) fn stored(key: &str, value: Option<&Json>) -> Option<Stored> {
    let name = key
        .strip_prefix(PERSISTENT_VOLUMES.registry)?
        .strip_prefix('/')?;
    Some(Stored {
        text: value.map(volume),
        about: vec![name.to_owned()],
    })
}

fn volume(of: &Json) -> String {
    let claimed = claim_ref(of).map(|own| {
        let uid = json::text(own, &["uid"]);
        format!(", for {} ({uid})", claim_key(own))
    });
    let going = match json::at(of, &["metadata", "deletionTimestamp"]) {
        Some(_) => ", being deleted",
        None => "",
    };
    format!("{}{}{going}", phase(of), claimed.unwrap_or_default())
}
