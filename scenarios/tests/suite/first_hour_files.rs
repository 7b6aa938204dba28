//! What somebody meets in the first hour whose files are not yet right: traces that were edited, scenarios that lack
//! something, folders that are not there.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use wavetank::attribution::Attribution;
use wavetank::case::run_seed;
use wavetank::catalogue::{Catalogue as _, Composition};
use wavetank::head::Head;
use wavetank::kube::Kube;
use wavetank::shrink::{Effort, shrink};
use wavetank::trace_file::{self, Trace};
use wavetank_engine::trace::{Line, Record};

use crate::support::{Done, files, game, run, scratch};

/// The trace of a clean run of the game, as lines.
fn clean(dir: &Path) -> Vec<String> {
    game(dir, &["run", "ping-pong", "--seed", "3", "--all-traces"]).expect(0, &[]);
    let text = fs::read_to_string(dir.join("wavetank-out/ping-pong-clean-seed3.trace"));
    text.expect("it was written")
        .lines()
        .map(str::to_owned)
        .collect()
}

/// Replays what becomes of a trace when the line with this number, from 1, is changed.
fn edited(dir: &Path, lines: &[String], number: usize, change: impl Fn(&str) -> String) -> Done {
    let mut lines = lines.to_vec();
    lines[number - 1] = change(&lines[number - 1]);
    fs::write(dir.join("edited.trace"), lines.join("\n") + "\n").expect("a folder of our own");
    game(dir, &["replay", "edited.trace"])
}

#[test]
fn replay_names_the_line_that_was_edited() {
    let dir = scratch("edited");
    let lines = clean(&dir);
    // In the middle of the trace, far from any digest.
    let is_plain = |line: &String| line.contains(" request ");
    let at = lines
        .iter()
        .skip(100)
        .position(is_plain)
        .expect("there are events")
        + 101;
    let line = &lines[at - 1];
    let (time, what) = line.split_once(' ').expect("a time and an event");
    let what = what.split(" ~").next().expect("a name");
    // Its time.
    let last = if time.ends_with('1') { '2' } else { '1' };
    let other = format!("{}{last}", &time[..time.len() - 1]);
    let later = |line: &str| line.replacen(time, &other, 1);
    let said = edited(&dir, &lines, at, later).expect(3, &[&format!("line {at}, at event ")]);
    let says = format!("the trace says `{what}` at {other} s; what happened: `{what}` at {time} s");
    assert!(said.stderr.contains(&says), "{}", said.stderr);
    // It and the next one change places.
    let mut swapped = lines.clone();
    swapped.swap(at - 1, at);
    edited(&dir, &swapped, 1, str::to_owned).expect(3, &[&format!("line {at}, at event ")]);
    // It is missing.
    let mut cut = lines.clone();
    cut.remove(at - 1);
    edited(&dir, &cut, 1, str::to_owned).expect(3, &[&format!("line {at}, at event ")]);
    // How long a message took: that shows where it arrives.
    let slower = |line: &str| match line.rsplit_once(" ~ ") {
        Some((event, delays)) => format!("{event} ~ 9{delays}"),
        None => panic!("`{line}` sent something"),
    };
    let sends = |line: &String| line.contains(" request ") && line.contains(" ~ ");
    let at = lines
        .iter()
        .skip(50)
        .position(sends)
        .expect("something is sent")
        + 51;
    let said = edited(&dir, &lines, at, slower).expect(3, &["it no longer fits: line "]);
    let (_, rest) = said.stderr.split_once("line ").expect("it names a line");
    let named: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let named: usize = named.parse().expect("a number");
    assert!((at + 1..at + 60).contains(&named), "{at}: {}", said.stderr);
}

#[test]
fn a_violation_that_is_told_otherwise_is_another_one() {
    let dir = scratch("edited-violation");
    let (_, mut trace) = violated();
    let end = trace.lines.iter_mut().find_map(|line| match line {
        Line::End(end) => end.violation.as_mut(),
        _ => None,
    });
    let violation = end.expect("it is violated");
    let was = std::mem::replace(&mut violation.message, "the moon is full".to_owned());
    trace_file::write_at(&dir.join("own.trace"), &trace.to_bytes()).expect("writable");
    run(&dir, &["replay", "own.trace"]).expect(3, &["the moon is full", &was]);
}

#[test]
fn a_digest_that_differs_says_between_which_lines_it_happened() {
    let dir = scratch("digest");
    let lines = clean(&dir);
    let at = lines
        .iter()
        .position(|line| line.starts_with("# 64 "))
        .expect("it has one")
        + 1;
    let other = |line: &str| format!("{} 0123456789abcdef", line.rsplit_once(' ').expect("two").0);
    let texts = [
        &*format!("line {at}, at event 64: the trace says digest 0123456789abcdef"),
        &*format!("in lines 3 to {} something led elsewhere", at - 1),
    ];
    edited(&dir, &lines, at, other).expect(3, &texts);
}

/// The trace of the violation that README tells of, and its case.
fn violated() -> (Box<dyn wavetank::case::Case>, Trace) {
    let composition = Composition {
        release: Some("v1.20".to_owned()),
        ..Composition::default()
    };
    let case = Kube::default().open("kubernetes-endpoints", &composition);
    let case = case.expect("it is bundled");
    let outcome = run_seed(case.as_ref(), 3, None, Record::default());
    let head = Head::new(case.as_ref(), 3, case.derive(3));
    let trace = Trace::of(head, &outcome);
    assert!(trace.end().violation.is_some());
    (case, trace)
}

#[test]
fn what_is_odd_is_counted_alike_before_and_after() {
    let (case, trace) = violated();
    let once = shrink(case.as_ref(), &trace, Effort::default()).expect("it is violated");
    assert!(
        once.is_whole && once.before.delays > 100,
        "{:?}",
        once.before
    );
    assert_eq!(once.after.delays, 0);
    let again = shrink(case.as_ref(), &once.trace, Effort::default()).expect("it is violated");
    assert_eq!(again.before, once.after);
    assert_eq!(again.attribution_before, once.attribution);
    assert_eq!(again.attribution, once.attribution);
}

#[test]
fn shrinking_that_is_interrupted_keeps_what_it_has() {
    static STOP: AtomicBool = AtomicBool::new(true);
    let (case, trace) = violated();
    let effort = Effort {
        stop: Some(&STOP),
        ..Effort::default()
    };
    let shrunk = shrink(case.as_ref(), &trace, effort).expect("it is violated");
    assert!(!shrunk.is_whole && shrunk.trace.end().violation.is_some());
    assert!(matches!(shrunk.attribution, Attribution::Each(_)));
}

#[test]
fn shrink_says_where_it_keeps_what_it_reached() {
    let dir = scratch("shrink-out");
    let (_, trace) = violated();
    trace_file::write(&dir, "large", &trace.to_bytes()).expect("a folder of our own");
    let out = [
        "shrink",
        "large.trace",
        "--attempts",
        "3",
        "--out",
        "none/such/",
    ];
    let texts = [
        "stopped by --attempts or --for after 3 simulations",
        "the smallest trace so far is kept in none/such/large-shrunk.trace",
    ];
    run(&dir, &out).expect(0, &texts);
    assert_eq!(files(&dir.join("none/such")), ["large-shrunk.trace"]);
    fs::write(dir.join("file"), "").expect("a folder of our own");
    // It is refused before the work begins.
    run(
        &dir,
        &["shrink", "large.trace", "--out", "file/small.trace"],
    )
    .expect(2, &["cannot write into `file`"]);
}

#[test]
fn a_smaller_trace_is_not_overwritten() {
    let dir = scratch("shrunk-twice");
    let (_, trace) = violated();
    trace_file::write(&dir, "large", &trace.to_bytes()).expect("a folder of our own");
    let shrunk = dir.join("large-shrunk.trace");
    run(&dir, &["shrink", "large.trace"]).expect(0, &[]);
    let small = fs::read(&shrunk).expect("it was written");
    let texts = ["large-shrunk.trace has a smaller one from earlier, with"];
    run(&dir, &["shrink", "large.trace", "--attempts", "1"]).expect(0, &texts);
    assert!(fs::read(&shrunk).expect("it is there") == small);
    // Of the smallest nothing can go.
    let texts = ["nothing of it could go, so nothing was written"];
    run(&dir, &["shrink", "large-shrunk.trace"]).expect(0, &texts);
    assert_eq!(files(&dir), ["large-shrunk.trace", "large.trace"]);
}

#[test]
fn a_report_that_cannot_be_written_is_refused_before_the_work() {
    let dir = scratch("report-nowhere");
    let report = ["--report", "none/such.xml"];
    let run_it = [
        "run",
        "kubernetes-endpoints",
        "--fixed",
        "--seeds",
        "0..1000000000",
    ];
    let check_it = ["check", "lease-endpoints", "--fixed"];
    for command in [&run_it[..], &check_it[..]] {
        run(&dir, &[command, &report].concat()).expect(2, &["cannot write `none/such.xml`"]);
    }
}

#[test]
fn a_trace_with_components_that_there_are_not_names_whose_it_may_be() {
    let dir = scratch("own-component");
    let (_, trace) = violated();
    let text = String::from_utf8(trace.to_bytes()).expect("text");
    let other = text.replacen("\"topology\":{", "\"topology\":{\"buyers\":2,", 1);
    assert_ne!(text, other);
    fs::write(dir.join("other.trace"), other).expect("a folder of our own");
    let texts = [
        "topology.buyers: unknown key `buyers`",
        "if the command of another crate wrote it",
    ];
    run(&dir, &["replay", "other.trace"]).expect(2, &texts);
}

#[test]
fn a_process_has_a_story() {
    let dir = scratch("about-process");
    let (_, trace) = violated();
    trace_file::write(&dir, "large", &trace.to_bytes()).expect("a folder of our own");
    let done = run(&dir, &["replay", "large.trace", "--about", "a2"]);
    let done = done.expect(
        1,
        &[
            "a2 is asked to stop (SIGTERM)",
            "a2     begins to shut down",
            "(by a2)",
        ],
    );
    assert!(!done.stdout.contains("(by a1)"), "{}", done.stdout);
    let texts = [
        "nothing was told about `a7`; did you mean `a1`?",
        "there are the processes a1, a2, a3, c1, c2, etcd, and the objects /registry/",
    ];
    run(&dir, &["replay", "large.trace", "--about", "a7"]).expect(2, &texts);
}

const OWN: &str = "
name: own
about: Two apiservers.
release: v1.20
topology: {etcd: 1, apiservers: 2}
options: {endpoint-reconciler-type: lease}
storm: 20s
calm: 200s
";

fn own(dir: &Path, more: &str, args: &[&str]) -> Done {
    fs::write(dir.join("own.yaml"), format!("{OWN}{more}")).expect("a folder of our own");
    run(dir, args)
}

/// In the story, in the figures where it is so in some seeds, and in the verdict where it is in all.
#[test]
fn what_nobody_hears_is_told() {
    let dir = scratch("unheard");
    let plan = "\
properties: [no-lease-write-after-removal]
plan:
  - {at: 14s, fault: {crash: {process: a2}}}
  - {at: 16s, fault: {crash: {process: w1}}}
  - {at: 17s, tell: {process: w1, what: write}}
  - {at: 18s, fault: {stop: {process: a1}}}
";
    let seeds = ["run", "own.yaml", "--fixed", "--seeds", "0..2"];
    let own_with_writer = |plan: &str, args: &[&str]| {
        let text = OWN.replace("topology: {", "topology: {writers: 1, ");
        fs::write(dir.join("own.yaml"), format!("{text}{plan}")).expect("a folder of our own");
        run(&dir, args)
    };
    let texts = [
        "verdict: incomplete",
        "nobody heard what is planned at 17 s, `w1 is told to write`: w1 is down",
    ];
    own_with_writer(plan, &seeds).expect(4, &texts);
    // When it starts a seed says.
    let early = "\
properties: [no-lease-write-after-removal]
plan:
  - {at: 6s, tell: {process: w1, what: write}}
  - {at: 18s, fault: {stop: {process: a1}}}
";
    let seeds = ["run", "own.yaml", "--fixed", "--seeds", "0..20"];
    let done = own_with_writer(early, &seeds);
    let told = "planned at 6 s, not done in ";
    assert!(done.stdout.contains(told), "{}", done.stdout);
    assert!(
        done.stdout
            .contains("of 20 seeds: w1 is told to write (w1 is down)"),
        "{}",
        done.stdout
    );
}

#[test]
fn a_planned_fault_that_strikes_nothing_is_told() {
    let dir = scratch("in-vain");
    let plan = "\
properties: [no-lease-write-after-removal]
plan:
  - {at: 14s, fault: {half-open: {client: a1, server: etcd, transport: etcd/configmaps}}}
  - {at: 15s, fault: {reset: {client: etcd, server: a1, transport: etcd}}}
  - {at: 16s, fault: {crash: {process: a2}}}
  - {at: 17s, fault: {crash: {process: a2}}}
  - {at: 18s, fault: {heal-all: {}}}
  - {at: 19s, fault: {stop: {process: a1}}}
";
    let seeds = ["run", "own.yaml", "--fixed", "--seeds", "0..2"];
    let texts = [
        "verdict: incomplete",
        "planned at 14 s, `the connection of a1 to etcd for configmaps is half open`, struck nothing: a1 has no connection \
         `etcd/configmaps` to etcd at that time, but `etcd`",
        "planned at 15 s, `the connection of etcd to a1 is reset`, struck nothing: etcd is the server there, and a1 its client",
        "planned at 17 s, `a2 crashes`, struck nothing: a2 is down",
    ];
    let done = own(&dir, plan, &seeds).expect(4, &texts);
    assert!(!done.stdout.contains("planned at 16 s"), "{}", done.stdout);
    assert!(!done.stdout.contains("planned at 18 s"), "{}", done.stdout);
    // What is planned for before a search begins is looked at, too.
    let search = plan.to_owned() + "search: {from: 19.5s, faults: [{crash: {process: a1}}]}\n";
    let searched = ["check", "own.yaml", "--fixed"];
    let done = own(&dir, &search, &searched);
    let text = "unreached   planned at 17 s: a2 crashes, but a2 is down";
    assert!(done.stdout.contains(text), "{}", done.stdout);
    // Each strikes something.
    let right = "\
properties: [no-lease-write-after-removal]
plan:
  - {at: 14s, fault: {reset: {client: a1, server: etcd, transport: etcd}}}
  - {at: 19s, fault: {stop: {process: a1}}}
";
    own(&dir, right, &seeds).expect(0, &["verdict: clean"]);
}

#[test]
fn a_guarantee_that_is_never_tested_says_what_would() {
    let dir = scratch("untested");
    let seeds = ["run", "own.yaml", "--fixed", "--seeds", "0..2"];
    let texts = [
        "2 seeds (0..2)",
        "the guarantee `stopped-address-is-removed` was never put to the test: add `stop: {max: 3, lasts: 5s..30s}` to `faults`",
    ];
    own(&dir, "", &seeds).expect(4, &texts);
    let short = OWN.replace("calm: 200s", "calm: 10s");
    fs::write(dir.join("own.yaml"), short).expect("a folder of our own");
    let texts = [
        "`endpoints-converge` was never put to the test: it is looked at ",
        "let it last longer",
    ];
    run(&dir, &seeds).expect(4, &texts);
}

#[test]
fn what_a_scenario_lacks_is_said_as_it_is_written() {
    let dir = scratch("lacks");
    let seed = ["run", "own.yaml", "--seed", "0"];
    own(&dir, "faults: {crash: 3}", &seed).expect(
        2,
        &[
            "`faults.crash` must be a mapping, not `3`",
            "write for example `crash: {max: 3, lasts: 5s..30s}`",
        ],
    );
    let texts = [
        "it has no `search`",
        "search: {from: 19s, faults: [{crash: {process: a1}}]}",
    ];
    own(&dir, "", &["check", "own.yaml"]).expect(2, &texts);
    let line = "search: {from: 19s, faults: [{crash: {process: a1}}]}";
    own(&dir, line, &["check", "own.yaml", "--fixed"]).expect(
        4,
        &["own: no violation, but not all put to the test within 1 fault, 0 deviations"],
    );
    let clients = OWN
        .replace("apiservers: 2", "etcd-clients: 1")
        .replace("options: {endpoint-reconciler-type: lease}\n", "");
    fs::write(
        dir.join("own.yaml"),
        clients + "faults: {stop: {max: 1, lasts: 5s..30s}}",
    )
    .expect("a folder of our own");
    run(&dir, &seed).expect(
        2,
        &[
            "there is nobody whom `stop` could strike",
            "add `apiservers: 2` to `topology`, or remove it",
        ],
    );
}

/// Probes of a search that is under way are rough, and of the right size: this one has 87,521 states.
#[test]
fn a_search_that_is_ended_says_how_large_it_would_be() {
    let dir = scratch("estimate");
    let args = [
        "check",
        "cluster-ips-bitmap",
        "--fixed",
        "--max-states",
        "40000",
        "--threads",
        "1",
    ];
    let done = run(&dir, &args).expect(
        4,
        &[
            "there are more than 40,000 states: ",
            "% of all alternatives are",
        ],
    );
    let (_, rest) = done
        .stdout
        .split_once("40,000 states: ")
        .expect("it was there");
    let digits: String = rest
        .chars()
        .take_while(|c| *c != '(')
        .filter(char::is_ascii_digit)
        .collect();
    let states: u64 = digits.parse().expect("a number");
    assert!(
        (25_000..415_000).contains(&states),
        "{states} of 87,521 states"
    );
}

/// A scenario is refused, and its line is told.
#[track_caller]
fn refused(name: &str, rest: &str, says: &[&str]) {
    let dir = scratch(name);
    let text =
        format!("name: {name}\nabout: What is wrong is told.\nrelease: v1.36\nstorm: 20s\n{rest}");
    fs::write(dir.join(format!("{name}.yaml")), text).expect("a folder of our own");
    run(&dir, &["run", &format!("{name}.yaml"), "--seeds", "0..1"]).expect(2, says);
}

#[test]
fn a_name_that_is_not_the_file_s_hides_nothing_that_processes_do_not_understand() {
    let dir = scratch("misnamed");
    let text = "name: other\nabout: Two mistakes.\nrelease: v1.36\nstorm: 20s\ncalm: 500s\n\
                topology: {apiservers: 1, custom-resource-users: 1, watch-cache: true}\n\
                options: {endpoint-reconciler-type: none}\n\
                plan: [{at: 5s, tell: {process: d1, what: define, with: {foo: 1}}}]\n";
    fs::write(dir.join("misnamed.yaml"), text).expect("a folder of our own");
    run(&dir, &["run", "misnamed.yaml", "--seeds", "0..1"]).expect(
        2,
        &[
            "the name `other` differs from the file's",
            "unknown field `foo`",
        ],
    );
}

#[test]
fn custom_resources_are_of_releases_that_are_modelled_with_them() {
    let dir = scratch("too-old");
    let text = "name: too-old\nabout: A release before.\nrelease: v1.20\nstorm: 20s\ncalm: 500s\n\
                topology: {apiservers: 1, custom-resource-users: 1}\n\
                options: {endpoint-reconciler-type: none}\n";
    fs::write(dir.join("too-old.yaml"), text).expect("a folder of our own");
    run(&dir, &["run", "too-old.yaml", "--seeds", "0..1"]).expect(
        2,
        &[
            "those of v1.20 do not here",
            "upstream serves `apiextensions.k8s.io/v1` since v1.16",
            "write `release: v1.36`, or remove `custom-resource-users`",
        ],
    );
}

#[test]
fn what_a_user_of_custom_resources_is_told_is_looked_at() {
    let tell = |what: &str, with: &str| {
        format!(
            "topology: {{apiservers: 1, custom-resource-users: 1, watch-cache: true}}\n\
             options: {{endpoint-reconciler-type: none}}\ncalm: 500s\n\
             plan: [{{at: 5s, tell: {{process: d1, what: {what}, with: {with}}}}}]\n"
        )
    };
    refused(
        "unknown-with",
        &tell("define", "{foo: 1}"),
        &["unknown field `foo`", "unknown-with.yaml"],
    );
    refused(
        "no-map",
        &tell("write", "[1]"),
        &["`with` is a map, such as {server: 0}, not [1]"],
    );
    refused(
        "nothing-to-choose",
        &tell("look", "{what: create}"),
        &["nothing to choose by `what`"],
    );
}

/// And so is each other user: what nobody asks for, and what has another form.
#[test]
fn what_a_user_of_deployments_is_told_is_looked_at() {
    let tell = |with: &str| {
        format!(
            "topology: {{apiservers: 1, controller-managers: 1, deployment-users: 1, watch-cache: true}}\n\
             options: {{endpoint-reconciler-type: none, controllers: [deployment-controller, replicaset-controller]}}\n\
             calm: 900s\nplan: [{{at: 15s, tell: {{process: v1, what: use, with: {with}}}}}]\n"
        )
    };
    refused(
        "misspelt",
        &tell("{what: create, deploymnt: web}"),
        &[
            "knows nothing of `deploymnt`: did you mean `deployment`?",
            "misspelt.yaml",
        ],
    );
    refused(
        "no-number",
        &tell("{what: create, replicas: three}"),
        &["`replicas` is a whole number, not `\"three\"`"],
    );
}

#[test]
fn a_property_of_clients_needs_clients() {
    let rest = "topology: {apiservers: 2}\ncalm: 300s\nproperties: [clients-reach-an-apiserver]\n";
    refused(
        "no-clients",
        rest,
        &["is about clients, and there are none", "add `clients: 2`"],
    );
}
