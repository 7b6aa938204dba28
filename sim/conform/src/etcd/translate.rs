//! Between the simulator's vocabulary and the messages of the wire, and what is normalised there.
//!
//! When and where messages are sent does not belong here.

use std::sync::Arc;

use tonic::Status;
use wavetank_etcd::{
    Change, Compare, CompareResult, DeleteRange, DeletedRange, Key, KeyValue, Keys, LeaseId,
    OpResponse, Order, Put, PutDone, Range, Ranged, Response, Revision, SortBy, Target, Txn, TxnOp,
    TxnResponse, WatchId, WatchRequest, WatchStart,
};

use crate::etcd::side::{Bytes, ERRORS, LeaseNames, Message, Outcome};
use crate::etcd::wire;

/// An error of the wire. Both its code and its text must be as the vocabulary has them.
pub(crate) fn error(status: &Status) -> Outcome {
    let code = format!("{:?}", status.code());
    let known = ERRORS
        .into_iter()
        .find(|error| error.message() == status.message() && format!("{:?}", error.code()) == code);
    match known {
        Some(error) => Outcome::Answer(Response::Error(error)),
        None => Outcome::Unexpected(format!("{code}: {}", status.message())),
    }
}

/// The client's way to say a number that the protocol has signed.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number of an answer. That none is negative is part of the vocabulary: a negative one shows
/// as a huge one, and so as a difference.
pub(crate) fn unsigned(number: i64) -> u64 {
    number.cast_unsigned()
}

pub(crate) fn revision(header: Option<&wire::Header>) -> Revision {
    header.map_or(0, |header| unsigned(header.revision))
}

/// `key` and `range_end`.
fn keys(keys: &Keys) -> (Vec<u8>, Vec<u8>) {
    match keys {
        Keys::One(key) => (key.as_bytes().to_vec(), Vec::new()),
        Keys::Between(key, end) => (key.as_bytes().to_vec(), end.as_bytes().to_vec()),
        Keys::From(key) => (key.as_bytes().to_vec(), vec![0]),
        Keys::Prefix(key) => {
            let mut end = key.as_bytes().to_vec();
            // UTF-8 has no byte 255, so the last one can always be counted up.
            match end.last_mut() {
                Some(last) => *last += 1,
                None => end.push(0),
            }
            (key.as_bytes().to_vec(), end)
        }
    }
}

/// Translates with the names that one server's leases have.
pub(crate) struct Translator<'a>(pub(crate) &'a LeaseNames);

impl Translator<'_> {
    fn lease(&self, lease: Option<LeaseId>) -> i64 {
        lease.map_or(0, |lease| signed(self.0.real(lease)))
    }

    pub(crate) fn range(&self, range: &Range) -> wire::RangeRequest {
        let (key, range_end) = keys(&range.keys);
        wire::RangeRequest {
            key,
            range_end,
            limit: signed(range.limit),
            revision: signed(range.revision),
            sort_order: match range.order {
                None => 0,
                Some(Order::Ascend) => 1,
                Some(Order::Descend) => 2,
            },
            sort_target: match range.by {
                SortBy::Key => 0,
                SortBy::Version => 1,
                SortBy::Create => 2,
                SortBy::Mod => 3,
                SortBy::Value => 4,
            },
            serializable: range.serializable,
            keys_only: range.keys_only,
            count_only: range.count_only,
            min_mod_revision: signed(range.min_mod),
            max_mod_revision: signed(range.max_mod),
            min_create_revision: signed(range.min_create),
            max_create_revision: signed(range.max_create),
        }
    }

    pub(crate) fn put(&self, put: &Put<Bytes>) -> wire::PutRequest {
        wire::PutRequest {
            key: put.key.as_bytes().to_vec(),
            value: put.value.to_vec(),
            lease: self.lease(put.lease),
            prev_kv: put.prev_kv,
            ignore_value: put.ignore_value,
            ignore_lease: put.ignore_lease,
        }
    }

    pub(crate) fn delete(&self, delete: &DeleteRange) -> wire::DeleteRangeRequest {
        let (key, range_end) = keys(&delete.keys);
        wire::DeleteRangeRequest {
            key,
            range_end,
            prev_kv: delete.prev_kv,
        }
    }

    fn compare(&self, compare: &Compare<Bytes>) -> wire::Compare {
        let (key, range_end) = keys(&compare.keys);
        let (target, union) = match &compare.target {
            Target::Version(version) => (0, wire::TargetUnion::Version(signed(*version))),
            Target::Create(revision) => (1, wire::TargetUnion::CreateRevision(signed(*revision))),
            Target::Mod(revision) => (2, wire::TargetUnion::ModRevision(signed(*revision))),
            Target::Value(value) => (3, wire::TargetUnion::Value(value.to_vec())),
            Target::Lease(lease) => (4, wire::TargetUnion::Lease(self.lease(*lease))),
        };
        let result = match compare.result {
            CompareResult::Equal => 0,
            CompareResult::Greater => 1,
            CompareResult::Less => 2,
            CompareResult::NotEqual => 3,
        };
        wire::Compare {
            result,
            target,
            key,
            target_union: Some(union),
            range_end,
        }
    }

    pub(crate) fn txn(&self, txn: &Txn<Bytes>) -> wire::TxnRequest {
        let ops = |ops: &[TxnOp<Bytes>]| ops.iter().map(|op| self.op(op)).collect();
        wire::TxnRequest {
            compare: txn
                .compare
                .iter()
                .map(|compare| self.compare(compare))
                .collect(),
            success: ops(&txn.success),
            failure: ops(&txn.failure),
        }
    }

    fn op(&self, op: &TxnOp<Bytes>) -> wire::RequestOp {
        let request = Some(match op {
            TxnOp::Range(range) => wire::RequestUnion::Range(self.range(range)),
            TxnOp::Put(put) => wire::RequestUnion::Put(self.put(put)),
            TxnOp::DeleteRange(delete) => wire::RequestUnion::DeleteRange(self.delete(delete)),
            TxnOp::Txn(txn) => wire::RequestUnion::Txn(self.txn(txn)),
        });
        wire::RequestOp { request }
    }

    fn kv(&self, kv: wire::KeyValue) -> KeyValue<Bytes> {
        KeyValue {
            key: text(&kv.key),
            value: kv.value.into(),
            create_revision: unsigned(kv.create_revision),
            mod_revision: unsigned(kv.mod_revision),
            version: unsigned(kv.version),
            lease: (kv.lease != 0).then(|| self.0.name(unsigned(kv.lease))),
        }
    }

    fn kvs(&self, kvs: Vec<wire::KeyValue>) -> Vec<KeyValue<Bytes>> {
        kvs.into_iter().map(|kv| self.kv(kv)).collect()
    }

    pub(crate) fn ranged(&self, answer: wire::RangeResponse) -> Ranged<Bytes> {
        Ranged {
            revision: revision(answer.header.as_ref()),
            kvs: self.kvs(answer.kvs),
            more: answer.more,
            count: unsigned(answer.count),
        }
    }

    pub(crate) fn put_done(&self, answer: wire::PutResponse) -> PutDone<Bytes> {
        PutDone {
            revision: revision(answer.header.as_ref()),
            prev: answer.prev_kv.map(|kv| self.kv(kv)),
        }
    }

    pub(crate) fn deleted(&self, answer: wire::DeleteRangeResponse) -> DeletedRange<Bytes> {
        DeletedRange {
            revision: revision(answer.header.as_ref()),
            deleted: unsigned(answer.deleted),
            prev: self.kvs(answer.prev_kvs),
        }
    }

    pub(crate) fn txn_done(&self, answer: wire::TxnResponse) -> TxnResponse<Bytes> {
        let responses = answer.responses.into_iter().filter_map(|op| op.response);
        let responses = responses.map(|response| match response {
            wire::ResponseUnion::Range(answer) => OpResponse::Range(self.ranged(answer)),
            wire::ResponseUnion::Put(answer) => OpResponse::Put(self.put_done(answer)),
            wire::ResponseUnion::DeleteRange(answer) => {
                OpResponse::DeleteRange(self.deleted(answer))
            }
            wire::ResponseUnion::Txn(answer) => OpResponse::Txn(self.txn_done(answer)),
        });
        TxnResponse {
            revision: revision(answer.header.as_ref()),
            succeeded: answer.succeeded,
            responses: responses.collect(),
        }
    }

    fn change(&self, event: wire::Event) -> Change<Bytes> {
        let deleted = event.r#type == wire::EventType::Delete as i32;
        // A deletion says of the key only its name and the revision.
        let kv = self.kv(event.kv.unwrap_or_default());
        Change {
            key: kv.key.clone(),
            revision: kv.mod_revision,
            now: (!deleted).then_some(kv),
            before: event.prev_kv.map(|kv| self.kv(kv)),
        }
    }

    pub(crate) fn message(&self, answer: wire::WatchResponse) -> Message {
        Message {
            // -1 is for all watches, or for one that was refused.
            id: u32::try_from(answer.watch_id).ok().map(WatchId),
            revision: revision(answer.header.as_ref()),
            created: answer.created,
            canceled: answer.canceled,
            compact_revision: unsigned(answer.compact_revision),
            cancel_reason: answer.cancel_reason,
            events: answer
                .events
                .into_iter()
                .map(|event| self.change(event))
                .collect(),
        }
    }
}

/// What is sent on a watch stream.
pub(crate) fn watch(request: &WatchRequest) -> wire::WatchRequest {
    let union = match request {
        WatchRequest::Create(start) => wire::WatchUnion::Create(create(start)),
        WatchRequest::Cancel(id) => wire::WatchUnion::Cancel(wire::WatchCancelRequest {
            watch_id: i64::from(id.0),
        }),
        WatchRequest::Progress => wire::WatchUnion::Progress(wire::Empty {}),
    };
    wire::WatchRequest {
        request_union: Some(union),
    }
}

fn create(start: &WatchStart) -> wire::WatchCreateRequest {
    let (key, range_end) = keys(&start.keys);
    let filters = [(start.filters.no_put, 0), (start.filters.no_delete, 1)];
    wire::WatchCreateRequest {
        key,
        range_end,
        start_revision: signed(start.revision),
        progress_notify: start.progress_notify,
        filters: filters
            .into_iter()
            .filter_map(|(on, filter)| on.then_some(filter))
            .collect(),
        prev_kv: start.prev_kv,
        watch_id: start.id.map_or(0, |id| i64::from(id.0)),
        fragment: start.fragment,
    }
}

/// Keys here are text: the generator makes no other ones.
pub(crate) fn text(key: &[u8]) -> Key {
    Arc::from(String::from_utf8_lossy(key))
}
