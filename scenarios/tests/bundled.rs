//! The bundled scenarios are clean in every release that fits them, once all known problems are
//! mended. `WAVETANK_SEED` and `WAVETANK_SEEDS` choose other seeds.

use wavetank::case::{Case, run_seed};
use wavetank::catalogue::{Catalogue as _, Composition};
use wavetank::kube::{self, Kube};
use wavetank_engine::drive::Ending;
use wavetank_engine::trace::Record;

fn fixed(scenario: &str, release: &str) -> Box<dyn Case> {
    let composition = Composition {
        release: Some(release.to_owned()),
        fixed: true,
        ..Composition::default()
    };
    let opened = Kube.open(scenario, &composition);
    opened.unwrap_or_else(|why| panic!("{why}"))
}

wavetank::seeds!(etcd_storm_v3_4_23, fixed("etcd-storm", "v3.4.23"), 0..4);
wavetank::seeds!(etcd_storm_v3_5_21, fixed("etcd-storm", "v3.5.21"), 0..4);
wavetank::seeds!(etcd_storm_v3_6_13, fixed("etcd-storm", "v3.6.13"), 0..4);
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

/// A plain test: what is rarely put to the test in it takes more seeds than a test has time for.
#[test]
fn watch_storm_is_clean_when_all_is_mended() {
    for release in ["v1.16", "v1.20", "v1.36"] {
        let case = fixed("watch-storm", release);
        for seed in 0..2 {
            let run = run_seed(case.as_ref(), seed, None, Record::default());
            let violated = matches!(run.ending, Ending::Violated(_));
            assert!(!violated, "{release}, seed {seed}: {:?}", run.ending);
        }
    }
}

#[test]
fn every_bundled_scenario_is_here() {
    let names: Vec<String> = kube::bundled().into_iter().map(|s| s.name).collect();
    assert_eq!(
        names,
        [
            "etcd-storm",
            "kubernetes-endpoints",
            "master-count",
            "no-shutdown-delay",
            "watch-storm"
        ]
    );
}
