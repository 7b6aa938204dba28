//! The store against a reference that keeps every state it ever had.

use crate::reference;

use std::hash::Hash;

use proptest::prelude::*;
use reference::{Bytes, Reference};
use wavetank_engine::digest;
use wavetank_etcd::{
    Compare, CompareResult, DeleteRange, EtcdError, Key, Keys, LeaseId, Leases, Order, Put, Quirks,
    Range, Request, SortBy, Store, Target, Txn, TxnOp, check,
};

#[derive(Clone, Debug)]
enum Op {
    Range(Range),
    Put(Put<Bytes>),
    Delete(DeleteRange),
    Txn(Txn<Bytes>),
    Compact(u64),
    Grant(u64),
    Revoke(u64),
}

const KEYS: [&str; 6] = ["a", "a/1", "a/2", "a0", "b", "b/1"];

fn key() -> impl Strategy<Value = Key> {
    prop::sample::select(&KEYS[..]).prop_map(Key::from)
}

fn keys() -> impl Strategy<Value = Keys> {
    prop_oneof![
        4 => key().prop_map(Keys::One),
        2 => key().prop_map(Keys::Prefix),
        2 => (key(), key()).prop_map(|(a, b)| Keys::Between(a, b)),
        1 => key().prop_map(Keys::From),
        1 => Just(Keys::all()),
    ]
}

/// How far back; `resolve` makes a revision of it.
fn back() -> impl Strategy<Value = u64> {
    prop_oneof![2 => Just(0_u64), 3 => 1..9_u64]
}

fn value() -> impl Strategy<Value = Bytes> {
    prop::collection::vec(0..3_u8, 0..2).prop_map(Bytes::from)
}

fn lease() -> impl Strategy<Value = Option<LeaseId>> {
    prop_oneof![3 => Just(None), 2 => (1..4_u64).prop_map(|id| Some(LeaseId(id)))]
}

fn range() -> impl Strategy<Value = Range> {
    let order = prop_oneof![
        2 => Just(None),
        1 => Just(Some(Order::Ascend)),
        1 => Just(Some(Order::Descend))
    ];
    let by = prop::sample::select(vec![
        SortBy::Key,
        SortBy::Version,
        SortBy::Create,
        SortBy::Mod,
        SortBy::Value,
    ]);
    let bound = || prop_oneof![4 => Just(0_u64), 1 => 1..9_u64];
    let what = (keys(), back(), 0..4_u64, order, by);
    let how = (prop::bool::weighted(0.2), prop::bool::weighted(0.2));
    let bounds = (bound(), bound(), bound(), bound());
    (what, how, bounds).prop_map(|(what, (keys_only, count_only), bounds)| Range {
        revision: what.1,
        limit: what.2,
        order: what.3,
        by: what.4,
        serializable: false,
        keys_only,
        count_only,
        min_mod: bounds.0,
        max_mod: bounds.1,
        min_create: bounds.2,
        max_create: bounds.3,
        keys: what.0,
    })
}

fn put() -> impl Strategy<Value = Put<Bytes>> {
    let rare = || prop::bool::weighted(0.15);
    let flags = (any::<bool>(), rare(), rare());
    (key(), value(), lease(), flags).prop_map(
        |(key, value, lease, (prev_kv, ignore_value, ignore_lease))| Put {
            key,
            value: if ignore_value { Bytes::from([]) } else { value },
            lease: if ignore_lease { None } else { lease },
            prev_kv,
            ignore_value,
            ignore_lease,
        },
    )
}

fn delete() -> impl Strategy<Value = DeleteRange> {
    (keys(), any::<bool>()).prop_map(|(keys, prev_kv)| DeleteRange { keys, prev_kv })
}

fn compare() -> impl Strategy<Value = Compare<Bytes>> {
    let result = prop::sample::select(vec![
        CompareResult::Equal,
        CompareResult::NotEqual,
        CompareResult::Greater,
        CompareResult::Less,
    ]);
    let target = prop_oneof![
        (0..3_u64).prop_map(Target::Version),
        back().prop_map(Target::Create),
        back().prop_map(Target::Mod),
        value().prop_map(Target::Value),
        lease().prop_map(Target::Lease),
    ];
    (keys(), result, target).prop_map(|(keys, result, target)| Compare {
        keys,
        result,
        target,
    })
}

fn txn() -> impl Strategy<Value = Txn<Bytes>> {
    let level = |op: BoxedStrategy<TxnOp<Bytes>>| {
        let ops = prop::collection::vec(op, 0..4);
        (prop::collection::vec(compare(), 0..3), ops.clone(), ops)
            .prop_map(|(compare, success, failure)| Txn {
                compare,
                success,
                failure,
            })
            .boxed()
    };
    let leaf = prop_oneof![
        2 => range().prop_map(TxnOp::Range),
        3 => put().prop_map(TxnOp::Put),
        2 => delete().prop_map(TxnOp::DeleteRange),
    ]
    .boxed();
    let nested = level(leaf.clone()).prop_map(TxnOp::Txn);
    level(prop_oneof![3 => leaf, 1 => nested].boxed())
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => range().prop_map(Op::Range),
        5 => put().prop_map(Op::Put),
        2 => delete().prop_map(Op::Delete),
        6 => txn().prop_map(Op::Txn),
        1 => (0..8_u64).prop_map(Op::Compact),
        1 => (1..4_u64).prop_map(Op::Grant),
        1 => (1..4_u64).prop_map(Op::Revoke),
    ]
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec(op(), 1..40)
}

/// 0 stays 0; 1 is the next revision, 2 the newest, and so on.
fn resolve(back: &mut u64, newest: u64) {
    if *back > 0 {
        *back = (newest + 2).saturating_sub(*back);
    }
}

fn resolve_range(range: &mut Range, newest: u64) {
    resolve(&mut range.revision, newest);
    resolve(&mut range.min_mod, newest);
    resolve(&mut range.max_mod, newest);
    resolve(&mut range.min_create, newest);
    resolve(&mut range.max_create, newest);
}

fn resolve_txn(txn: &mut Txn<Bytes>, newest: u64) {
    for compare in &mut txn.compare {
        if let Target::Create(back) | Target::Mod(back) = &mut compare.target {
            resolve(back, newest);
        }
    }
    for op in txn.success.iter_mut().chain(&mut txn.failure) {
        match op {
            TxnOp::Range(range) => resolve_range(range, newest),
            TxnOp::Txn(txn) => resolve_txn(txn, newest),
            _ => {}
        }
    }
}

fn quirks() -> impl Strategy<Value = Quirks> {
    (any::<bool>(), any::<bool>()).prop_map(|(drops, in_order)| Quirks {
        drops_tombstone_at_compaction: drops,
        txn_checks_in_op_order: in_order,
    })
}

/// Does `op` to both, and compares the answers.
fn step(
    op: Op,
    store: &mut Store<Bytes>,
    leases: &mut Leases,
    reference: &mut Reference,
) -> Result<(), TestCaseError> {
    let (newest, quirks) = (store.revision(), reference.quirks);
    match op {
        Op::Range(mut range) => {
            resolve_range(&mut range, newest);
            prop_assert_eq!(store.range(&range), reference.range(&range));
        }
        Op::Put(put) => {
            let done = store.put(&put, leases).map(|(done, changes)| {
                leases.follow(&changes);
                done
            });
            prop_assert_eq!(done, reference.put(&put));
        }
        Op::Delete(delete) => {
            let (done, changes) = store.delete_range(&delete);
            leases.follow(&changes);
            prop_assert_eq!(done, reference.delete(&delete));
        }
        Op::Txn(mut txn) => {
            resolve_txn(&mut txn, newest);
            if check::form(&Request::Txn(txn.clone())).is_ok() {
                let done = store.txn(&txn, leases, quirks).map(|(done, changes)| {
                    leases.follow(&changes);
                    done
                });
                prop_assert_eq!(done, reference.txn(&txn));
            }
        }
        Op::Compact(mut back) => {
            resolve(&mut back, newest);
            prop_assert_eq!(store.compact(back, quirks), reference.compact(back));
        }
        Op::Grant(id) => {
            let new = reference.leases.insert(LeaseId(id));
            prop_assert_eq!(leases.grant(LeaseId(id), 60).is_ok(), new);
        }
        Op::Revoke(id) => {
            let id = LeaseId(id);
            match leases.revoke(id) {
                Ok(keys) => {
                    store.delete_all(&keys);
                    reference.revoke(id);
                }
                Err(error) => {
                    prop_assert_eq!(error, EtcdError::LeaseNotFound);
                    prop_assert!(!reference.leases.contains(&id));
                }
            }
        }
    }
    Ok(())
}

/// Compares all that can be read.
fn same(store: &Store<Bytes>, leases: &Leases, reference: &Reference) -> Result<(), TestCaseError> {
    prop_assert_eq!(store.revision(), reference.revision());
    prop_assert_eq!(store.keys_len(), reference.now().len());
    prop_assert!(store.is_consistent());
    for revision in 0..=store.revision() + 1 {
        let mut all = Range::of(Keys::all());
        all.revision = revision;
        prop_assert_eq!(store.range(&all), reference.range(&all));
        for key in KEYS {
            let at = store.at(key, revision).map(Option::<&_>::cloned);
            prop_assert_eq!(at, reference.at(key, revision));
        }
        let commits = store.since(revision).map(|commits| {
            let commits = commits.map(|(revision, changes)| (revision, changes.to_vec()));
            commits.collect::<Vec<_>>()
        });
        prop_assert_eq!(commits, reference.since(revision));
    }
    for (id, lease) in leases.iter() {
        let keys: Vec<String> = lease.keys.iter().map(|key| key.to_string()).collect();
        prop_assert_eq!(keys, reference.attached(id));
    }
    Ok(())
}

proptest! {
    #[test]
    fn the_store_is_what_the_reference_is(ops in ops(), quirks in quirks()) {
        let mut store = Store::default();
        let mut leases = Leases::default();
        let mut reference = Reference::new(quirks);
        for op in ops {
            step(op, &mut store, &mut leases, &mut reference)?;
            same(&store, &leases, &reference)?;
        }
    }

    #[test]
    fn a_copy_goes_its_own_way(before in ops(), left in ops(), right in ops()) {
        let run = |ops: [&[Op]; 2]| {
            let mut store = Store::default();
            let mut leases = Leases::default();
            let mut reference = Reference::new(Quirks::default());
            for op in ops.concat() {
                step(op, &mut store, &mut leases, &mut reference)?;
            }
            Ok::<_, TestCaseError>((store, leases, reference))
        };
        let (store, leases, reference) = run([&before, &[]])?;
        for after in [&left, &right] {
            let (mut store, mut leases) = (store.clone(), leases.clone());
            let mut copy = run([&before, &[]])?.2;
            for op in after {
                step(op.clone(), &mut store, &mut leases, &mut copy)?;
            }
            same(&store, &leases, &copy)?;
            // What was made apart is equal, and hashes so.
            let (again, leases_again, _) = run([&before, after])?;
            prop_assert!(store == again);
            prop_assert_eq!(digest(&store), digest(&again));
            prop_assert!(leases == leases_again);
            prop_assert_eq!(digest(&leases), digest(&leases_again));
        }
        same(&store, &leases, &reference)?;
    }
}

fn differ<T: Eq + Hash>(a: &T, b: &T) -> bool {
    a != b && digest(a) != digest(b)
}

#[test]
fn what_differs_is_not_equal() {
    let leases = Leases::default();
    let mut store = Store::<Bytes>::default();
    let put = |store: &mut Store<Bytes>, key: &str, value: u8| {
        let put = Put::new(key, Bytes::from([value]));
        store.put(&put, &leases).expect("a put");
    };
    put(&mut store, "a", 1);
    let one = store.clone();
    assert!(!differ(&one, &store));
    put(&mut store, "a", 1);
    assert!(differ(&one, &store));
    // The same keys and revision, another history.
    let (mut left, mut right) = (one.clone(), one.clone());
    put(&mut left, "b", 1);
    put(&mut left, "b", 2);
    let delete = DeleteRange {
        keys: Keys::all(),
        prev_kv: false,
    };
    left.delete_range(&delete);
    put(&mut right, "b", 2);
    put(&mut right, "b", 1);
    right.delete_range(&delete);
    assert!(differ(&left, &right));
    // What is forgotten does not count.
    for store in [&mut left, &mut right] {
        put(store, "c", 1);
        store.compact(6, Quirks::default()).expect("not compacted");
    }
    assert!(!differ(&left, &right));
    assert!(left == right);
    // Only the compact revision.
    let mut compacted = one.clone();
    compacted.compact(0, Quirks::default()).expect("the first");
    assert!(differ(&one, &compacted));
}
