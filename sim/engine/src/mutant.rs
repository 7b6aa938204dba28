//! Mutants: changes to what is simulated, and to the checker, each at a place that asks whether it is on. They are
//! compiled in with the feature `mutants` only; without it nothing is asked and nothing can be switched on.
//!
//! Those of the algorithms are declared where they are asked for, with [`mutant!`](crate::mutant!): `wavetank mutants`
//! looks whether a storm, a scope or a transcript notices each. Those of the checker (the memory of steps, digests, the search)
//! are asked for by their name ([`is`]) and listed in a test, which looks whether the comparison with the naive
//! search notices each.
//!
//! A mutant is on for one thread. Whoever starts others for the same work hands it on ([`current`], [`with`]).

/// Is this change to an algorithm on? It has a name, and a sentence that says what it does.
///
/// It is asked last, when all other conditions of its place hold and it would make a difference: that it was asked is
/// what counts as *reached*. Without the feature `mutants` it is `false`, and costs nothing.
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

#[cfg(feature = "mutants")]
mod on {
    use std::cell::{Cell, RefCell};
    use std::collections::BTreeSet;
    use std::sync::{Arc, Mutex, PoisonError};

    type Names = BTreeSet<&'static str>;

    thread_local! {
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

    /// Is this one on?
    #[inline]
    pub fn is(name: &str) -> bool {
        ON.get() == Some(name)
    }

    /// The place of this one is reached. Is it on?
    #[doc(hidden)]
    #[inline]
    pub fn reached(name: &'static str) -> bool {
        let is = is(name);
        if is || RECORDS.get() {
            note(name);
        }
        is
    }

    fn note(name: &'static str) {
        REACHED.with_borrow_mut(|reached| reached.insert(name));
    }

    /// Is this field of this type left out of digests?
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
        ON.set(given.on);
        RECORDS.set(given.records);
        GIVEN.set(given.clone());
    }
}

#[cfg(not(feature = "mutants"))]
mod on {
    /// What is on for a thread: nothing.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct Given;

    impl From<Option<&'static str>> for Given {
        fn from(_: Option<&'static str>) -> Given {
            Given
        }
    }

    /// Is this one on?
    #[inline(always)]
    pub const fn is(_: &str) -> bool {
        false
    }

    /// The place of this one is reached. Is it on?
    #[doc(hidden)]
    #[inline(always)]
    pub const fn reached(_: &str) -> bool {
        false
    }

    /// What is on.
    #[inline(always)]
    pub const fn current() -> Given {
        Given
    }

    /// Works with this one on, or with none.
    #[inline(always)]
    pub fn with<R>(_: impl Into<Given>, work: impl FnOnce() -> R) -> R {
        work()
    }
}

#[cfg(feature = "mutants")]
pub(crate) use on::is_part;
#[doc(hidden)]
pub use on::reached;
pub use on::{Given, current, is, with};

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
