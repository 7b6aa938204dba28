//! What each scope is for: the defects that it finds when they are in an otherwise mended world, and that
//! what it finds happens again when the path is run. What service-repair finds takes longer than a test should
//! (`wavetank check service-repair --fixed --defect leak-is-freed-at-once`).

use wavetank::catalogue::{Catalogue as _, Composition};
use wavetank::kube::Kube;
use wavetank::search::Search;
use wavetank_models::{Ended, Explorer, Recovery, Reduction, retrace};

/// The scope, mended but for this defect, or for this fix.
fn search(scope: &str, switch: &str) -> Search {
    let (on, off) = match switch.starts_with("fix-") {
        true => (vec![], vec![switch.to_owned()]),
        false => (vec![switch.to_owned()], vec![]),
    };
    let composition = Composition {
        fixed: true,
        defects: on,
        without: off,
        ..Composition::default()
    };
    let case = Kube.open(scope, &composition).expect("it is bundled");
    Search::of(case.as_ref()).expect("it is a scope")
}

#[track_caller]
fn finds(scope: &str, switches: &[&str], property: &str) {
    for switch in switches {
        let search = search(scope, switch);
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
            panic!("{scope} does not find {switch}");
        };
        assert_eq!(found.violation.property, property, "{scope}, {switch}");
        let start = &starts[found.start];
        let again = retrace(&search.model, recovery.as_ref(), start, &found.path);
        let again = again.violated.expect("it happens when it is run");
        assert!(again.is_like(&found.violation), "{scope}, {switch}");
    }
}

const REMOVAL: [&str; 4] = [
    "last-apiserver-keeps-address",
    "listener-closes-before-removal",
    "master-lease-double-slash",
    "fix-retry-remove-endpoints",
];

#[test]
fn lease_endpoints() {
    finds("lease-endpoints", &REMOVAL, "stopped-address-is-removed");
    let three = "three-lease-endpoints";
    finds(three, &REMOVAL, "stopped-address-is-removed");
}

#[test]
fn recovery_of_lease_endpoints() {
    finds(
        "last-stop-recovery",
        &REMOVAL,
        "departed-address-stays-away",
    );
    let without_another = &REMOVAL[1..3];
    finds(
        "lease-recovery",
        without_another,
        "stopped-address-is-removed",
    );
    let count = ["master-count-keeps-crashed"];
    finds("master-count-fight", &count, "quiet-when-stable");
}

#[test]
fn leaders() {
    let unnoticed = ["lost-leadership-goes-unnoticed", "fix-count-from-request"];
    finds("leader-lease", &unnoticed, "leader-stops-in-time");
}

#[test]
fn watches() {
    for scope in ["reflector", "watch-cache"] {
        finds(
            scope,
            &["deleted-at-old-revision"],
            "informer-watch-ordered",
        );
    }
}

#[test]
fn addresses_and_ports() {
    let first = ["first-address-is-given-away"];
    finds(
        "first-address",
        &first,
        "kubernetes-keeps-the-first-address",
    );
    finds(
        "service-updates",
        &["layer-reads-apart"],
        "used-is-allocated",
    );
    finds(
        "service-ports",
        &["shared-port-is-released"],
        "used-is-allocated",
    );
    finds(
        "service-ports",
        &["fix-release-port-once"],
        "node-ports-are-unique",
    );
}

#[test]
fn finalizers() {
    let scope = "service-finalizers";
    finds(
        scope,
        &["delete-gives-up-early", "fix-release-once"],
        "used-is-allocated",
    );
    let leaks = ["finalizer-update-leaks", "status-finalizer-leaks"];
    finds(scope, &leaks, "service-gives-up-all");
}
