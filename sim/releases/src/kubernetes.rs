//! The releases of Kubernetes.

use wavetank_version::{EtcdVersion, Version};

use crate::etcd;

/// v1.16.15
pub const V1_16: Version = Version::new(16, 15);
/// v1.20.2
pub const V1_20: Version = Version::new(20, 2);
/// v1.36.2
pub const V1_36: Version = Version::new(36, 2);

/// The versions of all releases, the oldest first.
pub const VERSIONS: [Version; Release::TABLE.len()] = {
    let mut versions = [V1_16; Release::TABLE.len()];
    let mut at = 0;
    while at < versions.len() {
        versions[at] = Release::TABLE[at].version;
        at += 1;
    }
    versions
};

/// A release of Kubernetes: what a user can choose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Release {
    /// Its name in scenario files and flags.
    pub name: &'static str,
    /// Which algorithms its processes have, to the patch.
    pub version: Version,
    /// The etcd that it is run with here.
    pub etcd: EtcdVersion,
    /// What sets it apart here, in one line.
    pub about: &'static str,
}

impl Release {
    /// All of them, the oldest first.
    pub const TABLE: &[Release] = &[
        Release {
            name: "v1.16",
            version: V1_16,
            etcd: etcd::OF_V1_20,
            about: "v1.16.15: Endpoints only; the loop begins when /healthz answers",
        },
        Release {
            name: "v1.20",
            version: V1_20,
            etcd: etcd::OF_V1_20,
            about: "v1.20.2: Endpoints and EndpointSlice (v1beta1), /readyz",
        },
        Release {
            name: "v1.36",
            version: V1_36,
            etcd: etcd::LATEST,
            about: "v1.36.2: atomic stop flag, listener closed last, client retries",
        },
    ];

    /// What scenarios are of that name no release: the newest.
    pub const DEFAULT: &Release = &Release::TABLE[Release::TABLE.len() - 1];

    /// The release with this name.
    pub fn named(name: &str) -> Option<&'static Release> {
        Release::TABLE.iter().find(|release| release.name == name)
    }

    /// The release that a version is of, or the last one before it; the oldest for what is older still.
    pub fn of(version: Version) -> &'static Release {
        let not_later = |release: &&Release| release.version <= version;
        let found = Release::TABLE.iter().rev().find(not_later);
        found.unwrap_or(&Release::TABLE[0])
    }

    /// The one before a version; the oldest is its own.
    pub fn before(version: Version) -> &'static Release {
        let earlier = |release: &&Release| release.version < version;
        let found = Release::TABLE.iter().rev().find(earlier);
        found.unwrap_or(&Release::TABLE[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_order_and_named_by_their_versions() {
        assert!(VERSIONS.windows(2).all(|pair| pair[0] < pair[1]));
        for release in Release::TABLE {
            assert_eq!(release.name, release.version.to_string());
            assert_eq!(Release::of(release.version), release);
            assert!(etcd::VERSIONS.contains(&release.etcd), "{}", release.name);
        }
    }

    #[test]
    fn a_version_between_two_is_after_the_older_one() {
        let between = Version::new(28, 0);
        assert_eq!(Release::of(between).version, V1_20);
        assert_eq!(Release::before(between).version, V1_20);
        assert_eq!(Release::before(V1_20).version, V1_16);
        assert_eq!(Release::before(V1_16).version, V1_16);
    }
}
