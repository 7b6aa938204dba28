//! The comparison itself is compared: two servers of one version must not differ, whatever is
//! drawn, and what is drawn must have the shares that were asked for.
//!
//! `WAVETANK_OPERATIONS` sets how many operations are run.

use std::env;

use wavetank_conform::{Plan, Program, Real, Ticks, compare};

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
