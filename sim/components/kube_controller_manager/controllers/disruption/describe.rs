//! What the controller and evictions say, and what is stored of budgets, in words. Pods are told by who makes sets of them.

use serde_json::Value as Json;
use wavetank_api::json;
use wavetank_api::kinds::POD_DISRUPTION_BUDGETS;
use wavetank_apiserver::{Evicts, LetGoBy, RefusesEviction};
use wavetank_component::{Description, Stored};
use wavetank_engine::Note;

use super::notes::{TakesBackDisruption, WritesBudget};
use super::status::disrupted_pods;

/// What is said.
pub(super) fn note(note: &Note) -> Option<Description> {
    if let Some(WritesBudget {
        budget,
        healthy,
        allowed,
        ..
    }) = note.body.get()
    {
        let healthy = healthy.len();
        return told(
            format!(
                "is about to say that the budget {budget} has {healthy} healthy pods and allows {allowed} evictions"
            ),
            budget,
        );
    }
    if let Some(TakesBackDisruption { pod, .. }) = note.body.get() {
        return told(
            format!("is about to say that the pod {pod} does not go, after all"),
            pod,
        );
    }
    if let Some(RefusesEviction { pod, code }) = note.body.get() {
        return told(format!("does not let the pod {pod} go ({code})"), pod);
    }
    let Evicts { pod, by, .. } = note.body.get()?;
    let why = match by {
        LetGoBy::Budget { spent, .. } => {
            format!("which its budget allows, at revision {spent}")
        }
        LetGoBy::Unready => "which is not ready".to_owned(),
        LetGoBy::Nobody => "which no budget guards".to_owned(),
    };
    told(format!("is about to evict the pod {pod}, {why}"), pod)
}

fn told(text: String, about: &str) -> Option<Description> {
    Some(Description {
        text,
        about: vec![about.to_owned()],
    })
}

/// A budget.
pub(super) fn stored(key: &str, value: Option<&Json>) -> Option<Stored> {
    let name = key
        .strip_prefix(POD_DISRUPTION_BUDGETS.registry)?
        .strip_prefix('/')?;
    Some(Stored {
        text: value.map(budget),
        about: vec![name.to_owned()],
    })
}

fn budget(budget: &Json) -> String {
    let status = |field| json::number(budget, &["status", field]).unwrap_or(0);
    let [healthy, desired, allowed] =
        ["currentHealthy", "desiredHealthy", "disruptionsAllowed"].map(status);
    let text = format!("{healthy} pods are healthy where {desired} are wanted, {allowed} may go");
    let going: Vec<String> = disrupted_pods(budget).into_keys().collect();
    match going.is_empty() {
        true => text,
        false => format!("{text}, about to go: {}", going.join(", ")),
    }
}
