//! The etcd process: one member. What it has answered is durable; watches are not.

use std::time::Duration;

use wavetank_engine::{Caller, Cx, Name, Payload, ProcId, Process, Timer};

use crate::api::{
    Change, EtcdError, Keys, Request, Response, Revision, Txn, TxnOp, Value, WatchPart,
};
use crate::lease::{LeaseId, Lessor};
use crate::store::Store;

/// A lease's time is over; the number is the lease's.
const LEASE: Name = Name::new("lease");
/// The lessor's expiry loop.
const TICK: Timer = Timer::new(Name::new("lessor"), 0);
/// `server/lease/lessor.go`: the loop looks for expired leases twice a second.
const TICK_EVERY: Duration = Duration::from_millis(500);
/// A new leader extends every lease by the election timeout (`Promote`); a single member becomes
/// its own leader anew when it starts.
const PROMOTE_EXTENDS: Duration = Duration::from_secs(1);

/// What made a revision.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Cause {
    /// A client's request.
    Client(ProcId),
    /// A lease that expired.
    Expiry(LeaseId),
}

/// A note: a revision was committed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Committed<V> {
    /// The revision.
    pub revision: Revision,
    /// What changed.
    pub changes: Vec<Change<V>>,
    /// Who did it.
    pub cause: Cause,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Watch {
    caller: Caller,
    keys: Keys,
}

/// An etcd member that stores `V`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Etcd<V: Value> {
    store: Store<V>,
    lessor: Lessor,
    watches: Vec<Watch>,
}

impl<V: Value> Default for Etcd<V> {
    fn default() -> Self {
        Etcd {
            store: Store::default(),
            lessor: Lessor::default(),
            watches: Vec::new(),
        }
    }
}

impl<V: Value> Etcd<V> {
    /// The store, for properties.
    pub fn store(&self) -> &Store<V> {
        &self.store
    }

    fn txn(&mut self, cx: &mut Cx<'_>, caller: Caller, txn: &Txn<V>) -> Response<V> {
        // A put under a lease that is gone fails the whole transaction before it writes; only the
        // branch that is taken counts (`server/etcdserver/apply.go` `checkRequestPut`).
        for op in self.store.branch(txn).1 {
            if let TxnOp::Put(_, _, Some(lease)) = op
                && !self.lessor.exists(*lease)
            {
                return Response::Error(EtcdError::LeaseNotFound);
            }
        }
        match self.store.txn(txn) {
            Ok((response, changes)) => {
                self.committed(cx, changes, Cause::Client(caller.process()));
                Response::Txn(response)
            }
            Err(error) => Response::Error(error),
        }
    }

    /// A revision was made: the lessor, the watches and the world learn of it.
    fn committed(&mut self, cx: &mut Cx<'_>, changes: Vec<Change<V>>, cause: Cause) {
        if changes.is_empty() {
            return;
        }
        self.lessor.follow(&changes);
        let revision = self.store.revision();
        for watch in &self.watches {
            let seen = changes.iter().filter(|c| watch.keys.contains(&c.key));
            let seen: Vec<Change<V>> = seen.cloned().collect();
            if !seen.is_empty() {
                cx.push(watch.caller, WatchPart::Events(revision, seen));
            }
        }
        cx.note(Committed {
            revision,
            changes,
            cause,
        });
    }

    fn grant(&mut self, cx: &mut Cx<'_>, ttl: u64) -> Response<V> {
        if self.lessor.is_empty() {
            cx.arm(TICK, TICK_EVERY);
        }
        let (id, ttl) = self.lessor.grant(ttl);
        cx.arm(Timer::new(LEASE, id.0), Duration::from_secs(ttl));
        Response::Lease(id, ttl)
    }

    fn revoke(&mut self, cx: &mut Cx<'_>, id: LeaseId, cause: Cause) -> Response<V> {
        let Some(keys) = self.lessor.revoke(id) else {
            return Response::Error(EtcdError::LeaseNotFound);
        };
        cx.disarm(Timer::new(LEASE, id.0));
        let changes = self.store.delete_all(&keys);
        self.committed(cx, changes, cause);
        Response::Done(self.store.revision())
    }

    fn watch(&mut self, cx: &mut Cx<'_>, caller: Caller, keys: &Keys, start: Revision) {
        let revision = self.store.revision();
        let start = if start == 0 { revision + 1 } else { start };
        match self.store.since(keys, start) {
            Err(_) => {
                let compacted = self.store.compacted();
                cx.reply(caller, WatchPart::<V>::Compacted(compacted));
            }
            Ok(missed) => {
                cx.push(caller, WatchPart::<V>::Created(revision));
                for (revision, changes) in missed {
                    cx.push(caller, WatchPart::Events(revision, changes));
                }
                let keys = keys.clone();
                self.watches.push(Watch { caller, keys });
            }
        }
    }
}

impl<V: Value> Process for Etcd<V> {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        let leases = self.lessor.promote();
        if !leases.is_empty() {
            cx.arm(TICK, TICK_EVERY);
        }
        for (id, ttl) in leases {
            let whole = Duration::from_secs(ttl) + PROMOTE_EXTENDS;
            cx.arm(Timer::new(LEASE, id.0), whole);
        }
    }

    fn request(&mut self, cx: &mut Cx<'_>, caller: Caller, body: &Payload) {
        let response = match body.expect::<Request<V>>() {
            Request::Range {
                keys,
                revision,
                limit,
            } => match self.store.range(keys, *revision, *limit) {
                Ok(ranged) => Response::Range(ranged),
                Err(error) => Response::Error(error),
            },
            Request::Txn(txn) => self.txn(cx, caller, txn),
            Request::LeaseGrant(ttl) => self.grant(cx, *ttl),
            Request::LeaseRevoke(id) => self.revoke(cx, *id, Cause::Client(caller.process())),
            Request::LeaseKeepAlive(id) => match self.lessor.renew(*id) {
                Some(ttl) => {
                    cx.arm(Timer::new(LEASE, id.0), Duration::from_secs(ttl));
                    Response::Lease(*id, ttl)
                }
                None => Response::Error(EtcdError::LeaseNotFound),
            },
            Request::Compact(revision) => match self.store.compact(*revision) {
                Ok(()) => Response::Done(self.store.revision()),
                Err(error) => Response::Error(error),
            },
            Request::Watch { keys, start } => return self.watch(cx, caller, keys, *start),
        };
        cx.reply(caller, response);
    }

    fn cancelled(&mut self, _cx: &mut Cx<'_>, caller: Caller) {
        self.watches.retain(|watch| watch.caller != caller);
    }

    fn timer(&mut self, cx: &mut Cx<'_>, timer: Timer) {
        if timer.tag == LEASE {
            self.lessor.mark_due(LeaseId(timer.arg));
            return;
        }
        for id in self.lessor.due() {
            self.revoke(cx, id, Cause::Expiry(id));
        }
        if !self.lessor.is_empty() {
            cx.arm(TICK, TICK_EVERY);
        }
    }

    fn tell(
        &mut self,
        _cx: &mut Cx<'_>,
        what: &str,
        args: &serde_json::Value,
    ) -> Result<(), String> {
        if what != "compact" {
            return Err(format!("knows `compact`, not `{what}`"));
        }
        let revision = args.as_u64().unwrap_or(self.store.revision());
        self.store.compact(revision).map_err(|e| e.to_string())
    }

    fn crash(&mut self) {
        self.watches.clear();
    }
}
