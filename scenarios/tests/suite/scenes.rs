//! Scenes: a trace becomes one that shows the same violation for the same reason, and the kept ones still do.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;
use wavetank::attribution::Attribution;
use wavetank::case::{Case, run_seed};
use wavetank::catalogue::{Catalogue as _, Composition};
use wavetank::kube::Kube;
use wavetank::scene::{Scene, find};
use wavetank::shrink::Effort;
use wavetank::trace_file;
use wavetank_engine::drive::Ending;
use wavetank_engine::trace::Record;

use crate::support::{Done, root, scratch, wavetank};

/// The scene of a kept trace.
fn scene_of(trace: &str) -> Scene {
    let path = root().join("snapshots/traces").join(trace);
    let trace = trace_file::read(&path).expect("it is kept");
    let case = Kube::default().reopen(&trace.head.identity);
    let case = case.unwrap_or_else(|why| panic!("{why}"));
    let scene = find(case.as_ref(), &trace, "scene", Effort::default());
    let scene = scene.unwrap_or_else(|why| panic!("{why}"));
    scene.expect("what was chosen in it shows its violation")
}

/// The property that a case violates, and how.
fn violation(case: &dyn Case) -> Option<(String, String)> {
    match run_seed(case, 0, None, Record::default()).ending {
        Ending::Clean => None,
        Ending::Violated(found) => Some((found.property, found.message)),
    }
}

/// The property that a case violates.
fn violated(case: &dyn Case) -> Option<String> {
    violation(case).map(|(property, _)| property)
}

/// Does a file tell in its `about` what it shows?
fn tells(text: &str, message: &str) -> bool {
    let about = text.lines().find(|line| line.starts_with("about: "));
    about.is_some_and(|about| about.replace("\\\"", "\"").contains(message))
}

fn open(name: &str, text: &str) -> Box<dyn Case> {
    let case = Kube::default().case(name, text, &Composition::default());
    case.unwrap_or_else(|why| panic!("{why}"))
}

/// A trace becomes a page, which is opened as somebody opens it who has nothing but the page.
fn becomes_a_scene(trace: &str, blame: &str) {
    let scene = scene_of(trace);
    assert_eq!(scene.attribution, Attribution::Each(vec![blame.to_owned()]));
    let size = scene.size;
    assert!(size.events <= 40 && size.choices <= 25, "{size:?}");
    let lines = scene.text.lines().count();
    assert!(lines <= 60, "a page, not {lines} lines:\n{}", scene.text);
    let case = open("scene", &scene.text);
    let (property, message) = violation(case.as_ref()).expect("it shows something");
    let expected = scene.trace.end().violation.as_ref();
    assert_eq!(Some(&property), expected.map(|expected| &expected.property));
    assert!(tells(&scene.text, &message), "{}", scene.text);
    assert_eq!(Some(property.as_str()), case.expects());
    let fixed = case.flipped(&[blame]).expect("it is one of its switches");
    assert_eq!(violated(fixed.as_ref()), None);
    assert_eq!(scene_of(trace).text, scene.text, "once more");
}

#[test]
fn the_last_apiserver_keeps_its_address() {
    let trace = "k-k-115804-last-apiserver.trace";
    becomes_a_scene(trace, "last-apiserver-keeps-address");
}

#[test]
fn a_lease_is_gone_before_it_is_removed() {
    let trace = "finding-2-lease-already-gone.trace";
    becomes_a_scene(trace, "fix-remove-absent-lease");
}

#[test]
fn an_address_is_given_up_twice() {
    let trace = "finding-6-address-given-up-twice.trace";
    becomes_a_scene(trace, "fix-release-once");
}

/// Ctrl-C, as soon as there is a scene.
#[test]
fn who_interrupts_has_what_was_found_so_far() {
    static STOP: AtomicBool = AtomicBool::new(false);
    static TRIED: AtomicU64 = AtomicU64::new(0);
    static WHOLE: AtomicU64 = AtomicU64::new(0);
    // What is under way comes to its end, and the scene is looked at once without the switches that do not matter.
    const AFTER_THAT: u64 = 2;
    let path = root().join("snapshots/traces/finding-9-service-is-made-anew.trace");
    let trace = trace_file::read(&path).expect("it is kept");
    let case = Kube::default().reopen(&trace.head.identity);
    let case = case.unwrap_or_else(|why| panic!("{why}"));
    WHOLE.store(trace.end().events, Relaxed);
    let effort = Effort {
        stop: Some(&STOP),
        watch: Some(&|tried, events| {
            if events < WHOLE.load(Relaxed) && !STOP.swap(true, Relaxed) {
                TRIED.store(tried, Relaxed);
            }
        }),
        ..Effort::default()
    };
    let scene = find(case.as_ref(), &trace, "scene", effort);
    let scene = scene.unwrap_or_else(|why| panic!("{why}"));
    let scene = scene.expect("what was chosen in it shows its violation");
    assert!(STOP.load(Relaxed) && !scene.is_whole);
    let after = scene.attempts - TRIED.load(Relaxed);
    assert!(after <= AFTER_THAT, "{after} more");
    let expected = trace.end().violation.as_ref();
    let expected = expected.map(|found| found.property.clone());
    assert_eq!(violated(open("scene", &scene.text).as_ref()), expected);
}

fn kept() -> Vec<PathBuf> {
    let folder = root().join("snapshots/scenes");
    let files = fs::read_dir(folder).expect("there are kept scenes");
    let mut paths: Vec<PathBuf> = files.map(|entry| entry.expect("a file").path()).collect();
    paths.sort();
    paths
}

#[test]
fn every_kept_scene_shows_what_it_expects_for_its_reason() {
    let kept = kept();
    assert!(kept.len() >= 6);
    kept.par_iter().for_each(|path| {
        let name = path.display().to_string();
        let text = fs::read_to_string(path).expect("a file");
        let case = open(&name, &text);
        assert!(case.expects().is_some(), "{name} expects nothing");
        let (property, message) = violation(case.as_ref()).expect(&name);
        assert_eq!(Some(property.as_str()), case.expects(), "{name}");
        assert!(tells(&text, &message), "{name} shows: {message}");
        let flips = case.flips();
        let flips: Vec<&str> = flips.iter().map(|flip| flip.name.as_str()).collect();
        let fixed = case.flipped(&flips).expect("they are its switches");
        assert_eq!(violated(fixed.as_ref()), None, "{name}, fixed");
    });
}

fn command(dir: &std::path::Path, args: &[&str]) -> Done {
    let mut command = wavetank();
    command.current_dir(dir).args(args);
    command.output().expect("it starts").into()
}

#[test]
fn a_scene_is_run_as_any_scenario() {
    let dir = scratch("scene-run");
    let trace = root().join("snapshots/traces/finding-2-lease-already-gone.trace");
    let trace = trace.display().to_string();
    let made = command(&dir, &["scene", &trace, "--out", "gone.yaml"]);
    made.expect(
        0,
        &["events of the scene", "blame       fix-remove-absent-lease"],
    );
    let run = ["run", "gone.yaml"];
    command(&dir, &run).expect(0, &["verdict: the expected violation was found"]);
    let fixed = [&run[..], &["--fixed"]].concat();
    command(&dir, &fixed).expect(0, &["verdict: clean"]);
    let text = fs::read_to_string(dir.join("gone.yaml")).expect("it was written");
    fs::write(
        dir.join("gone.yaml"),
        text.replace("process: a1", "process: a7"),
    )
    .expect("a folder of our own");
    command(&dir, &run).expect(2, &["there is no process `a7`", "gone.yaml:"]);
}

#[test]
fn what_has_no_violation_has_no_scene() {
    let dir = scratch("scene-clean");
    let trace = root().join("snapshots/traces/finding-2-lease-already-gone.trace");
    let text = fs::read_to_string(trace).expect("it is kept");
    let cut = text.lines().take_while(|line| !line.starts_with("end "));
    let clean: String = cut.map(|line| format!("{line}\n")).collect();
    fs::write(dir.join("clean.trace"), clean + "end {\"events\":75}\n").expect("our own");
    command(&dir, &["scene", "clean.trace"]).expect(2, &["it holds no violation"]);
    let several = ["scene", "clean.trace", "clean.trace", "--out", "one.yaml"];
    command(&dir, &several).expect(2, &["several scenes do not go into one file"]);
}
