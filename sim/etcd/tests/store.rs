//! The store against a reference that keeps every state it ever had.

use std::collections::BTreeMap;

use proptest::prelude::*;
use wavetank_etcd::{Compare, EtcdError, Key, KeyValue, Keys, Store, Txn, TxnOp};

#[derive(Clone, Debug)]
enum Op {
    Put(usize, u8),
    Delete(usize),
    DeletePrefix,
    /// Put if the mod revision is so many below the newest.
    Cas(usize, u64, u8),
    Compact(u64),
    ReadBack(u64),
}

const KEYS: [&str; 5] = ["a", "a/1", "a/2", "b", "b/1"];

fn op() -> impl Strategy<Value = Op> {
    let key = 0..KEYS.len();
    prop_oneof![
        4 => (key.clone(), any::<u8>()).prop_map(|(k, v)| Op::Put(k, v)),
        2 => key.clone().prop_map(Op::Delete),
        1 => Just(Op::DeletePrefix),
        3 => (key, 0..4_u64, any::<u8>()).prop_map(|(k, back, v)| Op::Cas(k, back, v)),
        1 => (0..6_u64).prop_map(Op::Compact),
        3 => (0..8_u64).prop_map(Op::ReadBack),
    ]
}

type State = BTreeMap<Key, KeyValue<u8>>;

/// Every state by revision, from 1.
#[derive(Default)]
struct Reference {
    states: Vec<State>,
    compacted: u64,
}

impl Reference {
    fn now(&self) -> &State {
        self.states.last().expect("never empty")
    }
    fn revision(&self) -> u64 {
        self.states.len() as u64
    }
    fn put(&mut self, key: &str, value: u8) {
        let revision = self.revision() + 1;
        let mut next = self.now().clone();
        let before = next.get(key);
        let kv = KeyValue {
            key: key.into(),
            value,
            create_revision: before.map_or(revision, |b| b.create_revision),
            mod_revision: revision,
            version: before.map_or(1, |b| b.version + 1),
            lease: None,
        };
        next.insert(key.into(), kv);
        self.states.push(next);
    }
    fn delete(&mut self, keys: &Keys) {
        let mut next = self.now().clone();
        next.retain(|key, _| !keys.contains(key));
        if next.len() < self.now().len() {
            self.states.push(next);
        }
    }
}

fn simple(op: TxnOp<u8>) -> Txn<u8> {
    Txn {
        compare: vec![],
        success: vec![op],
        failure: vec![],
    }
}

proptest! {
    #[test]
    fn the_store_is_what_the_reference_is(ops in prop::collection::vec(op(), 1..60)) {
        let mut store = Store::<u8>::default();
        let mut reference = Reference { states: vec![State::new()], compacted: 0 };
        for op in ops {
            match op {
                Op::Put(key, value) => {
                    let put = TxnOp::Put(KEYS[key].into(), value, None);
                    store.txn(&simple(put)).expect("one put");
                    reference.put(KEYS[key], value);
                }
                Op::Delete(key) => {
                    let keys = Keys::one(KEYS[key]);
                    store.txn(&simple(TxnOp::Delete(keys.clone()))).expect("a delete");
                    reference.delete(&keys);
                }
                Op::DeletePrefix => {
                    let keys = Keys::Prefix("a".into());
                    store.txn(&simple(TxnOp::Delete(keys.clone()))).expect("a delete");
                    reference.delete(&keys);
                }
                Op::Cas(key, back, value) => {
                    let revision = reference.revision().saturating_sub(back);
                    let txn = Txn {
                        compare: vec![Compare::ModRevision(KEYS[key].into(), revision)],
                        success: vec![TxnOp::Put(KEYS[key].into(), value, None)],
                        failure: vec![TxnOp::Range(Keys::one(KEYS[key]))],
                    };
                    let (response, _) = store.txn(&txn).expect("a transaction");
                    let is = reference.now().get(KEYS[key]).map_or(0, |kv| kv.mod_revision);
                    prop_assert_eq!(response.succeeded, is == revision);
                    if response.succeeded {
                        reference.put(KEYS[key], value);
                    } else {
                        let found = reference.now().get(KEYS[key]).cloned();
                        prop_assert_eq!(&response.ranges[0], &found.into_iter().collect::<Vec<_>>());
                    }
                }
                Op::Compact(back) => {
                    let revision = reference.revision().saturating_sub(back);
                    let expected = revision > reference.compacted;
                    prop_assert_eq!(store.compact(revision).is_ok(), expected);
                    if expected {
                        reference.compacted = revision;
                    }
                }
                Op::ReadBack(back) => {
                    let revision = reference.revision().saturating_sub(back);
                    let all = Keys::Prefix("".into());
                    let read = store.range(&all, revision, 0);
                    if revision != 0 && revision < reference.compacted
                        && revision != reference.revision() {
                        prop_assert_eq!(read.err(), Some(EtcdError::Compacted));
                    } else {
                        let at = if revision == 0 { reference.revision() } else { revision };
                        let state = &reference.states[at as usize - 1];
                        let expected: Vec<_> = state.values().cloned().collect();
                        prop_assert_eq!(read.expect("kept").kvs, expected);
                    }
                }
            }
            prop_assert_eq!(store.revision(), reference.revision());
            prop_assert!(store.digests_are_right());
        }
    }

    #[test]
    fn a_watch_from_any_revision_rebuilds_the_state(ops in prop::collection::vec(op(), 1..40)) {
        let mut store = Store::<u8>::default();
        let mut states = vec![State::new()];
        for op in ops {
            let txn = match op {
                Op::Put(key, value) | Op::Cas(key, _, value) =>
                    simple(TxnOp::Put(KEYS[key].into(), value, None)),
                Op::Delete(key) => simple(TxnOp::Delete(Keys::one(KEYS[key]))),
                _ => continue,
            };
            let before = store.revision();
            store.txn(&txn).expect("a transaction");
            if store.revision() > before {
                let all = store.range(&Keys::Prefix("".into()), 0, 0).expect("now");
                states.push(all.kvs.into_iter().map(|kv| (kv.key.clone(), kv)).collect());
            }
        }
        for start in 1..=store.revision() {
            let mut state = states[start as usize - 1].clone();
            let mut last = start;
            for (revision, changes) in store.since(&Keys::Prefix("".into()), start + 1).expect("kept") {
                prop_assert!(revision > last);
                last = revision;
                for change in changes {
                    prop_assert_eq!(state.get(&change.key), change.before.as_ref());
                    match change.now {
                        Some(kv) => state.insert(change.key, kv),
                        None => state.remove(&change.key),
                    };
                }
            }
            prop_assert_eq!(&state, states.last().expect("not empty"));
        }
    }
}

#[test]
fn bad_revisions_have_their_own_errors() {
    let mut store = Store::<u8>::default();
    for value in 0..5 {
        store
            .txn(&simple(TxnOp::Put("k".into(), value, None)))
            .expect("a put");
    }
    let keys = Keys::one("k");
    assert_eq!(
        store.range(&keys, 99, 0).err(),
        Some(EtcdError::FutureRevision)
    );
    assert_eq!(store.compact(99), Err(EtcdError::FutureRevision));
    assert_eq!(store.compact(4), Ok(()));
    assert_eq!(store.compact(4), Err(EtcdError::Compacted));
    assert_eq!(store.range(&keys, 3, 0).err(), Some(EtcdError::Compacted));
    assert_eq!(
        store.range(&keys, 4, 0).expect("the compact revision").kvs[0].value,
        2
    );
    assert_eq!(store.since(&keys, 4).err(), Some(EtcdError::Compacted));
    assert_eq!(store.since(&keys, 5).expect("kept").len(), 2);
}
