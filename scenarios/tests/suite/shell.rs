//! `wavetank shell`, by scripts: where an informer and etcd part, and what becomes of it on a branch.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use crate::support::{Done, game, root, scratch, violated, wavetank};

/// What a script prints over a kept trace.
fn script(test: &str, trace: &str, lines: &str) -> Done {
    let dir = scratch(test);
    fs::write(dir.join("script"), lines).expect("it is written");
    let trace = root().join("snapshots/traces").join(trace);
    let mut command = wavetank();
    command.current_dir(&dir).arg("shell").arg(trace);
    let output = command.args(["--script", "script"]).output();
    output.expect("it starts").into()
}

const STALE: &str = "k-k-129795-pods-made-again.trace.gz";

/// The informer of pods is held when its manager makes one. Let go an event earlier, it sees it, and the controller
/// counts it.
#[test]
fn one_event_before_an_informer_and_etcd_part_a_branch_has_no_violation() {
    let lines = "\
# Where they part.
until differ(m1, etcd, pods)
get pods
get pods --from m1
diff pods etcd m1
describe pod a-bbbbb
back
diff pods etcd m1
tell m1 release {\"resource\": \"pods\"}
until count(m1, pods) == count(etcd, pods) && count(etcd, pods) > 0
get pods --from m1/informer
run
save branch.trace
rejoin
run
";
    let done = script("shell-branch", STALE, lines).expect(0, &[]);
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(root().join("snapshots/shell"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("informer-and-etcd-part", done.stdout));
    let (_, on_branch) = done.stdout.split_once("release").expect("it is told");
    let (on_branch, on_trace) = on_branch.split_once("rejoin").expect("and comes back");
    assert!(on_branch.contains("the end, no violation"), "{on_branch}");
    assert!(
        on_trace.contains("violation of sets-know-their-pods"),
        "{on_trace}"
    );
    // What was saved is a trace like any other.
    let saved = scratch("shell-saved").join("branch.trace");
    let dir = saved
        .parent()
        .and_then(|own| own.parent())
        .expect("a folder");
    let branch = dir.join("shell-branch/branch.trace");
    let replayed = wavetank().arg("replay").arg(branch).output();
    let replayed = Done::from(replayed.expect("it starts"));
    replayed.expect(0, &["events match", "no violation"]);
}

/// Stories say `default/a-bbbbb`, and so may who looks.
#[test]
fn an_object_is_named_as_stories_name_it() {
    let looks = [
        "pod default/a-bbbbb",
        "pod/default/a-bbbbb",
        "pod a-bbbbb -n default",
    ];
    let looks = looks.map(|look| {
        let lines = format!("until differ(m1, etcd, pods)\ndescribe {look}\n");
        let done =
            script("shell-named", STALE, &lines).expect(0, &["Key:", "/pods/default/a-bbbbb"]);
        let (_, looked) = done.stdout.split_once(look).expect("it looks");
        assert!(!looked.contains("never"), "{looked}");
        looked.to_owned()
    });
    let [first, others @ ..] = &looks;
    assert!(others.iter().all(|other| other == first), "{looks:#?}");
    let two = "diff pods default/a-bbbbb etcd m1 -n elsewhere\n";
    script("shell-named", STALE, two).expect(2, &["elsewhere, as -n says, or default"]);
    let none = "get nodes x/y\n";
    script("shell-named", STALE, none).expect(2, &["nodes are in no namespace"]);
}

/// Going there one by one, at once and backwards comes to the same.
#[test]
fn a_moment_does_not_depend_on_the_way_there() {
    let look = "event\npoints\nget replicasets -A -o yaml\nget pods -A -o yaml\npending 200\nprocesses\nstory 30\n";
    let ways = [
        "goto 500\n",
        "next 500\n",
        "goto 1200\nback 700\n",
        "goto end\ngoto 499\nnext\n",
    ];
    let looks = ways.map(|way| {
        let done = script("shell-ways", STALE, &format!("{way}{look}")).expect(0, &[]);
        let (_, looked) = done.stdout.split_once("> event\n").expect("it looks");
        looked.to_owned()
    });
    assert!(looks[0].contains("m1/informer"), "{}", looks[0]);
    for other in &looks[1..] {
        assert_eq!(&looks[0], other);
    }
}

#[test]
fn a_fault_and_another_order_are_branches() {
    let lines = "\
goto 20s
fault crash m1
processes
first #3
back 1
pending 3
rejoin
processes
";
    let done = script("shell-faults", STALE, lines).expect(0, &["fault m1 crashes", "left at"]);
    let down = done.stdout.matches("m1        1      down").count();
    assert_eq!(down, 1, "{}", done.stdout);
}

#[test]
fn a_watch_prints_what_changes() {
    let lines = "from etcd\nwatch pods\nfrom m1\nwatch pods --events 5\n";
    let done = script("shell-watch", STALE, lines).expect(0, &[]);
    for shown in ["EVENT   TIME", "ADDED", "a-bbbbb", "no change in 0 events"] {
        assert!(done.stdout.contains(shown), "no {shown} in {}", done.stdout);
    }
}

/// Each line that is wrong says what would be right, ends the script and is named by its number.
#[test]
fn what_is_wrong_is_said() {
    let wrong = [
        ("gett pods", "did you mean `get`?"),
        ("get podz", "there is no resource `podz`"),
        (
            "get pods --from m7",
            "there is no process `m7`; there are a1",
        ),
        ("goto 5000", "the trace has 2278 events"),
        ("goto soon", "duration"),
        ("until m1:pods", "POINT:RESOURCE/NAMESPACE/NAME"),
        ("until false", "it does not hold at any event after 0"),
        ("fault crush m1", "crush"),
        ("fault crash m7", "there is no process `m7`"),
        ("tell m1 dance", "m1 is down: nobody hears it"),
        ("tell m7 dance", "m7"),
        ("first #100000", "are pending"),
        (
            "first nothing",
            "nothing that is called `nothing` is pending",
        ),
        ("get pods -o table", "there are wide, yaml, json, name"),
        ("rejoin", "this is the trace"),
        ("p", "may be"),
        ("back", "only 0 events"),
    ];
    for (line, said) in wrong {
        let done = script("shell-wrong", STALE, &format!("# first\n{line}\nnext\n"));
        let done = done.expect(2, &["script 2", said]);
        assert!(!done.stdout.contains("> next"), "{}", done.stdout);
    }
}

/// Lines may come from a pipe, over a case of somebody else, too.
#[test]
fn lines_come_from_a_pipe() {
    let (dir, trace) = violated("shell-pipe", "blind");
    let mut command = crate::support::game_command();
    command.current_dir(&dir).args(["shell", &trace]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut lines = child.stdin.take().expect("piped");
    lines
        .write_all(b"help until\nrun\nevent\npoints\nquit\nnext\n")
        .expect("it listens");
    drop(lines);
    let done = Done::from(child.wait_with_output().expect("it ends"));
    let done = done.expect(
        0,
        &[
            "A condition is made of",
            "violation of",
            "nobody holds anything",
        ],
    );
    assert!(!done.stdout.contains("> next"), "{}", done.stdout);
    game(&dir, &["shell", &trace, "--script", "none"]).expect(2, &["there is no such file"]);
}
