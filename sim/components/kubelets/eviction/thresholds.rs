//! Which thresholds are met, and for how long a node is under pressure (`pkg/kubelet/eviction/helpers.go`, v1.36.2). Pure.

use std::time::Duration;

use wavetank_engine::{Instant, Time};

use super::State;

/// `Threshold` of `memory.available`, in Mi.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Threshold {
    /// `Value`
    pub value: i64,
    /// `GracePeriod`: how long it is met before a pod is evicted; 0 for a hard one.
    pub grace_period_seconds: u64,
    /// `MinReclaim`
    pub min_reclaim: i64,
}

impl Threshold {
    /// Upstream's `isHardEvictionThreshold`
    pub(crate) fn is_hard(self) -> bool {
        self.grace_period_seconds == 0
    }
}

/// `Config`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Config {
    pub hard: Option<Threshold>,
    pub soft: Option<Threshold>,
    /// `PressureTransitionPeriod`
    pub pressure_transition_period: Duration,
    /// `MaxPodGracePeriodSeconds`
    pub max_pod_grace_period_seconds: i64,
}

impl Config {
    fn thresholds(&self) -> impl Iterator<Item = Threshold> {
        self.hard.into_iter().chain(self.soft)
    }

    /// Is there anything to watch?
    pub(crate) fn is_on(&self) -> bool {
        self.thresholds().next().is_some()
    }
}

/// `thresholdsMet`
fn thresholds_met(
    all: impl IntoIterator<Item = Threshold>,
    available: i64,
    enforces_min_reclaim: bool,
) -> Vec<Threshold> {
    let is_met = |own: &Threshold| {
        let more = if enforces_min_reclaim {
            own.min_reclaim
        } else {
            0
        };
        own.value + more > available
    };
    all.into_iter().filter(is_met).collect()
}

/// `mergeThresholds`
fn merge_thresholds(mut own: Vec<Threshold>, others: Vec<Threshold>) -> Vec<Threshold> {
    for other in others {
        if !own.contains(&other) {
            own.push(other);
        }
    }
    own
}

fn since(then: Instant, now: Time) -> Duration {
    Duration::from_nanos(now.nanos().saturating_sub(then.0.nanos()))
}

/// What `synchronize` makes of an observation: is a threshold met, whatever its grace period? Those whose grace period is over
/// are remembered as met. Pressure lasts for a while after it was seen last.
pub(super) fn observe(
    own: &mut State,
    config: &Config,
    available: i64,
    now: Time,
    holds_on: bool,
) -> bool {
    let met = thresholds_met(config.thresholds(), available, false);
    let unresolved = thresholds_met(own.met.iter().copied(), available, true);
    let met = merge_thresholds(met, unresolved);
    let first = own.first_observed_at.clone();
    let before = |of: &Threshold| {
        let mut known = first.iter().filter(|(known, _)| known == of);
        known.next().map(|(_, at)| *at)
    };
    let observed = met.iter();
    own.first_observed_at = observed
        .map(|of| (*of, before(of).unwrap_or(Instant(now))))
        .collect();
    if !met.is_empty() {
        own.last_observed_at = Some(Instant(now));
    }
    let lasts = own
        .last_observed_at
        .is_some_and(|at| since(at, now) < config.pressure_transition_period);
    own.is_pressed = !met.is_empty() || (lasts && holds_on);
    let is_due = |(of, at): &&(Threshold, Instant)| {
        since(*at, now) >= Duration::from_secs(of.grace_period_seconds)
    };
    let due = own.first_observed_at.iter().filter(is_due);
    own.met = due.map(|(of, _)| *of).collect();
    !met.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    fn config() -> Config {
        let threshold = |value, grace_period_seconds| Threshold {
            value,
            grace_period_seconds,
            min_reclaim: 50,
        };
        Config {
            hard: Some(threshold(100, 0)),
            soft: Some(threshold(300, 30)),
            pressure_transition_period: Duration::from_secs(300),
            max_pod_grace_period_seconds: 0,
        }
    }

    #[test]
    fn a_soft_threshold_is_met_after_its_grace_period() {
        let (mut own, config) = (State::default(), config());
        for (seconds, count) in [(0, 0), (20, 0), (30, 1), (40, 1)] {
            assert!(observe(&mut own, &config, 200, at(seconds), true));
            assert_eq!(own.met.len(), count, "after {seconds} s");
            assert!(own.is_pressed);
        }
        assert!(observe(&mut own, &config, 340, at(50), true), "too little");
        assert!(!observe(&mut own, &config, 350, at(60), true));
        assert!(observe(&mut own, &config, 200, at(70), true));
        assert_eq!(own.met, [], "it begins anew");
    }

    #[test]
    fn pressure_lasts_until_it_was_not_seen_for_a_while() {
        let (mut own, config) = (State::default(), config());
        observe(&mut own, &config, 90, at(0), true);
        assert_eq!(own.met.len(), 1, "the hard one");
        for (seconds, is_pressed) in [(10, true), (299, true), (300, false)] {
            observe(&mut own, &config, 4_000, at(seconds), true);
            assert_eq!(own.is_pressed, is_pressed, "after {seconds} s");
        }
    }
}
