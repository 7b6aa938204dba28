//! What the controller says, and what is stored of HorizontalPodAutoscalers, in words.

use serde_json::Value as Json;
use wavetank_api::json;
use wavetank_api::kinds::AUTOSCALERS;
use wavetank_component::{Description, Stored};
use wavetank_engine::Note;

use super::notes::{Decides, IsAmbiguous, Rescales};

/// What it says.
pub(super) fn note(note: &Note) -> Option<Description> {
    if let Some(own) = note.body.get::<Decides>() {
        let (autoscaler, target, current) = (&own.autoscaler, &own.target, own.current);
        let (asked, desired) = (own.asked, own.desired);
        let text = format!(
            "finds that metrics ask for {asked} replicas of {target}, which has {current}: the autoscaler {autoscaler} wants \
             {desired}"
        );
        return told(text, autoscaler);
    }
    if let Some(own) = note.body.get::<Rescales>() {
        let (autoscaler, target) = (&own.autoscaler, &own.target);
        let (from, to) = (own.from, own.to);
        let text = format!("scales {target} from {from} to {to} for the autoscaler {autoscaler}");
        return told(text, autoscaler);
    }
    let IsAmbiguous { autoscaler } = note.body.get()?;
    let text = format!(
        "leaves the pods of the autoscaler {autoscaler} alone, which others select as well"
    );
    told(text, autoscaler)
}

fn told(text: String, about: &str) -> Option<Description> {
    Some(Description {
        text,
        about: vec![about.to_owned()],
    })
}

/// A HorizontalPodAutoscaler.
pub(super) fn stored(key: &str, value: Option<&Json>) -> Option<Stored> {
    let name = key.strip_prefix(AUTOSCALERS.registry)?.strip_prefix('/')?;
    let text = value.map(|own| {
        let spec = |field| json::number(own, &["spec", field]).unwrap_or(0);
        let status = |field| json::number(own, &["status", field]).unwrap_or(0);
        let target = json::text(own, &["spec", "scaleTargetRef", "name"]);
        let (min, max) = (spec("minReplicas"), spec("maxReplicas"));
        let (current, desired) = (status("currentReplicas"), status("desiredReplicas"));
        let conditions = json::list(own, &["status", "conditions"]).iter();
        let false_ones = conditions.filter(|own| own["status"] == "False");
        let reasons: Vec<&str> = false_ones.map(|own| json::text(own, &["reason"])).collect();
        let reasons = reasons.join(", ");
        format!("{min} to {max} of {target}, has {current}, wants {desired} ({reasons})")
    });
    Some(Stored {
        text,
        about: vec![name.to_owned()],
    })
}
