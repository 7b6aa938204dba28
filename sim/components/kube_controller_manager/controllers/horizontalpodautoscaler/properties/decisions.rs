//! What one decision may be, and what is never scaled.

use wavetank_api::kinds::{DEPLOYMENTS, REPLICA_SETS};
use wavetank_api::{Json, Object, json};
use wavetank_components::changes::changes;
use wavetank_components::promises::{always, violated};
use wavetank_engine::{Always, Check, Note, World};

use super::super::notes::{Decides, Rescales};
use super::super::users::BY_HAND;
use super::spec_of;
use crate::controller_utils::get_controller_of;

/// Looks at a decision: what is wrong with it?
fn decides(note: &Note, wrong: impl Fn(&Decides) -> Option<String>) -> Check {
    let Some(own) = note.body.get::<Decides>() else {
        return Check::Idle;
    };
    match wrong(own) {
        None => Check::Held,
        Some(why) => {
            let (name, asked, current) = (&own.autoscaler, own.asked, own.current);
            let message = format!(
                "the metrics of the autoscaler {name} ask for {asked} replicas where there are {current}, {why}"
            );
            violated("autoscaler", name, message)
        }
    }
}

pub(super) fn autoscalers_keep_their_bounds() -> Always {
    always("autoscalers-keep-their-bounds", |_, note| {
        let Some(own) = note.body.get::<Rescales>() else {
            return Check::Idle;
        };
        let (name, to, min, max) = (&own.autoscaler, own.to, own.min, own.max);
        if (min..=max).contains(&to) {
            return Check::Held;
        }
        let target = &own.target;
        let message = format!("the autoscaler {name} of {min} to {max} scales {target} to {to}");
        violated("autoscaler", name, message)
    })
}

pub(super) fn scale_downs_know_all_metrics() -> Always {
    always("scale-downs-know-all-metrics", |_, note| {
        decides(note, |own| {
            let invalid = own.invalid;
            let wrong = own.asked < own.current && invalid > 0;
            wrong.then(|| format!("and {invalid} cannot be had"))
        })
    })
}

pub(super) fn missing_pods_are_not_let_go() -> Always {
    always("missing-pods-are-not-let-go", |_, note| {
        decides(note, |own| {
            let missing = own.missing;
            let wrong = own.asked < own.current && own.asked < missing;
            wrong.then(|| format!("and of {missing} nobody knows what they use"))
        })
    })
}

pub(super) fn windows_only_hold_back() -> Always {
    always("windows-only-hold-back", |_, note| {
        decides(note, |own| {
            let has_behavior = spec_of(own)["behavior"].is_object();
            let wrong = has_behavior && own.asked <= own.current && own.desired > own.current;
            wrong.then(|| format!("and it scales up to {}", own.desired))
        })
    })
}

pub(super) fn replicas(of: &Json) -> i64 {
    json::number(of, &["spec", "replicas"]).unwrap_or(1)
}

fn by_hand(of: &Json) -> &str {
    json::text(of, &["metadata", "annotations", BY_HAND])
}

/// Has somebody else than a user scaled it up from zero? Nothing if it is about other numbers.
fn is_woken(before: &Object, now: &Object) -> Option<bool> {
    let (before, now) = (before.json(), now.json());
    let concerns = replicas(before) == 0 || replicas(now) == 0;
    if get_controller_of(now).is_some() || !concerns {
        return None;
    }
    let is_woken = replicas(before) == 0 && replicas(now) > 0;
    Some(is_woken && by_hand(before) == by_hand(now))
}

fn zero_stays(_: &World, note: &Note) -> Check {
    let mut checked = Check::Idle;
    for resource in [&DEPLOYMENTS, &REPLICA_SETS] {
        for change in changes(note, resource) {
            let (Some(before), Some(now)) = (&change.before, &change.now) else {
                continue;
            };
            let (before, now) = (&before.value, &now.value);
            match is_woken(before, now) {
                None => {}
                Some(false) => checked = Check::Held,
                Some(true) => {
                    let (name, to) = (now.name(), replicas(now.json()));
                    let message =
                        format!("{name} was scaled to zero by hand, and has {to} replicas now");
                    return violated("workload", name, message);
                }
            }
        }
    }
    checked
}

pub(super) fn zero_turns_autoscaling_off() -> Always {
    always("zero-turns-autoscaling-off", zero_stays)
}
