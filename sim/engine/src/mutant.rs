//! Mutants: changes to what is simulated, and to the checker, each at a place that asks whether it is on.
//!
//! Those of the algorithms are declared where they are asked for, with [`mutant!`](crate::mutant!), and are there in every
//! build: `wavetank mutants` looks whether a storm, a scope or a transcript notices each. Those of the checker (the memory of
//! steps, digests, the search) stand where a search spends its time, so they are compiled in with the feature `mutants`
//! only. They are asked for by their name ([`is`]) and listed in a test, which looks whether the comparison with the naive
//! search notices each.
//!
//! A mutant is on for one thread, from [`with`] until that returns. Whoever starts others for the same work hands it on
//! ([`current`]).

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Is this change to an algorithm on? It has a name, and a sentence that says what it does.
///
/// It is asked last, when all other conditions of its place hold and it would make a difference: that it was asked is
/// what counts as *reached*. Where nobody tries mutants it costs a look at one flag of the thread.
///
/// ```
/// # let (waiting, places) = (3, 4);
/// let is_full = waiting == places || waiting == 3 && wavetank_engine::mutant!("queue-too-short", "a queue takes 3");
/// # assert!(!is_full);
/// ```
#[macro_export]
macro_rules! mutant {
    ($name:literal, $what:literal) => {
        $crate::mutant::reached($name)
    };
}

type Names = BTreeSet<&'static str>;

thread_local! {
    /// Does it matter what is asked for? Only where one is on, or where it is recorded which are reached.
    static MATTERS: Cell<bool> = const { Cell::new(false) };
    static ON: Cell<Option<&'static str>> = const { Cell::new(None) };
    static RECORDS: Cell<bool> = const { Cell::new(false) };
    /// What this thread has reached and not told yet.
    static REACHED: RefCell<Names> = const { RefCell::new(Names::new()) };
    static GIVEN: RefCell<Given> = RefCell::new(Given::default());
}

/// What is on for a thread, and for those to whom it hands it on: one mutant or none; and what they have reached.
#[derive(Clone, Debug, Default)]
pub struct Given {
    on: Option<&'static str>,
    records: bool,
    reached: Arc<Mutex<Names>>,
}

impl Given {
    /// No mutant, but which are reached is recorded.
    pub fn recording() -> Given {
        Given {
            records: true,
            ..Given::default()
        }
    }

    /// The mutants of algorithms whose places were reached by work that is over: all of them if it was recording, else
    /// none but the one that was on.
    pub fn reached(&self) -> Names {
        let reached = self.reached.lock();
        reached.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl From<Option<&'static str>> for Given {
    fn from(on: Option<&'static str>) -> Given {
        Given {
            on,
            ..Given::default()
        }
    }
}

/// Is this one of the checker on? Never without the feature `mutants`.
#[inline(always)]
pub fn is(name: &str) -> bool {
    cfg!(feature = "mutants") && ON.get() == Some(name)
}

/// The place of this one of an algorithm is reached. Is it on?
#[doc(hidden)]
#[inline]
pub fn reached(name: &'static str) -> bool {
    MATTERS.get() && is_asked(name)
}

/// Not inlined: hardly any run comes here.
#[cold]
fn is_asked(name: &'static str) -> bool {
    let is = ON.get() == Some(name);
    if is || RECORDS.get() {
        note(name);
    }
    is
}

fn note(name: &'static str) {
    REACHED.with_borrow_mut(|reached| reached.insert(name));
}

/// Is this field of this type left out of digests?
#[cfg(feature = "mutants")]
pub(crate) fn is_part(kind: &str, field: &str) -> bool {
    let on = ON.get().and_then(|on| on.strip_prefix(kind));
    on.and_then(|on| on.strip_prefix(": ")) == Some(field)
}

/// What is on.
pub fn current() -> Given {
    GIVEN.with_borrow(Given::clone)
}

/// Works with this one on, or with none.
pub fn with<R>(given: impl Into<Given>, work: impl FnOnce() -> R) -> R {
    struct Restore(Given);
    impl Drop for Restore {
        fn drop(&mut self) {
            set(&self.0);
        }
    }
    let given = given.into();
    let _restore = Restore(current());
    set(&given);
    work()
}

/// Hands in what was reached until now, and goes on with this.
fn set(given: &Given) {
    let reached = REACHED.take();
    GIVEN.with_borrow(|before| {
        let told = before.reached.lock();
        told.unwrap_or_else(PoisonError::into_inner).extend(reached);
    });
    MATTERS.set(given.on.is_some() || given.records);
    ON.set(given.on);
    RECORDS.set(given.records);
    GIVEN.set(given.clone());
}

/// The derived hash of a struct, in which a mutant can leave out a field. Without the feature the hash *is*
/// derived.
macro_rules! hashed_by_parts {
    ($name:ident { $($field:ident),* $(,)? }) => {
        #[cfg(feature = "mutants")]
        impl std::hash::Hash for $name {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                let $name { $($field),* } = self;
                $(
                    if !crate::mutant::is_part(stringify!($name), stringify!($field)) {
                        $field.hash(state);
                    }
                )*
            }
        }
    };
}
pub(crate) use hashed_by_parts;
