//! What becomes of the number of replicas that metrics ask for: by what they asked for before, by how fast an autoscaler may
//! scale, and by its bounds (`normalizeDesiredReplicas` and what it calls, v1.36.2). What is remembered of an autoscaler goes by
//! its key.

use std::collections::BTreeMap;
use std::time::Duration;

use wavetank_api::{Json, json};
use wavetank_client::workqueue::Item;
use wavetank_engine::{Cell, Instant, Rx, Time};
use wavetank_version::Set;

use super::defects::HorizontalPodAutoscalerDefect as Bug;

/// `--horizontal-pod-autoscaler-downscale-stabilization`
const DOWNSCALE_STABILISATION_WINDOW: Duration = Duration::from_secs(5 * 60);
/// `scaleUpLimitFactor`
const SCALE_UP_LIMIT_FACTOR: i64 = 2;
/// `scaleUpLimitMinimum`
const SCALE_UP_LIMIT_MINIMUM: i64 = 4;

/// `timestampedRecommendation`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct TimestampedRecommendation {
    recommendation: i64,
    timestamp: Instant,
}

/// `timestampedScaleEvent`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct TimestampedScaleEvent {
    replica_change: i64,
    timestamp: Instant,
    outdated: bool,
}

/// How long ago that was, as a monotonic clock shows it.
fn age(of: Instant, now: Time) -> Duration {
    now.since(of.0)
}

static RECOMMENDATIONS: Cell<BTreeMap<Item, Vec<TimestampedRecommendation>>> =
    Cell::new("hpa-recommendations");
static SCALE_UP_EVENTS: Cell<ScaleEvents> = Cell::new("hpa-scale-up-events");
static SCALE_DOWN_EVENTS: Cell<ScaleEvents> = Cell::new("hpa-scale-down-events");
type ScaleEvents = BTreeMap<Item, Vec<TimestampedScaleEvent>>;

/// What `reconcileKey` does for an autoscaler that is gone.
pub(super) fn forget(rx: Rx, key: &Item) {
    rx.update(&RECOMMENDATIONS, |all| {
        all.remove(key);
    });
    for events in [&SCALE_UP_EVENTS, &SCALE_DOWN_EVENTS] {
        rx.update(events, |all| {
            all.remove(key);
        });
    }
}

/// `recordInitialRecommendation`: nothing is scaled down for a while after it was seen first.
pub(super) fn record_initial_recommendation(rx: Rx, current_replicas: i64, key: &Item) {
    rx.update_at(&RECOMMENDATIONS, |all, now| {
        let first = TimestampedRecommendation {
            recommendation: current_replicas,
            timestamp: Instant(now),
        };
        all.entry(key.clone()).or_insert_with(|| vec![first]);
    });
}

/// `NormalizationArg`, and what an autoscaler says of behavior.
#[derive(Clone, Debug)]
pub(super) struct NormalizationArg<'a> {
    pub key: &'a Item,
    /// `spec.behavior`, if there is one.
    pub behavior: Option<&'a Json>,
    pub min_replicas: i64,
    pub max_replicas: i64,
    pub current_replicas: i64,
    /// What metrics ask for.
    pub desired_replicas: i64,
    pub defects: Set<Bug>,
}

/// What comes of it, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Normalized {
    /// By what was asked for before.
    pub stabilized: i64,
    pub desired: i64,
    /// The reasons of the conditions AbleToScale and ScalingLimited, with their messages.
    pub able: Reason,
    pub limited: Reason,
}

/// The reason of a condition, and its message.
pub(super) type Reason = (&'static str, &'static str);

const READY: Reason = ("ReadyForNewScale", "recommended size matches current size");
const WITHIN_RANGE: Reason = (
    "DesiredWithinRange",
    "the desired count is within the acceptable range",
);
const SCALE_UP_LIMIT: Reason = (
    "ScaleUpLimit",
    "the desired replica count is increasing faster than the maximum scale rate",
);
const SCALE_DOWN_LIMIT: Reason = (
    "ScaleDownLimit",
    "the desired replica count is decreasing faster than the maximum scale rate",
);
const TOO_MANY: Reason = (
    "TooManyReplicas",
    "the desired replica count is more than the maximum replica count",
);
const TOO_FEW: Reason = (
    "TooFewReplicas",
    "the desired replica count is less than the minimum replica count",
);
const HIGHEST: &str = "recent recommendations were higher than current one, applying the highest recent recommendation";
const LOWEST: &str =
    "recent recommendations were lower than current one, applying the lowest recent recommendation";

/// How fast one may scale in a direction (`HPAScalingRules`).
#[derive(Clone, Copy, Debug)]
struct ScalingRules<'a>(&'a Json);

impl ScalingRules<'_> {
    fn stabilization_window(self) -> Duration {
        let seconds = json::number(self.0, &["stabilizationWindowSeconds"]);
        // `maybeInitScaleDownStabilizationWindow`: only that of scaling down has no default.
        seconds.map_or(DOWNSCALE_STABILISATION_WINDOW, |seconds| {
            Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
        })
    }

    fn selects(self, policy: &str) -> bool {
        self.0["selectPolicy"] == policy
    }

    fn policies(self) -> impl Iterator<Item = (bool, i64, Duration)> {
        json::list(self.0, &["policies"]).iter().map(|policy| {
            let number = |field| json::number(policy, &[field]).unwrap_or(0);
            let period = u64::try_from(number("periodSeconds")).unwrap_or(0);
            let is_percent = policy["type"] == "Percent";
            (is_percent, number("value"), Duration::from_secs(period))
        })
    }

    /// Upstream's `getLongestPolicyPeriod`
    fn longest_policy_period(self) -> Duration {
        let periods = self.policies().map(|(_, _, period)| period);
        periods.max().unwrap_or(Duration::ZERO)
    }
}

impl<'a> NormalizationArg<'a> {
    fn rules(&self, direction: &str) -> ScalingRules<'a> {
        ScalingRules(self.behavior.map_or(&Json::Null, |own| &own[direction]))
    }

    /// Upstream's `normalizeDesiredReplicas`, or `normalizeDesiredReplicasWithBehaviors` where there is one.
    pub fn normalize(&self, rx: Rx) -> Normalized {
        let asked = self.desired_replicas;
        let (stabilized, why) = match self.behavior {
            None => (
                self.stabilize_recommendation(rx),
                ("ScaleDownStabilized", HIGHEST),
            ),
            Some(_) => self.stabilize_recommendation_with_behaviors(rx),
        };
        let (desired, limited) = match self.behavior {
            None => self.convert_desired_replicas_with_rules(stabilized),
            Some(_) => self.convert_desired_replicas_with_behavior_rate(rx, stabilized),
        };
        Normalized {
            stabilized,
            desired,
            able: if stabilized == asked { READY } else { why },
            limited,
        }
    }

    /// Works on what was recommended, each with its age, and keeps what is recommended now: in the place of one that is old, if there
    /// is one.
    fn recommend(
        &self,
        rx: Rx,
        mut weigh: impl FnMut(i64, Duration),
        is_old: impl Fn(Duration) -> bool,
    ) {
        rx.update_at(&RECOMMENDATIONS, |all, now| {
            let own = all.entry(self.key.clone()).or_default();
            for own in own.iter() {
                weigh(own.recommendation, age(own.timestamp, now));
            }
            let new = TimestampedRecommendation {
                recommendation: self.desired_replicas,
                timestamp: Instant(now),
            };
            match own
                .iter_mut()
                .rev()
                .find(|own| is_old(age(own.timestamp, now)))
            {
                Some(old) => *old = new,
                None => own.push(new),
            }
        });
    }

    /// `stabilizeRecommendation`
    fn stabilize_recommendation(&self, rx: Rx) -> i64 {
        let mut most = self.desired_replicas;
        let weigh = |recommendation: i64, age| {
            if age <= DOWNSCALE_STABILISATION_WINDOW {
                most = most.max(recommendation);
            }
        };
        self.recommend(rx, weigh, |age| age > DOWNSCALE_STABILISATION_WINDOW);
        most
    }

    /// `stabilizeRecommendationWithBehaviors`
    fn stabilize_recommendation_with_behaviors(&self, rx: Rx) -> (i64, Reason) {
        let window = |direction| self.rules(direction).stabilization_window();
        let (up_window, down_window) = (window("scaleUp"), window("scaleDown"));
        let asked = self.desired_replicas;
        let goes_up = asked >= self.current_replicas;
        let (mut up, mut down, mut flat) = (asked, asked, asked);
        let weigh = |recommendation: i64, age| {
            let (of_up, of_down) = (age < up_window, age < down_window);
            if of_up {
                up = up.min(recommendation);
            }
            if of_down {
                down = down.max(recommendation);
            }
            match goes_up {
                true if of_up => flat = flat.min(recommendation),
                false if of_down => flat = flat.max(recommendation),
                _ => {}
            }
        };
        self.recommend(rx, weigh, |age| age > up_window && age > down_window);
        let why = match goes_up {
            true => ("ScaleUpStabilized", LOWEST),
            false => ("ScaleDownStabilized", HIGHEST),
        };
        match self.defects.has(Bug::WindowsScaleUp) {
            true => (flat, why),
            false => (self.current_replicas.max(up).min(down), why),
        }
    }

    /// `convertDesiredReplicasWithRules`
    fn convert_desired_replicas_with_rules(&self, stabilized: i64) -> (i64, Reason) {
        // `calculateScaleUpLimit`
        let scale_up_limit =
            (SCALE_UP_LIMIT_FACTOR * self.current_replicas).max(SCALE_UP_LIMIT_MINIMUM);
        let (most, why) = match self.max_replicas > scale_up_limit {
            true => (scale_up_limit, SCALE_UP_LIMIT),
            false => (self.max_replicas, TOO_MANY),
        };
        if stabilized < self.min_replicas && !self.defects.has(Bug::MinimumIsForgotten) {
            (self.min_replicas, TOO_FEW)
        } else if stabilized > most {
            (most, why)
        } else {
            (stabilized, WITHIN_RANGE)
        }
    }

    /// `convertDesiredReplicasWithBehaviorRate`
    fn convert_desired_replicas_with_behavior_rate(
        &self,
        rx: Rx,
        stabilized: i64,
    ) -> (i64, Reason) {
        let current = self.current_replicas;
        if stabilized > current {
            let limit = self.calculate_scale_up_limit_with_scaling_rules(rx);
            let limit = limit.max(current);
            let (most, why) = match self.max_replicas > limit {
                true => (limit, SCALE_UP_LIMIT),
                false => (self.max_replicas, TOO_MANY),
            };
            if stabilized > most {
                return (most, why);
            }
        } else if stabilized < current {
            let limit = self.calculate_scale_down_limit_with_behaviors(rx);
            let limit = limit.min(current);
            let forgets = self.defects.has(Bug::MinimumIsForgotten);
            let (least, why) = match self.min_replicas < limit || forgets {
                true => (limit, SCALE_DOWN_LIMIT),
                false => (self.min_replicas, TOO_FEW),
            };
            if stabilized < least {
                return (least, why);
            }
        }
        (stabilized, WITHIN_RANGE)
    }

    /// How many replicas there were before a period began (`getReplicasChangePerPeriod` of both directions).
    fn period_start_replicas(&self, rx: Rx, period: Duration, goes_up: bool) -> i64 {
        let change = |events: &'static Cell<ScaleEvents>| {
            rx.update_at(events, |all, now| {
                let own = all.get(self.key).into_iter().flatten();
                let recent = own.filter(|event| age(event.timestamp, now) < period);
                recent.map(|event| event.replica_change).sum::<i64>()
            })
        };
        let one_way = self.defects.has(Bug::PeriodsLookOneWay);
        let added = match one_way && !goes_up {
            true => 0,
            false => change(&SCALE_UP_EVENTS),
        };
        let deleted = match one_way && goes_up {
            true => 0,
            false => change(&SCALE_DOWN_EVENTS),
        };
        self.current_replicas - added + deleted
    }

    /// `calculateScaleUpLimitWithScalingRules`
    fn calculate_scale_up_limit_with_scaling_rules(&self, rx: Rx) -> i64 {
        let rules = self.rules("scaleUp");
        if rules.selects("Disabled") {
            return self.current_replicas;
        }
        let limits = rules.policies().map(|(is_percent, value, period)| {
            let start = self.period_start_replicas(rx, period, true);
            match is_percent {
                false => start + value,
                true => (start as f64 * (1.0 + value as f64 / 100.0)).ceil() as i64,
            }
        });
        let limit = if rules.selects("Min") {
            limits.min()
        } else {
            limits.max()
        };
        limit.unwrap_or(self.current_replicas)
    }

    /// `calculateScaleDownLimitWithBehaviors`
    fn calculate_scale_down_limit_with_behaviors(&self, rx: Rx) -> i64 {
        let rules = self.rules("scaleDown");
        if rules.selects("Disabled") {
            return self.current_replicas;
        }
        let limits = rules.policies().map(|(is_percent, value, period)| {
            let start = self.period_start_replicas(rx, period, false);
            match is_percent {
                false => start - value,
                true => (start as f64 * (1.0 - value as f64 / 100.0)) as i64,
            }
        });
        let limit = if rules.selects("Min") {
            limits.max()
        } else {
            limits.min()
        };
        limit.unwrap_or(self.current_replicas)
    }
}

/// `storeScaleEvent`: where an autoscaler has no behavior nobody asks for it. One that is old gives its place.
pub(super) fn store_scale_event(
    rx: Rx,
    behavior: Option<&Json>,
    key: &Item,
    prev_replicas: i64,
    new_replicas: i64,
    defects: Set<Bug>,
) {
    let Some(behavior) = behavior else {
        return;
    };
    let (direction, events) = match new_replicas > prev_replicas {
        true => ("scaleUp", &SCALE_UP_EVENTS),
        false => ("scaleDown", &SCALE_DOWN_EVENTS),
    };
    let longest = |direction: &str| ScalingRules(&behavior[direction]).longest_policy_period();
    let longest = match defects.has(Bug::FixKeepScaleEvents) {
        // The periods of the other direction count them as well.
        true => longest("scaleUp").max(longest("scaleDown")),
        false => longest(direction),
    };
    rx.update_at(events, |all, now| {
        let own = all.entry(key.clone()).or_default();
        let event = TimestampedScaleEvent {
            replica_change: (new_replicas - prev_replicas).abs(),
            timestamp: Instant(now),
            outdated: false,
        };
        // `markScaleEventsOutdated`
        for event in own
            .iter_mut()
            .filter(|own| age(own.timestamp, now) > longest)
        {
            event.outdated = true;
        }
        match own.iter_mut().rev().find(|own| own.outdated) {
            Some(old) => *old = event,
            None => own.push(event),
        }
    });
}
