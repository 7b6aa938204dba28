//! What a leader holds to from one decision to the next. Another leader does not know what this one did.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::{Json, json};
use wavetank_components::promises::violated;
use wavetank_engine::{Check, Note, Property, Time, World};

use super::super::notes::{Decides, ReadScale, Rescaled};
use super::{Remembered, remembered, spec_of};

/// `--horizontal-pod-autoscaler-downscale-stabilization`
const WINDOW: u64 = 300;
/// `MaxPeriodSeconds`
const MAX_PERIOD: Duration = Duration::from_secs(1800);

fn seconds(of: &Json, field: &str) -> Option<Duration> {
    let seconds = json::number(of, &[field])?;
    Some(Duration::from_secs(u64::try_from(seconds).ok()?))
}

/// The behavior of an autoscaler as JSON, and since when a leader has known that: what it kept by another one is not promised.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
struct Behavior {
    text: Option<Arc<str>>,
    since: Option<Time>,
}

impl Behavior {
    fn seen(&mut self, text: &str, now: Time) {
        if self.text.as_deref() != Some(text) {
            self.since = self.text.is_some().then_some(now);
            self.text = Some(text.into());
        }
    }
}

/// What was recommended.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
struct Recommended {
    all: Vec<(Time, i64)>,
    behavior: Behavior,
}

/// What a leader has recommended of each autoscaler.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct ScaleDownsAreStabilized {
    recommended: BTreeMap<Remembered, Recommended>,
}

impl Recommended {
    /// The least that is left of this decision.
    fn least(&mut self, own: &Decides) -> i64 {
        let spec = spec_of(own);
        self.behavior.seen(&spec["behavior"].to_string(), own.now);
        let down = &spec["behavior"]["scaleDown"];
        let window = seconds(down, "stabilizationWindowSeconds");
        let window = window.unwrap_or(Duration::from_secs(WINDOW));
        let cutoff = own.now - window;
        let cutoff = self
            .behavior
            .since
            .map_or(cutoff, |since| since.max(cutoff));
        let recent = self.all.iter().filter(|(at, _)| *at > cutoff);
        let most = recent.map(|(_, own)| *own).max().unwrap_or(0);
        let kept = own.now - Duration::from_secs(WINDOW);
        self.all.retain(|(at, _)| *at > kept);
        self.all.push((own.now, own.asked));
        most.max(own.asked).min(own.current)
    }
}

impl Property for ScaleDownsAreStabilized {
    fn name(&self) -> &'static str {
        "scale-downs-are-stabilized"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let concerns =
            note.body.get::<Decides>().is_some() || note.body.get::<ReadScale>().is_some();
        (!concerns).then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(own) = note.body.get::<ReadScale>() {
            let key = remembered(world, note, &own.uid);
            self.recommended.entry(key).or_insert_with(|| Recommended {
                all: vec![(own.now, own.replicas)],
                behavior: Behavior::default(),
            });
            return Check::Idle;
        }
        let Some(own) = note.body.get::<Decides>() else {
            return Check::Idle;
        };
        let key = remembered(world, note, &own.uid);
        let least = self.recommended.entry(key).or_default().least(own);
        if own.desired >= least {
            return match own.asked < own.current {
                true => Check::Held,
                false => Check::Idle,
            };
        }
        let (name, desired, target) = (&own.autoscaler, own.desired, &own.target);
        let message = format!(
            "the autoscaler {name} scales {target} down to {desired}, and {least} were asked for within its window"
        );
        violated("autoscaler", name, message)
    }
}

/// What a leader has scaled, by how much.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
struct Scaled {
    all: Vec<(Time, i64)>,
    behavior: Behavior,
}

/// What a leader has scaled for each autoscaler.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct ScalingPoliciesAreKept {
    scaled: BTreeMap<Remembered, Scaled>,
}

/// The policies of a direction: are they in percent, how much, and for how long?
fn policies(rules: &Json) -> impl Iterator<Item = (bool, i64, Duration)> {
    let all = json::list(rules, &["policies"]).iter();
    all.filter_map(|own| {
        let value = json::number(own, &["value"])?;
        Some((
            own["type"] == "Percent",
            value,
            seconds(own, "periodSeconds")?,
        ))
    })
}

impl Scaled {
    /// How far the policies of a direction let it scale.
    fn limit(&self, own: &Decides, rules: &Json, up: bool) -> i64 {
        if rules["selectPolicy"] == "Disabled" {
            return own.current;
        }
        let limits = policies(rules).map(|(is_percent, value, period)| {
            let recent = self.all.iter().filter(|(at, _)| *at > own.now - period);
            let start = own.current - recent.map(|(_, by)| by).sum::<i64>();
            let sign = if up { 1 } else { -1 };
            match is_percent {
                false => start + sign * value,
                // Rounded up, as `math.Ceil` does, also below zero.
                true if up => {
                    (start * (100 + value)).div_euclid(100) + i64::from(start * value % 100 != 0)
                }
                true => start * (100 - value) / 100,
            }
        });
        let farthest = (rules["selectPolicy"] != "Min") == up;
        let limit = if farthest { limits.max() } else { limits.min() };
        let limit = limit.unwrap_or(own.current);
        match up {
            true => limit.max(own.current),
            false => limit.min(own.current),
        }
    }

    /// To how many replicas it is to scale; nothing if it is not known for long enough what it did.
    fn expected(&mut self, own: &Decides) -> Option<i64> {
        let spec = spec_of(own);
        let behavior = &spec["behavior"];
        self.behavior.seen(&behavior.to_string(), own.now);
        let (up, down) = (&behavior["scaleUp"], &behavior["scaleDown"]);
        let periods = policies(up).chain(policies(down)).map(|own| own.2);
        let known = self.behavior.since.map(|since| own.now.since(since));
        let is_young = known.is_some_and(|known| periods.max().is_some_and(|most| known <= most));
        if is_young || !behavior.is_object() || own.stabilized == own.current {
            return None;
        }
        let bound = |field: &str| json::number(&spec, &[field]);
        Some(match own.stabilized > own.current {
            true => {
                let limit = self.limit(own, up, true);
                own.stabilized.min(limit).min(bound("maxReplicas")?)
            }
            false => {
                let limit = self.limit(own, down, false);
                own.stabilized
                    .max(limit.max(bound("minReplicas").unwrap_or(1)))
            }
        })
    }
}

impl Property for ScalingPoliciesAreKept {
    fn name(&self) -> &'static str {
        "scaling-policies-are-kept"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let concerns =
            note.body.get::<Decides>().is_some() || note.body.get::<Rescaled>().is_some();
        (!concerns).then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(own) = note.body.get::<Rescaled>() {
            let key = remembered(world, note, &own.uid);
            let scaled = self.scaled.entry(key).or_default();
            scaled.behavior.seen(&own.behavior, own.now);
            let kept = own.now - MAX_PERIOD;
            scaled.all.retain(|(at, _)| *at > kept);
            scaled.all.push((own.now, own.to - own.from));
            return Check::Idle;
        }
        let Some(own) = note.body.get::<Decides>() else {
            return Check::Idle;
        };
        let key = remembered(world, note, &own.uid);
        let scaled = self.scaled.entry(key).or_default();
        let Some(expected) = scaled.expected(own) else {
            return Check::Idle;
        };
        if own.desired == expected {
            return Check::Held;
        }
        let (name, desired, target) = (&own.autoscaler, own.desired, &own.target);
        let message = format!(
            "the autoscaler {name} scales {target} to {desired}, and its policies let it scale to {expected}"
        );
        violated("autoscaler", name, message)
    }
}
