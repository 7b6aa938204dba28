//! The bundled scenarios and scopes, embedded in the binary.

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
const SCOPES: [(&str, &str); 17] = [
    (
        "cluster-ips-bitmap",
        include_str!("../../scopes/cluster-ips-bitmap.yaml"),
    ),
    (
        "cluster-ips-objects",
        include_str!("../../scopes/cluster-ips-objects.yaml"),
    ),
    ("etcd-watch", include_str!("../../scopes/etcd-watch.yaml")),
    (
        "first-address",
        include_str!("../../scopes/first-address.yaml"),
    ),
    (
        "last-stop-recovery",
        include_str!("../../scopes/last-stop-recovery.yaml"),
    ),
    (
        "leader-lease",
        include_str!("../../scopes/leader-lease.yaml"),
    ),
    (
        "lease-endpoints",
        include_str!("../../scopes/lease-endpoints.yaml"),
    ),
    (
        "lease-recovery",
        include_str!("../../scopes/lease-recovery.yaml"),
    ),
    (
        "master-count-fight",
        include_str!("../../scopes/master-count-fight.yaml"),
    ),
    ("node-ports", include_str!("../../scopes/node-ports.yaml")),
    ("reflector", include_str!("../../scopes/reflector.yaml")),
    (
        "service-finalizers",
        include_str!("../../scopes/service-finalizers.yaml"),
    ),
    (
        "service-ports",
        include_str!("../../scopes/service-ports.yaml"),
    ),
    (
        "service-repair",
        include_str!("../../scopes/service-repair.yaml"),
    ),
    (
        "service-updates",
        include_str!("../../scopes/service-updates.yaml"),
    ),
    (
        "three-lease-endpoints",
        include_str!("../../scopes/three-lease-endpoints.yaml"),
    ),
    ("watch-cache", include_str!("../../scopes/watch-cache.yaml")),
];

/// The text of a bundled scenario or scope.
pub fn text(name: &str) -> Option<&'static str> {
    let mut all = FILES.iter().chain(&SCOPES);
    let found = all.find(|(bundled, _)| *bundled == name)?;
    Some(found.1)
}

/// All bundled scenarios.
///
/// # Panics
/// If one is wrong; a test reads them all.
pub fn bundled() -> Vec<Scenario> {
    parsed(&FILES)
}

/// All bundled scopes.
///
/// # Panics
/// If one is wrong; a test reads them all.
pub fn scopes() -> Vec<Scenario> {
    parsed(&SCOPES)
}

fn parsed(files: &[(&str, &str)]) -> Vec<Scenario> {
    let parse = |(name, text): &(&str, &str)| {
        super::read(&format!("{name}.yaml"), text).unwrap_or_else(|report| panic!("{report}"))
    };
    files.iter().map(parse).collect()
}
