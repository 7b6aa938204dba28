//! The simulated kube-apiserver against a real one that runs, where there is one.

use std::env;

use wavetank_conform::Program as Etcd;
use wavetank_conform::apiserver::{Known, Plan, Program, compare};
use wavetank_oracle::{Difference, Unequal};

fn number(variable: &str, usual: u64) -> u64 {
    let set = env::var(variable).ok();
    set.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
fn random_requests_are_answered_as_the_real_server_answers_them() {
    let (Some(program), Some(etcd)) = (Program::for_test(), Etcd::for_test()) else {
        return;
    };
    let plan = Plan {
        operations: number("WAVETANK_OPERATIONS", 200),
        seed: number("WAVETANK_SEED", 1),
        known: Known::bundled().expect("the list"),
    };
    let report = compare(&program, &etcd, &plan, |_| true);
    println!("{report}");
    assert!(report.differences.is_empty(), "{report}");
    assert_eq!(report.trouble, None);
    assert!(report.figures.steps > plan.operations / 2, "{report}");
}

#[test]
fn what_is_no_kube_apiserver_is_refused() {
    let missing = Program::at("/nowhere/kube-apiserver").expect_err("there is none");
    assert!(
        missing.contains("there is no kube-apiserver at /nowhere"),
        "{missing}"
    );
    let folder = Program::at("/").expect_err("it is a folder");
    assert!(folder.contains("/ is a folder"), "{folder}");
    let other = Program::at("/bin/echo").expect_err("it is something else");
    assert!(other.contains("does not tell its version"), "{other}");
}

#[test]
fn a_difference_is_known_by_its_text() {
    let known =
        Known::parse("# why\n\n^GET .*/pods/.* at response\\.code => because\n").expect("a list");
    let difference = |what: &str| Difference {
        step: 1,
        what: what.to_owned(),
        unequal: Unequal {
            at: "response.code".to_owned(),
            recorded: "200".to_owned(),
            simulated: "404".to_owned(),
        },
    };
    assert_eq!(
        known.reason(&difference("GET /api/v1/pods/x")),
        Some("because")
    );
    assert_eq!(known.reason(&difference("PUT /api/v1/pods/x")), None);
    for (text, why) in [
        ("GET because", "line 1: wants `PATTERN => reason`"),
        ("( => because", "line 1: regex parse error"),
    ] {
        let wrong = Known::parse(text).expect_err("no list");
        assert!(wrong.contains(why), "{wrong}");
    }
}
