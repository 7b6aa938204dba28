//! The names of leases ([`LeaseNames`]) in requests to the simulated etcd, and in what it answers.
//!
//! Nothing else is translated here: it speaks the vocabulary itself.

use wavetank_etcd::{
    Change, KeyValue, LeaseId, OpResponse, Put, Request, Response, Target, Txn, TxnOp, TxnResponse,
};

use crate::etcd::side::{Bytes, LeaseNames};

/// Gives leases their numbers, on the way in.
pub(crate) fn inbound(names: &LeaseNames, request: &Request<Bytes>) -> Request<Bytes> {
    let mut request = request.clone();
    match &mut request {
        Request::Put(put) => put_in(names, put),
        Request::Txn(txn) => txn_in(names, txn),
        Request::LeaseRevoke(id)
        | Request::LeaseKeepAlive(id)
        | Request::LeaseTimeToLive { id, .. } => real(names, id),
        // The number that is wanted is no name.
        Request::LeaseGrant { .. }
        | Request::Range(_)
        | Request::DeleteRange(_)
        | Request::Compact { .. }
        | Request::Leases
        | Request::Watch { .. } => {}
    }
    request
}

fn real(names: &LeaseNames, id: &mut LeaseId) {
    *id = LeaseId(names.real(*id));
}

fn name(names: &LeaseNames, id: &mut LeaseId) {
    *id = names.name(id.0);
}

fn put_in(names: &LeaseNames, put: &mut Put<Bytes>) {
    if let Some(id) = &mut put.lease {
        real(names, id);
    }
}

fn txn_in(names: &LeaseNames, txn: &mut Txn<Bytes>) {
    for compare in &mut txn.compare {
        if let Target::Lease(Some(id)) = &mut compare.target {
            real(names, id);
        }
    }
    for op in txn.success.iter_mut().chain(&mut txn.failure) {
        match op {
            TxnOp::Put(put) => put_in(names, put),
            TxnOp::Txn(txn) => txn_in(names, txn),
            TxnOp::Range(_) | TxnOp::DeleteRange(_) => {}
        }
    }
}

/// Gives leases their names, on the way out. The lease of a grant is for the caller to name.
pub(crate) fn outbound(names: &LeaseNames, response: &mut Response<Bytes>) {
    match response {
        Response::Range(answer) => kvs_out(names, &mut answer.kvs),
        Response::Put(answer) => kvs_out(names, answer.prev.as_mut_slice()),
        Response::DeleteRange(answer) => kvs_out(names, &mut answer.prev),
        Response::Txn(answer) => txn_out(names, answer),
        Response::Leases { leases, .. } => {
            for id in leases {
                name(names, id);
            }
        }
        Response::LeaseGrant { .. }
        | Response::Compact(_)
        | Response::LeaseRevoke(_)
        | Response::LeaseKeepAlive { .. }
        | Response::LeaseTimeToLive(_)
        | Response::Error(_) => {}
    }
}

/// The same for an event of a watch.
pub(crate) fn change_out(names: &LeaseNames, change: &mut Change<Bytes>) {
    kvs_out(names, change.now.as_mut_slice());
    kvs_out(names, change.before.as_mut_slice());
}

fn kvs_out(names: &LeaseNames, kvs: &mut [KeyValue<Bytes>]) {
    for id in kvs.iter_mut().filter_map(|kv| kv.lease.as_mut()) {
        name(names, id);
    }
}

fn txn_out(names: &LeaseNames, answer: &mut TxnResponse<Bytes>) {
    for response in &mut answer.responses {
        match response {
            OpResponse::Range(answer) => kvs_out(names, &mut answer.kvs),
            OpResponse::Put(answer) => kvs_out(names, answer.prev.as_mut_slice()),
            OpResponse::DeleteRange(answer) => kvs_out(names, &mut answer.prev),
            OpResponse::Txn(answer) => txn_out(names, answer),
        }
    }
}
