//! Versions of etcd, to the patch: a behaviour came or went with one.

use std::fmt;

/// A version of etcd.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EtcdVersion {
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

/// The versions of etcd in which something is so: since one, and in patches of earlier lines to which it was brought
/// back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EtcdGate {
    since: EtcdVersion,
    earlier: &'static [Line],
}

impl EtcdGate {
    /// Since 3.`minor`.`patch`.
    pub const fn since(minor: u8, patch: u8) -> EtcdGate {
        EtcdGate {
            since: EtcdVersion::new(minor, patch),
            earlier: &[],
        }
    }

    /// And in these of earlier lines.
    pub const fn and_in(self, earlier: &'static [Line]) -> EtcdGate {
        EtcdGate { earlier, ..self }
    }
}

impl Line {
    /// In all of them.
    pub const fn all(minor: u8) -> Line {
        Line::within(minor, 0, u8::MAX)
    }

    /// From this patch on.
    pub const fn from(minor: u8, from: u8) -> Line {
        Line::within(minor, from, u8::MAX)
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
    pub fn contains(self, version: EtcdVersion) -> bool {
        version.minor == self.minor && (self.from..self.until).contains(&version.patch)
    }
}

/// `v3.4`, or the first and the last of them: `v3.4.25 to v3.4.30`.
impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Line { minor, from, until } = *self;
        let first = EtcdVersion::new(minor, from);
        match (from, until) {
            (0, u8::MAX) => write!(f, "v3.{minor}"),
            (_, u8::MAX) => write!(f, "{first} and later"),
            _ => write!(f, "{first} to {}", EtcdVersion::new(minor, until - 1)),
        }
    }
}

impl EtcdVersion {
    /// After every version that there is: for what has none of its own, and does as today.
    pub const LATEST: EtcdVersion = EtcdVersion::new(u8::MAX, u8::MAX);

    /// 3.`minor`.`patch`
    pub const fn new(minor: u8, patch: u8) -> EtcdVersion {
        EtcdVersion { minor, patch }
    }

    /// Is it on this gate's side of the change?
    #[inline]
    pub fn has(self, gate: EtcdGate) -> bool {
        self >= gate.since || gate.earlier.iter().any(|line| line.contains(self))
    }
}

impl fmt::Display for EtcdVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v3.{}.{}", self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_by_their_ends() {
        assert_eq!(Line::all(4).to_string(), "v3.4");
        assert_eq!(Line::until(5, 8).to_string(), "v3.5.0 to v3.5.7");
        assert_eq!(Line::within(4, 25, 31).to_string(), "v3.4.25 to v3.4.30");
        assert_eq!(Line::from(5, 13).to_string(), "v3.5.13 and later");
    }

    #[test]
    fn what_was_brought_back_is_in_later_patches_of_earlier_lines() {
        const GATE: EtcdGate =
            EtcdGate::since(6, 0).and_in(&[Line::from(4, 31), Line::from(5, 13)]);
        let has = |minor, patch| EtcdVersion::new(minor, patch).has(GATE);
        assert!(has(4, 31) && has(5, 13) && has(6, 0) && has(7, 0));
        assert!(!has(4, 30) && !has(5, 12));
    }
}
