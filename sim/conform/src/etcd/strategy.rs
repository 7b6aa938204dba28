//! Which operations are drawn, and how often: proptest strategies.
//!
//! The space of keys is small, so that hits, misses and duplicates are all common. What would
//! crash the real server, or what it answers differently from run to run, is never drawn; each
//! such gap is told where it is made.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::option::{self, weighted};
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::select;
use wavetank_etcd::{CompareResult, DeleteRange, Filters, Key, Keys, Order, Put, Range, SortBy};

use crate::etcd::op::{
    Against, At, CompareOp, InnerOp, Lease, Op, PutOp, RangeOp, TxnBody, WatchOp,
};
use crate::etcd::side::Bytes;

/// The keys. With the one that the runner writes there are 11: a server sorts up to 12 by insertion,
/// which is stable. Above, equal ones have no certain order.
pub const KEYS: &[&str] = &["a", "ab", "abc", "b", "ba", "bb", "c", "ca", "d", "é"];

/// As few as a server built with Go before 1.19 sorts stably: up to 6, with the runner's. Above, it
/// first compares those that are 6 apart.
pub const FEW_KEYS: &[&str] = &["a", "ab", "abc", "b", "ba"];

/// Keys to draw from.
type Space = &'static [&'static str];

/// Streams of watches at a time.
const STREAMS: usize = 3;

fn key(space: Space) -> impl Strategy<Value = Key> {
    select(space).prop_map(Arc::from)
}

/// Keys of all shapes, with empty and inverted ranges. The end of a range is never empty nor
/// `\0`, which on the wire would mean something else.
fn keys(space: Space) -> impl Strategy<Value = Keys> {
    prop_oneof![
        10 => key(space).prop_map(Keys::One),
        4 => select(&["a", "b", "c", "ab", "x"][..]).prop_map(Keys::prefix),
        5 => (key(space), key(space)).prop_map(|(first, end)| Keys::Between(first, end)),
        3 => key(space).prop_map(Keys::From),
        3 => Just(Keys::all()),
        1 => Just(Keys::one("")),
        1 => Just(Keys::prefix("")),
    ]
}

/// Values: few, so that comparisons hit.
fn small() -> impl Strategy<Value = Bytes> {
    select(&["", "1", "2", "3", "22"][..]).prop_map(|text| Bytes::from(text.as_bytes()))
}

/// Now and then one so large that a watch is fragmented, or that the request is refused (above
/// 1.5 MiB). Not in transactions: several of them may be above 2 MiB, which gRPC itself refuses,
/// with a text that tells the bytes of the message.
fn value() -> impl Strategy<Value = Bytes> {
    let filled = |size: usize| Bytes::from(vec![b'.'; size]);
    prop_oneof![
        200 => small(),
        1 => Just(filled(700_000)),
        1 => Just(filled(1_600_000)),
    ]
}

/// The revision of a read.
fn read_at() -> impl Strategy<Value = At> {
    prop_oneof![
        10 => Just(At::Zero),
        5 => (-8..=0i64).prop_map(At::Current),
        2 => (1..=3i64).prop_map(At::Current),
        3 => (-3..=2i64).prop_map(At::Compacted),
    ]
}

/// A bound on revisions.
fn bound() -> impl Strategy<Value = At> {
    prop_oneof![
        12 => Just(At::Zero),
        2 => (-12..=1i64).prop_map(At::Current),
    ]
}

fn lease() -> impl Strategy<Value = Lease> {
    prop_oneof![
        12 => any::<u8>().prop_map(|which| Lease::Alive(which.into())),
        2 => any::<u8>().prop_map(|which| Lease::Revoked(which.into())),
        2 => Just(Lease::Unknown),
    ]
}

/// A range. Sort orders and targets that the protocol does not know are not in the vocabulary:
/// 3.4 and 3.5 crash on an unknown target.
fn range(space: Space) -> impl Strategy<Value = RangeOp> {
    let order = option::of(select(&[Order::Ascend, Order::Descend][..]));
    let by = select(
        &[
            SortBy::Key,
            SortBy::Version,
            SortBy::Create,
            SortBy::Mod,
            SortBy::Value,
        ][..],
    );
    let limit = prop_oneof![3 => Just(0), 3 => 1..=4u64, 1 => Just(100)];
    let flags = (any::<bool>(), any::<bool>(), proptest::bool::weighted(0.1));
    let bounds = [bound(), bound(), bound(), bound()];
    (keys(space), read_at(), limit, order, by, flags, bounds).prop_map(
        |(keys, at, limit, order, by, (serializable, keys_only, count_only), bounds)| RangeOp {
            range: Range {
                limit,
                order,
                by,
                serializable,
                keys_only,
                count_only,
                ..Range::of(keys)
            },
            at,
            bounds,
        },
    )
}

fn put(space: Space, value: impl Strategy<Value = Bytes>) -> impl Strategy<Value = PutOp> {
    let key = prop_oneof![30 => key(space), 1 => Just(Key::from(""))];
    let lease = prop_oneof![2 => Just(Lease::None), 1 => lease()];
    let rare = || proptest::bool::weighted(0.12);
    (
        key,
        value,
        lease,
        any::<bool>(),
        rare(),
        rare(),
        any::<u8>(),
    )
        .prop_map(
            |(key, value, lease, prev_kv, ignore_value, ignore_lease, clash)| {
                // Mostly as the flags demand, else it would nearly always be refused.
                let value = if ignore_value && clash >= 64 {
                    Bytes::from([])
                } else {
                    value
                };
                let lease = if ignore_lease && clash % 4 != 0 {
                    Lease::None
                } else {
                    lease
                };
                let put = Put {
                    prev_kv,
                    ignore_value,
                    ignore_lease,
                    ..Put::new(key, value)
                };
                PutOp { put, lease }
            },
        )
}

fn delete(space: Space) -> impl Strategy<Value = DeleteRange> {
    (keys(space), any::<bool>()).prop_map(|(keys, prev_kv)| DeleteRange { keys, prev_kv })
}

fn compare(space: Space) -> impl Strategy<Value = CompareOp> {
    use CompareResult::{Equal, Greater, Less, NotEqual};
    let result = select(&[Equal, Equal, NotEqual, Greater, Less][..]);
    let at = || prop_oneof![1 => Just(At::Zero), 2 => (-8..=1i64).prop_map(At::Current)];
    let lease = prop_oneof![2 => Just(Lease::None), 1 => lease()];
    let against = prop_oneof![
        (0..4u64).prop_map(Against::Version),
        at().prop_map(Against::Create),
        at().prop_map(Against::Mod),
        small().prop_map(Against::Value),
        lease.prop_map(Against::Lease),
    ];
    (keys(space), result, against).prop_map(|(keys, result, against)| CompareOp {
        keys,
        result,
        against,
    })
}

fn inner(space: Space) -> impl Strategy<Value = InnerOp> {
    prop_oneof![
        3 => range(space).prop_map(InnerOp::Range),
        4 => put(space, small()).prop_map(InnerOp::Put),
        2 => delete(space).prop_map(InnerOp::Delete),
    ]
}

fn body(
    space: Space,
    op: impl Strategy<Value = InnerOp> + Clone,
) -> impl Strategy<Value = TxnBody> {
    (
        vec(compare(space), 0..3),
        vec(op.clone(), 0..4),
        vec(op, 0..4),
    )
        .prop_map(|(compare, success, failure)| TxnBody {
            compare,
            success,
            failure,
        })
}

/// More operations than a transaction may have.
fn crowd(space: Space) -> impl Strategy<Value = TxnBody> {
    (vec(range(space), 1), 127..=130usize).prop_map(|(range, count)| TxnBody {
        compare: Vec::new(),
        success: range
            .into_iter()
            .cycle()
            .take(count)
            .map(InnerOp::Range)
            .collect(),
        failure: Vec::new(),
    })
}

fn txn(space: Space) -> impl Strategy<Value = TxnBody> {
    let leaf = inner(space).boxed();
    let nested =
        prop_oneof![4 => leaf.clone(), 1 => body(space, leaf).prop_map(InnerOp::Txn)].boxed();
    let deep =
        prop_oneof![5 => nested.clone(), 1 => body(space, nested).prop_map(InnerOp::Txn)].boxed();
    prop_oneof![60 => body(space, deep), 1 => crowd(space)].prop_map(|mut body| {
        if deletes_to_the_end(&body) {
            keep_nothing(&mut body);
        }
        body
    })
}

/// The check for duplicate keys does not see that a deletion up to `\0` covers a key. With a put
/// after it that keeps the value or the lease of the key, which is gone by then, the real server
/// crashes at apply.
fn deletes_to_the_end(body: &TxnBody) -> bool {
    body.success.iter().chain(&body.failure).any(|op| match op {
        InnerOp::Delete(delete) => match &delete.keys {
            Keys::From(_) => true,
            Keys::Prefix(prefix) => prefix.is_empty(),
            _ => false,
        },
        InnerOp::Txn(body) => deletes_to_the_end(body),
        _ => false,
    })
}

fn keep_nothing(body: &mut TxnBody) {
    for op in body.success.iter_mut().chain(&mut body.failure) {
        match op {
            InnerOp::Put(op) => (op.put.ignore_value, op.put.ignore_lease) = (false, false),
            InnerOp::Txn(body) => keep_nothing(body),
            _ => {}
        }
    }
}

fn compact() -> impl Strategy<Value = Op> {
    let at = prop_oneof![
        8 => (-12..=0i64).prop_map(At::Current),
        2 => (-2..=3i64).prop_map(At::Compacted),
        1 => (1..=2i64).prop_map(At::Current),
        1 => Just(At::Zero),
    ];
    (at, any::<bool>()).prop_map(|(at, physical)| Op::Compact { at, physical })
}

/// TTLs that do not end while a sequence runs; those that do are for the timed suite. They are far
/// from each other, as the list of leases is sorted by what is left.
fn grant() -> impl Strategy<Value = Op> {
    let ttl = select(
        &[
            5_000,
            70_000,
            70_000,
            900_000,
            9_000_000_000,
            9_000_000_001,
            u64::MAX >> 1,
        ][..],
    );
    (weighted(0.5, 1..=6u64), ttl).prop_map(|(id, ttl)| Op::Grant { id, ttl })
}

fn stream() -> impl Strategy<Value = usize> {
    0..STREAMS
}

fn watch(space: Space) -> impl Strategy<Value = Op> {
    let at = prop_oneof![
        6 => Just(At::Zero),
        2 => (1..=4i64).prop_map(At::Current),
        5 => (-15..=0i64).prop_map(At::Current),
        4 => (-4..=-1i64).prop_map(At::Compacted),
        2 => (0..=2i64).prop_map(At::Compacted),
    ];
    let filters = (
        proptest::bool::weighted(0.15),
        proptest::bool::weighted(0.15),
    )
        .prop_map(|(no_put, no_delete)| Filters { no_put, no_delete });
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    (
        stream(),
        keys(space),
        at,
        weighted(0.4, 1..=5u32),
        flags,
        filters,
    )
        .prop_map(
            |(stream, keys, at, id, (prev_kv, progress_notify, fragment), filters)| {
                Op::Watch(WatchOp {
                    stream,
                    keys,
                    at,
                    id,
                    prev_kv,
                    progress_notify,
                    fragment,
                    filters,
                })
            },
        )
}

fn cancel() -> impl Strategy<Value = Op> {
    let one = (stream(), weighted(0.9, any::<u8>())).prop_map(|(stream, which)| Op::Cancel {
        stream,
        which: which.map(usize::from),
    });
    prop_oneof![9 => one, 1 => stream().prop_map(|stream| Op::Close { stream })]
}

/// An operation. Each kind has its share of at least 5 in 100, with some room for chance.
pub fn op(space: Space) -> impl Strategy<Value = Op> {
    prop_oneof![
        120 => range(space).prop_map(Op::Range),
        160 => put(space, value()).prop_map(Op::Put),
        75 => delete(space).prop_map(Op::Delete),
        130 => txn(space).prop_map(Op::Txn),
        56 => compact(),
        58 => grant(),
        56 => lease().prop_map(Op::Revoke),
        56 => lease().prop_map(Op::KeepAlive),
        56 => (lease(), any::<bool>()).prop_map(|(lease, keys)| Op::TimeToLive { lease, keys }),
        56 => Just(Op::Leases),
        62 => watch(space),
        62 => cancel(),
        56 => stream().prop_map(|stream| Op::Progress { stream }),
    ]
}
