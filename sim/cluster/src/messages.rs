//! What messages mean: what a request asks for, what of etcd an answer was read from, what a commit writes. For whoever
//! looks for causes; stories are told by `describe`.

use wavetank_api::Object;
use wavetank_api::http::{self, Content};
use wavetank_engine::{Note, Payload};
use wavetank_etcd::{Committed, Keys, Range, Ranged, Request, Response, Revision, Txn, TxnOp};

use crate::Components;

/// So many keys are named of those that a read found.
const NAMED: usize = 4;

/// What a client read of etcd.
#[derive(Clone, Debug)]
pub struct Reading {
    /// In words, if there are any: of what is written somebody else tells.
    pub text: Option<String>,
    /// As of which revision.
    pub revision: Revision,
    keys: Vec<Keys>,
}

impl Reading {
    /// Was this key asked for?
    pub fn covers(&self, key: &str) -> bool {
        self.keys.iter().any(|keys| keys.contains(key))
    }
}

/// A key that is written, and what is there from now on; nothing if it is deleted.
pub type Write = (String, Option<Object>);

impl Components {
    /// What is asked for, in words.
    pub fn asked(&self, request: &Payload) -> Option<String> {
        if let Some(request) = request.get::<Request<Object>>() {
            return Some(rpc(request));
        }
        let request = request.get::<http::Request>()?;
        let method = format!("{:?}", request.method).to_uppercase();
        Some(format!("{method} {}", request.path))
    }

    /// What an answer of an apiserver says that is no success.
    pub fn refused(&self, answer: &Payload) -> Option<String> {
        let answer = answer
            .get::<http::Response>()
            .filter(|answer| answer.code >= 400)?;
        Some(match &answer.content {
            Content::Status(status) => format!("{} {}", answer.code, status.message),
            _ => answer.code.to_string(),
        })
    }

    /// What was read of etcd; `None` if this is no read, or another's.
    pub fn read(&self, request: &Payload, answer: &Payload) -> Option<Reading> {
        let request = request.get::<Request<Object>>()?;
        let answer = answer.get::<Response<Object>>()?;
        match (request, answer) {
            (Request::Range(range), Response::Range(ranged)) => Some(Reading {
                text: Some(self.in_words(range, ranged)),
                revision: match range.revision {
                    0 => ranged.revision,
                    earlier => earlier,
                },
                keys: vec![range.keys.clone()],
            }),
            (Request::Txn(txn), Response::Txn(done)) => {
                let keys = txn.compare.iter().map(|compare| compare.keys.clone());
                let ops = if done.succeeded {
                    &txn.success
                } else {
                    &txn.failure
                };
                let ranges = ops.iter().filter_map(|op| match op {
                    TxnOp::Range(range) => Some(range.keys.clone()),
                    _ => None,
                });
                Some(Reading {
                    text: (!done.succeeded).then(|| {
                        let compared = compared(txn);
                        format!("its transaction writes nothing: {compared} is not as expected")
                    }),
                    revision: done.revision,
                    keys: keys.chain(ranges).collect(),
                })
            }
            (asked, Response::Error(error)) => Some(Reading {
                text: Some(format!("its {} fails: {error}", rpc(asked))),
                revision: 0,
                keys: Vec::new(),
            }),
            _ => None,
        }
    }

    /// The keys that a commit writes or deletes, with what is written, and its revision; `None` for other notes.
    pub fn written(&self, note: &Note) -> Option<(Vec<Write>, Revision)> {
        let commit = note.body.get::<Committed<Object>>()?;
        let changes = commit.changes.iter().map(|change| {
            let now = change.now.as_ref().map(|now| now.value.clone());
            (change.key.to_string(), now)
        });
        Some((changes.collect(), commit.revision))
    }

    fn in_words(&self, range: &Range, ranged: &Ranged<Object>) -> String {
        let from = match range.revision {
            0 => String::new(),
            revision => format!(" as of revision {revision}"),
        };
        let what = what(&range.keys);
        let found = match (&range.keys, ranged.kvs.as_slice()) {
            _ if range.count_only => ranged.count.to_string(),
            (_, []) => "nothing".to_owned(),
            (Keys::One(_), [kv]) => self.value(&kv.key, kv.value.json()),
            (keys, kvs) => {
                let start = keys.start();
                let name = |key: &str| key.strip_prefix(&**start).unwrap_or(key).to_owned();
                let mut names: Vec<String> =
                    kvs.iter().take(NAMED).map(|kv| name(&kv.key)).collect();
                if kvs.len() > NAMED {
                    names.push(format!("and {} more", kvs.len() - NAMED));
                }
                names.join(", ")
            }
        };
        format!(
            "reads {what}{from}: {found} (etcd is at {})",
            ranged.revision
        )
    }
}

fn what(keys: &Keys) -> String {
    match keys {
        Keys::One(key) => key.to_string(),
        Keys::Prefix(key) => format!("{key}*"),
        Keys::Between(from, to) => format!("{from} to {to}"),
        Keys::From(key) => format!("{key} and later"),
    }
}

/// A request to etcd by the name of its RPC, and its keys.
fn rpc(request: &Request<Object>) -> String {
    match request {
        Request::Range(range) => format!("Range {}", what(&range.keys)),
        Request::Put(put) => format!("Put {}", put.key),
        Request::DeleteRange(delete) => format!("DeleteRange {}", what(&delete.keys)),
        Request::Txn(txn) => format!("Txn {}", compared(txn)),
        Request::Compact { revision, .. } => format!("Compact {revision}"),
        Request::LeaseGrant { ttl, .. } => format!("LeaseGrant {ttl} s"),
        Request::LeaseRevoke(lease) => format!("LeaseRevoke {}", lease.0),
        Request::LeaseKeepAlive(lease) => format!("LeaseKeepAlive {}", lease.0),
        Request::LeaseTimeToLive { id, .. } => format!("LeaseTimeToLive {}", id.0),
        Request::Leases => "LeaseLeases".to_owned(),
        Request::Watch { .. } => "Watch".to_owned(),
    }
}

/// The keys that the conditions of a transaction are about.
fn compared(txn: &Txn<Object>) -> String {
    let compared = txn.compare.iter().map(|compare| what(&compare.keys));
    compared.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use wavetank_etcd::{EtcdError, KeyValue};

    fn ranged(keys: &[&str]) -> Payload {
        let kv = |key: &&str| KeyValue {
            key: (*key).into(),
            value: Object::new(json!({"kind": "ConfigMap", "data": {"n": "5"}})),
            create_revision: 2,
            mod_revision: 3,
            version: 2,
            lease: None,
        };
        Payload::new(Response::Range(Ranged {
            revision: 7,
            kvs: keys.iter().map(kv).collect(),
            more: false,
            count: keys.len() as u64,
        }))
    }

    fn asks(keys: Keys) -> Payload {
        Payload::new(Request::<Object>::Range(Range::of(keys)))
    }

    #[test]
    fn a_read_tells_what_it_found() {
        let components = Components::default();
        let all = asks(Keys::prefix("/things/"));
        let told = |request: &Payload, answer: &Payload| {
            let reading = components.read(request, answer).expect("a read");
            assert_eq!(reading.revision, 7);
            reading.text.expect("it is told")
        };
        assert_eq!(
            told(&all, &ranged(&[])),
            "reads /things/*: nothing (etcd is at 7)"
        );
        let five = [
            "/things/a",
            "/things/b",
            "/things/c",
            "/things/d",
            "/things/e",
        ];
        let expected = "reads /things/*: a, b, c, d, and 1 more (etcd is at 7)";
        assert_eq!(told(&all, &ranged(&five)), expected);
        let one = asks(Keys::one("/things/a"));
        let expected = r#"reads /things/a: data {"n":"5"} (etcd is at 7)"#;
        assert_eq!(told(&one, &ranged(&["/things/a"])), expected);
        let reading = components.read(&one, &ranged(&[])).expect("a read");
        assert!(reading.covers("/things/a") && !reading.covers("/things/ab"));
        assert_eq!(components.asked(&one).as_deref(), Some("Range /things/a"));
    }

    #[test]
    fn a_failure_is_told_too() {
        let components = Components::default();
        let error = Payload::new(Response::<Object>::Error(EtcdError::NoLeader));
        let reading = components
            .read(&asks(Keys::one("/x")), &error)
            .expect("a read");
        let text = reading.text.expect("it is told");
        assert!(text.starts_with("its Range /x fails: "), "{text}");
    }
}
