//! The comparison must find a side that is wrong in a small thing, soon, and tell it in few steps.

use wavetank_conform::etcd::{Mutated, Mutation, Ours, Plan, Report, compare};

/// Compares the simulated server with itself, one of the two lying: the lies are those that a real
/// one would tell as well, and no server has to be there.
fn against(mutation: Mutation) -> Report {
    let ours = || Ours::new(wavetank_releases::etcd::LATEST);
    let plan = Plan {
        length: 500,
        workers: 1,
        ..Plan::new(2000, 1)
    };
    let lying = || Ok(Mutated::new(ours(), mutation));
    compare(&plan, || Ok(ours()), lying, |_| true)
}

fn check(mutation: Mutation) {
    let report = against(mutation);
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
