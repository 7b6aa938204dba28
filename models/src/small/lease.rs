//! Why a master lease lives longer than the time between two renewals.
//!
//! An apiserver writes its lease every `interval` seconds with `ttl` seconds to live
//! (`pkg/controlplane/instance.go`, `DefaultEndpointReconcilerInterval` 10 s,
//! `DefaultEndpointReconcilerTTL` 15 s). The write takes up to `slow` seconds, and the next one waits for
//! it. A server that lives must never be seen as gone.

use stateright::{Model, Property};

/// Times, in seconds.
#[derive(Clone, Debug)]
pub struct Times {
    /// From one renewal to the next.
    pub interval: u8,
    /// What a renewal gives.
    pub ttl: u8,
    /// What a renewal takes at most.
    pub slow: u8,
}

/// A server and its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// Until the lease is over; 0: it is.
    left: u8,
    /// Until the next renewal is begun.
    until: u8,
    /// For how long one has been under way.
    under_way: Option<u8>,
}

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// A second passes.
    Second,
    /// The renewal that is under way is done.
    Renewed,
}

impl Model for Times {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            left: self.ttl,
            until: self.interval,
            under_way: None,
        }]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        if state.under_way.is_some() {
            steps.push(Step::Renewed);
        }
        if state.under_way != Some(self.slow) {
            steps.push(Step::Second);
        }
    }

    fn next_state(&self, last: &State, step: Step) -> Option<State> {
        let mut next = *last;
        match step {
            Step::Second => {
                next.left = last.left.checked_sub(1)?;
                next.until = last.until.saturating_sub(1);
                next.under_way = last.under_way.map(|seconds| seconds + 1);
            }
            Step::Renewed => (next.left, next.under_way) = (self.ttl, None),
        }
        if next.until == 0 && next.under_way.is_none() {
            (next.until, next.under_way) = (self.interval, Some(0));
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Times>> {
        vec![Property::always(
            "who lives is listed",
            |_, state: &State| state.left > 0,
        )]
    }
}
