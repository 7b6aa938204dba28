//! What a defect or a fix is.

use std::{fmt, ptr};

use crate::{AnyVersion, Gate, Line};

/// A known bug, or the fix of a finding: declared once, beside the algorithm that it changes.
///
/// ```
/// use wavetank_version::{Defect, Gate, Version};
///
/// const REQUIRES_LEADER: Gate = Gate::since(1, 19);
/// const WATCH_WITHOUT_LEADER: Defect = Defect::known(
///     "watch-without-leader",
///     "k/k#89488, PR #89881 (1.19)",
///     "on a member without a leader a cache stands still",
/// )
/// .until(REQUIRES_LEADER);
///
/// assert!(WATCH_WITHOUT_LEADER.ships_with(Version::new(16, 15)));
/// assert!(!WATCH_WITHOUT_LEADER.ships_with(Version::new(20, 2)));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Defect {
    /// Its name in flags, files and traces.
    pub name: &'static str,
    /// Bug or fix.
    pub kind: Kind,
    /// Where it is described.
    pub source: &'static str,
    /// What it does when it is on, in one line.
    pub about: &'static str,
    /// The option without which it has no place.
    pub needs: Option<OptionIs>,
    /// The options without which it has a place but does not show: all of them.
    pub shows_with: [Option<OptionIs>; 2],
    /// It has a place but does not show where all run the same release.
    pub shows_between_releases: bool,
    of: Of,
}

/// Of whose versions a defect is.
#[derive(Clone, Copy, Debug)]
enum Of {
    /// Of Kubernetes: whose algorithms have its place, and which shipped with it.
    Kubernetes { fits: Gate, ships: Gate },
    /// Of etcd, which has its place in every version: which shipped with it.
    Etcd { ships: &'static [Line] },
}

/// What a defect is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A known bug.
    Defect,
    /// A known bug that upstream has not fixed: off is our proposal.
    OpenDefect,
    /// The fix of a finding: on is our proposal.
    Fix,
}

/// An option of a scenario that has one of these values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OptionIs {
    /// Its name in scenario files.
    pub option: &'static str,
    /// The values.
    pub one_of: &'static [&'static str],
}

impl fmt::Display for OptionIs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}: {}`", self.option, self.one_of.join("` or `"))
    }
}

impl Defect {
    /// A known bug of Kubernetes.
    pub const fn known(name: &'static str, source: &'static str, about: &'static str) -> Defect {
        Defect::of(name, source, about, Kind::Defect)
    }

    /// A known bug of Kubernetes that is in every release.
    pub const fn open(name: &'static str, source: &'static str, about: &'static str) -> Defect {
        Defect::of(name, source, about, Kind::OpenDefect)
    }

    /// The fix of a finding, which no release has.
    pub const fn fix(name: &'static str, source: &'static str, about: &'static str) -> Defect {
        Defect::of(name, source, about, Kind::Fix).ships(Gate::NEVER)
    }

    const fn of(
        name: &'static str,
        source: &'static str,
        about: &'static str,
        kind: Kind,
    ) -> Defect {
        Defect {
            name,
            kind,
            source,
            about,
            needs: None,
            shows_with: [None; 2],
            shows_between_releases: false,
            of: Of::Kubernetes {
                fits: Gate::ALWAYS,
                ships: Gate::ALWAYS,
            },
        }
    }

    /// Of etcd: these versions shipped with it.
    pub const fn of_etcd(self, ships: &'static [Line]) -> Defect {
        Defect {
            of: Of::Etcd { ships },
            ..self
        }
    }

    /// Only these versions shipped with it.
    ///
    /// # Panics
    /// Of etcd, whose versions are others.
    pub const fn ships(self, ships: Gate) -> Defect {
        let Of::Kubernetes { fits, .. } = self.of else {
            panic!("it is of etcd");
        };
        Defect {
            of: Of::Kubernetes { fits, ships },
            ..self
        }
    }

    /// It was fixed by this change: all versions before it shipped with it.
    pub const fn until(self, fixed: Gate) -> Defect {
        self.ships(fixed.before())
    }

    /// Only the algorithms of these versions have its place.
    ///
    /// # Panics
    /// Of etcd, whose versions are others.
    pub const fn fits_only(self, fits: Gate) -> Defect {
        let Of::Kubernetes { ships, .. } = self.of else {
            panic!("it is of etcd");
        };
        Defect {
            of: Of::Kubernetes {
                fits,
                ships: ships.and(fits),
            },
            ..self
        }
    }

    /// It has a place only with one of these values of an option.
    pub const fn needs(self, option: &'static str, one_of: &'static [&'static str]) -> Defect {
        Defect {
            needs: Some(OptionIs { option, one_of }),
            ..self
        }
    }

    /// It shows only with one of these values of an option. This may be said of two options.
    ///
    /// # Panics
    /// If it is said of a third one.
    pub const fn shows_with(self, option: &'static str, one_of: &'static [&'static str]) -> Defect {
        let wanted = Some(OptionIs { option, one_of });
        let shows_with = match self.shows_with {
            [None, _] => [wanted, None],
            [first, None] => [first, wanted],
            _ => panic!("it shows with two options already"),
        };
        Defect { shows_with, ..self }
    }

    /// It shows only where processes of several releases run.
    pub const fn shows_between_releases(self) -> Defect {
        Defect {
            shows_between_releases: true,
            ..self
        }
    }

    /// Is it of etcd?
    pub fn is_of_etcd(&self) -> bool {
        matches!(self.of, Of::Etcd { .. })
    }

    /// Is it of whom this is a version?
    pub(crate) fn concerns(&self, version: AnyVersion) -> bool {
        matches!(version, AnyVersion::Etcd(_)) == self.is_of_etcd()
    }

    /// Has the algorithm of this version its place?
    pub fn fits(&self, version: impl Into<AnyVersion>) -> bool {
        match (self.of, version.into()) {
            (Of::Kubernetes { fits, .. }, AnyVersion::Kubernetes(version)) => version.has(fits),
            (Of::Etcd { .. }, AnyVersion::Etcd(_)) => true,
            _ => false,
        }
    }

    /// Did this version ship with it?
    pub fn ships_with(&self, version: impl Into<AnyVersion>) -> bool {
        match (self.of, version.into()) {
            (Of::Kubernetes { ships, .. }, AnyVersion::Kubernetes(version)) => version.has(ships),
            (Of::Etcd { ships }, AnyVersion::Etcd(version)) => {
                ships.iter().any(|line| line.contains(version))
            }
            _ => false,
        }
    }

    /// Of etcd: the lines that shipped with it.
    pub fn etcd_lines(&self) -> &'static [Line] {
        match self.of {
            Of::Kubernetes { .. } => &[],
            Of::Etcd { ships } => ships,
        }
    }

    /// Is it the same declaration?
    pub fn is(&self, other: &Defect) -> bool {
        ptr::eq(self, other) || self.name == other.name
    }
}

/// By hand: a defect has a name of its own, which is enough.
impl PartialEq for Defect {
    fn eq(&self, other: &Defect) -> bool {
        self.is(other)
    }
}

impl Eq for Defect {}
