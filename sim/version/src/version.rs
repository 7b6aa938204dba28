//! Versions of Kubernetes.

use std::fmt;

use crate::{EtcdVersion, Gate};

/// v1.`minor`.`patch` of Kubernetes: selects the algorithms of a process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Version {
    minor: u8,
    patch: u8,
}

impl Version {
    /// After every version that there is: for what is asked without a version, and answered as today.
    pub const LATEST: Version = Version::new(u8::MAX, u8::MAX);

    /// v1.`minor`.`patch`
    pub const fn new(minor: u8, patch: u8) -> Version {
        Version { minor, patch }
    }

    /// To the patch, as servers tell it: `v1.36.2`.
    pub fn git_version(self) -> String {
        format!("v1.{}.{}", self.minor, self.patch)
    }

    /// Is it on this gate's side of the change?
    #[inline]
    pub const fn has(self, gate: Gate) -> bool {
        gate.admits(self)
    }

    /// Is it older than another one? Comparisons of traits cannot be made in constants.
    #[inline]
    pub(crate) const fn is_before(self, other: Version) -> bool {
        self.minor < other.minor || self.minor == other.minor && self.patch < other.patch
    }
}

/// `v1.36`, as upstream names a release line: no two patches of one line are modelled.
impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v1.{}", self.minor)
    }
}

/// A version of Kubernetes or of etcd.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnyVersion {
    /// Of Kubernetes.
    Kubernetes(Version),
    /// Of etcd.
    Etcd(EtcdVersion),
}

impl From<Version> for AnyVersion {
    fn from(version: Version) -> AnyVersion {
        AnyVersion::Kubernetes(version)
    }
}

impl From<EtcdVersion> for AnyVersion {
    fn from(version: EtcdVersion) -> AnyVersion {
        AnyVersion::Etcd(version)
    }
}
