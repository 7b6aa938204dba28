//! The simulated etcd is like the real one, whatever is drawn, and what is drawn has the shares that
//! were asked for. So are two real servers of one version, or the comparison would be worth nothing.
//!
//! `WAVETANK_OPERATIONS` sets how many operations are run, `WAVETANK_SEED` which ones.

use std::env;
use std::path::Path;

use wavetank_conform::etcd::op::{At, Lease, Op, PutOp, WatchOp};
use wavetank_conform::etcd::side::Bytes;
use wavetank_conform::etcd::{
    Ours, Plan, Real, Report, Sequence, against_real, compare, keys, release_of, run,
};
use wavetank_conform::{Program, Ticks};
use wavetank_etcd::{Filters, Keys, Put};

fn number(variable: &str, otherwise: u64) -> u64 {
    let given = env::var(variable).ok();
    given.map_or(otherwise, |text| text.parse().expect("a number"))
}

fn check(operations: u64, report: &Report) {
    println!("{report}");
    assert!(report.is_clean(), "{report}");
    let figures = &report.figures;
    assert!(figures.operations() >= operations);
    assert_eq!(
        figures.kinds.len(),
        13,
        "a kind of operation did not come at all"
    );
    let (kind, share) = figures.rarest().expect("there are operations");
    // Chance takes some from a share in few operations.
    assert!(
        share >= if operations < 50_000 { 4.0 } else { 5.0 },
        "{kind}: {share}"
    );
    assert!(figures.error_share() >= 20.0);
    assert!(figures.below_share() >= 10.0);
}

#[test]
fn ours_is_like_the_real_server() {
    // Says so if there is none.
    if Program::for_test().is_none() {
        return;
    }
    let operations = number("WAVETANK_OPERATIONS", 3000);
    let report = against_real(None, operations, number("WAVETANK_SEED", 1), |_| true);
    check(operations, &report.expect("there is one"));
}

#[test]
fn without_a_server_it_is_told_what_to_do() {
    let nowhere = Path::new("/nowhere/etcd");
    let error = against_real(Some(nowhere), 1, 1, |_| true).expect_err("there is none");
    assert!(error.contains("/nowhere/etcd"), "{error}");
}

/// This tests the comparison, not the simulator.
#[test]
fn the_real_server_is_like_itself() {
    let Some(program) = Program::for_test() else {
        return;
    };
    let operations = number("WAVETANK_OPERATIONS", 300);
    let real = || Real::new(program.clone(), Ticks::Fast);
    let plan = Plan {
        keys: keys(&program),
        ..Plan::new(operations, number("WAVETANK_SEED", 1))
    };
    let report = compare(&plan, real, real, |_| true);
    assert!(report.is_clean(), "{report}");
}

/// What chance does not bring: a watch more than 1000 revisions behind, which gets them in several
/// passes, and one whose events do not fit into one message.
#[test]
fn a_watch_far_behind_gets_all() {
    let Some(program) = Program::for_test() else {
        return;
    };
    let put = |index: usize| {
        let value = Bytes::from(vec![b'.'; if index < 6 { 700_000 } else { 1 }]);
        Op::Put(PutOp {
            put: Put::new(["a", "b"][index % 2], value),
            lease: Lease::None,
        })
    };
    let watch = |stream, keys, fragment| {
        Op::Watch(WatchOp {
            stream,
            keys,
            at: At::Current(-2199),
            id: None,
            prev_kv: true,
            progress_notify: false,
            fragment,
            filters: Filters::default(),
        })
    };
    let mut ops: Vec<Op> = (0..2200).map(put).collect();
    ops.push(watch(0, Keys::all(), true));
    ops.push(watch(0, Keys::one("a"), false));
    ops.push(watch(1, Keys::one("b"), true));
    let figures = run(
        &mut Real::new(program.clone(), Ticks::Fast).expect("a runtime"),
        &mut Ours::new(release_of(&program).expect("a release that is simulated")),
        &Sequence {
            rhythm: 10_000,
            ops,
        },
    );
    let events = figures.expect("no difference").events;
    // And the writes by which the runner comes to rest, which the first one sees too.
    assert!((4400..4410).contains(&events), "{events} events");
}
