//! The bundled scenarios are clean in every release that fits them, once all known problems are
//! fixed. `WAVETANK_SEED` and `WAVETANK_SEEDS` choose other seeds.

use std::collections::BTreeSet;

use wavetank::case::Case;
use wavetank::catalogue::{Catalogue as _, Composition};
use wavetank::kube::Kube;
use wavetank::sweep::{Sweep, Unwatched};

use crate::support::pins::when_all_is_fixed;

fn fixed(scenario: &str, release: &str) -> Box<dyn Case> {
    let composition = Composition {
        release: Some(release.to_owned()),
        fixed: true,
        ..Composition::default()
    };
    let opened = Kube::default().open(scenario, &composition);
    opened.unwrap_or_else(|why| panic!("{why}"))
}

wavetank::seeds!(cleanup_storm_v1_36, fixed("cleanup-storm", "v1.36"), 30..40);
wavetank::seeds!(
    conversion_storm_v1_36,
    fixed("conversion-storm", "v1.36"),
    0..8
);
wavetank::seeds!(crd_storm_v1_36, fixed("crd-storm", "v1.36"), 0..12);
wavetank::seeds!(etcd_storm_v3_4_23, fixed("etcd-storm", "v3.4.23"), 0..4);
wavetank::seeds!(etcd_storm_v3_5_21, fixed("etcd-storm", "v3.5.21"), 0..4);
wavetank::seeds!(etcd_storm_v3_6_13, fixed("etcd-storm", "v3.6.13"), 0..4);
wavetank::seeds!(job_storm_v1_36, fixed("job-storm", "v1.36"), 12..18);
wavetank::seeds!(
    kubernetes_endpoints_v1_16,
    fixed("kubernetes-endpoints", "v1.16"),
    0..12
);
wavetank::seeds!(
    kubernetes_endpoints_v1_20,
    fixed("kubernetes-endpoints", "v1.20"),
    0..12
);
wavetank::seeds!(
    kubernetes_endpoints_v1_36,
    fixed("kubernetes-endpoints", "v1.36"),
    0..12
);
wavetank::seeds!(
    leader_election_v1_16,
    fixed("leader-election", "v1.16"),
    0..12
);
wavetank::seeds!(
    leader_election_v1_20,
    fixed("leader-election", "v1.20"),
    0..12
);
wavetank::seeds!(
    leader_election_v1_36,
    fixed("leader-election", "v1.36"),
    0..12
);
wavetank::seeds!(master_count_v1_16, fixed("master-count", "v1.16"), 0..12);
wavetank::seeds!(master_count_v1_20, fixed("master-count", "v1.20"), 0..12);
wavetank::seeds!(master_count_v1_36, fixed("master-count", "v1.36"), 0..12);
wavetank::seeds!(
    no_shutdown_delay_v1_16,
    fixed("no-shutdown-delay", "v1.16"),
    0..12
);
wavetank::seeds!(
    no_shutdown_delay_v1_20,
    fixed("no-shutdown-delay", "v1.20"),
    0..12
);
wavetank::seeds!(
    no_shutdown_delay_v1_36,
    fixed("no-shutdown-delay", "v1.36"),
    0..12
);

wavetank::seeds!(
    rolling_upgrade_v1_16,
    fixed("rolling-upgrade", "v1.16"),
    0..12
);
wavetank::seeds!(
    rolling_upgrade_v1_20,
    fixed("rolling-upgrade", "v1.20"),
    0..12
);
wavetank::seeds!(
    rolling_upgrade_v1_36,
    fixed("rolling-upgrade", "v1.36"),
    0..12
);

/// Two seeds put everything to the test but a cache whose member stays without a leader and clients that are
/// refused, a list for 44 s or an update: `watch_defects.rs` has seeds for them.
#[test]
fn watch_storm_is_clean_when_all_is_mended() {
    for release in ["v1.16", "v1.20", "v1.36"] {
        let case = fixed("watch-storm", release);
        let out = tempfile::tempdir().expect("a folder");
        let sweep = Sweep::new(case.as_ref(), 0..2, out.path());
        let swept = sweep.run(&Unwatched).expect("it runs");
        assert!(
            swept.candidates.is_empty(),
            "{release}: {:?}",
            swept.candidates
        );
        let rare = [
            "leaderless-caches-end",
            "refused-swap-is-outdated",
            "too-large-falls-back",
        ];
        let untested = swept.untested();
        assert!(
            untested.iter().all(|property| rare.contains(property)),
            "{release}: {untested:?}"
        );
    }
}

wavetank::seeds!(service_dual_v1_16, fixed("service-dual", "v1.16"), 4..8);
wavetank::seeds!(service_dual_v1_20, fixed("service-dual", "v1.20"), 4..8);
wavetank::seeds!(service_dual_v1_36, fixed("service-dual", "v1.36"), 4..8);
wavetank::seeds!(service_rush_v1_16, fixed("service-rush", "v1.16"), 0..3);
wavetank::seeds!(service_rush_v1_20, fixed("service-rush", "v1.20"), 0..3);
wavetank::seeds!(service_rush_v1_36, fixed("service-rush", "v1.36"), 0..3);
wavetank::seeds!(service_storm_v1_16, fixed("service-storm", "v1.16"), 0..6);
wavetank::seeds!(service_storm_v1_20, fixed("service-storm", "v1.20"), 0..6);
wavetank::seeds!(service_storm_v1_36, fixed("service-storm", "v1.36"), 0..16);

/// So many seeds of each of the others, at least.
const SEEDS: usize = 6;

/// Scenarios that need no line of their own here: the seeds to which tests are pinned, with what has to be fixed.
#[test]
fn others_are_clean_when_all_is_mended() {
    let here = include_str!("bundled.rs");
    let names = Kube::default().bundled().into_iter();
    let names = names.map(|scenario| scenario.name);
    for name in names.filter(|name| !here.contains(&format!("fixed(\"{name}\""))) {
        let seeds = when_all_is_fixed(&name, "v1.36", SEEDS);
        for (seed, when_fixed) in &seeds {
            assert_eq!(when_fixed.violated, None, "{name}, seed {seed}");
        }
        let untested = seeds.into_iter().map(|(_, own)| own.untested);
        let untested = untested.reduce(|all, own| &all & &own);
        assert_eq!(untested, Some(BTreeSet::new()), "{name}");
    }
}
