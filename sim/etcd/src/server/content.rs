//! What a cluster begins with, where that is not nothing: keys that were written before anybody looked. They are
//! written in their order when the member starts for the first time, each as a revision of its own, so properties and
//! stories hear of them as of any other write.

use wavetank_engine::Cx;

use crate::api::{Key, Put, Value};
use crate::state::{Cause, Op};

use super::Etcd;

/// A key that is there from the beginning.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Kept<V> {
    /// Which.
    pub key: Key,
    /// What.
    pub value: V,
    /// It goes after so many seconds, unless somebody renews its lease.
    pub lease: Option<u64>,
}

impl<V: Value> Etcd<V> {
    /// The same, and it writes this when it starts for the first time. One member of a cluster does.
    #[must_use]
    pub fn with_content(self, content: Vec<Kept<V>>) -> Etcd<V> {
        Etcd { content, ..self }
    }

    /// What it would begin with to have the keys that it has now: in the order in which they were written, each with the
    /// seconds of its lease, or what a checkpoint says is left of them.
    pub fn kept(&self) -> Vec<Kept<V>> {
        let all = crate::Keys::prefix("/");
        let mut stored: Vec<_> = self.state.store.iter(&all).collect();
        stored.sort_by_key(|kv| kv.mod_revision);
        let kept = stored.into_iter().map(|kv| {
            let lease = kv.lease.and_then(|id| self.state.leases.get(id));
            Kept {
                key: kv.key.clone(),
                value: kv.value.clone(),
                lease: lease.map(|lease| lease.remaining.unwrap_or(lease.ttl)),
            }
        });
        kept.collect()
    }

    pub(super) fn write_content(&mut self, cx: &mut Cx<'_>) {
        for Kept { key, value, lease } in std::mem::take(&mut self.content) {
            let lease = lease.map(|seconds| {
                let id = self.next_lease();
                self.propose(cx, None, Cause::Internal, Op::LeaseGrant(id, seconds));
                id
            });
            let put = Put {
                lease,
                ..Put::new(key, value)
            };
            self.propose(cx, None, Cause::Internal, Op::Put(put));
        }
    }
}
