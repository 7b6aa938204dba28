//! The comparison must find a side that is wrong in a small thing, soon, and tell it in few steps.

use wavetank_conform::{Mutated, Mutation, Plan, Program, Real, Report, Ticks, compare};

/// Compares the real server with itself, one of the two lying.
fn against(program: &Program, mutation: Mutation) -> Report {
    let real = || Real::new(program.clone(), Ticks::Fast);
    let plan = Plan {
        length: 500,
        keys: program.keys(),
        workers: 1,
        ..Plan::new(2000, 1)
    };
    compare(&plan, real, || Ok(Mutated::new(real()?, mutation)), |_| {})
}

fn check(mutation: Mutation) {
    let Some(program) = Program::for_test() else {
        return;
    };
    let report = against(&program, mutation);
    println!("{report}");
    let difference = report
        .difference
        .unwrap_or_else(|| panic!("{mutation:?} was not caught"));
    assert!(
        difference.smallest.ops.len() <= 12,
        "{mutation:?} is not shrunk"
    );
}

macro_rules! mutations {
    ($($name:ident: $mutation:ident,)*) => {
        $(
            #[test]
            fn $name() {
                check(Mutation::$mutation);
            }
        )*

        #[test]
        fn none_is_forgotten() {
            assert_eq!(Mutation::ALL, [$(Mutation::$mutation),*]);
        }
    };
}

mutations! {
    revision_of_nothing: RevisionOfNothing,
    put_prev_kv: PutPrevKv,
    delete_prev_kv: DeletePrevKv,
    limit: Limit,
    compacted_read: CompactedRead,
    future_read: FutureRead,
    inner_revision: InnerRevision,
    event_prev_kv: EventPrevKv,
    event_lost: EventLost,
    cancel_revision: CancelRevision,
    lease_missing: LeaseMissing,
    keep_alive_unknown: KeepAliveUnknown,
}
