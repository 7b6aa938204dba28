//! Why a repair loop frees an address only when it has seen it leaked several times.
//!
//! A create writes twice: the address is taken in one key, the Service stored in another. The repair
//! loop reads the first, lists the second, and frees what no Service has
//! (`pkg/registry/core/service/ipallocator/controller/repair.go`, v1.20, `numRepairsBeforeLeakCleanup`).
//! A create in flight looks like a leak. At most `create_takes` rounds end while it is under way, but one
//! more may have looked at it before it was done: what is freed then is given to somebody else.

use stateright::{Model, Property};

/// The rule of a repair loop.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Rounds that must see the leak before it is freed; upstream: 3.
    pub times: u8,
    /// Rounds that may end between the two writes of a create: its request takes at most a minute, a
    /// round comes every three.
    pub create_takes: u8,
    /// Attempts of a round, each after a conflict; upstream tries up to 3 times in `runOnce`.
    pub attempts: u8,
    /// Does every attempt count, as upstream counts (FINDINGS.md, 7)?
    pub attempts_count: bool,
}

/// The one address, its Service, and the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    allocated: bool,
    stored: bool,
    /// Rounds that have ended since the address was taken, while the Service was not stored.
    in_flight: Option<u8>,
    /// How often the leak was seen.
    seen: u8,
    /// The loop has read: was the address taken, and was there a Service? With the attempts made.
    read: Option<(bool, bool, u8)>,
}

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// The create takes the address.
    Take,
    /// It stores the Service.
    Store,
    /// The loop reads addresses and Services.
    Read,
    /// Somebody else was faster: it reads again.
    Conflict,
    /// It writes what it makes of what it read.
    Write,
}

impl Rule {
    /// The count after a look, and whether the address is freed.
    fn judge(&self, seen: u8, taken: bool, has_service: bool) -> (u8, bool) {
        match taken && !has_service {
            false => (0, false),
            true => (seen + 1, seen + 1 >= self.times),
        }
    }
}

impl Model for Rule {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            allocated: false,
            stored: false,
            in_flight: None,
            seen: 0,
            read: None,
        }]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        match (state.stored, state.in_flight) {
            (false, None) => steps.push(Step::Take),
            (false, Some(_)) => steps.push(Step::Store),
            (true, _) => {}
        }
        // A round that would end later than a create can still be under way does not end before it.
        let late = state.in_flight == Some(self.create_takes);
        match state.read {
            None => steps.push(Step::Read),
            Some((_, _, attempts)) => {
                if attempts < self.attempts {
                    steps.push(Step::Conflict);
                }
                if !late {
                    steps.push(Step::Write);
                }
            }
        }
    }

    fn next_state(&self, last: &State, step: Step) -> Option<State> {
        let mut next = *last;
        match step {
            Step::Take => (next.allocated, next.in_flight) = (true, Some(0)),
            Step::Store => (next.stored, next.in_flight) = (true, None),
            Step::Read => next.read = Some((last.allocated, last.stored, 1)),
            Step::Conflict => {
                let (taken, has_service, attempts) = last.read?;
                if self.attempts_count {
                    (next.seen, _) = self.judge(last.seen, taken, has_service);
                }
                next.read = Some((last.allocated, last.stored, attempts + 1));
            }
            Step::Write => {
                let (taken, has_service, _) = last.read?;
                let (seen, frees) = self.judge(last.seen, taken, has_service);
                next.seen = if frees { 0 } else { seen };
                next.allocated &= !frees;
                next.in_flight = last.in_flight.map(|rounds| rounds + 1);
                next.read = None;
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Rule>> {
        vec![
            Property::always("who is stored has its address", |_, state: &State| {
                !state.stored || state.allocated
            }),
            Property::sometimes("a create is seen as a leak", |_, state: &State| {
                state.seen > 0
            }),
        ]
    }
}
