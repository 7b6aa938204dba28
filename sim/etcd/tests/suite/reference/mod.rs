//! A store that keeps every state that it ever had, one whole map per revision.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use wavetank_etcd::{
    Change, Compare, CompareResult, DeleteRange, DeletedRange, EtcdError, KeyValue, LeaseId,
    OpResponse, Order, Put, PutDone, Quirks, Range, Ranged, Revision, SortBy, Target, Txn, TxnOp,
    TxnResponse, Value,
};

pub type Bytes = Arc<[u8]>;
pub type Commits = Vec<(Revision, Vec<Change<Bytes>>)>;
type State = BTreeMap<String, KeyValue<Bytes>>;

pub struct Reference {
    /// By revision - 1.
    states: Vec<State>,
    changes: Vec<Vec<Change<Bytes>>>,
    compacted: i64,
    pub leases: BTreeSet<LeaseId>,
    pub quirks: Quirks,
}

/// A transaction under way.
struct Work {
    state: State,
    revision: Revision,
    changes: Vec<Change<Bytes>>,
}

impl Work {
    fn header(&self) -> Revision {
        match self.changes.is_empty() {
            true => self.revision - 1,
            false => self.revision,
        }
    }

    fn put(&mut self, put: &Put<Bytes>) -> PutDone<Bytes> {
        let before = self.state.get(&*put.key).cloned();
        let kv = KeyValue {
            key: put.key.clone(),
            value: match put.ignore_value {
                true => before.clone().expect("checked").value,
                false => put.value.clone(),
            },
            create_revision: match &before {
                Some(before) => before.create_revision,
                None => self.revision,
            },
            mod_revision: self.revision,
            version: before.as_ref().map_or(0, |b| b.version) + 1,
            lease: match put.ignore_lease {
                true => before.clone().expect("checked").lease,
                false => put.lease,
            },
        };
        self.state.insert(put.key.to_string(), kv.clone());
        self.changes.push(Change {
            key: put.key.clone(),
            revision: self.revision,
            now: Some(kv),
            before: before.clone(),
        });
        PutDone {
            revision: self.revision,
            prev: if put.prev_kv { before } else { None },
        }
    }

    fn delete(&mut self, delete: &DeleteRange) -> DeletedRange<Bytes> {
        let mut gone = Vec::new();
        self.state.retain(|key, kv| {
            let goes = delete.keys.contains(key);
            if goes {
                gone.push(kv.clone());
            }
            !goes
        });
        for kv in &gone {
            self.changes.push(Change {
                key: kv.key.clone(),
                revision: self.revision,
                now: None,
                before: Some(kv.clone()),
            });
        }
        DeletedRange {
            revision: self.header(),
            deleted: gone.len() as u64,
            prev: if delete.prev_kv { gone } else { vec![] },
        }
    }
}

fn read(state: &State, range: &Range, header: Revision) -> Ranged<Bytes> {
    let mut kvs: Vec<KeyValue<Bytes>> = state.values().cloned().collect();
    kvs.retain(|kv| range.keys.contains(&kv.key));
    let count = kvs.len() as u64;
    let bounded = range.min_mod + range.max_mod + range.min_create + range.max_create > 0;
    if range.limit > 0 && range.order.is_none() && !bounded {
        kvs.truncate(range.limit as usize + 1);
    }
    let max = |bound: u64| if bound == 0 { u64::MAX } else { bound };
    kvs.retain(|kv| (range.min_mod..=max(range.max_mod)).contains(&kv.mod_revision));
    kvs.retain(|kv| (range.min_create..=max(range.max_create)).contains(&kv.create_revision));
    let descend = range.order == Some(Order::Descend);
    if descend {
        kvs.reverse();
    }
    match range.by {
        SortBy::Key => kvs.sort_by_key(|kv| kv.key.to_string()),
        SortBy::Version => kvs.sort_by_key(|kv| kv.version),
        SortBy::Create => kvs.sort_by_key(|kv| kv.create_revision),
        SortBy::Mod => kvs.sort_by_key(|kv| kv.mod_revision),
        SortBy::Value => kvs.sort_by_key(|kv| kv.value.to_vec()),
    }
    if descend {
        kvs.reverse();
    }
    let more = range.limit > 0 && kvs.len() as u64 > range.limit;
    if more {
        kvs.truncate(range.limit as usize);
    }
    if range.keys_only {
        kvs.iter_mut().for_each(|kv| kv.value = Bytes::empty());
    }
    if range.count_only {
        kvs.clear();
    }
    Ranged {
        revision: header,
        kvs,
        more: more && !range.count_only,
        count,
    }
}

impl Reference {
    pub fn new(quirks: Quirks) -> Reference {
        Reference {
            states: vec![State::new()],
            changes: vec![vec![]],
            compacted: -1,
            leases: BTreeSet::new(),
            quirks,
        }
    }

    pub fn revision(&self) -> Revision {
        self.states.len() as u64
    }

    pub fn now(&self) -> &State {
        self.states.last().expect("never empty")
    }

    fn readable(&self, revision: Revision) -> Result<&State, EtcdError> {
        if revision == 0 {
            return Ok(self.now());
        }
        if revision > self.revision() {
            return Err(EtcdError::FutureRevision);
        }
        if (revision as i64) < self.compacted {
            return Err(EtcdError::Compacted);
        }
        Ok(&self.states[revision as usize - 1])
    }

    fn begin(&self) -> Work {
        Work {
            state: self.now().clone(),
            revision: self.revision() + 1,
            changes: Vec::new(),
        }
    }

    fn end(&mut self, work: Work) {
        if !work.changes.is_empty() {
            self.states.push(work.state);
            self.changes.push(work.changes);
        }
    }

    pub fn range(&self, range: &Range) -> Result<Ranged<Bytes>, EtcdError> {
        let state = self.readable(range.revision)?;
        Ok(read(state, range, self.revision()))
    }

    pub fn at(&self, key: &str, revision: Revision) -> Result<Option<KeyValue<Bytes>>, EtcdError> {
        Ok(self.readable(revision)?.get(key).cloned())
    }

    pub fn put(&mut self, put: &Put<Bytes>) -> Result<PutDone<Bytes>, EtcdError> {
        if put.lease.is_some_and(|lease| !self.leases.contains(&lease)) {
            return Err(EtcdError::LeaseNotFound);
        }
        self.check(&TxnOp::Put(put.clone()))?;
        let mut work = self.begin();
        let done = work.put(put);
        self.end(work);
        Ok(done)
    }

    pub fn delete(&mut self, delete: &DeleteRange) -> DeletedRange<Bytes> {
        let mut work = self.begin();
        let done = work.delete(delete);
        self.end(work);
        done
    }

    pub fn revoke(&mut self, lease: LeaseId) {
        let mut work = self.begin();
        let attached: Vec<String> = self.attached(lease);
        for key in attached {
            work.delete(&DeleteRange {
                keys: wavetank_etcd::Keys::one(key),
                prev_kv: false,
            });
        }
        self.end(work);
        self.leases.remove(&lease);
    }

    pub fn attached(&self, lease: LeaseId) -> Vec<String> {
        let kvs = self.now().iter();
        let attached = kvs.filter(|(_, kv)| kv.lease == Some(lease));
        attached.map(|(key, _)| key.clone()).collect()
    }

    pub fn compact(&mut self, revision: Revision) -> Result<(), EtcdError> {
        if revision as i64 <= self.compacted {
            return Err(EtcdError::Compacted);
        }
        if revision > self.revision() {
            return Err(EtcdError::FutureRevision);
        }
        self.compacted = revision as i64;
        Ok(())
    }

    pub fn since(&self, start: Revision) -> Result<Commits, EtcdError> {
        if (start as i64) < self.compacted {
            return Err(EtcdError::Compacted);
        }
        let mut commits = Vec::new();
        for (index, changes) in self.changes.iter().enumerate() {
            let revision = index as u64 + 1;
            let mut changes = changes.clone();
            if revision as i64 == self.compacted {
                let all = changes.clone();
                let mut index = 0;
                changes.retain(|change| {
                    index += 1;
                    let last = all[index..].iter().all(|later| later.key != change.key);
                    last && (change.now.is_some() || !self.quirks.drops_tombstone_at_compaction)
                });
            }
            if revision >= start && !changes.is_empty() {
                commits.push((revision, changes));
            }
        }
        Ok(commits)
    }

    fn check(&self, op: &TxnOp<Bytes>) -> Result<(), EtcdError> {
        match op {
            TxnOp::Put(put) => {
                let there = self.now().contains_key(&*put.key);
                if !there && (put.ignore_value || put.ignore_lease) {
                    Err(EtcdError::KeyNotFound)
                } else if put.lease.is_some_and(|l| !self.leases.contains(&l)) {
                    Err(EtcdError::LeaseNotFound)
                } else {
                    Ok(())
                }
            }
            TxnOp::Range(range) => self.readable(range.revision).map(|_| ()),
            _ => Ok(()),
        }
    }

    fn taken<'a>(&self, txn: &'a Txn<Bytes>) -> (bool, &'a [TxnOp<Bytes>]) {
        match txn.compare.iter().all(|compare| self.holds(compare)) {
            true => (true, &txn.success),
            false => (false, &txn.failure),
        }
    }

    fn flat<'a>(&self, txn: &'a Txn<Bytes>, into: &mut Vec<&'a TxnOp<Bytes>>) {
        for op in self.taken(txn).1 {
            match op {
                TxnOp::Txn(txn) => self.flat(txn, into),
                op => into.push(op),
            }
        }
    }

    fn holds(&self, compare: &Compare<Bytes>) -> bool {
        let kvs: Vec<&KeyValue<Bytes>> = self
            .now()
            .values()
            .filter(|kv| compare.keys.contains(&kv.key))
            .collect();
        let numbers = |of: fn(&KeyValue<Bytes>) -> u64, to: u64| {
            let mut all: Vec<i64> = kvs.iter().map(|kv| of(kv) as i64 - to as i64).collect();
            if all.is_empty() {
                all.push(-(to as i64));
            }
            all
        };
        let differences = match &compare.target {
            Target::Version(to) => numbers(|kv| kv.version, *to),
            Target::Create(to) => numbers(|kv| kv.create_revision, *to),
            Target::Mod(to) => numbers(|kv| kv.mod_revision, *to),
            Target::Lease(to) => numbers(|kv| kv.lease.map_or(0, |l| l.0), to.map_or(0, |l| l.0)),
            Target::Value(_) if kvs.is_empty() => return false,
            Target::Value(to) => kvs.iter().map(|kv| kv.value.cmp(to) as i64).collect(),
        };
        differences.into_iter().all(|d| match compare.result {
            CompareResult::Equal => d == 0,
            CompareResult::NotEqual => d != 0,
            CompareResult::Greater => d > 0,
            CompareResult::Less => d < 0,
        })
    }

    pub fn txn(&mut self, txn: &Txn<Bytes>) -> Result<TxnResponse<Bytes>, EtcdError> {
        let mut flat = Vec::new();
        self.flat(txn, &mut flat);
        if !self.quirks.txn_checks_in_op_order {
            flat.sort_by_key(|op| !matches!(op, TxnOp::Put(_)));
        }
        for op in flat {
            self.check(op)?;
        }
        let mut work = self.begin();
        let mut response = self.execute(txn, &mut work)?;
        response.revision = work.header();
        self.end(work);
        Ok(response)
    }

    fn execute(&self, txn: &Txn<Bytes>, work: &mut Work) -> Result<TxnResponse<Bytes>, EtcdError> {
        let (succeeded, ops) = self.taken(txn);
        let mut responses = Vec::new();
        for op in ops {
            responses.push(match op {
                TxnOp::Put(put) => {
                    let keeps = put.ignore_value || put.ignore_lease;
                    if keeps && !work.state.contains_key(&*put.key) {
                        return Err(EtcdError::KeyNotFound);
                    }
                    OpResponse::Put(work.put(put))
                }
                TxnOp::DeleteRange(delete) => OpResponse::DeleteRange(work.delete(delete)),
                TxnOp::Range(range) if range.revision == 0 => {
                    OpResponse::Range(read(&work.state, range, work.header()))
                }
                TxnOp::Range(range) => {
                    OpResponse::Range(read(self.readable(range.revision)?, range, work.header()))
                }
                TxnOp::Txn(txn) => OpResponse::Txn(self.execute(txn, work)?),
            });
        }
        Ok(TxnResponse {
            revision: 0,
            succeeded,
            responses,
        })
    }
}
