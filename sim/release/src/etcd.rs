//! Releases of etcd, to the patch: a behaviour came or went with one.

use std::fmt;

/// A release of etcd.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EtcdRelease {
    /// Of 3.minor.patch.
    pub minor: u8,
    /// Of 3.minor.patch.
    pub patch: u8,
}

/// The releases of one minor version in which something is so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line {
    minor: u8,
    from: u8,
    until: u8,
}

impl Line {
    /// In all of them.
    pub const fn all(minor: u8) -> Line {
        Line::within(minor, 0, u8::MAX)
    }

    /// Before this patch.
    pub const fn until(minor: u8, until: u8) -> Line {
        Line::within(minor, 0, until)
    }

    /// From one patch on until, without, another.
    pub const fn within(minor: u8, from: u8, until: u8) -> Line {
        Line { minor, from, until }
    }

    /// Is it one of them?
    pub fn contains(self, release: EtcdRelease) -> bool {
        release.minor == self.minor && (self.from..self.until).contains(&release.patch)
    }
}

/// `v3.4`, or the first and the last of them: `v3.4.25 to v3.4.30`.
impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Line { minor, from, until } = *self;
        let last = until.saturating_sub(1);
        match (from, until) {
            (0, u8::MAX) => write!(f, "v3.{minor}"),
            (_, u8::MAX) => write!(f, "{} and later", v3(minor, from)),
            _ => write!(f, "{} to {}", v3(minor, from), v3(minor, last)),
        }
    }
}

/// 3.`minor`.`patch`
const fn v3(minor: u8, patch: u8) -> EtcdRelease {
    EtcdRelease { minor, patch }
}

impl EtcdRelease {
    /// Those that can be named: what Debian and PyPI ship, what Kubernetes recommends, and those
    /// with which something changed.
    pub const ALL: [EtcdRelease; 20] = [
        v3(4, 13),
        v3(4, 23),
        v3(4, 25),
        v3(4, 31),
        v3(4, 34),
        v3(4, 38),
        v3(4, 42),
        v3(5, 1),
        v3(5, 3),
        v3(5, 8),
        v3(5, 13),
        v3(5, 16),
        v3(5, 21),
        v3(5, 22),
        v3(5, 28),
        v3(6, 0),
        v3(6, 2),
        v3(6, 9),
        v3(6, 12),
        v3(6, 13),
    ];

    /// The newest that is known here.
    pub const LATEST: EtcdRelease = v3(6, 13);

    /// The release with this name, as `v3.5.21`.
    pub fn named(name: &str) -> Option<EtcdRelease> {
        EtcdRelease::ALL.into_iter().find(|r| r.to_string() == name)
    }

    /// Is it this one or a later one of the same or a later minor version?
    pub fn is_at_least(self, minor: u8, patch: u8) -> bool {
        self >= v3(minor, patch)
    }
}

impl fmt::Display for EtcdRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v3.{}.{}", self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Switch, Switches};

    #[test]
    fn names_are_unique_and_in_order() {
        assert!(EtcdRelease::ALL.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(EtcdRelease::named("v3.5.21"), Some(v3(5, 21)));
        assert_eq!(EtcdRelease::named("v3.5.99"), None);
    }

    #[test]
    fn lines_are_told_by_their_ends() {
        assert_eq!(Line::all(4).to_string(), "v3.4");
        assert_eq!(Line::until(5, 8).to_string(), "v3.5.0 to v3.5.7");
        assert_eq!(Line::within(4, 25, 31).to_string(), "v3.4.25 to v3.4.30");
    }

    #[test]
    fn a_release_ships_the_defects_of_its_patch() {
        let of = |minor, patch| Switches::of_etcd(v3(minor, patch));
        assert!(of(4, 23).has(Switch::ProgressOvertakesEvents));
        assert!(!of(4, 23).has(Switch::ProgressLatch));
        assert!(of(4, 25).has(Switch::ProgressLatch));
        assert!(!of(4, 31).has(Switch::ProgressLatch));
        assert!(
            of(5, 1).has(Switch::CrashLosesEntries) && !of(4, 23).has(Switch::CrashLosesEntries)
        );
        let latest: Vec<Switch> = of(6, 13).iter().collect();
        assert_eq!(
            latest,
            [Switch::PromotionRestartsLeases, Switch::MembersSkipRanges]
        );
    }
}
