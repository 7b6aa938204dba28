//! A release as a user asks for one: its name says whose it is.

use std::fmt;

use crate::{EtcdRelease, Release};

/// A release of Kubernetes or of etcd.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnyRelease {
    /// Of Kubernetes.
    Kubernetes(Release),
    /// Of etcd.
    Etcd(EtcdRelease),
}

impl AnyRelease {
    /// The release with this name.
    pub fn named(name: &str) -> Option<AnyRelease> {
        let kubernetes = Release::named(name).map(AnyRelease::Kubernetes);
        kubernetes.or_else(|| EtcdRelease::named(name).map(AnyRelease::Etcd))
    }
}

impl fmt::Display for AnyRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AnyRelease::Kubernetes(release) => release.fmt(f),
            AnyRelease::Etcd(release) => release.fmt(f),
        }
    }
}

impl From<Release> for AnyRelease {
    fn from(release: Release) -> AnyRelease {
        AnyRelease::Kubernetes(release)
    }
}

impl From<EtcdRelease> for AnyRelease {
    fn from(release: EtcdRelease) -> AnyRelease {
        AnyRelease::Etcd(release)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_release_is_found_by_its_name() {
        let kubernetes = Release::ALL.into_iter().map(AnyRelease::from);
        let etcd = EtcdRelease::ALL.into_iter().map(AnyRelease::from);
        for release in kubernetes.chain(etcd) {
            assert_eq!(AnyRelease::named(&release.to_string()), Some(release));
        }
    }
}
