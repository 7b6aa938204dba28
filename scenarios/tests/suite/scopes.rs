//! What each scope is for: what it says that it shows is found, each on its own in a world that is mended
//! otherwise, and what is found happens again when the path is run. What service-repair shows takes longer than
//! a test should (`wavetank check service-repair --fixed --each`).

use wavetank::catalogue::{Catalogue as _, Composition};
use wavetank::kube::Kube;
use wavetank::search::Search;
use wavetank_models::{Ended, Explorer, Recovery, Reduction, retrace};

/// What is turned, and the property that is violated then.
fn found(scope: &str) -> String {
    let mended = Composition {
        fixed: true,
        ..Composition::default()
    };
    let case = Kube.open(scope, &mended).expect("it is bundled");
    let shows = case.scope().expect("it is a scope").shows;
    let property = |switch: &String| {
        let case = case.flipped(&[switch]).expect("it is a switch");
        let search = Search::of(case.as_ref()).expect("it is a scope");
        let recovery = search.calm.map(Recovery::within);
        let starts = search.starts();
        let explored = Explorer {
            model: &search.model,
            recovery: recovery.as_ref(),
            reduction: Reduction::ORDERS,
            threads: 1,
            watch: &|_| true,
        }
        .run_from(starts.clone());
        let Ended::Violated(found) = explored.ended else {
            panic!("{scope} does not show {switch}");
        };
        let start = &starts[found.start];
        let again = retrace(&search.model, recovery.as_ref(), start, &found.path);
        let again = again.violated.expect("it happens when it is run");
        assert!(again.is_like(&found.violation), "{scope}, {switch}");
        found.violation.property
    };
    let lines = shows
        .iter()
        .map(|switch| format!("{switch}: {}\n", property(switch)));
    lines.collect()
}

const SNAPSHOTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../snapshots/scopes");

macro_rules! shown {
    ($($test:ident: $scope:literal,)*) => {
        $(
            #[test]
            fn $test() {
                let mut settings = insta::Settings::clone_current();
                settings.set_snapshot_path(SNAPSHOTS);
                settings.set_prepend_module_to_snapshot(false);
                settings.set_omit_expression(true);
                settings.bind(|| insta::assert_snapshot!($scope, found($scope)));
            }
        )*
        const SHOWN: &[&str] = &[$($scope),*];
    };
}

shown! {
    cluster_ips_bitmap: "cluster-ips-bitmap",
    cluster_ips_dual: "cluster-ips-dual",
    cluster_ips_objects: "cluster-ips-objects",
    etcd_compaction: "etcd-compaction",
    etcd_leases: "etcd-leases",
    etcd_members: "etcd-members",
    etcd_progress: "etcd-progress",
    etcd_snapshot: "etcd-snapshot",
    etcd_watch: "etcd-watch",
    external_name: "external-name",
    first_address: "first-address",
    held_up_removal: "held-up-removal",
    identity_stop: "identity-stop",
    informer_start: "informer-start",
    last_stop_recovery: "last-stop-recovery",
    leader_lease: "leader-lease",
    leader_release: "leader-release",
    leaderless_caches: "leaderless-caches",
    lease_endpoints: "lease-endpoints",
    lease_recovery: "lease-recovery",
    master_count_fight: "master-count-fight",
    node_ports: "node-ports",
    reflector: "reflector",
    relist: "relist",
    service_finalizers: "service-finalizers",
    service_late_release: "service-late-release",
    service_leaks: "service-leaks",
    service_ports: "service-ports",
    service_repair_objects: "service-repair-objects",
    service_start: "service-start",
    service_type_change: "service-type-change",
    service_updates_objects: "service-updates-objects",
    service_updates: "service-updates",
    shared_address: "shared-address",
    three_lease_endpoints: "three-lease-endpoints",
    watch_cache_refill: "watch-cache-refill",
    watch_cache_start: "watch-cache-start",
    watch_cache_torn_down: "watch-cache-torn-down",
    watch_cache: "watch-cache",
}

#[test]
fn every_scope_that_shows_something_is_here() {
    for scope in Kube.scopes() {
        let case = Kube.open(&scope.name, &Composition::default());
        let shows = case
            .expect("it is bundled")
            .scope()
            .expect("it is a scope")
            .shows;
        let is_here = SHOWN.contains(&&*scope.name) || scope.name == "service-repair";
        assert!(shows.is_empty() || is_here, "{}", scope.name);
    }
}
