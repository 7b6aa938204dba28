//! The checker's own mutants: changes to the memory of steps, to digests and to the search, each at a place
//! that asks whether it is on. They are compiled in with the feature `mutants` only, for the test that the
//! comparison with the naive search notices each; without it nothing is asked and nothing can be switched on.
//!
//! A mutant is on for one thread. Whoever starts others for the same work hands it on ([`current`], [`with`]).

#[cfg(feature = "mutants")]
mod on {
    use std::cell::Cell;

    thread_local! {
        static ON: Cell<Option<&'static str>> = const { Cell::new(None) };
    }

    /// Is this one on?
    pub fn is(name: &str) -> bool {
        ON.get() == Some(name)
    }

    /// Is this field of this type left out of digests?
    pub(crate) fn is_part(kind: &str, field: &str) -> bool {
        let on = ON.get().and_then(|on| on.strip_prefix(kind));
        on.and_then(|on| on.strip_prefix(": ")) == Some(field)
    }

    /// The one that is on.
    pub fn current() -> Option<&'static str> {
        ON.get()
    }

    /// Works with this one on, or with none.
    pub fn with<R>(name: Option<&'static str>, work: impl FnOnce() -> R) -> R {
        struct Restore(Option<&'static str>);
        impl Drop for Restore {
            fn drop(&mut self) {
                ON.set(self.0);
            }
        }
        let _restore = Restore(ON.replace(name));
        work()
    }
}

#[cfg(not(feature = "mutants"))]
mod on {
    /// Is this one on?
    #[inline(always)]
    pub const fn is(_: &str) -> bool {
        false
    }

    /// The one that is on.
    #[inline(always)]
    pub const fn current() -> Option<&'static str> {
        None
    }

    /// Works with this one on, or with none.
    #[inline(always)]
    pub fn with<R>(_: Option<&'static str>, work: impl FnOnce() -> R) -> R {
        work()
    }
}

#[cfg(feature = "mutants")]
pub(crate) use on::is_part;
pub use on::{current, is, with};

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
