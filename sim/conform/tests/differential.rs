//! The comparison itself is compared: two servers of one version must not differ, whatever is
//! drawn, and what is drawn must have the shares that were asked for.
//!
//! `WAVETANK_OPERATIONS` sets how many operations are run.

use std::env;

use wavetank_conform::op::{At, Lease, Op, PutOp, WatchOp};
use wavetank_conform::side::Bytes;
use wavetank_conform::{Plan, Program, Real, Sequence, Ticks, compare, run};
use wavetank_etcd::{Filters, Keys, Put};

#[test]
fn the_real_server_is_like_itself() {
    let Some(program) = Program::for_test() else {
        return;
    };
    let asked = env::var("WAVETANK_OPERATIONS").ok();
    let operations = asked.map_or(3000, |count| count.parse().expect("a number of operations"));
    let real = || Real::new(program.clone(), Ticks::Fast);
    let plan = Plan {
        keys: program.keys(),
        ..Plan::new(operations, 1)
    };
    let report = compare(&plan, real, real, |_| {});
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
    let side = || Real::new(program.clone(), Ticks::Fast).expect("a runtime");
    let figures = run(
        &mut side(),
        &mut side(),
        &Sequence {
            rhythm: 10_000,
            ops,
        },
    );
    let events = figures.expect("no difference").events;
    // And the writes by which the runner comes to rest, which the first one sees too.
    assert!((4400..4410).contains(&events), "{events} events");
}
