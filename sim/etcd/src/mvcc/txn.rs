//! Transactions: `etcdserver/txn/txn.go`. What is wrong with one by its form is in `check`.

use std::cmp::Ordering;
use wavetank_engine::mutant;

use crate::api::{
    Change, Compare, CompareResult, DeleteRange, EtcdError, KeyValue, OpResponse, Put, Range,
    Target, Txn, TxnOp, TxnResponse, Value,
};
use crate::leases::Leases;
use crate::quirks::Quirks;

use super::store::{Changes, Store};
use super::write::check_lease;

/// A transaction with its conditions decided, on all levels (`compareToPath`).
struct Path<'a, V> {
    succeeded: bool,
    steps: Vec<Step<'a, V>>,
}

enum Step<'a, V> {
    Range(&'a Range),
    Put(&'a Put<V>),
    DeleteRange(&'a DeleteRange),
    Txn(Path<'a, V>),
}

impl<V> Path<'_, V> {
    /// Visits all levels, in the order of operations.
    fn any(&self, is: &impl Fn(&Step<'_, V>) -> bool) -> bool {
        self.steps.iter().any(|step| match step {
            Step::Txn(path) => path.any(is),
            step => is(step),
        })
    }

    fn try_each<E>(&self, check: &impl Fn(&Step<'_, V>) -> Result<(), E>) -> Result<(), E> {
        self.steps.iter().try_for_each(|step| match step {
            Step::Txn(path) => path.try_each(check),
            step => check(step),
        })
    }
}

impl<V: Value> Store<V> {
    /// Applies a transaction; whatever it changes is one revision.
    ///
    /// Where a put keeps the value or lease of a key that an earlier step of the same transaction
    /// deleted (only possible by `Keys::From`, see [`check`](super::check)), upstream's server
    /// panics on all members; here the transaction fails with `KeyNotFound` and does nothing.
    ///
    /// # Errors
    /// `KeyNotFound`, `LeaseNotFound`, `FutureRevision` or `Compacted`; nothing is done then.
    pub fn txn(
        &mut self,
        txn: &Txn<V>,
        leases: &Leases,
        quirks: Quirks,
    ) -> Result<(TxnResponse<V>, Changes<V>), EtcdError> {
        let path = self.path(txn);
        self.check_path(&path, leases, quirks)?;
        // An explicit revision is read as if nothing had been written yet.
        let needs_before = path.any(&|step| match step {
            Step::Range(range) => range.revision != 0,
            Step::Put(put) => put.ignore_value || put.ignore_lease,
            _ => false,
        });
        let before = needs_before.then(|| self.clone());
        let mut draft = Vec::new();
        match self.execute(&path, before.as_ref(), &mut draft) {
            Ok(responses) => {
                let changes = self.commit(draft);
                let response = TxnResponse {
                    revision: self.revision,
                    succeeded: path.succeeded,
                    responses,
                };
                Ok((response, changes))
            }
            Err(error) => {
                *self = before.expect("only a put that keeps something fails");
                Err(error)
            }
        }
    }

    fn path<'a>(&self, txn: &'a Txn<V>) -> Path<'a, V> {
        let succeeded = txn.compare.iter().all(|compare| self.holds(compare));
        let ops = if succeeded {
            &txn.success
        } else {
            &txn.failure
        };
        let steps = ops.iter().map(|op| match op {
            TxnOp::Range(range) => Step::Range(range),
            TxnOp::Put(put) => Step::Put(put),
            TxnOp::DeleteRange(delete) => Step::DeleteRange(delete),
            TxnOp::Txn(txn) => Step::Txn(self.path(txn)),
        });
        Path {
            succeeded,
            steps: steps.collect(),
        }
    }

    /// A condition holds for all of its keys; no key at all is as one that is not there.
    fn holds(&self, compare: &Compare<V>) -> bool {
        let mut kvs = self.iter(&compare.keys).peekable();
        if kvs.peek().is_none() {
            return compare_kv(compare, None);
        }
        kvs.all(|kv| compare_kv(compare, Some(kv)))
    }

    /// All that can be wrong with the steps, before the first is done.
    fn check_path(
        &self,
        path: &Path<'_, V>,
        leases: &Leases,
        quirks: Quirks,
    ) -> Result<(), EtcdError> {
        let check_put = |step: &Step<'_, V>| match step {
            Step::Put(put) => self.check_put(put, leases),
            _ => Ok(()),
        };
        let check_range = |step: &Step<'_, V>| match step {
            Step::Range(range) => self.check_revision(range.revision),
            _ => Ok(()),
        };
        if quirks.txn_checks_in_op_order {
            path.try_each(&|step| check_put(step).and_then(|()| check_range(step)))
        } else {
            path.try_each(&check_put)?;
            path.try_each(&check_range)
        }
    }

    fn check_put(&self, put: &Put<V>, leases: &Leases) -> Result<(), EtcdError> {
        if (put.ignore_value || put.ignore_lease) && self.get(&put.key).is_none() {
            return Err(EtcdError::KeyNotFound);
        }
        check_lease(put, leases)
    }

    fn execute(
        &mut self,
        path: &Path<'_, V>,
        before: Option<&Store<V>>,
        draft: &mut Vec<Change<V>>,
    ) -> Result<Vec<OpResponse<V>>, EtcdError> {
        let mut responses = Vec::with_capacity(path.steps.len());
        for step in &path.steps {
            responses.push(match step {
                Step::Range(range) => {
                    let state = before.filter(|_| range.revision != 0);
                    let header = self.revision_in(draft);
                    OpResponse::Range(state.unwrap_or(self).read(range, header))
                }
                Step::Put(put) => OpResponse::Put(self.put_in(draft, put)?),
                Step::DeleteRange(delete) => OpResponse::DeleteRange(self.delete_in(draft, delete)),
                Step::Txn(path) => OpResponse::Txn(TxnResponse {
                    revision: 0,
                    succeeded: path.succeeded,
                    responses: self.execute(path, before, draft)?,
                }),
            });
        }
        Ok(responses)
    }
}

/// `compareKV`. A key that is not there has 0 everywhere, and no value that anything holds of.
fn compare_kv<V: Value>(compare: &Compare<V>, kv: Option<&KeyValue<V>>) -> bool {
    let number = |of: fn(&KeyValue<V>) -> u64, to: u64| kv.map_or(0, of).cmp(&to);
    let is = match &compare.target {
        Target::Version(version) => number(|kv| kv.version, *version),
        Target::Create(revision) => number(|kv| kv.create_revision, *revision),
        Target::Mod(revision) => number(|kv| kv.mod_revision, *revision),
        Target::Lease(lease) => kv.and_then(|kv| kv.lease).cmp(lease),
        Target::Value(value) => match kv {
            Some(kv) => kv.value.order(value),
            None => return false,
        },
    };
    match compare.result {
        CompareResult::Equal => {
            is == Ordering::Equal
                || is == Ordering::Greater
                    && mutant!(
                        "compare-holds-later",
                        "a comparison for equality also holds for something newer"
                    )
        }
        CompareResult::NotEqual => is != Ordering::Equal,
        CompareResult::Greater => is == Ordering::Greater,
        CompareResult::Less => is == Ordering::Less,
    }
}
