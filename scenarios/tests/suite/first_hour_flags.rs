//! What somebody meets in the first hour who gives flags that cannot be meant, or that change nothing.

use crate::support::{files, root, run, scratch};

#[test]
fn memory_is_looked_at_in_small_scopes_too() {
    let dir = scratch("memory");
    let least = ["64", "--threads", "1"];
    let scope = ["check", "cluster-ips-bitmap", "--fixed", "--memory"];
    let texts = [
        "incomplete: nothing found in",
        "it came near to the 64 MiB of memory that it may have (--memory)",
    ];
    run(&dir, &[&scope[..], &least].concat()).expect(4, &texts);
    let texts = ["the command itself needs more: give at least 64"];
    run(&dir, &[&scope[..], &["0"]].concat()).expect(2, &texts);
    run(&dir, &[&scope[..], &["much"]].concat()).expect(2, &["a whole number of MiB"]);
}

#[test]
fn a_scope_says_before_its_search_what_its_calm_never_comes_to() {
    let dir = scratch("calm-in-vain");
    let scope = "
name: own
about: Nothing happens.
release: v1.36
topology: {etcd: 1, apiservers: 1}
options: {endpoint-reconciler-type: lease}
storm: 20.01s
calm: 20s
properties: [endpoints-converge]
search: {from: 20s}
";
    std::fs::write(dir.join("own.yaml"), scope).expect("a folder of our own");
    let args = ["check", "own.yaml", "--fixed"];
    let texts = [
        "hint: own: `endpoints-converge`: it is looked at in calm, to which a search goes on only with",
    ];
    let done = run(&dir, &args).expect(4, &texts);
    assert!(!done.stdout.contains("--seeds"), "{}", done.stdout);
    let longer = scope.replace("{from: 20s}", "{from: 20s, recovers: true}");
    std::fs::write(dir.join("own.yaml"), longer).expect("a folder of our own");
    run(&dir, &args).expect(
        4,
        &["s after the storm, and `calm` ends before that: let it last longer"],
    );
}

#[test]
fn a_name_that_is_a_part_of_others_gets_those() {
    let dir = scratch("parts");
    run(&dir, &["describe", "last-apiserver-k"])
        .expect(2, &["did you mean `last-apiserver-keeps-address`?"]);
    let done = run(&dir, &["describe", "nothing-like-it"]).expect(2, &["more, which `list` has"]);
    assert!(done.stderr.len() < 2_000, "{}", done.stderr);
}

#[test]
fn bounds_of_another_search_are_refused() {
    let dir = scratch("around-only");
    for bound in [["--deviations", "1"], ["--window", "1s"]] {
        let args = [&["check", "cluster-ips-bitmap", "--fixed"][..], &bound].concat();
        run(&dir, &args).expect(2, &["cannot be used with", bound[0]]);
    }
}

#[test]
fn numbers_below_zero_and_ports_are_explained() {
    let dir = scratch("misread");
    let say = |args: &[&str], texts: &[&str]| {
        let done = run(&dir, args).expect(2, texts);
        assert!(!done.stderr.contains("tip:"), "{}", done.stderr);
    };
    say(
        &["run", "watch-storm", "--seeds", "-1"],
        &[
            "`-1` is below zero",
            "--seeds <A..B>",
            "up to, but not including, B",
        ],
    );
    say(
        &["check", "lease-endpoints", "--deviations", "-2"],
        &["`-2` is below zero", "--deviations <N>"],
    );
    say(
        &["check", "lease-endpoints", "--explore", "8080"],
        &["write `--explore=8080`"],
    );
    say(
        &["check", "lease-endpoints", "--explore=0"],
        &["a number from 1 to 65535"],
    );
}

/// A defect of which nothing would be seen is not looked for in silence.
#[test]
fn a_defect_without_a_place_is_refused() {
    let dir = scratch("no-place");
    let say = |args: &[&str], texts: &[&str]| {
        let done = run(&dir, args).expect(2, texts);
        assert_eq!(done.stdout, "");
    };
    // The component is not there.
    for flag in ["--defect", "--without"] {
        say(
            &["run", "kubernetes-endpoints", flag, "ttl-from-cache"],
            &[
                &format!(
                    "{flag} ttl-from-cache: `ttl-from-cache` has a place only in TTL-after-finished controllers"
                ),
                "scenarios that have its place: finished-jobs",
                "scopes that have its place: ttl-after-finished",
                "`wavetank describe ttl-from-cache`",
            ],
        );
    }
    // An option hides it.
    for flag in ["--defect", "--without"] {
        say(
            &[
                "run",
                "master-count",
                "--release",
                "v1.20",
                flag,
                "listener-closes-before-removal",
            ],
            &[
                "has a place here but does not show: it shows only with `shutdown-delay: 0s`",
                "no-shutdown-delay",
            ],
        );
    }
    // The release has no such algorithm, or did not ship with the defect.
    say(
        &["run", "service-storm", "--defect", "delete-gives-up-early"],
        &[
            "has no place in the algorithms of this release",
            "releases that have its place (--release): v1.16, v1.20",
            "service-storm --release v1.20",
        ],
    );
    say(
        &[
            "run",
            "kubernetes-endpoints",
            "--without",
            "last-apiserver-keeps-address",
        ],
        &[
            "is off already",
            "did not ship with it, but v1.16, v1.20 did",
        ],
    );
    say(
        &[
            "run",
            "kubernetes-endpoints",
            "--fixed",
            "--without",
            "last-apiserver-keeps-address",
        ],
        &["is off already: --fixed turns all known bugs off"],
    );
    say(
        &[
            "run",
            "kubernetes-endpoints",
            "--without",
            "fix-retry-remove-endpoints",
        ],
        &["is the fix of a finding, which no release has"],
    );
    let both = [
        "--defect",
        "last-apiserver-keeps-address",
        "--without",
        "last-apiserver-keeps-address",
    ];
    let args = [
        &["check", "lease-endpoints", "--release", "v1.20"],
        &both[..],
    ]
    .concat();
    say(
        &args,
        &["is named by --defect, which turns it on, and by --without"],
    );
    // What cannot be run leaves nothing behind.
    assert_eq!(files(&dir), [""; 0]);
}

#[test]
fn a_release_that_there_is_not_gets_all_that_there_are() {
    let texts = ["v1.16, v1.20, v1.36", "v3.4.13, ", ", v3.6.13"];
    run(
        &scratch("releases"),
        &["run", "watch-storm", "--release", "v1.30"],
    )
    .expect(2, &texts);
}

#[test]
fn scenarios_are_run_and_scopes_searched() {
    let dir = scratch("other-command");
    run(&dir, &["run", "lease-endpoints"]).expect(
        2,
        &["is a scope, which is searched", "check lease-endpoints"],
    );
    run(&dir, &["check", "watch-storm"]).expect(
        2,
        &["is a scenario, which is run under seeds", "run watch-storm"],
    );
}

#[test]
fn whatever_has_a_name_is_described_with_an_example() {
    let dir = scratch("described");
    let describe = |name: &str, texts: &[&str]| run(&dir, &["describe", name]).expect(0, texts);
    describe(
        "kubernetes-endpoints",
        &[
            "a bundled scenario",
            "apiservers: 3",
            "stop 6",
            "endpoints-converge",
            "wavetank run kubernetes-endpoints --fixed",
        ],
    );
    describe(
        "lease-endpoints",
        &[
            "a bundled scope",
            "9.999s to 10.025s",
            "a1 is asked to stop",
            "at most 3 of them",
            "master-lease-too-long: ",
            "wavetank check lease-endpoints --fixed",
        ],
    );
    describe(
        "ttl-from-cache",
        &[
            "needs",
            "`controllers: [ttl-after-finished-controller]` in `options`",
            "wavetank check ttl-after-finished",
        ],
    );
    describe(
        "last-apiserver-keeps-address",
        &[
            "`apiservers: 2` in `topology`",
            "`endpoint-reconciler-type: lease` in `options`",
        ],
    );
    describe(
        "stopped-address-is-removed",
        &[
            "tested by",
            "`stop: {max: 3, lasts: 5s..30s}` in `faults`",
            "--require stopped-address-is-removed",
        ],
    );
    describe(
        "stop",
        &[
            "`stop: {max: 3, lasts: 5s..30s}` in `faults`",
            "one of `apiservers: 2` in `topology`",
            "wavetank run ",
        ],
    );
    describe("pause", &["nothing: it strikes whatever there is"]);
    run(&dir, &["describe", "lease-endpoint"]).expect(2, &["did you mean `lease-endpoints`?"]);
}

/// Each defect can be shown by some command.
#[test]
fn every_defect_has_an_example() {
    use wavetank::catalogue::Catalogue as _;
    let kube = wavetank::kube::Kube::default();
    // Some are enough: each takes a while.
    for defect in kube.defects().into_iter().step_by(7) {
        let described = kube.describe(&defect.name).expect("it is listed");
        let example = described
            .facts
            .iter()
            .find(|(heading, _)| heading == "example");
        let example = example.map(|(_, lines)| lines.join(""));
        assert!(
            example.is_some_and(|example| example.starts_with("wavetank ")),
            "{}",
            defect.name
        );
    }
}

/// README and the command say the same of exit codes.
#[test]
fn exit_codes_have_one_wording() {
    let help = run(&scratch("exit-codes-help"), &["--help"])
        .expect(0, &[])
        .stdout;
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, codes) = help.split_once("Exit codes:").expect("it lists them");
    let readme = std::fs::read_to_string(root().join("README.md")).expect("it is there");
    assert!(words(&readme).contains(&words(codes)), "{codes}");
}
