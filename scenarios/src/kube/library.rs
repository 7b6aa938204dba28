//! The bundled scenarios and scopes, embedded in the binary.

use wavetank_cluster::Components;

use crate::file::Scenario;

const FILES: [(&str, &str); 10] = [
    ("etcd-storm", include_str!("../../etcd-storm.yaml")),
    (
        "kubernetes-endpoints",
        include_str!("../../kubernetes-endpoints.yaml"),
    ),
    (
        "leader-election",
        include_str!("../../leader-election.yaml"),
    ),
    ("master-count", include_str!("../../master-count.yaml")),
    (
        "no-shutdown-delay",
        include_str!("../../no-shutdown-delay.yaml"),
    ),
    (
        "rolling-upgrade",
        include_str!("../../rolling-upgrade.yaml"),
    ),
    ("service-dual", include_str!("../../service-dual.yaml")),
    ("service-rush", include_str!("../../service-rush.yaml")),
    ("service-storm", include_str!("../../service-storm.yaml")),
    ("watch-storm", include_str!("../../watch-storm.yaml")),
];

/// The bundled scopes of `wavetank check`.
macro_rules! scopes {
    ($($name:literal,)*) => {
        &[$(($name, include_str!(concat!("../../scopes/", $name, ".yaml"))),)*]
    };
}

const SCOPES: &[(&str, &str)] = scopes![
    "cluster-ips-bitmap",
    "cluster-ips-dual",
    "cluster-ips-objects",
    "etcd-compaction",
    "etcd-leases",
    "etcd-members",
    "etcd-old-leader",
    "etcd-progress",
    "etcd-snapshot",
    "etcd-transaction",
    "etcd-watch",
    "external-name",
    "first-address",
    "held-up-removal",
    "identity-stop",
    "informer-start",
    "last-stop-recovery",
    "leader-lease",
    "leader-release",
    "leaderless-caches",
    "lease-endpoints",
    "lease-recovery",
    "master-count-fight",
    "node-ports",
    "reflector",
    "relist",
    "relist-too-large",
    "service-finalizers",
    "service-late-release",
    "service-leaks",
    "service-ports",
    "service-repair",
    "service-repair-objects",
    "service-start",
    "service-type-change",
    "service-updates",
    "service-updates-objects",
    "shared-address",
    "three-lease-endpoints",
    "watch-cache",
    "watch-cache-refill",
    "watch-cache-start",
    "watch-cache-torn-down",
];

/// The text of a bundled scenario or scope.
pub fn text(name: &str) -> Option<&'static str> {
    let mut all = FILES.iter().chain(SCOPES);
    let found = all.find(|(bundled, _)| *bundled == name)?;
    Some(found.1)
}

/// All bundled scenarios.
///
/// # Panics
/// If one is wrong; a test reads them all.
pub fn bundled(components: &Components) -> Vec<Scenario> {
    parsed(&FILES, components)
}

/// All bundled scopes.
///
/// # Panics
/// If one is wrong; a test reads them all.
pub fn scopes(components: &Components) -> Vec<Scenario> {
    parsed(SCOPES, components)
}

fn parsed(files: &[(&str, &str)], components: &Components) -> Vec<Scenario> {
    let parse = |(name, text): &(&str, &str)| {
        let read = super::read(&format!("{name}.yaml"), text, components);
        read.unwrap_or_else(|report| panic!("{report}"))
    };
    files.iter().map(parse).collect()
}
