//! Every defect and fix: with the defect (or without the fix) a violation of the property that it breaks is
//! found and blamed on that one and no other, and the same seeds are clean when all is fixed.

use crate::support;

use std::ops::Range;
use std::path::Path;

use wavetank::attribution::{Attribution, Depth, attribute};
use wavetank::case::Case;
use wavetank::catalogue::Catalogue as _;
use wavetank::file::Scenario;
use wavetank::kube::Kube;
use wavetank::sweep::{Ended, Sweep, Swept, Unwatched};
use wavetank::trace_file;
use wavetank_cluster::Components;
use wavetank_releases::Release;
use wavetank_version::{Composition, Defect, Kind};

use support::scratch;

/// Where a defect, or the lack of a fix, shows.
struct Row {
    defect: &'static str,
    /// A bundled scenario, or one of our own.
    scenario: &'static str,
    /// Several times as many as it takes to find it.
    seeds: Range<u64>,
    property: &'static str,
}

/// Scenarios for what the storm of the bundled ones reaches in few seeds only.
const OWN: [(&str, &str); 3] = [
    // Now and then one removal changes the Endpoints between the read and the write of another.
    (
        "rolling-stop",
        "
name: rolling-stop
about: Two apiservers are stopped one right after the other, a third stays; links are slow.
topology: {etcd: 1, apiservers: 3}
options: {endpoint-reconciler-type: lease, shutdown-delay: 5s}
network: {latency: 1ms..20ms}
storm: 40s
calm: 200s
plan:
  - {at: 30s, fault: {stop: {process: a1}}}
  - {at: 30060ms, fault: {stop: {process: a2}}}
properties: [stopped-address-is-removed, endpoints-converge]
",
    ),
    (
        "stop-without-etcd",
        "
name: stop-without-etcd
about: An apiserver is stopped while it does not reach etcd.
topology: {etcd: 1, apiservers: 2}
options: {endpoint-reconciler-type: lease, shutdown-delay: 5s}
storm: 70s
calm: 200s
plan:
  - {at: 30s, fault: {stall: {from: a1, to: etcd}}}
  - {at: 31s, fault: {stop: {process: a1}}}
properties: [shutdown-ends, endpoints-converge]
",
    ),
    (
        "sleepy-loop",
        "
name: sleepy-loop
about: |
  The only apiserver does not renew its lease, and is stopped when that has expired. (Of several,
  another one would have removed the address by then.)
topology: {etcd: 1, apiservers: 1}
options: {endpoint-reconciler-type: lease, shutdown-delay: 5s}
storm: 60s
calm: 20s
plan:
  - {at: 25s, fault: {deschedule: {process: a1, routine: reconcile-endpoints#0}}}
  - {at: 45s, fault: {stop: {process: a1}}}
properties: [stopped-address-is-removed]
",
    ),
];

const ROWS: [Row; 11] = [
    Row {
        defect: "last-apiserver-keeps-address",
        scenario: "kubernetes-endpoints",
        seeds: 0..60,
        property: "stopped-address-is-removed",
    },
    Row {
        defect: "listener-closes-before-removal",
        scenario: "no-shutdown-delay",
        seeds: 0..15,
        property: "stopped-address-is-removed",
    },
    Row {
        defect: "master-lease-double-slash",
        scenario: "kubernetes-endpoints",
        seeds: 0..25,
        property: "stopped-address-is-removed",
    },
    Row {
        defect: "remove-endpoints-unbounded",
        scenario: "stop-without-etcd",
        seeds: 0..10,
        property: "shutdown-ends",
    },
    Row {
        defect: "listed-before-ready",
        scenario: "kubernetes-endpoints",
        seeds: 0..1,
        property: "only-ready-are-listed",
    },
    Row {
        defect: "master-lease-too-long",
        scenario: "kubernetes-endpoints",
        seeds: 0..30,
        property: "endpoints-converge",
    },
    Row {
        defect: "master-count-keeps-crashed",
        scenario: "master-count",
        seeds: 0..50,
        property: "endpoints-converge",
    },
    Row {
        defect: "fix-retry-remove-endpoints",
        scenario: "rolling-stop",
        seeds: 0..60,
        property: "stopped-address-is-removed",
    },
    Row {
        defect: "fix-remove-absent-lease",
        scenario: "sleepy-loop",
        seeds: 0..10,
        property: "stopped-address-is-removed",
    },
    Row {
        defect: "fix-leave-shared-lease",
        scenario: "rolling-upgrade",
        seeds: 0..12,
        property: "endpoints-are-not-emptied",
    },
    Row {
        defect: "stored-in-newest-version",
        scenario: "rolling-upgrade",
        seeds: 0..12,
        property: "stored-objects-can-be-read",
    },
];

impl Row {
    fn of(defect: &Defect) -> &'static Row {
        let found = ROWS.iter().find(|row| row.defect == defect.name);
        found.expect("every defect has a row")
    }

    fn scenario(&self) -> Scenario {
        if let Some((name, text)) = OWN.iter().find(|(name, _)| *name == self.scenario) {
            return Kube::default()
                .read(&format!("{name}.yaml"), text)
                .unwrap_or_else(|why| panic!("{why}"));
        }
        let mut all = Kube::default().bundled().into_iter();
        let found = all.find(|scenario| scenario.name == self.scenario);
        found.expect("it is bundled")
    }

    fn sweep(&self, release: &'static Release, composition: Composition) -> Swept {
        let case = Kube::default()
            .job(self.scenario(), Some(release.into()), composition)
            .unwrap_or_else(|why| panic!("{why}"));
        let out = scratch(&format!("defect-{}-{}", self.defect, release.name));
        let sweep = Sweep {
            keep_going: true,
            ..Sweep::new(&case as &dyn Case, self.seeds.clone(), &out)
        };
        let swept = sweep.run(&Unwatched).expect("a sweep");
        assert_eq!(swept.ended, Ended::AllSeeds);
        swept
    }
}

/// It takes more coincidences than seeds reach: `models/tests/held_up.rs` searches for it, and what
/// it found is kept as a trace.
#[test]
fn fix_stop_under_lock() {
    let name = "../snapshots/traces/finding-3-lease-written-again.trace";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    let trace = trace_file::read(&path).expect("it is kept");
    let case = Kube::default()
        .reopen(&trace.head.identity)
        .expect("it opens");
    let own = Attribution::Each(vec!["fix-stop-under-lock".to_owned()]);
    assert_eq!(attribute(case.as_ref(), &trace, Depth::Each), own);
}

/// All that is fixed, but for this one.
fn broken(defect: &'static Defect) -> Composition {
    let (on, off) = match defect.kind {
        Kind::Fix => (vec![], vec![defect]),
        Kind::Defect | Kind::OpenDefect => (vec![defect], vec![]),
    };
    Composition {
        fixed: true,
        on,
        off,
    }
}

fn fixed() -> Composition {
    Composition {
        fixed: true,
        ..Composition::default()
    }
}

/// In every release that has a place for it.
fn is_found_and_blamed(name: &str) {
    let defect = Components::default().defect(name).expect("it is declared");
    let row = Row::of(defect);
    let releases = Release::TABLE.iter();
    for release in releases.filter(|release| defect.fits(release.version)) {
        let of = release.name;
        let swept = row.sweep(release, broken(defect));
        let of_property = swept
            .candidates
            .iter()
            .filter(|candidate| candidate.first.violation.property == row.property);
        let seeds: u64 = of_property.map(|candidate| candidate.seeds).sum();
        println!("{name} in {of}: {seeds} of {} seeds", row.seeds.end);
        assert!(seeds > 0, "{name} in {of}: {:?}", swept.candidates);
        for candidate in &swept.candidates {
            let blame = &candidate.first.attribution;
            let own = Attribution::Each(vec![name.to_owned()]);
            assert_eq!(*blame, own, "{of}: {:?}", candidate.first.violation);
        }
        let clean = row.sweep(release, fixed());
        assert!(clean.candidates.is_empty(), "{of}: {:?}", clean.candidates);
        let held = &clean.totals.properties[row.property];
        assert!(held.tested.total > 0, "{of}: never put to the test");
    }
}

macro_rules! defects {
    ($($name:ident,)*) => {
        $(#[test]
        fn $name() {
            is_found_and_blamed(&stringify!($name).replace('_', "-"));
        })*

        #[test]
        fn every_defect_is_tested_here() {
            let tested = [$(stringify!($name).replace('_', "-")),*];
            // The defects of etcd show to its own clients: the storm over an etcd finds those. Those of
            // informers and watch caches are found where informers and watch caches are, and so on.
            let components = Components::default();
            let all = components.defects().into_iter();
            let own = all.filter(|(_, list, _)| list.place == "apiservers");
            let own = own.map(|(_, _, defect)| defect);
            // A search finds the one, the scope `namespace-informer` the other.
            let elsewhere = ["fix-stop-under-lock", "policy-trusts-its-informer"];
            for defect in own.filter(|defect| !elsewhere.contains(&defect.name)) {
                assert!(tested.iter().any(|name| name == defect.name), "{}", defect.name);
                let rows = ROWS.iter().filter(|row| row.defect == defect.name);
                assert_eq!(rows.count(), 1, "{}", defect.name);
            }
        }
    };
}

defects! {
    last_apiserver_keeps_address,
    listener_closes_before_removal,
    master_lease_double_slash,
    remove_endpoints_unbounded,
    listed_before_ready,
    master_lease_too_long,
    master_count_keeps_crashed,
    fix_retry_remove_endpoints,
    fix_remove_absent_lease,
    fix_leave_shared_lease,
    stored_in_newest_version,
}
