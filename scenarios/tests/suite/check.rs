//! `wavetank check`: small scopes are searched completely, as so many states and no other number; what
//! is found is a trace that replays; what cannot be searched is told.

use crate::support;

use std::fs;
use std::path::Path;

use support::{Done, files, scratch, wavetank};
use wavetank::catalogue::{Catalogue as _, Composition};
use wavetank::kube::Kube;
use wavetank::search::Search;
use wavetank_models::{Ended, Explorer, Recovery, Reduction};

fn check(dir: &Path, args: &[&str]) -> Done {
    let mut command = wavetank();
    command.current_dir(dir).arg("check").args(args);
    command.output().expect("it starts").into()
}

/// A bundled scope, fixed, has so many states: another number is another behaviour of what is
/// simulated.
#[track_caller]
fn has_states(scope: &str, states: u64) {
    let composition = Composition {
        fixed: true,
        ..Composition::default()
    };
    let case = Kube::default()
        .open(scope, &composition)
        .expect("it is bundled");
    let search = Search::of(case.as_ref()).expect("it is a scope");
    let recovery = search.calm.map(Recovery::within);
    let explored = Explorer {
        model: &search.model,
        recovery: recovery.as_ref(),
        reduction: Reduction::NONE,
        threads: 2,
        watch: &|_| true,
    }
    .run_from(search.starts());
    assert_eq!(explored.ended, Ended::Complete);
    assert_eq!(explored.progress.unique, states);
}

#[test]
fn lease_recovery_is_clean() {
    has_states("lease-recovery", 1_330);
}

#[test]
fn cluster_ips_bitmap_is_clean() {
    has_states("cluster-ips-bitmap", 87_521);
}

#[test]
fn cluster_ips_objects_is_clean() {
    has_states("cluster-ips-objects", 108_605);
}

#[test]
fn first_address_is_clean() {
    has_states("first-address", 6_814);
}

#[test]
fn service_updates_is_clean() {
    has_states("service-updates", 164_559);
}

#[test]
fn every_bundled_scope_can_be_searched() {
    let scopes = Kube::default().scopes();
    assert!(scopes.len() > 5);
    for scope in scopes {
        let case = Kube::default().open(&scope.name, &Composition::default());
        let case = case.expect("it is bundled");
        let search = Search::of(case.as_ref()).unwrap_or_else(|why| panic!("{why}"));
        assert!(search.model.start.pending().len() > 0, "{}", scope.name);
    }
}

/// The violation that a release shows, as a trace.
fn counterexample(dir: &Path) -> String {
    let said = [
        "lease-endpoints: violated within 3 of 6 faults",
        "VIOLATION of stopped-address-is-removed",
        "finds the Endpoints modified",
    ];
    check(dir, &["lease-endpoints"]).expect(1, &said);
    let traces = files(&dir.join("wavetank-out"));
    assert_eq!(traces.len(), 1, "{traces:?}");
    format!("wavetank-out/{}", traces[0])
}

#[test]
fn a_counterexample_is_a_trace_that_replays() {
    let dir = scratch("check-counterexample");
    let trace = counterexample(&dir);
    let replay = |trace: &str| -> Done {
        let mut command = wavetank();
        command.current_dir(&dir).args(["replay", trace]);
        command.output().expect("it starts").into()
    };
    let said = [
        "this build wrote it",
        "violation of stopped-address-is-removed",
    ];
    replay(&trace).expect(1, &said);

    // The neighbourhood of a failure: as it was, and fixed.
    check(&dir, &["--around", &trace]).expect(1, &["VIOLATION of stopped-address-is-removed"]);
    let said = ["no violation within 0 faults, 1 deviation"];
    check(&dir, &["--around", &trace, "--fixed"]).expect(0, &said);

    // And the shortest is the same, however many threads looked for it.
    let text = fs::read(dir.join(&trace)).expect("it was written");
    let other = scratch("check-counterexample-on-one-thread");
    let args = ["lease-endpoints", "--threads", "1"];
    check(&other, &args).expect(1, &[]);
    let same = fs::read(other.join(&trace)).expect("it was written") == text;
    assert!(same, "{} and {} differ", dir.display(), other.display());
}

#[test]
fn what_storms_hardly_meet_is_found() {
    // kubernetes-sigs/cluster-api#7804: a Service is made in the first moments of a cluster.
    let dir = scratch("check-first-address");
    let defect = ["--fixed", "--defect", "first-address-is-given-away"];
    let said = [
        "VIOLATION of kubernetes-keeps-the-first-address",
        "asks a1 to create default/n1",
    ];
    check(&dir, &[&["first-address"], &defect[..]].concat()).expect(1, &said);
}

#[test]
fn how_services_end_is_searched() {
    let dir = scratch("check-ends-of-services");
    for (scope, switch, violated) in [
        (
            "service-finalizers",
            ["--defect", "delete-gives-up-early"],
            "used-is-allocated",
        ),
        (
            "service-finalizers",
            ["--defect", "finalizer-update-leaks"],
            "service-gives-up-all",
        ),
        (
            "service-ports",
            ["--without", "fix-release-port-once"],
            "used-is-allocated",
        ),
    ] {
        let args = [&[scope, "--fixed", "--reduced"], &switch[..]].concat();
        check(&dir, &args).expect(1, &[&format!("VIOLATION of {violated}")]);
    }
}

#[test]
fn a_reduced_search_says_so() {
    let dir = scratch("check-reduced");
    let said = [
        "s of virtual time, and none from any state on within 240s of calm after that",
        "orders instead of times (an empirical verdict: the full search decides), ",
        "passed through",
    ];
    check(&dir, &["lease-recovery", "--fixed", "--reduced"]).expect(0, &said);
    let said = ["the argument '--reduced' cannot be used with '--full'"];
    check(&dir, &["lease-recovery", "--reduced", "--full"]).expect(2, &said);
}

#[test]
fn what_nobody_is_left_to_correct_is_found() {
    // k/k#115804: calm does not help.
    let dir = scratch("check-last-stop");
    let defect = ["--fixed", "--defect", "last-apiserver-keeps-address"];
    let said = [
        "VIOLATION of departed-address-stays-away",
        "is listed for ever, and its apiserver has removed itself",
    ];
    check(&dir, &[&["last-stop-recovery"], &defect[..]].concat()).expect(1, &said);
}

#[test]
fn a_search_that_does_not_end_says_what_it_covered() {
    let dir = scratch("check-limits");
    let said = [
        "incomplete: nothing found in",
        "there are more than 2,000 states",
    ];
    let args = ["lease-endpoints", "--fixed", "--max-states", "2000"];
    check(&dir, &args).expect(4, &said);
}

#[test]
fn an_expected_violation_has_to_be_found() {
    let dir = scratch("check-expects");
    let scope = include_str!("../../scopes/lease-endpoints.yaml");
    let scope = scope.replace("name: lease-endpoints", "name: own");
    fs::write(
        dir.join("own.yaml"),
        format!("{scope}expect: stopped-address-is-removed\n"),
    )
    .expect("writable");
    check(&dir, &["own.yaml"]).expect(0, &["the expected violation was found within"]);
    fs::write(
        dir.join("own.yaml"),
        format!("{scope}expect: shutdown-ends\n").replace("at-most: 3", "at-most: 1"),
    )
    .expect("writable");
    let said = ["the expected violation of `shutdown-ends` is not within these bounds"];
    check(&dir, &["own.yaml"]).expect(4, &said);
}

#[test]
fn a_livelock_is_shown_as_a_cycle() {
    let dir = scratch("check-cycle");
    let said = [
        "the expected violation was found",
        "expected VIOLATION of quiet-when-stable",
        "for ever, every 20.000 s: etcd: /registry/endpointslices/default/kubernetes := 10.0.0.2 (by a2); \
         etcd: /registry/services/endpoints/default/kubernetes := 10.0.0.1 (by a1); ",
    ];
    check(&dir, &["master-count-fight"]).expect(0, &said);
    let said = ["master-count-fight: no violation within"];
    check(&dir, &["master-count-fight", "--fixed"]).expect(0, &said);
    // A violation that does not come back is none.
    let done = check(&dir, &["lease-endpoints"]).expect(1, &[]);
    assert!(!done.stdout.contains("cycle"), "{}", done.stdout);
}

#[test]
fn reports_are_for_programs_as_well() {
    let dir = scratch("check-reports");
    let args = [
        "cluster-ips-bitmap",
        "--fixed",
        "--report",
        "junit.xml",
        "--format",
        "json",
    ];
    let done = check(&dir, &args).expect(0, &[]);
    let json: serde_json::Value = serde_json::from_str(&done.stdout).expect("JSON");
    assert_eq!(json[0]["verdict"], "clean");
    assert_eq!(json[0]["figures"]["states"], 87_521);
    let junit = fs::read_to_string(dir.join("junit.xml")).expect("it was written");
    assert!(
        junit.contains(r#"<testcase name="cluster-ips-bitmap" classname="wavetank""#),
        "{junit}"
    );
    assert!(junit.contains("failures=\"0\""), "{junit}");

    check(&dir, &["lease-endpoints", "--report", "junit.xml"]).expect(1, &[]);
    let junit = fs::read_to_string(dir.join("junit.xml")).expect("it was written");
    assert!(
        junit.contains("<failure message=\"stopped-address-is-removed"),
        "{junit}"
    );
    assert!(junit.contains("replay"), "{junit}");

    let mut run = wavetank();
    let args = [
        "run",
        "kubernetes-endpoints",
        "--seeds",
        "0..8",
        "--fixed",
        "--report",
        "run.xml",
    ];
    let done: Done = run
        .current_dir(&dir)
        .args(args)
        .output()
        .expect("it starts")
        .into();
    done.expect(0, &[]);
    let junit = fs::read_to_string(dir.join("run.xml")).expect("it was written");
    assert!(
        junit.contains(r#"<testcase name="endpoints-converge""#),
        "{junit}"
    );
}

#[test]
fn what_is_never_put_to_the_test_is_not_clean() {
    let dir = scratch("check-untested");
    // Nobody stops within the bounds, so no address of one that has stopped can be left.
    let scope = include_str!("../../scopes/lease-endpoints.yaml");
    let (bounds, promised) = scope.split_once("  faults:").expect("it has faults");
    let (_, promised) = promised.split_once("properties:").expect("it promises");
    let bounds = bounds.replace("name: lease-endpoints", "name: own");
    let own = format!("{bounds}\nproperties:{promised}");
    fs::write(dir.join("own.yaml"), own).expect("writable");
    let args = ["own.yaml", "--fixed", "--report", "junit.xml"];
    let said = [
        "own: no violation, but not all put to the test within 0 faults",
        "because",
        "nothing within these bounds puts `stopped-address-is-removed`, `no-lease-write-after-removal`, ",
        "to the test: widen the bounds, or leave out of `properties` what this scope is not for",
    ];
    check(&dir, &args).expect(4, &said);
    let junit = fs::read_to_string(dir.join("junit.xml")).expect("it was written");
    assert!(
        junit.contains("errors=\"1\"") && junit.contains("`stopped-address-is-removed`"),
        "{junit}"
    );
    let done = check(&dir, &["own.yaml", "--fixed", "--format", "json"]).expect(4, &[]);
    let json: serde_json::Value = serde_json::from_str(&done.stdout).expect("JSON");
    assert_eq!(json[0]["version"], 2);
    assert_eq!(json[0]["verdict"], "untested");
    let untested = json[0]["coverage"]["untested"].as_array().expect("a list");
    assert!(untested.contains(&"stopped-address-is-removed".into()));
}

#[test]
fn who_promises_nothing_is_not_clean() {
    let dir = scratch("check-no-guarantee");
    let scope = include_str!("../../scopes/lease-recovery.yaml");
    let (scope, _) = scope.split_once("properties:").expect("it promises");
    let scope = scope.replace("name: lease-recovery", "name: own");
    let own = format!("{scope}properties: [removal-conflicted]\n");
    fs::write(dir.join("own.yaml"), own).expect("writable");
    let args = ["own.yaml", "--fixed", "--max-states", "100000"];
    check(&dir, &args).expect(4, &["none of its `properties` is a guarantee"]);
}

#[test]
fn what_happens_in_a_trace_is_found_around_it() {
    // Its events come in an order of its own, which nothing but the trace says.
    let dir = scratch("check-around");
    let defect = ["--fixed", "--defect", "crash-loses-entries"];
    let scope = [&["etcd-members"], &defect[..]].concat();
    let done = check(&dir, &scope).expect(1, &["VIOLATION of members-agree", "stopped"]);
    assert!(!done.stdout.contains("untested    members-agree"));
    let trace = "wavetank-out/etcd-members-members-agree.trace";
    for window in ["1ms", "100ms"] {
        let around = ["--around", trace, "--deviations", "0", "--window", window];
        let found = check(&dir, &around).expect(1, &["VIOLATION of members-agree"]);
        let bounds = found.stdout.lines().next().expect("a verdict");
        assert!(!bounds.contains("the last event before"), "{bounds}");
    }
    // Fixed is fixed, whatever was on in the trace.
    let fixed = ["--around", trace, "--window", "20ms", "--fixed"];
    check(&dir, &fixed).expect(0, &["no violation within"]);
    let found = "wavetank-out/etcd-members-members-agree-near-members-agree.trace";
    let mut replay = wavetank();
    let replayed = replay.current_dir(&dir).args(["replay", found]).output();
    let replayed: Done = replayed.expect("it starts").into();
    replayed.expect(1, &["events match", "violation of members-agree"]);
}

#[test]
fn what_cannot_be_searched_is_told() {
    let dir = scratch("check-bad-input");
    let said = ["there is no scope `lease-endpoint`; did you mean `lease-endpoints`?"];
    check(&dir, &["lease-endpoint"]).expect(2, &said);
    let said = ["the bundled scopes are: apply-against-update, "];
    check(&dir, &["kubernetes-endpoints"]).expect(2, &said);
    check(&dir, &[]).expect(2, &["required"]);
    check(&dir, &["lease-endpoints", "--all"]).expect(2, &["cannot be used with"]);
    check(&dir, &["none/such.yaml"]).expect(2, &["there is no such file"]);

    let scope = include_str!("../../scopes/lease-endpoints.yaml");
    let own = |from: &str, to: &str| {
        assert!(scope.contains(from));
        let scope = scope.replace("name: lease-endpoints", "name: own");
        fs::write(dir.join("own.yaml"), scope.replace(from, to)).expect("writable");
        check(&dir, &["own.yaml"])
    };
    own("at-most: 3", "at-most: 7").expect(2, &["of 6 faults 7 cannot strike", "own.yaml:23:12"]);
    own("from: 9.999s", "from: 11s").expect(2, &["the search begins at 11s, but the storm ends"]);
    own("crash: {process: a2}", "crash: {process: a3}").expect(2, &["there is no process `a3`"]);
    own("at-most: 3", "late-by: 3ms").expect(2, &["nothing is late without deviations"]);
    let said = ["what is late by nothing is not late"];
    own("at-most: 3", "deviations: 1\n  late-by: 0s").expect(2, &said);
    own("at-most: 3", "widest-choice: 0").expect(2, &["no choice is among none"]);
    let said = ["the reduced search has one thread"];
    check(&dir, &["lease-endpoints", "--reduced", "--threads", "2"]).expect(2, &said);
    check(&dir, &["lease-endpoints", "--max-states", "0"]).expect(2, &["0 is not in 1.."]);
    let said = ["nobody is started where no recovery is looked at"];
    own("at-most: 3", "stay-down: true").expect(2, &said);
    own("at-most: 3", "atmost: 3").expect(2, &["unknown key `atmost`", "at-most"]);
    let telling =
        |with: &str| format!("plan: [{{at: 10s, tell: {{process: c1, what: {with}}}}}]\nsearch:");
    let clients = |text: String| text.replace("apiservers: 2", "apiservers: 2\n  clients: 1");
    let told = clients(scope.replace("name: lease-endpoints", "name: own"));
    fs::write(
        dir.join("own.yaml"),
        told.replace("search:", &telling("jump")),
    )
    .expect("writable");
    let said = [
        "error: `c1` knows `connect`, not `jump`",
        "own.yaml:",
        "tell: {process: c1, what: jump}",
        "docs/SCENARIOS.md lists what each process can be told",
    ];
    check(&dir, &["own.yaml"]).expect(2, &said);
    let cut = scope.replace("name: lease-endpoints", "name: own");
    let cut = &cut[..cut.find("search:").expect("it has one")];
    fs::write(dir.join("own.yaml"), cut).expect("writable");
    check(&dir, &["own.yaml"]).expect(2, &["says nothing of how far a search goes"]);
}

#[test]
fn what_a_scope_says_that_it_shows_is_looked_for() {
    let dir = scratch("check-each");
    let own = |name: &str, says: &str| {
        let bundled = Path::new(env!("CARGO_MANIFEST_DIR")).join("scopes/etcd-compaction.yaml");
        let text = fs::read_to_string(bundled).expect("it is there");
        let text = text.replace("name: etcd-compaction", &format!("name: {name}"));
        let (begin, end) = (text.find("  shows:"), text.find("properties:"));
        let (begin, end) = begin.zip(end).expect("it has both");
        let text = format!("{}{says}\n{}", &text[..begin], &text[end..]);
        fs::write(dir.join(format!("{name}.yaml")), text).expect("it can be written");
    };
    let each = |name: &str| {
        let file = format!("{name}.yaml");
        check(
            &dir,
            &[
                &file,
                "--fixed",
                "--reduced",
                "--each",
                "--report",
                "junit.xml",
            ],
        )
    };

    own(
        "right",
        "  shows: [compaction-drops-tombstone]
  cannot-show: {progress-latch: nobody asks for progress}",
    );
    let said = [
        "right: no violation within",
        "not found   progress-latch, because nobody asks for progress",
        "unclaimed   the code of these was reached, and the scope does not say whether it finds them: \
         progress-overtakes-events, compaction-skips-slow-watch",
        "right: shows compaction-drops-tombstone",
        "right: cannot show progress-latch",
    ];
    each("right").expect(0, &said);
    let traces = files(&dir.join("wavetank-out/compaction-drops-tombstone"));
    assert_eq!(traces, ["right-watch-reliable.trace"]);

    // Only a member that gets a snapshot has a place for it.
    own("idle", "  shows: [watch-goes-back]");
    each("idle").expect(
        4,
        &["idle: DOES NOT SHOW watch-goes-back in", "nothing found"],
    );
    let report = fs::read_to_string(dir.join("junit.xml")).expect("it was written");
    assert!(report.contains("idle shows watch-goes-back"), "{report}");

    own(
        "modest",
        "  cannot-show: {compaction-drops-tombstone: nobody compacts}",
    );
    let said = ["modest: SHOWS AFTER ALL compaction-drops-tombstone in"];
    each("modest").expect(4, &said);
    let report = fs::read_to_string(dir.join("junit.xml")).expect("it was written");
    let name = "modest cannot show compaction-drops-tombstone";
    assert!(report.contains(name), "{report}");

    own("wrong", "  shows: [compaction-drops-tombstones]");
    let said = [
        "there is no defect or fix `compaction-drops-tombstones`",
        "did you mean `compaction-drops-tombstone`?",
    ];
    each("wrong").expect(2, &said);
    own(
        "wrong",
        "  shows: [progress-latch]
  cannot-show: {progress-latch: '', progress-latsch: nobody asks}",
    );
    let said = [
        "`progress-latch` is among what the scope shows",
        "there is no reason",
        "did you mean `progress-latch`?",
    ];
    each("wrong").expect(2, &said);
}
