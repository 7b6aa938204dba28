//! Leases and the keys on them against a model in the plainest way: which lease each key is on, and
//! nothing else. Every book that `Leases` keeps is derived from that.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use wavetank_engine::digest;
use wavetank_etcd::{
    DeleteRange, EtcdError, Key, Keys, LeaseId, Leases, MAX_TTL, MIN_TTL, Op, Put, Quirks,
    Response, State, Txn, TxnOp,
};

type Bytes = Arc<[u8]>;

const KEYS: [&str; 6] = ["/a", "/a/1", "/a/2", "/b", "/b/1", "/c"];
const LEASES: std::ops::Range<u64> = 0..4;

#[derive(Clone, Debug)]
enum Act {
    Grant(LeaseId, u64),
    Revoke(LeaseId),
    /// A key goes to this lease, or to none.
    Put(usize, Option<LeaseId>),
    /// A key is written and stays where it is.
    Keep(usize),
    /// Deletes what begins with a key.
    Delete(usize),
    /// Several keys at once.
    PutAll(Vec<(usize, Option<LeaseId>)>),
    /// In one transaction a key goes to a lease and is deleted in the same breath.
    PutAndDelete(usize, LeaseId),
    Checkpoint(LeaseId, Option<u64>),
}

fn lease() -> impl Strategy<Value = LeaseId> {
    LEASES.prop_map(LeaseId)
}

fn key() -> impl Strategy<Value = usize> {
    0..KEYS.len()
}

fn acts() -> impl Strategy<Value = Act> {
    let attached = || (key(), prop::option::weighted(0.8, lease()));
    let ttl = prop_oneof![
        8 => 0_u64..100,
        1 => MAX_TTL..=MAX_TTL + 1,
    ];
    prop_oneof![
        4 => (lease(), ttl).prop_map(|(id, ttl)| Act::Grant(id, ttl)),
        2 => lease().prop_map(Act::Revoke),
        8 => attached().prop_map(|(key, id)| Act::Put(key, id)),
        2 => key().prop_map(Act::Keep),
        2 => key().prop_map(Act::Delete),
        2 => prop::collection::vec(attached(), 1..4).prop_map(Act::PutAll),
        1 => (key(), lease()).prop_map(|(key, id)| Act::PutAndDelete(key, id)),
        1 => (lease(), prop::option::of(1_u64..100)).prop_map(|(id, left)| Act::Checkpoint(id, left)),
    ]
}

fn put(key: usize, lease: Option<LeaseId>) -> Put<Bytes> {
    Put {
        lease,
        ..Put::new(KEYS[key], Bytes::from([]))
    }
}

fn delete(keys: Keys) -> DeleteRange {
    let prev_kv = false;
    DeleteRange { keys, prev_kv }
}

impl Act {
    fn op(&self) -> Op<Bytes> {
        let txn = |success| {
            Op::Txn(Txn {
                compare: Vec::new(),
                success,
                failure: Vec::new(),
            })
        };
        match self {
            Act::Grant(id, ttl) => Op::LeaseGrant(*id, *ttl),
            Act::Revoke(id) => Op::LeaseRevoke(*id),
            Act::Put(key, lease) => Op::Put(put(*key, *lease)),
            Act::Keep(key) => Op::Put(Put {
                ignore_lease: true,
                ..put(*key, None)
            }),
            Act::Delete(key) => Op::DeleteRange(delete(Keys::prefix(KEYS[*key]))),
            Act::PutAll(puts) => {
                let puts: BTreeMap<_, _> = puts.iter().copied().collect();
                txn(puts
                    .into_iter()
                    .map(|(key, id)| TxnOp::Put(put(key, id)))
                    .collect())
            }
            Act::PutAndDelete(key, id) => {
                let inner = Txn {
                    compare: Vec::new(),
                    success: vec![TxnOp::Put(put(*key, Some(*id)))],
                    failure: Vec::new(),
                };
                let delete = Txn {
                    compare: Vec::new(),
                    success: vec![TxnOp::DeleteRange(delete(Keys::one(KEYS[*key])))],
                    failure: Vec::new(),
                };
                txn(vec![TxnOp::Txn(inner), TxnOp::Txn(delete)])
            }
            Act::Checkpoint(id, left) => Op::LeaseCheckpoint(vec![(*id, *left)]),
        }
    }
}

/// Which leases there are, with their TTL and what is left, and on which one each key is.
#[derive(Default)]
struct Model {
    leases: BTreeMap<LeaseId, (u64, Option<u64>)>,
    keys: BTreeMap<&'static str, Option<LeaseId>>,
}

impl Model {
    fn act(&mut self, act: &Act) -> Result<(), EtcdError> {
        let is_there = |id: &Option<LeaseId>| match id {
            Some(id) if !self.leases.contains_key(id) => Err(EtcdError::LeaseNotFound),
            _ => Ok(()),
        };
        match act {
            Act::Grant(_, ttl) if *ttl > MAX_TTL => return Err(EtcdError::LeaseTtlTooLarge),
            Act::Grant(id, _) if self.leases.contains_key(id) => {
                return Err(EtcdError::LeaseExists);
            }
            Act::Grant(id, ttl) => {
                self.leases.insert(*id, ((*ttl).max(MIN_TTL), None));
            }
            Act::Revoke(id) => {
                is_there(&Some(*id))?;
                self.leases.remove(id);
                self.keys.retain(|_, lease| *lease != Some(*id));
            }
            Act::Put(key, lease) => {
                is_there(lease)?;
                self.keys.insert(KEYS[*key], *lease);
            }
            Act::Keep(key) if !self.keys.contains_key(KEYS[*key]) => {
                return Err(EtcdError::KeyNotFound);
            }
            Act::Keep(_) => {}
            Act::Delete(first) => self.keys.retain(|key, _| !key.starts_with(KEYS[*first])),
            Act::PutAll(puts) => {
                let puts: BTreeMap<_, _> = puts.iter().copied().collect();
                puts.values().try_for_each(is_there)?;
                let puts = puts.into_iter().map(|(key, id)| (KEYS[key], id));
                self.keys.extend(puts);
            }
            Act::PutAndDelete(key, id) => {
                is_there(&Some(*id))?;
                self.keys.remove(KEYS[*key]);
            }
            Act::Checkpoint(id, left) => {
                if let Some((_, remaining)) = self.leases.get_mut(id) {
                    *remaining = *left;
                }
            }
        }
        Ok(())
    }

    fn keys_of(&self, id: LeaseId) -> Vec<Key> {
        let of = self.keys.iter().filter(|(_, lease)| **lease == Some(id));
        of.map(|(key, _)| Key::from(*key)).collect()
    }
}

/// The same book, written from nothing.
fn rewritten(model: &Model) -> Leases {
    let mut state = State::<Bytes>::default();
    let mut apply = |op| {
        let applied = state.apply(&op, Quirks::default());
        applied.expect("it is as it should be");
    };
    for (id, (ttl, left)) in &model.leases {
        apply(Op::LeaseGrant(*id, *ttl));
        apply(Op::LeaseCheckpoint(vec![(*id, *left)]));
    }
    for (key, lease) in &model.keys {
        let put = Put::new(*key, Bytes::from([]));
        let lease = *lease;
        apply(Op::Put(Put { lease, ..put }));
    }
    state.leases
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn each_lease_has_exactly_the_keys_that_were_put_on_it_last(
        acts in prop::collection::vec(acts(), 0..60),
    ) {
        let mut state = State::<Bytes>::default();
        let mut model = Model::default();
        for act in &acts {
            let before = state.leases.clone();
            let goes = match act {
                Act::Revoke(id) => model.keys_of(*id),
                _ => Vec::new(),
            };
            let expected = model.act(act);
            let done = state.apply(&act.op(), Quirks::default());
            prop_assert_eq!(done.as_ref().err(), expected.as_ref().err());
            match (act, &done) {
                (Act::Grant(id, _), Ok((Response::LeaseGrant { ttl, .. }, _))) => {
                    prop_assert_eq!(*ttl, model.leases[id].0);
                }
                (Act::Revoke(_), Ok((_, changes))) => {
                    prop_assert!(changes.iter().all(|change| change.now.is_none()));
                    let gone: Vec<_> = changes.iter().map(|change| change.key.clone()).collect();
                    prop_assert_eq!(gone, goes, "in this order");
                }
                _ => {}
            }
            if done.is_err() {
                prop_assert_eq!(&state.leases, &before, "what is refused changes nothing");
            }
            let listed: Vec<_> = state.leases.iter().map(|(id, _)| id).collect();
            prop_assert_eq!(listed, model.leases.keys().copied().collect::<Vec<_>>());
            prop_assert_eq!(state.leases.is_empty(), model.leases.is_empty());
            for id in LEASES.map(LeaseId) {
                let lease = state.leases.get(id);
                prop_assert_eq!(state.leases.exists(id), lease.is_some());
                let lease = lease.map(|lease| (lease.ttl, lease.remaining));
                prop_assert_eq!(lease, model.leases.get(&id).copied());
                let keys = state.leases.get(id).map_or(Vec::new(), |lease| lease.keys.clone());
                prop_assert_eq!(keys, model.keys_of(id));
            }
        }
        // However they came about, equal books are equal, and so are their digests.
        let again = rewritten(&model);
        prop_assert_eq!(&state.leases, &again);
        prop_assert_eq!(digest(&state.leases), digest(&again));
    }
}
