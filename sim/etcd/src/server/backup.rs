//! Restoring from a backup (`etcdctl snapshot save`, `etcdutl snapshot restore`): a new cluster
//! begins with an old state, under clients that have seen newer revisions.

use wavetank_engine::Cx;

use crate::api::{EtcdError, Value};
use crate::raft::MemberId;
use crate::state::State;

use super::Etcd;
use super::notes::Restored;
use super::peers::Peer;

impl<V: Value> Etcd<V> {
    /// `etcdctl snapshot save` at this member; the file is copied to all others.
    pub(super) fn back_up(&mut self, cx: &mut Cx<'_>) {
        self.backup = Some(self.state.clone());
        for to in (0..self.config.members.len()).map(|n| MemberId(n as u8)) {
            if to != self.config.me {
                self.say(cx, to, Peer::Backup(self.state.clone()));
            }
        }
    }

    pub(super) fn keep_backup(&mut self, state: &State<V>) {
        self.backup = Some(state.clone());
    }

    /// Stops, begins anew with the backup and runs again: as a member of another cluster, whose
    /// members all have to be restored before they can agree on anything. With `bump` revisions go
    /// on so much later and history is marked as compacted. Without a backup nothing happens.
    pub(super) fn restore(&mut self, cx: &mut Cx<'_>, bump: u64) {
        let Some(backup) = self.backup.clone() else {
            return;
        };
        self.demote(cx);
        self.refuse_all(cx, EtcdError::Stopped);
        self.forget();
        self.cluster += 1;
        self.raft.begin_at(1);
        self.state = backup;
        self.state.index = 1;
        if bump > 0 {
            self.state.store.bump_revision(bump);
        }
        self.flushed = self.flushed.take().map(|_| self.state.clone());
        cx.note(Restored {
            member: self.config.me,
            cluster: self.cluster,
            revision: self.state.store.revision(),
        });
        self.begin(cx);
    }
}
