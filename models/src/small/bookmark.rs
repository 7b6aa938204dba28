//! Why a bookmark takes its revision from the loop that dispatches events, and not from the store.
//!
//! A watch cache takes events in, one loop sends them to the watchers, and a timer sends bookmarks: "you
//! have seen everything up to here" (`staging/src/k8s.io/apiserver/pkg/storage/cacher/cacher.go`,
//! `dispatchEvents`). A client that is cut off resumes after the newest thing that it was sent. It
//! must not miss an event.

use stateright::{Model, Property};

/// Where a bookmark's revision comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// The last event that was dispatched: upstream.
    Dispatched,
    /// The newest revision that the cache has taken in.
    TakenIn,
}

/// A cache with one watcher.
#[derive(Clone, Debug)]
pub struct Cache {
    /// Where bookmarks come from.
    pub from: From,
    /// So many events happen.
    pub events: u8,
}

/// Revisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The newest that the cache has.
    taken_in: u8,
    /// Up to here events were sent on this connection.
    dispatched: u8,
    /// The newest that the client was told, by an event or a bookmark.
    told: u8,
    /// The client has all events up to here, but for those that it missed.
    missed: bool,
}

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// The cache takes in an event.
    TakeIn,
    /// The loop sends the next one.
    Dispatch,
    /// The timer sends a bookmark.
    Bookmark,
    /// The client is cut off and resumes after what it was told.
    Resume,
}

impl Model for Cache {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            taken_in: 0,
            dispatched: 0,
            told: 0,
            missed: false,
        }]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        if state.taken_in < self.events {
            steps.push(Step::TakeIn);
        }
        if state.dispatched < state.taken_in {
            steps.push(Step::Dispatch);
        }
        steps.extend([Step::Bookmark, Step::Resume]);
    }

    fn next_state(&self, last: &State, step: Step) -> Option<State> {
        let mut next = *last;
        match step {
            Step::TakeIn => next.taken_in += 1,
            Step::Dispatch => {
                next.dispatched += 1;
                next.told = next.told.max(next.dispatched);
            }
            Step::Bookmark => {
                let revision = match self.from {
                    From::Dispatched => last.dispatched,
                    From::TakenIn => last.taken_in,
                };
                next.told = last.told.max(revision);
            }
            Step::Resume => {
                next.missed |= last.dispatched < last.told;
                next.dispatched = last.told;
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Cache>> {
        vec![
            Property::always("no event is missed", |_, state: &State| !state.missed),
            Property::sometimes("a bookmark comes while events wait", |_, state: &State| {
                state.taken_in > state.dispatched && state.told > 0
            }),
        ]
    }
}
