//! When two worlds are the same: structure for equality, cached fingerprints for the hash, both
//! relative to the current time.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::time::Duration;

use triomphe::Arc;

use crate::conn::Conn;
use crate::digest::{Digest, Sight, StableHasher, digest};
use crate::queue::{Entry, Queue};
use crate::room::with_room;
use crate::routine::Routine;
use crate::slot::Slot;
use crate::time::Time;

use super::{OnLoan, Watcher, World};

impl Clone for World {
    /// Copies pointers. A live future goes to whichever of the copies steps its routine first; the
    /// others rebuild it if they need it.
    fn clone(&self) -> World {
        World {
            now: self.now,
            phase: self.phase,
            slots: self.slots.clone(),
            queue: self.queue.clone(),
            parked: self.parked.clone(),
            conns: with_room(&self.conns),
            next_conn: self.next_conn,
            links: self.links.clone(),
            spec: self.spec,
            watchers: self.watchers.clone(),
            next_seq: self.next_seq,
            rebuilt: self.rebuilt,
            scratch: OnLoan(None),
        }
    }
}

impl PartialEq for World {
    fn eq(&self, other: &World) -> bool {
        let alike = |a: &Queue, b: &Queue| {
            let same = |(a, b): (&Entry, &Entry)| a.same(self.now, b, other.now);
            a.iter().len() == b.iter().len() && a.iter().zip(b.iter()).all(same)
        };
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
            && alike(&self.queue, &other.queue)
            && alike(&self.parked, &other.parked)
            && self.conns.len() == other.conns.len()
            && self
                .conns
                .iter()
                .zip(&other.conns)
                .all(|((_, a), (_, b))| (Arc::ptr_eq(a, b) || a.same(b)) && instants(a, b))
            && self.watchers().len() == other.watchers().len()
            && self
                .watchers()
                .iter()
                .zip(other.watchers())
                .all(|(a, b)| a.property.as_ref().same(b.property.as_ref()))
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
            let mut own = Slot::clone(slot);
            own.routines = own
                .routines
                .iter()
                .map(|r| Arc::new(Routine::clone(r)))
                .collect();
            *slot = Arc::new(own);
        }
        copy
    }
}

impl World {
    /// The fingerprint, from the fingerprints that are cached.
    pub fn digest(&self) -> Digest {
        self.digest_in(Sight::Common)
    }

    fn digest_in(&self, sight: Sight) -> Digest {
        self.combine(
            |slot| slot.digest(sight),
            |watcher| watcher.digest(sight),
            |entry| entry.digest_at(self.now),
            |conn| conn.digest_at(sight, self.now),
        )
    }

    /// The fingerprint of all but exact instants: what is pending counts by its order, and by how many
    /// whole `grain`s it is until then.
    pub fn coarse_digest(&self, grain: Duration) -> Digest {
        self.combine(
            |slot| slot.digest(Sight::Common),
            |watcher| watcher.digest(Sight::Common),
            |entry| entry.coarse_digest_at(self.now, grain),
            |conn| conn.coarse_digest_at(self.now, grain),
        )
    }

    /// The fingerprint of what all properties remember.
    pub fn remembered(&self) -> Digest {
        let mut state = StableHasher::new();
        for watcher in self.watchers() {
            state.write_u64(watcher.digest(Sight::Common));
        }
        state.finish()
    }

    /// The fingerprint, with nothing taken from a cache of this world.
    pub fn digest_from_scratch(&self) -> Digest {
        self.combine(
            Slot::digest_from_scratch,
            |watcher| watcher.property.as_ref().fingerprint(),
            |entry| entry.digest_at(self.now),
            |conn| conn.digest_from_scratch(self.now),
        )
    }

    /// The fingerprint that tells instants apart which processes remember: of two worlds that have one,
    /// and one time, whatever happens is the same to the last bit.
    pub fn exact_digest(&self) -> Digest {
        self.digest_in(Sight::Exact)
    }

    /// Fills the caches, so that clones share them. Changes nothing that can be observed.
    pub fn cache_digests(&mut self) {
        self.cache_these(Sight::Common);
    }

    /// The same of both fingerprints.
    pub fn cache_all_digests(&mut self) {
        self.cache_these(Sight::Common);
        self.cache_these(Sight::Exact);
    }

    fn cache_these(&mut self, sight: Sight) {
        // What has changed is not shared, so nothing is copied here.
        let unknown = |slot: &&mut Arc<Slot>| slot.digest.get(sight).is_none();
        for slot in self.slots.iter_mut().filter(unknown) {
            Arc::make_mut(slot).cache_digests(sight);
        }
        for (_, conn) in &mut self.conns {
            if !conn.is_known(sight) {
                Arc::make_mut(conn).cache_digests(sight);
            }
        }
        let unknown = |watcher: &Arc<Watcher>| watcher.digest.get(sight).is_none();
        if self.watchers().iter().any(unknown) {
            let watchers = self.watchers.as_mut().expect("no property is being asked");
            for watcher in Arc::make_mut(watchers) {
                if unknown(watcher) {
                    let digest = watcher.digest(sight);
                    Arc::make_mut(watcher).digest.set(sight, digest);
                }
            }
        }
    }

    fn combine(
        &self,
        slot: impl Fn(&Slot) -> Digest,
        watcher: impl Fn(&Watcher) -> Digest,
        entry: impl Fn(&Entry) -> Digest,
        conn: impl Fn(&Conn) -> Digest,
    ) -> Digest {
        let mut state = StableHasher::new();
        self.phase.hash(&mut state);
        self.spec.hash(&mut state);
        self.links.hash(&mut state);
        state.write_u32(self.next_conn);
        for each in &self.slots {
            state.write_u64(slot(each));
        }
        for each in self.watchers() {
            state.write_u64(watcher(each));
        }
        for entries in [&self.queue, &self.parked] {
            state.write_usize(entries.iter().len());
            for each in entries.iter() {
                state.write_u64(entry(each));
            }
        }
        state.write_usize(self.conns.len());
        for (_, each) in &self.conns {
            state.write_u64(conn(each));
        }
        state.finish()
    }

    /// The same world, `by` later: all that is pending moves along. For tests of shift invariance
    /// and for comparing histories.
    pub fn shift(&mut self, by: Duration) {
        self.now = self.now + by;
        self.queue.shift(by);
        self.parked.shift(by);
        for (_, conn) in &mut self.conns {
            Arc::make_mut(conn).move_instants(|at| at + by);
        }
    }

    /// The fingerprint of each part by name: what differs between two worlds.
    pub fn parts(&self) -> Vec<(String, Digest)> {
        let mut parts: Vec<(String, Digest)> = self
            .slots
            .iter()
            .map(|slot| (slot.name.to_string(), slot.digest_from_scratch()))
            .collect();
        parts.extend(self.watchers().iter().map(|w| {
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
            (name, c.digest_from_scratch(self.now))
        }));
        parts.push(("links".to_owned(), digest(&self.links)));
        parts
    }
}
