//! Each error and each quirk of a request, one by one.

use std::sync::Arc;

use wavetank_etcd::{
    Compare, CompareResult, DeleteRange, EtcdError, KeyValue, Keys, LeaseId, Leases,
    MAX_REQUEST_BYTES, MAX_TXN_OPS, OpResponse, Order, Put, Quirks, Range, Ranged, Request, SortBy,
    Store, Target, Txn, TxnOp, TxnResponse, check, route,
};

type Bytes = Arc<[u8]>;

fn bytes(text: &str) -> Bytes {
    Arc::from(text.as_bytes())
}

fn put(key: &str, value: &str) -> Put<Bytes> {
    Put::new(key, bytes(value))
}

fn delete(keys: Keys) -> DeleteRange {
    DeleteRange {
        keys,
        prev_kv: true,
    }
}

fn then(success: Vec<TxnOp<Bytes>>) -> Txn<Bytes> {
    Txn {
        compare: vec![],
        success,
        failure: vec![],
    }
}

fn puts(keys: &[&str]) -> Vec<TxnOp<Bytes>> {
    let puts = keys.iter().map(|key| TxnOp::Put(put(key, "v")));
    puts.collect()
}

fn form(txn: Txn<Bytes>) -> Result<(), EtcdError> {
    check::form(&Request::Txn(txn))
}

/// These keys, each with its own name as value, at revisions 2, 3, ...
fn store_of(keys: &[&str]) -> Store<Bytes> {
    let mut store = Store::default();
    for key in keys {
        let put = put(key, key);
        store.put(&put, &Leases::default()).expect("a put");
    }
    store
}

fn apply(store: &mut Store<Bytes>, txn: &Txn<Bytes>) -> Result<TxnResponse<Bytes>, EtcdError> {
    let done = store.txn(txn, &Leases::default(), Quirks::default());
    done.map(|(response, _)| response)
}

fn names(ranged: &Ranged<Bytes>) -> Vec<&str> {
    ranged.kvs.iter().map(|kv| &*kv.key).collect()
}

#[test]
fn a_request_needs_a_key() {
    let empty = Err(EtcdError::EmptyKey);
    let none = Keys::one("");
    let range = Request::<Bytes>::Range(Range::of(none.clone()));
    assert_eq!(check::form(&range), empty);
    assert_eq!(check::form(&Request::Put(put("", "v"))), empty);
    let gone = Request::<Bytes>::DeleteRange(delete(none.clone()));
    assert_eq!(check::form(&gone), empty);
    let mut txn = then(vec![]);
    txn.compare = vec![Compare::mod_revision("", 0)];
    assert_eq!(form(txn), empty);
    assert_eq!(form(then(vec![TxnOp::Range(Range::of(none))])), empty);
    let all = Request::<Bytes>::Range(Range::of(Keys::all()));
    assert_eq!(check::form(&all), Ok(()));
}

#[test]
fn a_put_that_keeps_something_must_not_give_it() {
    let mut both = put("k", "v");
    (both.ignore_value, both.ignore_lease) = (true, true);
    both.lease = Some(LeaseId(1));
    let form = |put: &Put<Bytes>| check::form(&Request::Put(put.clone()));
    assert_eq!(form(&both), Err(EtcdError::ValueProvided));
    both.value = bytes("");
    assert_eq!(form(&both), Err(EtcdError::LeaseProvided));
    both.lease = None;
    assert_eq!(form(&both), Ok(()));
}

#[test]
fn a_transaction_has_so_many_operations_and_no_more() {
    let reads = |n| vec![TxnOp::Range(Range::of(Keys::one("k"))); n];
    assert_eq!(form(then(reads(MAX_TXN_OPS))), Ok(()));
    let many = Err(EtcdError::TooManyOps);
    assert_eq!(form(then(reads(MAX_TXN_OPS + 1))), many);
    let mut compares = then(vec![]);
    compares.compare = vec![Compare::mod_revision("k", 0); MAX_TXN_OPS + 1];
    assert_eq!(form(compares), many);
    // A level below has what the level above leaves.
    let nested = |inner: usize, outer: usize| {
        let mut ops = vec![TxnOp::Txn(then(reads(inner)))];
        ops.extend(reads(outer - 1));
        then(ops)
    };
    assert_eq!(form(nested(100, 28)), Ok(()));
    assert_eq!(form(nested(101, 28)), many);
}

#[test]
fn a_key_is_written_once() {
    let twice = Err(EtcdError::DuplicateKey);
    let gone = |keys| TxnOp::DeleteRange(delete(keys));
    let with = |mut ops: Vec<TxnOp<Bytes>>, op| {
        ops.push(op);
        then(ops)
    };
    assert_eq!(form(then(puts(&["a", "a"]))), twice);
    assert_eq!(form(then(puts(&["a", "b"]))), Ok(()));
    assert_eq!(form(with(puts(&["a"]), gone(Keys::one("a")))), twice);
    assert_eq!(form(with(puts(&["ab"]), gone(Keys::prefix("a")))), twice);
    let mut before = vec![gone(Keys::one("a"))];
    before.extend(puts(&["a"]));
    assert_eq!(form(then(before)), twice);
    let deletes = vec![gone(Keys::prefix("a")), gone(Keys::one("a"))];
    assert_eq!(form(then(deletes)), Ok(()));
    // The branch that is not taken counts.
    let mut failure = then(vec![]);
    failure.failure = puts(&["a", "a"]);
    assert_eq!(form(failure), twice);
    // An open end is not understood.
    let open = gone(Keys::From("a".into()));
    assert_eq!(form(with(puts(&["b"]), open)), Ok(()));
}

#[test]
fn nested_transactions_are_compared_in_their_order() {
    let twice = Err(EtcdError::DuplicateKey);
    let puts_a = || TxnOp::Txn(then(puts(&["a"])));
    let deletes_a = || TxnOp::Txn(then(vec![TxnOp::DeleteRange(delete(Keys::one("a")))]));
    assert_eq!(form(then(vec![puts_a(), puts_a()])), twice);
    assert_eq!(form(then(vec![puts_a(), deletes_a()])), Ok(()));
    assert_eq!(form(then(vec![deletes_a(), puts_a()])), twice);
    let mut level = puts(&["a"]);
    level.push(deletes_a());
    assert_eq!(form(then(level)), twice);
    let mut either = then(puts(&["a"]));
    either.failure = puts(&["a"]);
    assert_eq!(form(then(vec![TxnOp::Txn(either.clone())])), Ok(()));
    either.success.clear();
    assert_eq!(form(then(vec![puts_a(), TxnOp::Txn(either)])), twice);
}

#[test]
fn a_request_has_a_size() {
    let large = |size: usize| Put::new("key", Bytes::from(vec![0; size]));
    let fits = large(MAX_REQUEST_BYTES - 3);
    let too_large = Err(EtcdError::RequestTooLarge);
    assert_eq!(check::size(&Request::Put(fits.clone())), Ok(()));
    let put = Request::Put(large(MAX_REQUEST_BYTES - 2));
    assert_eq!(check::size(&put), too_large);
    let mut ops = puts(&["a"]);
    ops.push(TxnOp::Put(fits));
    assert_eq!(check::size(&Request::Txn(then(ops))), too_large);
}

#[test]
fn a_put_alone_looks_for_its_lease_first() {
    let mut store = store_of(&[]);
    let mut both = put("k", "");
    (both.ignore_value, both.lease) = (true, Some(LeaseId(9)));
    let alone = store.put(&both, &Leases::default());
    assert_eq!(alone.err(), Some(EtcdError::LeaseNotFound));
    let inside = apply(&mut store, &then(vec![TxnOp::Put(both.clone())]));
    assert_eq!(inside.err(), Some(EtcdError::KeyNotFound));
    both.lease = None;
    let alone = store.put(&both, &Leases::default());
    assert_eq!(alone.err(), Some(EtcdError::KeyNotFound));
    assert_eq!(store.revision(), 1);
}

#[test]
fn a_transaction_is_checked_before_anything_is_done() {
    let mut store = store_of(&["a", "b", "c"]);
    store.compact(3, Quirks::default()).expect("not compacted");
    let read = |revision| {
        let mut range = Range::of(Keys::one("a"));
        range.revision = revision;
        TxnOp::Range(range)
    };
    let mut under = put("k", "v");
    under.lease = Some(LeaseId(9));
    let mut kept = put("k", "");
    kept.ignore_value = true;
    let nested = TxnOp::Txn(then(vec![TxnOp::Put(kept)]));
    let before = store.clone();
    let ordered = Quirks::default();
    let puts_first = Quirks {
        txn_checks_in_op_order: false,
        ..ordered
    };
    let cases = [
        (read(5), EtcdError::FutureRevision),
        (read(2), EtcdError::Compacted),
        (TxnOp::Put(under), EtcdError::LeaseNotFound),
        (nested, EtcdError::KeyNotFound),
    ];
    for (op, error) in &cases {
        for quirks in [ordered, puts_first] {
            let txn = then([puts(&["new"]), vec![op.clone()]].concat());
            let done = store.txn(&txn, &Leases::default(), quirks);
            assert_eq!(done.err(), Some(*error));
            assert!(store == before);
        }
    }
    // Which of two errors it is depends on the version.
    let txn = then(vec![cases[0].0.clone(), cases[3].0.clone()]);
    let error = |store: &mut Store<Bytes>, quirks| {
        let done = store.txn(&txn, &Leases::default(), quirks);
        done.err()
    };
    assert_eq!(error(&mut store, ordered), Some(EtcdError::FutureRevision));
    assert_eq!(error(&mut store, puts_first), Some(EtcdError::KeyNotFound));
}

#[test]
fn what_upstream_panics_at_does_nothing() {
    let mut store = store_of(&["a", "b"]);
    let before = store.clone();
    let mut kept = put("b", "");
    kept.ignore_value = true;
    let gone = TxnOp::DeleteRange(delete(Keys::From("a".into())));
    let txn = then(vec![gone, TxnOp::Put(kept)]);
    assert_eq!(form(txn.clone()), Ok(()));
    let done = apply(&mut store, &txn);
    assert_eq!(done.err(), Some(EtcdError::KeyNotFound));
    assert!(store == before && store.is_consistent());
}

#[test]
fn conditions_of_all_levels_see_the_state_before() {
    let mut store = store_of(&["a"]);
    let mut inner = then(puts(&["seen"]));
    inner.compare = vec![Compare::mod_revision("new", 0)];
    inner.failure = puts(&["unseen"]);
    let mut ops = puts(&["new"]);
    ops.push(TxnOp::Txn(inner));
    let done = apply(&mut store, &then(ops)).expect("it is sound");
    assert!(store.get("seen").is_some() && store.get("unseen").is_none());
    // The header of the inner answer is empty.
    let OpResponse::Txn(inner) = &done.responses[1] else {
        panic!("it was a transaction");
    };
    assert_eq!(
        (done.revision, inner.revision, inner.succeeded),
        (3, 0, true)
    );
}

#[test]
fn conditions_on_what_is_not_there() {
    let store = store_of(&["a", "b"]);
    let holds = |keys: Keys, result, target| {
        let mut txn = then(vec![]);
        txn.compare = vec![Compare {
            keys,
            result,
            target,
        }];
        let done = apply(&mut store.clone(), &txn);
        done.expect("it is sound").succeeded
    };
    use CompareResult as Is;
    for result in [Is::Equal, Is::NotEqual, Is::Greater, Is::Less] {
        let value = Target::Value(bytes("x"));
        assert!(!holds(Keys::one("none"), result, value));
        let is = holds(Keys::prefix("none"), result, Target::Version(1));
        assert_eq!(is, matches!(result, Is::NotEqual | Is::Less));
    }
    assert!(holds(Keys::one("none"), Is::Equal, Target::Lease(None)));
    assert!(holds(Keys::all(), Is::Greater, Target::Mod(1)));
    assert!(!holds(Keys::all(), Is::Greater, Target::Mod(2)));
}

#[test]
fn revisions_in_a_transaction() {
    let mut store = store_of(&["a", "b"]);
    let read = |revision| {
        let mut range = Range::of(Keys::all());
        range.revision = revision;
        TxnOp::Range(range)
    };
    let gone = TxnOp::DeleteRange(delete(Keys::one("none")));
    let txn = then(vec![
        read(0),
        gone.clone(),
        TxnOp::Put(put("c", "v")),
        read(0),
        read(2),
        gone,
    ]);
    let done = apply(&mut store, &txn).expect("it is sound");
    let revisions: Vec<u64> = done
        .responses
        .iter()
        .map(|response| match response {
            OpResponse::Range(ranged) => ranged.revision,
            OpResponse::Put(done) => done.revision,
            OpResponse::DeleteRange(done) => done.revision,
            OpResponse::Txn(done) => done.revision,
        })
        .collect();
    assert_eq!(revisions, [3, 3, 4, 4, 4, 4]);
    let read: Vec<Vec<&str>> = done
        .responses
        .iter()
        .filter_map(|response| match response {
            OpResponse::Range(ranged) => Some(names(ranged)),
            _ => None,
        })
        .collect();
    assert_eq!(read, [vec!["a", "b"], vec!["a", "b", "c"], vec!["a"]]);
    assert_eq!(done.revision, 4);
    // One that writes nothing has no revision of its own.
    let gone = TxnOp::DeleteRange(delete(Keys::one("none")));
    let done = apply(&mut store, &then(vec![gone])).expect("it is sound");
    assert_eq!(done.revision, 4);
}

#[test]
fn a_limit_comes_before_a_sort_without_an_order() {
    let mut store = store_of(&["d", "c", "b", "a"]);
    let mut range = Range::of(Keys::all());
    range.limit = 2;
    range.by = SortBy::Mod;
    // Of the first three by name the two that are written first.
    let ranged = store.range(&range).expect("now");
    assert_eq!(names(&ranged), ["c", "b"]);
    assert_eq!((ranged.count, ranged.more), (4, true));
    range.order = Some(Order::Ascend);
    assert_eq!(names(&store.range(&range).expect("now")), ["d", "c"]);
    range.order = Some(Order::Descend);
    range.by = SortBy::Value;
    range.keys_only = true;
    let ranged = store.range(&range).expect("now");
    assert_eq!(names(&ranged), ["d", "c"]);
    assert!(ranged.kvs.iter().all(|kv| kv.value.is_empty()));
    // Bounds are applied before the limit; the count knows neither.
    let mut bounded = Range::of(Keys::all());
    (bounded.limit, bounded.max_mod) = (2, 3);
    let ranged = store.range(&bounded).expect("now");
    assert_eq!(names(&ranged), ["c", "d"]);
    assert_eq!((ranged.count, ranged.more), (4, false));
    // Ties keep the order of keys, also descending.
    apply(&mut store, &then(puts(&["a", "b", "c"]))).expect("it is sound");
    let mut tied = Range::of(Keys::all());
    (tied.by, tied.order) = (SortBy::Mod, Some(Order::Descend));
    let ranged = store.range(&tied).expect("now");
    assert_eq!(names(&ranged), ["a", "b", "c", "d"]);
}

#[test]
fn compaction_has_errors_in_this_order() {
    let quirks = Quirks::default();
    let mut store = store_of(&["a"]);
    assert_eq!(store.compact(3, quirks), Err(EtcdError::FutureRevision));
    assert_eq!(store.compact(0, quirks), Ok(()));
    assert_eq!(store.compact(0, quirks), Err(EtcdError::Compacted));
    assert_eq!(store.compact(2, quirks), Ok(()));
    assert_eq!(store.compact(1, quirks), Err(EtcdError::Compacted));
    assert_eq!(store.revision(), 2);
    assert!(store.at("a", 1).is_err() && store.since(1).is_err());
    assert!(store.at("a", 2).is_ok() && store.since(2).is_ok());
}

#[test]
fn a_deletion_at_the_compact_revision_is_kept_since_18089() {
    for drops in [false, true] {
        let mut store = store_of(&["k"]);
        store.delete_range(&delete(Keys::one("k")));
        let quirks = Quirks {
            drops_tombstone_at_compaction: drops,
            ..Quirks::default()
        };
        store.compact(3, quirks).expect("not compacted");
        let commits = store.since(3).expect("it is the compact revision").count();
        assert_eq!(commits, usize::from(!drops));
        assert!(store.is_consistent());
    }
}

#[test]
fn of_a_compact_revision_the_last_change_of_a_key_is_left() {
    let mut store = store_of(&["a"]);
    let gone = TxnOp::Txn(then(vec![TxnOp::DeleteRange(delete(Keys::one("new")))]));
    let created = TxnOp::Txn(then(puts(&["new"])));
    let txn = then([vec![created, gone], puts(&["a"])].concat());
    apply(&mut store, &txn).expect("it is sound");
    let changes = |store: &Store<Bytes>| {
        let mut commits = store.since(3).expect("kept");
        let (_, changes) = commits.next().expect("one");
        let kinds = changes.iter().map(|c| (c.key.to_string(), c.now.is_some()));
        kinds.collect::<Vec<_>>()
    };
    let [a, new] = ["a", "new"].map(String::from);
    let all = [(new.clone(), true), (new.clone(), false), (a.clone(), true)];
    assert_eq!(changes(&store), all);
    store.compact(3, Quirks::default()).expect("not compacted");
    assert_eq!(changes(&store), [(new, false), (a, true)]);
}

#[test]
fn versions_begin_anew_after_a_deletion() {
    let mut store = store_of(&["k", "k"]);
    let numbers = |kv: &KeyValue<Bytes>| (kv.create_revision, kv.mod_revision, kv.version);
    assert_eq!(store.get("k").map(numbers), Some((2, 3, 2)));
    let (gone, _) = store.delete_range(&delete(Keys::all()));
    assert_eq!((gone.revision, gone.deleted), (4, 1));
    assert_eq!(gone.prev.first().map(numbers), Some((2, 3, 2)));
    let mut again = put("k", "v");
    again.prev_kv = true;
    let (done, changes) = store.put(&again, &Leases::default()).expect("a put");
    assert_eq!((done.revision, done.prev), (5, None));
    assert!(changes[0].is_create());
    assert_eq!(store.get("k").map(numbers), Some((5, 5, 1)));
    assert_eq!(store.at("k", 4), Ok(None));
    assert_eq!(
        store.at("k", 3).expect("kept").map(numbers),
        Some((2, 3, 2))
    );
}

#[test]
fn how_a_transaction_travels() {
    let read = TxnOp::Range(Range::of(Keys::one("k")));
    let mut local = Range::of(Keys::one("k"));
    local.serializable = true;
    let reads = then(vec![read.clone()]);
    assert!(route::is_read_only(&reads) && !route::is_serializable(&reads));
    assert!(route::is_serializable(&then(vec![TxnOp::Range(local)])));
    assert!(route::is_serializable(&then(vec![])));
    let nested = then(vec![read.clone(), TxnOp::Txn(reads)]);
    assert!(!route::is_read_only(&nested));
    let rest = route::without_ranges(&nested);
    assert_eq!(rest.success, nested.success[1..]);
}
