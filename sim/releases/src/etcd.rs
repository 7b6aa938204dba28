//! The releases of etcd.

use wavetank_version::EtcdVersion;

/// 3.`minor`.`patch`
const fn v3(minor: u8, patch: u8) -> EtcdVersion {
    EtcdVersion::new(minor, patch)
}

/// Those that can be named: what Debian and PyPI ship, what Kubernetes recommends, and those with which something
/// changed.
pub const VERSIONS: [EtcdVersion; 20] = [
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
pub const LATEST: EtcdVersion = v3(6, 13);

/// What the recordings of real servers were made with whose timing is compared.
pub const OF_RECORDINGS: EtcdVersion = v3(4, 23);

/// kubeadm's default for v1.20, and the nearest that is modelled to that for v1.16, 3.3.15.
pub(crate) const OF_V1_20: EtcdVersion = v3(4, 13);

/// The version with this name, as `v3.5.21`.
pub fn named(name: &str) -> Option<EtcdVersion> {
    VERSIONS.into_iter().find(|v| v.to_string() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_in_order() {
        assert!(VERSIONS.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(VERSIONS.last(), Some(&LATEST));
        assert!(VERSIONS.contains(&OF_V1_20) && VERSIONS.contains(&OF_RECORDINGS));
        assert_eq!(named("v3.5.21"), Some(v3(5, 21)));
        assert_eq!(named("v3.5.99"), None);
    }
}
