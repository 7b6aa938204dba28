//! Requests against the history, read and written a second time in the plainest way, apart from the
//! store: what a request makes of some keys, and whether an answer fits.

use std::cmp::Ordering;

use crate::api::{
    Change, Compare, CompareResult, KeyValue, Keys, OpResponse, Put, Range, Ranged, Request,
    Response, Revision, Target, Txn, TxnOp, TxnResponse, Value,
};

use super::truth::{Content, Truth};

/// Could this request have made this revision?
pub fn could_make<V: Value>(truth: &Truth<V>, request: &Request<V>, revision: Revision) -> bool {
    let Some(before) = truth.content(revision - 1) else {
        return false;
    };
    let mut replay = Replay::new(truth, before, revision - 1);
    match request {
        Request::Put(put) => replay.put(put).is_some(),
        Request::DeleteRange(delete) => !replay.delete(&delete.keys).is_empty(),
        Request::Txn(txn) => {
            let succeeded = replay.holds(txn);
            replay.run(txn, succeeded, None)
        }
        Request::LeaseRevoke(id) => {
            let owned = replay.content.values().filter(|kv| kv.lease == Some(*id));
            let keys: Vec<_> = owned.map(|kv| kv.key.clone()).collect();
            keys.iter().for_each(|key| replay.remove(key));
            true
        }
        _ => return false,
    };
    truth.changes(revision) == Some(&replay.changes[..])
}

/// Does the answer fit the request, done right after `before` (and having made the next revision, if
/// `made`)?
pub fn fits<V: Value>(
    truth: &Truth<V>,
    request: &Request<V>,
    response: &Response<V>,
    before: Revision,
    made: bool,
) -> bool {
    let Some(content) = truth.content(before) else {
        return false;
    };
    let mut replay = Replay::new(truth, content, before);
    let answer = match (request, response) {
        (Request::Range(range), Response::Range(done)) => replay.range_fits(range, done),
        (Request::Put(put), Response::Put(done)) => replay
            .put(put)
            .is_some_and(|prev| done.prev == prev.filter(|_| put.prev_kv)),
        (Request::DeleteRange(delete), Response::DeleteRange(done)) => {
            let gone = replay.delete(&delete.keys);
            done.deleted == gone.len() as u64 && (!delete.prev_kv || done.prev == gone)
        }
        (Request::Txn(txn), Response::Txn(done)) => {
            let succeeded = replay.holds(txn);
            done.succeeded == succeeded && replay.run(txn, succeeded, Some(done))
        }
        _ => return true,
    };
    let changes = match made {
        true => truth.changes(before + 1).unwrap_or_default(),
        false => &[],
    };
    answer && replay.changes == changes
}

struct Replay<'a, V: Value> {
    truth: &'a Truth<V>,
    before: Content<V>,
    revision: Revision,
    content: Content<V>,
    changes: Vec<Change<V>>,
}

impl<'a, V: Value> Replay<'a, V> {
    fn new(truth: &'a Truth<V>, content: Content<V>, revision: Revision) -> Replay<'a, V> {
        Replay {
            truth,
            before: content.clone(),
            revision,
            content,
            changes: Vec::new(),
        }
    }

    /// What was there; `None` if the put cannot be.
    fn put(&mut self, put: &Put<V>) -> Option<Option<KeyValue<V>>> {
        let before = self.content.get(&put.key).cloned();
        if before.is_none() && (put.ignore_value || put.ignore_lease) {
            return None;
        }
        let revision = self.revision + 1;
        let kept = before.as_ref();
        let value = kept.filter(|_| put.ignore_value).map(|kv| &kv.value);
        let lease = kept.filter(|_| put.ignore_lease).map(|kv| kv.lease);
        let now = KeyValue {
            key: put.key.clone(),
            value: value.unwrap_or(&put.value).clone(),
            create_revision: kept.map_or(revision, |kv| kv.create_revision),
            mod_revision: revision,
            version: kept.map_or(1, |kv| kv.version + 1),
            lease: lease.unwrap_or(put.lease),
        };
        self.content.insert(put.key.clone(), now.clone());
        self.changes.push(Change {
            key: put.key.clone(),
            revision,
            now: Some(now),
            before: before.clone(),
        });
        Some(before)
    }

    fn remove(&mut self, key: &str) {
        if let Some(before) = self.content.remove(key) {
            self.changes.push(Change {
                key: before.key.clone(),
                revision: self.revision + 1,
                now: None,
                before: Some(before),
            });
        }
    }

    fn delete(&mut self, keys: &Keys) -> Vec<KeyValue<V>> {
        let gone = self.content.values().filter(|kv| keys.contains(&kv.key));
        let gone: Vec<_> = gone.cloned().collect();
        gone.iter().for_each(|kv| self.remove(&kv.key));
        gone
    }

    fn holds(&self, txn: &Txn<V>) -> bool {
        txn.compare.iter().all(|compare| {
            let kvs = self.before.values();
            let mut kvs = kvs.filter(|kv| compare.keys.contains(&kv.key)).peekable();
            match kvs.peek() {
                None => compares(compare, None),
                Some(_) => kvs.all(|kv| compares(compare, Some(kv))),
            }
        })
    }

    /// Does all of a branch; do the answers fit, if there are any?
    fn run(&mut self, txn: &Txn<V>, succeeded: bool, done: Option<&TxnResponse<V>>) -> bool {
        let ops = if succeeded {
            &txn.success
        } else {
            &txn.failure
        };
        if done.is_some_and(|done| done.responses.len() != ops.len()) {
            return false;
        }
        let mut fit = true;
        for (at, op) in ops.iter().enumerate() {
            let answer = done.map(|done| &done.responses[at]);
            fit &= match (op, answer) {
                (TxnOp::Range(range), Some(OpResponse::Range(done))) => {
                    self.range_fits(range, done)
                }
                (TxnOp::Put(put), answer) => match (self.put(put), answer) {
                    (Some(prev), Some(OpResponse::Put(done))) => {
                        done.prev == prev.filter(|_| put.prev_kv)
                    }
                    (prev, answer) => prev.is_some() && answer.is_none(),
                },
                (TxnOp::DeleteRange(delete), answer) => {
                    let gone = self.delete(&delete.keys);
                    match answer {
                        Some(OpResponse::DeleteRange(done)) => {
                            done.deleted == gone.len() as u64
                                && (!delete.prev_kv || done.prev == gone)
                        }
                        answer => answer.is_none(),
                    }
                }
                (TxnOp::Txn(txn), answer) => {
                    let succeeded = self.holds(txn);
                    match answer {
                        Some(OpResponse::Txn(done)) => {
                            done.succeeded == succeeded && self.run(txn, succeeded, Some(done))
                        }
                        Some(_) => false,
                        None => self.run(txn, succeeded, None),
                    }
                }
                (TxnOp::Range(_), answer) => answer.is_none(),
            };
        }
        fit
    }

    fn range_fits(&self, range: &Range, done: &Ranged<V>) -> bool {
        let content = match range.revision {
            0 => Some(self.content.clone()),
            asked if asked == self.revision => Some(self.before.clone()),
            asked => self.truth.content(asked).filter(|_| asked <= self.revision),
        };
        let Some(content) = content else {
            return false;
        };
        let all = content.values().filter(|kv| range.keys.contains(&kv.key));
        let all: Vec<_> = all.collect();
        if done.count != all.len() as u64 {
            return false;
        }
        if range.count_only {
            return done.kvs.is_empty();
        }
        let bounded = |min, is, max| (min == 0 || min <= is) && (max == 0 || is <= max);
        let is_wanted = |kv: &KeyValue<V>| {
            bounded(range.min_mod, kv.mod_revision, range.max_mod)
                && bounded(range.min_create, kv.create_revision, range.max_create)
        };
        let wanted = all.into_iter().filter(|kv| is_wanted(kv)).count();
        let is_it = |got: &KeyValue<V>| {
            let kv = content.get(&got.key).filter(|kv| is_wanted(kv));
            range.keys.contains(&got.key)
                && kv.is_some_and(|kv| match range.keys_only {
                    false => kv == got,
                    true => kv.mod_revision == got.mod_revision,
                })
        };
        // Which ones a limit leaves depends on the order; here it is enough that they are some.
        let length = match range.limit {
            0 => wanted,
            limit => wanted.min(usize::try_from(limit).unwrap_or(usize::MAX)),
        };
        done.kvs.len() == length && done.more == (length < wanted) && done.kvs.iter().all(is_it)
    }
}

fn compares<V: Value>(compare: &Compare<V>, kv: Option<&KeyValue<V>>) -> bool {
    let order = match (&compare.target, kv) {
        (Target::Version(to), kv) => kv.map_or(0, |kv| kv.version).cmp(to),
        (Target::Create(to), kv) => kv.map_or(0, |kv| kv.create_revision).cmp(to),
        (Target::Mod(to), kv) => kv.map_or(0, |kv| kv.mod_revision).cmp(to),
        (Target::Lease(to), kv) => kv.and_then(|kv| kv.lease).cmp(to),
        (Target::Value(to), Some(kv)) => kv.value.order(to),
        (Target::Value(_), None) => return false,
    };
    match compare.result {
        CompareResult::Equal => order == Ordering::Equal,
        CompareResult::NotEqual => order != Ordering::Equal,
        CompareResult::Greater => order == Ordering::Greater,
        CompareResult::Less => order == Ordering::Less,
    }
}
