//! The list of a component's defects and fixes.

use crate::Defect;

/// The defects and fixes of one component: what is gathered of all components.
#[derive(Clone, Copy, Debug)]
pub struct List {
    /// What of a cluster has their places, as it is said where there is none: `watch caches of apiservers`.
    pub place: &'static str,
    /// They, each once.
    pub defects: &'static [&'static Defect],
    take_passed: fn() -> u64,
}

impl List {
    /// One made by [`defects!`](crate::defects).
    #[doc(hidden)]
    pub const fn new(
        place: &'static str,
        defects: &'static [&'static Defect],
        take_passed: fn() -> u64,
    ) -> List {
        List {
            place,
            defects,
            take_passed,
        }
    }

    /// Those whose places this thread has passed since it was asked last.
    pub fn take_passed(&self) -> impl Iterator<Item = &'static Defect> + use<> {
        let (defects, passed) = (self.defects, (self.take_passed)());
        let passed = move |at: &usize| passed >> at & 1 == 1;
        (0..defects.len()).filter(passed).map(|at| defects[at])
    }
}

/// An enum of the defects and fixes of one component: made by [`defects!`](crate::defects).
pub trait Listed: Copy + 'static {
    /// All of them.
    const LIST: List;

    /// Its number in the list.
    fn number(self) -> usize;

    /// Notes that its place is passed, by the one who is told whether it is `on` instead of asking
    /// [`Set::has`](crate::Set::has). Nothing that is simulated sees the note: it is for reports.
    fn passed(self, on: bool) -> bool;

    /// Its declaration.
    fn defect(self) -> &'static Defect {
        Self::LIST.defects[self.number()]
    }
}

/// Lists the defects and fixes of a component as an enum: each variant is a declaration, which stands beside the
/// algorithm that it changes. What of a cluster has their places is said in words.
///
/// ```
/// use wavetank_version::{Defect, Listed, Set, Version, defects};
///
/// const BLIND: Defect = Defect::open("blind", "issue 1", "the keeper sees no ball");
///
/// defects! {
///     /// Of keepers.
///     pub enum KeeperDefect in "keepers" {
///         Blind = BLIND,
///     }
/// }
///
/// assert!(Set::<KeeperDefect>::shipped_with(Version::new(20, 2)).has(KeeperDefect::Blind));
/// assert_eq!(KeeperDefect::Blind.defect().name, "blind");
/// let passed = KeeperDefect::LIST.take_passed();
/// assert_eq!(passed.map(|defect| defect.name).collect::<Vec<_>>(), ["blind"]);
/// ```
///
/// The set of one component cannot be asked for a defect of another:
///
/// ```compile_fail,E0308
/// use wavetank_version::{Defect, Listed, Set, defects};
///
/// const BLIND: Defect = Defect::open("blind", "issue 1", "the keeper sees no ball");
/// const LAME: Defect = Defect::open("lame", "issue 2", "the runner does not run");
///
/// defects! {
///     /// Of keepers.
///     pub enum KeeperDefect in "keepers" { Blind = BLIND }
/// }
/// mod runners {
///     wavetank_version::defects! {
///         /// Of runners.
///         pub enum RunnerDefect in "runners" { Lame = super::LAME }
///     }
/// }
///
/// Set::<KeeperDefect>::NONE.has(runners::RunnerDefect::Lame);
/// ```
#[macro_export]
macro_rules! defects {
    (
        $(#[$doc:meta])+
        $visibility:vis enum $name:ident in $place:literal {
            $($defect:ident = $declared:expr),+ $(,)?
        }
    ) => {
        $(#[$doc])+
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[allow(missing_docs, reason = "each is explained where it is declared")]
        #[repr(u8)]
        $visibility enum $name {
            $($defect),+
        }

        const _: () = {
            const DEFECTS: &[&$crate::Defect] = &[$(&$declared),+];
            assert!(DEFECTS.len() <= 64, "a set of one component has 64 places");

            ::std::thread_local! {
                static PASSED: ::std::cell::Cell<u64> = const { ::std::cell::Cell::new(0) };
            }

            impl $crate::Listed for $name {
                const LIST: $crate::List = $crate::List::new($place, DEFECTS, || PASSED.take());

                fn number(self) -> usize {
                    self as usize
                }

                fn passed(self, on: bool) -> bool {
                    PASSED.set(PASSED.get() | 1 << self as u8);
                    on
                }
            }
        };
    };
}
