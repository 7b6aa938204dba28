//! What the store costs: `cargo bench -p wavetank-etcd`. Ratios matter, since machines differ;
//! nothing here is asserted.
//!
//! - Time of single requests on 10 000 keys, alone and while a copy of the store lives, as when
//!   worlds are searched.
//! - Memory of a key, and of a revision in the history, by what the process holds (Linux only: an
//!   allocator that counts would need unsafe code). Values are shared, so that only the store
//!   counts.
//! - What it costs to tell watches of a write, and what a watch holds: `fanout.rs`.

#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a stopwatch outside the simulated world"
)]

mod fanout;

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use wavetank_engine::digest;
use wavetank_etcd::{Compare, Key, Keys, Leases, Put, Quirks, Range, Store, Txn, TxnOp};

type Bytes = Arc<[u8]>;

const KEYS: usize = 10_000;
/// Memory is measured over more, since it is counted in pages.
const MANY: usize = 200_000;
/// Each figure is the best of so many rounds: noise only adds.
const ROUNDS: usize = 15;
const REPEATS: usize = 1000;

fn main() {
    // `cargo test --all-targets` runs benches too, and has nothing to learn from this one.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    fanout::memory(); // first: what the others give back would be used again
    memory();
    let put = time();
    fanout::time(put);
}

/// Keys as Kubernetes has them: long and alike at the front.
fn key(number: usize) -> Key {
    format!(
        "/registry/pods/namespace-{:03}/pod-{number:07}",
        number % 100
    )
    .into()
}

fn put(store: &mut Store<Bytes>, key: &Key, value: &Bytes) {
    let put = Put::new(key.clone(), value.clone());
    let done = store.put(&put, &Leases::default());
    black_box(done.expect("a put"));
}

fn filled(keys: &[Key], value: &Bytes) -> Store<Bytes> {
    let mut store = Store::default();
    for key in keys {
        put(&mut store, key, value);
    }
    store
}

/// The nanoseconds of one of `REPEATS` calls, which get numbers that jump about.
fn nanos<S>(prepare: impl Fn() -> S, mut call: impl FnMut(&mut S, usize)) -> f64 {
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let mut state = prepare();
        let start = Instant::now();
        for repeat in 0..REPEATS {
            call(&mut state, repeat * 7919 % KEYS);
        }
        best = best.min(start.elapsed());
    }
    best.as_nanos() as f64 / REPEATS as f64
}

/// Returns what a put costs, in nanoseconds.
fn time() -> f64 {
    let keys: Vec<Key> = (0..KEYS).map(key).collect();
    let value = Bytes::from([0; 100]);
    let store = filled(&keys, &value);
    let mut old = store.clone();
    for key in &keys {
        put(&mut old, key, &value);
    }
    let own = || filled(&keys, &value);
    let one = nanos(own, |store, at| put(store, &keys[at], &value));
    let copied = nanos(
        || store.clone(),
        |kept, at| {
            let mut copy = kept.clone();
            put(&mut copy, &keys[at], &value);
            black_box(digest(&copy));
        },
    );
    let txn = |at: usize, revision: u64| Txn {
        compare: vec![Compare::mod_revision(keys[at].clone(), revision)],
        success: vec![TxnOp::Put(Put::new(keys[at].clone(), value.clone()))],
        failure: vec![TxnOp::Range(Range::of(Keys::One(keys[at].clone())))],
    };
    let (leases, quirks) = (Leases::default(), Quirks::default());
    let swap = nanos(own, |store, at| {
        let txn = txn(at, at as u64 + 2);
        black_box(store.txn(&txn, &leases, quirks).expect("a swap"));
    });
    let get = nanos(
        || (),
        |(), at| {
            let range = Range::of(Keys::One(keys[at].clone()));
            black_box(store.range(&range).expect("now"));
        },
    );
    // Ten namespaces of a hundred.
    let thousand = |revision| {
        let keys = ["/registry/pods/namespace-04", "/registry/pods/namespace-05"];
        let [first, end] = keys.map(Key::from);
        let mut range = Range::of(Keys::Between(first, end));
        range.revision = revision;
        range
    };
    let list = |revision| {
        let range = thousand(revision);
        let found = old.range(&range).expect("kept").kvs.len();
        assert_eq!(found, 1000, "what is measured");
        nanos(
            || (),
            |(), at| {
                if at.is_multiple_of(10) {
                    black_box(old.range(&range).expect("kept"));
                }
            },
        ) * 10.0
    };
    println!("on {KEYS} keys, the best of {ROUNDS} rounds          ns   to a put");
    let newest = old.revision();
    for (what, nanos) in [
        ("put", one),
        ("clone, put and hash", copied),
        ("txn of a compare and a put", swap),
        ("range of one key", get),
        ("range of 1000 keys", list(0)),
        (
            "range of 1000 keys, half of them changed since",
            list(newest - 5000),
        ),
        (
            "range of 1000 keys, all of them changed since",
            list(KEYS as u64 + 1),
        ),
    ] {
        println!("  {what:<48} {nanos:>9.0} {:>8.1}", nanos / one);
    }
    one
}

/// What the process holds, in bytes.
fn resident() -> Option<usize> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: usize = statm.split(' ').nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

fn memory() {
    let value = Bytes::from([]);
    let keys: Vec<Key> = (0..MANY).map(key).collect();
    let Some(before) = resident() else {
        return;
    };
    let mut store = filled(&keys, &value);
    let with_keys = resident().unwrap_or(before);
    for _ in 0..4 {
        for key in &keys[..MANY / 4] {
            put(&mut store, key, &value);
        }
    }
    let with_history = resident().unwrap_or(with_keys);
    for key in keys[..MANY / 100].iter().cycle().take(MANY) {
        put(&mut store, key, &value);
    }
    let with_hot_keys = resident().unwrap_or(with_history);
    println!("memory, in bytes, of {MANY} each");
    for (what, from, to) in [
        ("a key, with the revision that made it", before, with_keys),
        ("a revision, 4 to a key", with_keys, with_history),
        ("a revision, 100 to a key", with_history, with_hot_keys),
    ] {
        println!("  {what:<48} {:>9}", (to - from) / MANY);
    }
    black_box(store);
}
