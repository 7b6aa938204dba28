//! What each scope is for: what it says that it shows is found, each on its own in a world that is fixed
//! otherwise, and what is found happens again when the path is run; what it says that it cannot show is not; and
//! it says one of the two of every switch whose place it passes. What takes more steps than a test should is looked
//! at by `wavetank check --all --fixed --each`.

use std::collections::BTreeSet;
use std::sync::Mutex;

use wavetank::case::Case;
use wavetank::catalogue::{Catalogue as _, Composition};
use wavetank::kube::Kube;
use wavetank::search::Search;
use wavetank_models::{Ended, Explorer, Recovery, Reduction, retrace};

/// A search, and what came of it.
struct Explored {
    search: Search,
    ended: Ended,
    /// The switches whose places it passed.
    passed: BTreeSet<&'static str>,
}

/// A search of at most so many steps, those to recovery among them.
fn explore(case: &dyn Case, steps: u64) -> Explored {
    let search = Search::of(case).expect("it is a scope");
    let recovery = search.calm.map(Recovery::within);
    let passed = Mutex::new(BTreeSet::new());
    let explored = Explorer {
        model: &search.model,
        recovery: recovery.as_ref(),
        reduction: Reduction::ORDERS,
        threads: 1,
        watch: &|progress| {
            // The thread that searches is the one that is asked.
            passed
                .lock()
                .expect("nobody panics")
                .extend(case.take_passed());
            progress.generated + progress.healing <= steps
        },
    }
    .run_from(search.starts());
    Explored {
        search,
        ended: explored.ended,
        passed: passed.into_inner().expect("nobody panicked"),
    }
}

/// What is turned, and the property that is violated then.
fn found(scope: &str) -> String {
    let case = fixed(scope);
    let shows = case.scope().expect("it is a scope").shows;
    let property = |switch: &String| {
        let case = case.flipped(&[switch]).expect("it is a switch");
        let Explored { search, ended, .. } = explore(case.as_ref(), u64::MAX);
        let Ended::Violated(found) = ended else {
            panic!("{scope} does not show {switch}");
        };
        let start = &search.starts()[found.start];
        let recovery = search.calm.map(Recovery::within);
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

fn fixed(scope: &str) -> Box<dyn Case> {
    let fixed = Composition {
        fixed: true,
        ..Composition::default()
    };
    Kube::default().open(scope, &fixed).expect("it is bundled")
}

/// What a scope cannot show is passed, and not found, and there is nothing else whose place it passes. Can so many
/// steps say so?
#[track_caller]
fn is_blind_to_what_it_says(scope: &str, afforded: u64) -> bool {
    let case = fixed(scope);
    let says = case.scope().expect("it is a scope");
    let searches = says.cannot_show.len() as u64 + 1;
    let Explored { ended, passed, .. } = explore(case.as_ref(), afforded / searches);
    if ended == Ended::Stopped {
        return false;
    }
    assert_eq!(ended, Ended::Complete);
    let places = case.places();
    for place in passed.iter().filter(|place| places.contains(place)) {
        let is_shown = says.shows.iter().any(|switch| switch == place);
        let is_known = is_shown || says.cannot_show.contains_key(*place);
        assert!(is_known, "{scope} says nothing of {place}");
    }
    for (switch, why) in &says.cannot_show {
        assert!(passed.contains(&**switch), "{scope} does not pass {switch}");
        let case = case.flipped(&[switch]).expect("it is a switch");
        let ended = explore(case.as_ref(), u64::MAX).ended;
        assert_eq!(ended, Ended::Complete, "{scope}, {switch}: {why}");
    }
    true
}

const SNAPSHOTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../snapshots/scopes");

macro_rules! scopes {
    (
        small: { $($small:ident: $small_scope:literal,)* }
        large: { $($large:ident: $large_scope:literal,)* }
    ) => {
        mod shows {
            $(
                #[test]
                fn $small() {
                    super::finds_what_it_shows($small_scope);
                }
            )*
            $(
                #[test]
                fn $large() {
                    super::finds_what_it_shows($large_scope);
                }
            )*
        }
        mod cannot_show {
            $(
                #[test]
                fn $small() {
                    assert!(super::is_blind_to_what_it_says($small_scope, u64::MAX));
                }
            )*
        }
        const HERE: &[&str] = &[$($small_scope,)* $($large_scope),*];
    };
}

fn finds_what_it_shows(scope: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(SNAPSHOTS);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(scope, found(scope)));
}

// What the large ones cannot show takes longer than a test should: `wavetank check --all --fixed --each`.
scopes! {
    small: {
        cluster_ips_bitmap: "cluster-ips-bitmap",
        cluster_ips_dual: "cluster-ips-dual",
        etcd_compaction: "etcd-compaction",
        etcd_members: "etcd-members",
        etcd_old_leader: "etcd-old-leader",
        external_name: "external-name",
        first_address: "first-address",
        leaderless_caches: "leaderless-caches",
        master_count_fight: "master-count-fight",
        reflector: "reflector",
        relist_too_large: "relist-too-large",
        service_late_release: "service-late-release",
        service_leaks: "service-leaks",
        service_repair_objects: "service-repair-objects",
        service_start_objects: "service-start-objects",
        watch_cache: "watch-cache",
    }
    large: {
        cluster_ips_objects: "cluster-ips-objects",
        etcd_leases: "etcd-leases",
        etcd_progress: "etcd-progress",
        etcd_snapshot: "etcd-snapshot",
        etcd_transaction: "etcd-transaction",
        etcd_watch: "etcd-watch",
        held_up_removal: "held-up-removal",
        identity_stop: "identity-stop",
        informer_start: "informer-start",
        last_stop_recovery: "last-stop-recovery",
        leader_lease: "leader-lease",
        leader_release: "leader-release",
        lease_endpoints: "lease-endpoints",
        lease_recovery: "lease-recovery",
        node_ports: "node-ports",
        relist: "relist",
        service_finalizers: "service-finalizers",
        service_ports: "service-ports",
        service_start: "service-start",
        service_type_change: "service-type-change",
        service_updates: "service-updates",
        service_updates_objects: "service-updates-objects",
        shared_address: "shared-address",
        three_lease_endpoints: "three-lease-endpoints",
        watch_cache_refill: "watch-cache-refill",
        watch_cache_start: "watch-cache-start",
        watch_cache_torn_down: "watch-cache-torn-down",
    }
}

/// What such a scope cannot show is looked for within so many steps.
const AFFORDED: u64 = 100_000;

/// Scopes that need no line of their own here.
#[test]
fn others_find_what_they_show() {
    let mut blind = 0;
    for scope in Kube::default().scopes() {
        let case = Kube::default().open(&scope.name, &Composition::default());
        let case = case.expect("it is bundled");
        let shows = case.scope().expect("it is a scope").shows;
        let is_here = HERE.contains(&&*scope.name) || scope.name == "service-repair";
        if !is_here && !shows.is_empty() {
            finds_what_it_shows(&scope.name);
            blind += usize::from(is_blind_to_what_it_says(&scope.name, AFFORDED));
        }
    }
    assert!(blind > 40, "{blind} scopes are small enough");
}
