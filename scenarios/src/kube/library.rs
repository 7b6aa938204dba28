//! The bundled scenarios, embedded in the binary.

use crate::file::Scenario;

const FILES: [(&str, &str); 7] = [
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
    ("service-storm", include_str!("../../service-storm.yaml")),
    ("watch-storm", include_str!("../../watch-storm.yaml")),
];

/// The text of a bundled scenario.
pub fn text(name: &str) -> Option<&'static str> {
    let found = FILES.iter().find(|(bundled, _)| *bundled == name)?;
    Some(found.1)
}

/// All bundled scenarios.
///
/// # Panics
/// If one is wrong; a test reads them all.
pub fn bundled() -> Vec<Scenario> {
    let parse = |(name, text): &(&str, &str)| {
        super::read(&format!("{name}.yaml"), text).unwrap_or_else(|report| panic!("{report}"))
    };
    FILES.iter().map(parse).collect()
}
