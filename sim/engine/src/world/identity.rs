//! When two worlds are the same: structure for equality, cached fingerprints for the hash, both
//! relative to the current time.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use crate::conn::Conn;
use crate::digest::{Digest, StableHasher, digest};
use crate::queue::Entry;
use crate::time::Time;

use super::{Scratch, World};

impl Clone for World {
    /// Copies pointers. Live futures stay with the original; the copy rebuilds the ones it needs.
    fn clone(&self) -> World {
        World {
            now: self.now,
            phase: self.phase,
            slots: self.slots.clone(),
            queue: self.queue.clone(),
            parked: self.parked.clone(),
            conns: self.conns.clone(),
            next_conn: self.next_conn,
            links: self.links.clone(),
            spec: self.spec,
            watchers: self.watchers.clone(),
            next_seq: self.next_seq,
            rebuilt: self.rebuilt,
            scratch: Scratch::default(),
        }
    }
}

impl PartialEq for World {
    fn eq(&self, other: &World) -> bool {
        let same = |a: &Entry, b: &Entry| a.same(self.now, b, other.now);
        // Past and future: apart from now by as much.
        let apart = |at: Time, now: Time| (at.since(now), now.since(at));
        let instants = |a: &Conn, b: &Conn| {
            a.instants()
                .zip(b.instants())
                .all(|(a, b)| apart(a, self.now) == apart(b, other.now))
        };
        self.phase == other.phase
            && self.spec == other.spec
            && self.links == other.links
            && self.next_conn == other.next_conn
            && self.slots.len() == other.slots.len()
            && self
                .slots
                .iter()
                .zip(&other.slots)
                .all(|(a, b)| Arc::ptr_eq(a, b) || a == b)
            && self.queue.iter().len() == other.queue.iter().len()
            && self
                .queue
                .iter()
                .zip(other.queue.iter())
                .all(|(a, b)| same(a, b))
            && self.parked.len() == other.parked.len()
            && self
                .parked
                .iter()
                .zip(&other.parked)
                .all(|(a, b)| same(a, b))
            && self.conns.len() == other.conns.len()
            && self
                .conns
                .iter()
                .zip(&other.conns)
                .all(|((_, a), (_, b))| (Arc::ptr_eq(a, b) || a.same(b)) && instants(a, b))
            && self.watchers.len() == other.watchers.len()
            && self
                .watchers
                .iter()
                .zip(&other.watchers)
                .all(|(a, b)| Arc::ptr_eq(a, b) || a.property.as_ref().same(b.property.as_ref()))
    }
}
impl Eq for World {}

impl Hash for World {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.digest());
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World")
            .field("now", &self.now)
            .field("phase", &self.phase)
            .field("slots", &self.slots)
            .field("pending", &self.queue)
            .field("parked", &self.parked)
            .field("conns", &self.conns)
            .finish_non_exhaustive()
    }
}

impl World {
    /// A copy that shares no process with this one, and so has no live futures: every routine is
    /// rebuilt when it is next needed.
    pub fn unshared(&self) -> World {
        let mut copy = self.clone();
        for slot in &mut copy.slots {
            *slot = Arc::new(slot.as_ref().clone());
        }
        copy
    }
}

fn conn_digest(conn: &Conn) -> Digest {
    let mut state = StableHasher::new();
    conn.hash_into(&mut state);
    state.finish()
}

impl World {
    /// The fingerprint, from the fingerprints that are cached.
    pub fn digest(&self) -> Digest {
        self.combine(
            |world, at| world.slots[at].digest(),
            |world, at| match world.watchers[at].digest {
                Some(digest) => digest,
                None => world.watchers[at].property.as_ref().fingerprint(),
            },
        )
    }

    /// The fingerprint, with nothing taken from a cache of this world.
    pub fn digest_from_scratch(&self) -> Digest {
        self.combine(
            |world, at| world.slots[at].compute_digest(),
            |world, at| world.watchers[at].property.as_ref().fingerprint(),
        )
    }

    /// Fills the caches, so that clones share them. Changes nothing that can be observed.
    pub fn cache_digests(&mut self) {
        for slot in &mut self.slots {
            if slot.digest.is_none() {
                let digest = slot.compute_digest();
                // Unshared after a change, so this copies nothing.
                Arc::make_mut(slot).digest = Some(digest);
            }
        }
        for watcher in &mut self.watchers {
            if watcher.digest.is_none() {
                let digest = watcher.property.as_ref().fingerprint();
                Arc::make_mut(watcher).digest = Some(digest);
            }
        }
    }

    fn combine(
        &self,
        slot: impl Fn(&World, usize) -> Digest,
        watcher: impl Fn(&World, usize) -> Digest,
    ) -> Digest {
        let mut state = StableHasher::new();
        self.phase.hash(&mut state);
        self.spec.hash(&mut state);
        self.links.hash(&mut state);
        state.write_u32(self.next_conn);
        for at in 0..self.slots.len() {
            state.write_u64(slot(self, at));
        }
        for at in 0..self.watchers.len() {
            state.write_u64(watcher(self, at));
        }
        state.write_usize(self.queue.iter().len());
        for entry in self.queue.iter() {
            entry.hash_at(self.now, &mut state);
        }
        state.write_usize(self.parked.len());
        for entry in &self.parked {
            entry.hash_at(self.now, &mut state);
        }
        state.write_usize(self.conns.len());
        for (_, conn) in &self.conns {
            state.write_u64(conn_digest(conn));
            for at in conn.instants() {
                state.write_u64(at.nanos().wrapping_sub(self.now.nanos()));
            }
        }
        state.finish()
    }

    /// The same world, `by` later: all that is pending moves along. For tests of shift invariance
    /// and for comparing histories.
    pub fn shift(&mut self, by: Duration) {
        self.now = self.now + by;
        self.queue.shift(by);
        for entry in &mut self.parked {
            entry.at = entry.at + by;
        }
        for (_, conn) in &mut self.conns {
            let conn = Arc::make_mut(conn);
            for flight in conn.up.iter_mut().chain(&mut conn.down) {
                flight.at = flight.at + by;
            }
            conn.heard = conn.heard.map(|at| at + by);
        }
    }

    /// The fingerprint of each part by name: what differs between two worlds.
    pub fn parts(&self) -> Vec<(String, Digest)> {
        let mut parts: Vec<(String, Digest)> = self
            .slots
            .iter()
            .map(|slot| (slot.name.to_string(), slot.compute_digest()))
            .collect();
        parts.extend(self.watchers.iter().map(|w| {
            let property = w.property.as_ref();
            (
                format!("property {}", property.name()),
                property.fingerprint(),
            )
        }));
        parts.extend(self.conns.iter().map(|(_, c)| {
            let name = format!(
                "connection {} to {} ({})",
                self.name(c.client.process),
                self.name(c.server),
                c.transport.name
            );
            (name, conn_digest(c))
        }));
        parts.push(("links".to_owned(), digest(&self.links)));
        parts
    }
}
