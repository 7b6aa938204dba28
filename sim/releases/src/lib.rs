//! The releases that a user can choose, a row each: the one place that names them. Components know gates only, so none
//! of them depends on this crate but for its tests: a new release is a row here.

pub mod etcd;
mod kubernetes;

pub use kubernetes::{Release, V1_16, V1_20, V1_36, VERSIONS};

use std::fmt;

use wavetank_version::EtcdVersion;

/// A release as a user asks for one: its name says whose it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnyRelease {
    /// Of Kubernetes.
    Kubernetes(&'static Release),
    /// Of etcd.
    Etcd(EtcdVersion),
}

impl AnyRelease {
    /// The release with this name.
    pub fn named(name: &str) -> Option<AnyRelease> {
        let kubernetes = Release::named(name).map(AnyRelease::Kubernetes);
        kubernetes.or_else(|| etcd::named(name).map(AnyRelease::Etcd))
    }
}

impl fmt::Display for AnyRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AnyRelease::Kubernetes(release) => f.write_str(release.name),
            AnyRelease::Etcd(version) => version.fmt(f),
        }
    }
}

impl From<&'static Release> for AnyRelease {
    fn from(release: &'static Release) -> AnyRelease {
        AnyRelease::Kubernetes(release)
    }
}

impl From<EtcdVersion> for AnyRelease {
    fn from(version: EtcdVersion) -> AnyRelease {
        AnyRelease::Etcd(version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_release_is_found_by_its_name() {
        let kubernetes = Release::TABLE.iter().map(AnyRelease::from);
        let etcd = etcd::VERSIONS.into_iter().map(AnyRelease::from);
        for release in kubernetes.chain(etcd) {
            assert_eq!(AnyRelease::named(&release.to_string()), Some(release));
        }
    }
}
