//! What somebody meets who tries Wavetank for the first time: stories that tell enough, options that hide a defect,
//! a server without a watch cache, Ctrl-C in a long seed, and where to look things up.

use std::path::Path;
use std::time::Duration;

use wavetank::case::{Case, run_seed};
use wavetank::catalogue::{Catalogue as _, Composition, Listed};
use wavetank::head::Head;
use wavetank::kube::Kube;
use wavetank::replay::{Followed, follow};
use wavetank::trace_file::Trace;
use wavetank_engine::Time;
use wavetank_engine::drive::Ending;
use wavetank_engine::drive::plan::{Occurrence, Plan};
use wavetank_engine::drive::replay::Fit;
use wavetank_engine::drive::shrink::{Attempt, shrink};
use wavetank_engine::trace::Record;

use crate::support::{Done, root, scratch, wavetank};

/// With this one watch-storm as v1.20 shipped has a violation that is about an informer.
const SEED: u64 = 15;

/// The trace of it.
fn violated() -> (Box<dyn Case>, Trace) {
    let composition = Composition {
        release: Some("v1.20".to_owned()),
        ..Composition::default()
    };
    let opened = Kube::default().open("watch-storm", &composition);
    let case = opened.expect("it is bundled");
    let outcome = run_seed(case.as_ref(), SEED, None, Record::default());
    assert!(matches!(outcome.ending, Ending::Violated(_)));
    let head = Head::new(case.as_ref(), SEED, case.derive(SEED));
    let trace = Trace::of(head, &outcome);
    (case, trace)
}

fn followed(case: &dyn Case, trace: &Trace, until: Option<u64>) -> Followed {
    let followed = follow(case, trace, Fit::Strict, until, &mut |_, _, _| {});
    followed.expect("it fits")
}

#[track_caller]
fn has(story: &[String], text: &str) {
    assert!(
        story.iter().any(|line| line.contains(text)),
        "no `{text}`:\n{}",
        story.join("\n")
    );
}

#[test]
fn a_story_of_an_informer_holds_what_it_was_told() {
    let (case, trace) = violated();
    let end = followed(case.as_ref(), &trace, None);
    let found = end.violation.as_ref().expect("it is violated");
    assert!(found.object.starts_with("informer "), "{found:?}");
    let story = end.story();
    has(&story, "begins: configmaps");
    has(&story, "has listed");
    has(&story, "its store has");
    has(&story, "begins to work");
    let about = end.story_about(&found.object).expect("it is known");
    has(&about, "revision 2: ");
    assert!(about.len() > story.len() && end.whole_story().len() > about.len());
    let whole = end.whole_story();
    has(&whole, "is told to write");
    assert!(
        !whole.iter().any(|line| line.contains("no address")),
        "objects have contents"
    );
    let client = end.story_about("i2").expect("words of a name are enough");
    has(&client, "i2     informer 0 begins");
    assert!(end.story_about("nobody").is_none());
}

#[test]
fn a_story_without_a_violation_holds_the_last_of_what_was_told() {
    let (case, trace) = violated();
    let early = followed(case.as_ref(), &trace, Some(400));
    assert_eq!(early.violation, None);
    let story = early.story();
    has(&story, "gets no list");
    assert!(story.len() > 20, "{}", story.join("\n"));
}

#[test]
fn replay_tells_the_whole_story() {
    let dir = scratch("whole-story");
    let run = |args: &[&str]| -> Done {
        let output = wavetank().current_dir(&dir).args(args).output();
        output.expect("it starts").into()
    };
    let storm = [
        "run",
        "watch-storm",
        "--release",
        "v1.20",
        "--seed",
        "15",
        "--blame",
        "all",
        "--out",
        ".",
    ];
    let said = ["stopped at", "story"];
    run(&storm).expect(1, &said[1..]);
    let name = "watch-storm-work-begins-when-handlers-saw-all-seed15.trace";
    let about = ["replay", name, "--about", "informer 0 of i1"];
    run(&about).expect(
        1,
        &["informer 0 begins: configmaps", "informer 0 has listed"],
    );
    let nobody = ["replay", name, "--about", "informer 0 of i7"];
    run(&nobody).expect(
        2,
        &[
            "nothing was told about `informer 0 of i7`",
            "did you mean `informer 0 of i",
        ],
    );
    run(&["replay", name, "--story", "--until", "300"])
        .expect(0, &["is told to write", "stopped after 300 events"]);
}

/// Informers, and an apiserver with `--watch-cache=false`.
const UNCACHED: &str = "
name: uncached
about: Informers of apiservers without watch caches.
release: RELEASE
topology: {etcd: 1, apiservers: 2, informers: 1, writers: 1}
options: {endpoint-reconciler-type: none}
workload: {write: {every: 1s}, move-informers: {every: 10s}}
storm: 40s
calm: 500s
faults:
  crash: {max: 2, lasts: 1s..5s}
  reset: {max: 2}
";

#[test]
fn informers_converge_without_a_watch_cache() {
    for release in ["v1.20", "v1.36"] {
        let text = UNCACHED.replace("RELEASE", release);
        let fixed = Composition {
            fixed: true,
            ..Composition::default()
        };
        let case = Kube::default().case("uncached.yaml", &text, &fixed);
        let case = case.unwrap_or_else(|why| panic!("{why}"));
        let mut streamed = 0;
        for seed in 0..6 {
            let outcome = run_seed(case.as_ref(), seed, None, Record::default());
            assert_eq!(outcome.ending, Ending::Clean, "{release}, seed {seed}");
            let of = |name: &str| {
                let mut all = outcome.world.properties().zip(&outcome.tallies.tested);
                let found = all.find(|(property, _)| property.name() == name);
                found.map_or(0, |(_, times)| *times)
            };
            assert!(of("informers-converge") > 0, "{release}, seed {seed}");
            streamed += of("list-was-streamed");
        }
        assert_eq!(
            streamed > 0,
            release == "v1.36",
            "a watch has its initial events"
        );
    }
}

#[test]
fn matrix_leaves_out_what_the_options_hide() {
    let dir = scratch("left-out");
    let matrix = |more: &[&str]| -> Done {
        let args = [
            &[
                "matrix",
                "master-count",
                "--release",
                "v1.20",
                "--seeds",
                "0..1",
            ],
            more,
        ]
        .concat();
        let output = wavetank().current_dir(&dir).args(args).output();
        output.expect("it starts").into()
    };
    let left_out =
        "left out: `listener-closes-before-removal`, which shows only with `shutdown-delay: 0s`";
    matrix(&[]).expect(1, &[left_out]);
    let named = ["--defect", "listener-closes-before-removal"];
    matrix(&named).expect(
        2,
        &["does not show in `master-count`: it shows only with `shutdown-delay: 0s`"],
    );
}

#[test]
fn the_main_scenario_hides_no_defect_of_its_own() {
    let opened = Kube::default().open(
        "kubernetes-endpoints",
        &Composition {
            fixed: true,
            release: Some("v1.20".to_owned()),
            ..Composition::default()
        },
    );
    let case = opened.expect("it is bundled");
    assert_eq!(case.hidden_defects(), []);
    let delays: Vec<String> = (0..40)
        .map(|seed| case.derive(seed)["shutdown-delay"].to_string())
        .collect();
    for delay in ["\"0s\"", "\"5s\"", "\"20s\""] {
        assert!(
            delays.iter().any(|drawn| drawn == delay),
            "{delay}: {delays:?}"
        );
    }
}

#[cfg(unix)]
#[test]
#[allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "waits for another process"
)]
fn ctrl_c_ends_whatever_takes_long_within_a_second() {
    let dir = scratch("long-seed");
    let long = root().join("scenarios/kubernetes-endpoints.yaml");
    let text = std::fs::read_to_string(long).expect("it is there");
    std::fs::write(
        dir.join("kubernetes-endpoints.yaml"),
        text.replace("storm: 120s", "storm: 700h"),
    )
    .expect("written");
    let commands = [
        "run ./kubernetes-endpoints.yaml --fixed --seed 0",
        "matrix ./kubernetes-endpoints.yaml",
        "check service-repair --fixed",
        "soundness --worlds 0..100000",
    ];
    for command in commands {
        let mut ends = [1, 4, 16].into_iter().map(|wait| {
            let mut child = wavetank();
            child.current_dir(&dir).args(command.split(' '));
            interrupted(child, Duration::from_secs(wait))
        });
        let done = ends.find_map(|done| done);
        done.unwrap_or_else(|| panic!("{command} does not answer to Ctrl-C"))
            .expect(130, &["interrupted"]);
    }
}

/// How a command ends that hears of Ctrl-C so much later. It answers within some milliseconds; the rest is for a machine
/// that is busy. One that was not ready for the signal, so that it was ended by it or never heard of it, is none.
#[cfg(unix)]
#[allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "waits for another process"
)]
fn interrupted(mut command: std::process::Command, wait: Duration) -> Option<Done> {
    use std::process::Stdio;
    use std::thread::sleep;
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    sleep(wait);
    let kill = format!("kill -INT {}", child.id());
    let killed = std::process::Command::new("sh")
        .args(["-c", &kill])
        .status();
    assert!(killed.expect("a shell").success());
    let told = std::time::Instant::now();
    while child.try_wait().expect("it is ours").is_none() {
        if told.elapsed() > Duration::from_secs(5) {
            child.kill().expect("it runs");
            child.wait().expect("it is ours");
            return None;
        }
        sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output().expect("it ended");
    output.status.code()?;
    Some(output.into())
}

#[test]
fn what_there_is_can_be_looked_up() {
    let run = |args: &[&str]| -> Done {
        let output = wavetank().args(args).output();
        output.expect("it starts").into()
    };
    run(&["describe", "last-apiserver-keeps-address"]).expect(
        0,
        &[
            "a known bug",
            "k/k#115804",
            "shipped with",
            "v1.20",
            "lease-endpoints",
            "wavetank check",
        ],
    );
    // It shows only where servers of two releases run, and its example finds it there (`defects.rs` does the same).
    run(&["describe", "stored-in-newest-version"]).expect(
        0,
        &[
            "processes of several releases (`rollout: {from: previous}` in `topology`)",
            "run rolling-upgrade --fixed --defect stored-in-newest-version --seeds 0..2000",
        ],
    );
    run(&["describe", "informers-converge"]).expect(0, &["a property", "watch-storm", "relist"]);
    run(&["describe", "stop"]).expect(0, &["a kind of fault", "SIGTERM", "rolling-upgrade"]);
    run(&["describe", "stopp"]).expect(2, &["nothing is called `stopp`; did you mean `stop`?"]);
    let json = run(&["describe", "stop", "--format", "json"]).expect(0, &[]);
    serde_json::from_str::<serde_json::Value>(&json.stdout).expect("JSON");
    let own =
        run(&["list", "defects", "--for", "lease-endpoints"]).expect(0, &["master-lease-too-long"]);
    let all = run(&["list", "defects"]).expect(0, &["progress-latch"]);
    assert!(own.stdout.lines().count() < all.stdout.lines().count());
    assert!(!own.stdout.contains("progress-latch"), "it is etcd's");
    run(&["list", "properties", "--for", "watch-storm"]).expect(0, &["informers-converge"]);
    run(&["list", "releases", "--for", "watch-storm"]).expect(2, &["`list defects`"]);
    run(&["list", "scenarios"]).expect(0, &["until 1.10"]);
    run(&["run", "watch-storm", "--release", "v1.30"]).expect(2, &["v1.16, v1.20, v1.36"]);
}

#[test]
fn every_shell_and_man_are_served() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = wavetank().args(["completions", shell]).output();
        let done: Done = output.expect("it starts").into();
        done.expect(0, &["wavetank", "describe"]);
    }
    let done: Done = wavetank().arg("man").output().expect("it starts").into();
    done.expect(0, &[".TH wavetank 1", "keep\\-going", "describe"]);
}

#[test]
fn bundled_scenarios_and_scopes_have_texts_of_their_own() {
    let kube = Kube::default();
    let mut texts: Vec<String> = Vec::new();
    for listed in kube.scenarios().into_iter().chain(kube.scopes()) {
        assert!(
            !texts.contains(&listed.about),
            "{}: {}",
            listed.name,
            listed.about
        );
        texts.push(listed.about);
    }
}

#[test]
fn names_are_known_without_reading_what_is_bundled() {
    let kube = Kube::default();
    let names = |listed: Vec<Listed>| -> Vec<String> {
        listed.into_iter().map(|listed| listed.name).collect()
    };
    assert_eq!(kube.scenario_names(), names(kube.scenarios()));
    assert_eq!(kube.scope_names(), names(kube.scopes()));
}

#[test]
fn fuzzing_finds_nothing_in_some_cases() {
    let dir = scratch("fuzz");
    let output = wavetank()
        .current_dir(&dir)
        .args(["fuzz", "--cases", "600"])
        .output();
    let done: Done = output.expect("it starts").into();
    done.expect(0, &["600 cases in", "0 went wrong"]);
}

/// What shows as long as one choice of many is what it was.
struct OneChoice(Occurrence);

impl Attempt for OneChoice {
    fn fails(&mut self, plan: &Plan) -> Option<Time> {
        let chosen = plan.choices.get(&self.0).copied().unwrap_or(0);
        (chosen > 0).then_some(Time::from_secs(1))
    }

    fn may_go_on(&self) -> bool {
        true
    }
}

#[test]
fn shrinking_leaves_the_choices_that_matter() {
    let choice = |at: u32| ("choose i1.1/reflect#0.0".to_owned(), at);
    let plan = Plan {
        choices: (0..1_236).map(|at| (choice(at), 1)).collect(),
        ..Plan::default()
    };
    let small = shrink(&plan, &mut OneChoice(choice(700))).expect("it fails");
    assert_eq!(small.choices.into_keys().collect::<Vec<_>>(), [choice(700)]);
}

#[test]
fn what_may_be_meant_otherwise_is_hinted_at() {
    let dir = scratch("hints");
    let text = "
name: hints
about: An even number of members, and a plan that leaves one down.
topology: {etcd: 2, apiservers: 2}
options: {endpoint-reconciler-type: none}
storm: 2s
calm: 1s
plan:
  - {at: 1s, fault: {crash: {process: a1}}}
";
    std::fs::write(dir.join("hints.yaml"), text).expect("written");
    let run = || -> Done {
        let mut command = wavetank();
        command
            .current_dir(&dir)
            .args(["run", "./hints.yaml", "--seed", "0"]);
        command.output().expect("it starts").into()
    };
    let done = run();
    let hints = [
        "hint: `etcd: 2` stands no more members",
        "hint: calm does not start what `plan` let crash: a1",
    ];
    for hint in hints {
        assert!(done.stderr.contains(hint), "{}", done.stderr);
    }
    let wrong = text.replace("{crash: {process: a1}}", "{crash: a1}");
    std::fs::write(dir.join("hints.yaml"), wrong).expect("written");
    let done = run().expect(2, &["where there must be a mapping"]);
    assert!(!done.stderr.contains("struct variant"));
    std::fs::write(
        dir.join("hints.yaml"),
        "name: [".to_owned() + &"1,".repeat(300_000) + "1]",
    )
    .expect("written");
    run().expect(2, &["more, or more deeply nested, than any scenario is"]);
}

/// Somebody who copies the folder has no workspace to inherit from.
#[test]
fn the_manifest_of_the_example_stands_alone() {
    let manifest = std::fs::read_to_string(root().join("docs/example/Cargo.toml"));
    let manifest = manifest.expect("it is there");
    assert!(!manifest.contains("workspace"), "{manifest}");
    assert!(Path::new(&root().join("docs/example/src/lib.rs")).exists());
}
