//! A side that lies: the test of the comparison itself. Each [`Mutation`] is one that a simulator
//! might have by mistake, and must be found.

use wavetank_etcd::{
    EtcdError, OpResponse, Range, Request, Response, Revision, WatchId, WatchRequest,
};

use crate::etcd::side::{Bytes, Item, Log, Outcome, Side, StreamId, Until};

/// What is falsified.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mutation {
    /// The header of a deletion that found nothing tells the next revision.
    RevisionOfNothing,
    /// The answer to a put has no `prev_kv`.
    PutPrevKv,
    /// The answer to a range of deletion tells one key less of what was.
    DeletePrevKv,
    /// A limit lets one more through.
    Limit,
    /// A read at the revision of the compaction is refused.
    CompactedRead,
    /// A future revision is taken for the newest.
    FutureRead,
    /// The revision inside a transaction's answer to a put is one too low.
    InnerRevision,
    /// A watch shows deletions without `prev_kv`.
    EventPrevKv,
    /// The last one of several events of one revision is lost.
    EventLost,
    /// A watch from below the compaction is cancelled with one revision too low.
    CancelRevision,
    /// A list of leases leaves out the last.
    LeaseMissing,
    /// A keep-alive of an unknown lease is answered as if it had a second left.
    KeepAliveUnknown,
}

impl Mutation {
    /// All of them.
    pub const ALL: [Mutation; 12] = [
        Mutation::RevisionOfNothing,
        Mutation::PutPrevKv,
        Mutation::DeletePrevKv,
        Mutation::Limit,
        Mutation::CompactedRead,
        Mutation::FutureRead,
        Mutation::InnerRevision,
        Mutation::EventPrevKv,
        Mutation::EventLost,
        Mutation::CancelRevision,
        Mutation::LeaseMissing,
        Mutation::KeepAliveUnknown,
    ];
}

/// A side whose answers are falsified in one way.
#[derive(Debug)]
pub struct Mutated<S> {
    side: S,
    mutation: Mutation,
    compacted: Revision,
}

impl<S: Side> Mutated<S> {
    /// Falsifies the answers of a side.
    pub fn new(side: S, mutation: Mutation) -> Mutated<S> {
        Mutated {
            side,
            mutation,
            compacted: 0,
        }
    }

    fn falsify(&self, request: &Request<Bytes>, answer: &mut Response<Bytes>) {
        match (self.mutation, answer) {
            (Mutation::RevisionOfNothing, Response::DeleteRange(answer)) => {
                answer.revision += u64::from(answer.deleted == 0);
            }
            (Mutation::PutPrevKv, Response::Put(answer)) => answer.prev = None,
            (Mutation::DeletePrevKv, Response::DeleteRange(answer)) => {
                answer.prev.pop();
            }
            (Mutation::CompactedRead, answer @ Response::Range(_)) => {
                let Request::Range(Range { revision, .. }) = request else {
                    return;
                };
                if *revision != 0 && *revision == self.compacted {
                    *answer = Response::Error(EtcdError::Compacted);
                }
            }
            (Mutation::InnerRevision, Response::Txn(answer)) => {
                for inner in &mut answer.responses {
                    if let OpResponse::Put(put) = inner {
                        put.revision -= 1;
                    }
                }
            }
            (Mutation::LeaseMissing, Response::Leases { leases, .. }) => {
                leases.pop();
            }
            (Mutation::KeepAliveUnknown, Response::LeaseKeepAlive { ttl, .. }) => {
                *ttl = (*ttl).max(1);
            }
            _ => {}
        }
    }
}

impl<S: Side> Side for Mutated<S> {
    fn name(&self) -> String {
        format!("{} with {:?}", self.side.name(), self.mutation)
    }

    fn restart(&mut self) -> Result<(), String> {
        self.compacted = 0;
        self.side.restart()
    }

    fn call(&mut self, request: &Request<Bytes>) -> Outcome {
        let mut asked = request.clone();
        if let (Mutation::Limit, Request::Range(range)) = (self.mutation, &mut asked)
            && range.limit > 0
        {
            range.limit += 1;
        }
        let mut outcome = self.side.call(&asked);
        let future = Outcome::Answer(Response::Error(EtcdError::FutureRevision));
        if let (Mutation::FutureRead, Request::Range(range)) = (self.mutation, &mut asked)
            && outcome == future
        {
            range.revision = 0;
            outcome = self.side.call(&asked);
        }
        if let (Request::Compact { revision, .. }, Outcome::Answer(Response::Compact(_))) =
            (request, &outcome)
        {
            self.compacted = *revision;
        }
        if let Outcome::Answer(answer) = &mut outcome {
            self.falsify(request, answer);
        }
        outcome
    }

    fn watch(&mut self, stream: StreamId, request: &WatchRequest) {
        self.side.watch(stream, request);
    }

    fn close(&mut self, stream: StreamId) {
        self.side.close(stream);
    }

    fn wait(&mut self, stream: StreamId, id: Option<WatchId>, until: Until) -> bool {
        self.side.wait(stream, id, until)
    }

    fn take(&mut self) -> Log {
        let mut log = self.side.take();
        for items in log.values_mut() {
            let mut last = None;
            for (index, item) in items.iter_mut().enumerate() {
                match (self.mutation, item) {
                    (Mutation::EventPrevKv, Item::Event(event)) if event.now.is_none() => {
                        event.before = None;
                    }
                    (Mutation::CancelRevision, Item::Canceled(_, compacted, _)) => {
                        *compacted = compacted.saturating_sub(1);
                    }
                    (Mutation::EventLost, Item::Event(event)) => {
                        last = Some((index, event.revision));
                    }
                    _ => {}
                }
            }
            if let Some((index, revision)) = last
                && let Some(before) = index.checked_sub(1)
                && matches!(&items[before], Item::Event(event) if event.revision == revision)
            {
                items.remove(index);
            }
        }
        log
    }
}
