//! Gates: the versions in which something is so.

use crate::Version;

/// The versions of Kubernetes in which something is so: since one, until another, or both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gate {
    since: Version,
    until: Option<Version>,
}

/// A gate as its table has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NamedGate {
    /// Its constant.
    pub name: &'static str,
    /// The versions.
    pub gate: Gate,
}

impl Gate {
    /// Always: there never was anything else.
    pub const ALWAYS: Gate = Gate {
        since: Version::new(0, 0),
        until: None,
    };

    /// In no version at all.
    pub const NEVER: Gate = Gate {
        since: Version::new(0, 0),
        until: Some(Version::new(0, 0)),
    };

    /// Since v`major`.`minor`.
    pub const fn since(major: u8, minor: u8) -> Gate {
        assert!(major == 1, "Kubernetes is at major version 1");
        Gate {
            since: Version::new(minor, 0),
            until: None,
        }
    }

    /// Until v`major`.`minor`, which no longer has it.
    pub const fn until(major: u8, minor: u8) -> Gate {
        Gate::since(major, minor).before()
    }

    /// The same, but gone since v`major`.`minor`.
    pub const fn gone_since(self, major: u8, minor: u8) -> Gate {
        self.and(Gate::until(major, minor))
    }

    /// What was before it: the versions that are older than all of these.
    pub const fn before(self) -> Gate {
        Gate {
            since: Gate::ALWAYS.since,
            until: Some(self.since),
        }
    }

    /// The versions in both.
    pub const fn and(self, other: Gate) -> Gate {
        let since = match self.since.is_before(other.since) {
            true => other.since,
            false => self.since,
        };
        let until = match (self.until, other.until) {
            (Some(own), Some(theirs)) if theirs.is_before(own) => Some(theirs),
            (Some(own), _) => Some(own),
            (None, theirs) => theirs,
        };
        Gate { since, until }
    }

    #[inline]
    pub(crate) const fn admits(self, version: Version) -> bool {
        let gone = match self.until {
            Some(until) => !version.is_before(until),
            None => false,
        };
        !version.is_before(self.since) && !gone
    }
}

/// A table of gates: a constant each, and all of them as `ALL`.
///
/// ```
/// use wavetank_version::{Gate, Version, gates};
///
/// gates! {
///     /// The flag is atomic (PR #1, `flag.go`).
///     pub STOP_FLAG_IS_ATOMIC = Gate::since(1, 27);
/// }
///
/// assert!(Version::new(28, 0).has(STOP_FLAG_IS_ATOMIC));
/// assert!(!Version::new(26, 9).has(STOP_FLAG_IS_ATOMIC));
/// assert_eq!(ALL[0].name, "STOP_FLAG_IS_ATOMIC");
/// ```
#[macro_export]
macro_rules! gates {
    ($($(#[$doc:meta])+ $visibility:vis $name:ident = $gate:expr;)+) => {
        $($(#[$doc])+ $visibility const $name: $crate::Gate = $gate;)+

        /// All gates of this table.
        pub const ALL: &[$crate::NamedGate] = &[
            $($crate::NamedGate { name: stringify!($name), gate: $name },)+
        ];
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minors(gate: Gate) -> Vec<u8> {
        let has = |minor: &u8| Version::new(*minor, 3).has(gate);
        (14..24).filter(has).collect()
    }

    #[test]
    fn a_gate_opens_and_closes_with_a_version() {
        assert_eq!(minors(Gate::since(1, 22)), [22, 23]);
        assert_eq!(minors(Gate::until(1, 16)), [14, 15]);
        assert_eq!(minors(Gate::since(1, 16).gone_since(1, 18)), [16, 17]);
        assert_eq!(minors(Gate::since(1, 16).before()), [14, 15]);
        let both = Gate::since(1, 18).and(Gate::since(1, 16).gone_since(1, 20));
        assert_eq!(minors(both), [18, 19]);
        assert_eq!(minors(Gate::ALWAYS).len(), 10);
        assert_eq!(minors(Gate::NEVER), [0_u8; 0]);
        assert!(Version::LATEST.has(Gate::since(1, 36)));
        assert!(!Version::LATEST.has(Gate::until(1, 36)));
    }
}
