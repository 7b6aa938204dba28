//! When two worlds are the same: structure for equality, cached fingerprints for the hash, both
//! relative to the current time.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::time::Duration;

use triomphe::Arc;

use crate::conn::Conn;
use crate::digest::{Cached, Digest, DigestKind, StableHasher, digest, exactly, from_scratch};
use crate::mutant;
use crate::property::Property;
use crate::queue::{Entry, Queue};
use crate::slot::Slot;

use super::{State, World};

impl PartialEq for World {
    fn eq(&self, other: &World) -> bool {
        self.view.state() == other.view.state() && self.watchers == other.watchers
    }
}
impl Eq for World {}

/// But for the time itself, from which all else counts.
impl PartialEq for State {
    fn eq(&self, other: &State) -> bool {
        let State {
            now,
            phase,
            slots,
            queue,
            parked,
            conns,
            next_conn,
            links,
            spec,
            next_seq: _,
        } = self;
        let alike = |a: &Queue, b: &Queue| {
            let same = |(a, b): (&Entry, &Entry)| a.same(*now, b, other.now);
            a.iter().len() == b.iter().len() && a.iter().zip(b.iter()).all(same)
        };
        let same = |a: &Arc<Conn>, b: &Arc<Conn>| a.same(*now, b, other.now);
        *phase == other.phase
            && *spec == other.spec
            && *links == other.links
            && *next_conn == other.next_conn
            && *slots == other.slots
            && alike(queue, &other.queue)
            && alike(parked, &other.parked)
            && conns.len() == other.conns.len()
            && conns
                .iter()
                .zip(other.conns.iter())
                .all(|((i, a), (j, b))| i == j && same(a, b))
    }
}

impl Hash for World {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.digest());
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.view.state();
        f.debug_struct("World")
            .field("now", &state.now)
            .field("phase", &state.phase)
            .field("slots", &state.slots)
            .field("pending", &state.queue)
            .field("parked", &state.parked)
            .field("conns", &state.conns)
            .finish_non_exhaustive()
    }
}

impl State {
    /// What has changed is not shared, so nothing is copied here.
    pub fn cache_digests(&mut self, sight: DigestKind) {
        let unknown = |slot: &&mut Arc<Cached<Slot>>| !slot.is_known(sight);
        for slot in self.slots.iter_mut().filter(unknown) {
            Arc::make_mut(slot).cache_digests(sight);
        }
        for (_, conn) in self.conns.iter_mut() {
            if !conn.is_known(sight) {
                Arc::make_mut(conn).cache_digests(sight);
            }
        }
        self.links.cache_digest(sight);
    }
}

impl World {
    /// A copy that shares no process with this one, and so has no live futures: every routine is
    /// rebuilt when it is next needed.
    pub fn unshared(&self) -> World {
        let mut copy = self.clone();
        for slot in &mut copy.view.state_mut().slots {
            let mut own = Cached::<Slot>::clone(slot);
            for routine in own.beside().routines.iter_mut() {
                *routine = Arc::new(Cached::clone(routine));
            }
            *slot = Arc::new(own);
        }
        copy
    }
}

impl World {
    /// The fingerprint, from the fingerprints that are cached.
    pub fn digest(&self) -> Digest {
        let sight = DigestKind::now();
        let state = self.view.state();
        self.combine(
            sight,
            |entry| entry.digest_at(state.now),
            |conn| conn.digest_at(sight, state.now),
        )
    }

    /// The fingerprint of all but exact instants: what is pending counts by its order, and by how many
    /// whole `grain`s it is until then.
    pub fn coarse_digest(&self, grain: Duration) -> Digest {
        let sight = DigestKind::now();
        let state = self.view.state();
        self.combine(
            sight,
            |entry| entry.coarse_digest_at(state.now, grain),
            |conn| conn.coarse_digest_at(sight, state.now, grain),
        )
    }

    /// The fingerprint of what all properties remember.
    pub fn remembered(&self) -> Digest {
        digest(self.watchers())
    }

    /// The fingerprint, with nothing taken from a cache of this world.
    pub fn digest_from_scratch(&self) -> Digest {
        from_scratch(|| self.digest())
    }

    /// The fingerprint that tells instants apart which processes remember: of two worlds that have one,
    /// and one time, whatever happens is the same to the last bit.
    pub fn exact_digest(&self) -> Digest {
        exactly(|| self.digest())
    }

    /// Fills the caches, so that clones share them. Changes nothing that can be observed.
    pub fn cache_digests(&mut self) {
        self.cache_these(DigestKind::COMMON);
    }

    /// The same of the exact fingerprint.
    pub fn cache_exact_digests(&mut self) {
        if !self.all_cached.0 {
            self.cache_these(DigestKind::EXACT);
        }
    }

    /// The same of both fingerprints.
    pub fn cache_all_digests(&mut self) {
        if self.all_cached.0 {
            return;
        }
        for sight in DigestKind::BOTH {
            self.cache_these(sight);
        }
        self.all_cached.0 = true;
    }

    fn cache_these(&mut self, sight: DigestKind) {
        self.view.cache_digests(sight);
        let unknown = |watcher: &Arc<Cached<Box<dyn Property>>>| !watcher.is_known(sight);
        if self.watchers().iter().any(unknown) {
            let watchers = self.watchers.as_mut().expect("no property is being asked");
            for watcher in Arc::make_mut(watchers) {
                if unknown(watcher) {
                    Arc::make_mut(watcher).cache(sight);
                }
            }
        }
    }

    fn combine(
        &self,
        sight: DigestKind,
        entry: impl Fn(&Entry) -> Digest,
        conn: impl Fn(&Conn) -> Digest,
    ) -> Digest {
        let State {
            now: _,
            phase,
            slots,
            queue,
            parked,
            conns,
            next_conn,
            links,
            spec,
            next_seq: _,
        } = self.view.state();
        let mut state = StableHasher::new();
        let leaves_out = mutant::is;
        if !leaves_out("digest: phase") {
            phase.hash(&mut state);
        }
        spec.hash(&mut state);
        if !leaves_out("digest: links") {
            links.hash(&mut state);
        }
        if !leaves_out("digest: next connection") {
            state.write_u32(*next_conn);
        }
        for slot in slots
            .iter()
            .skip(usize::from(leaves_out("digest: first process")))
        {
            state.write_u64(slot.digest(sight));
        }
        for watcher in self
            .watchers()
            .iter()
            .filter(|_| !leaves_out("digest: properties"))
        {
            state.write_u64(watcher.digest(sight));
        }
        for entries in [queue, parked] {
            state.write_usize(entries.iter().len());
            if leaves_out("digest: order") {
                state.write_u64(entries.iter().map(&entry).fold(0, u64::wrapping_add));
                continue;
            }
            for each in entries.iter().filter(|_| !leaves_out("digest: entries")) {
                state.write_u64(entry(each));
            }
        }
        state.write_usize(conns.len());
        for (_, each) in conns.iter().filter(|_| !leaves_out("digest: connections")) {
            state.write_u64(conn(each));
        }
        state.finish()
    }

    /// The same world, `by` later: all that is pending moves along. For tests of shift invariance
    /// and for comparing histories.
    pub fn shift(&mut self, by: Duration) {
        let state = self.view.state_mut();
        state.now = state.now + by;
        state.queue.shift(by);
        state.parked.shift(by);
        for (_, conn) in state.conns.iter_mut() {
            Arc::make_mut(conn).move_instants(|at| at + by);
        }
    }

    /// The fingerprint of each part by name: what differs between two worlds.
    pub fn parts(&self) -> Vec<(String, Digest)> {
        let state = self.view.state();
        from_scratch(|| {
            let slots = state.slots.iter();
            let mut parts: Vec<(String, Digest)> = slots
                .map(|slot| (slot.name.to_string(), digest(slot)))
                .collect();
            parts.extend(self.watchers().iter().map(|watcher| {
                let name = watcher.name();
                (format!("property {name}"), digest(watcher))
            }));
            parts.extend(state.conns.iter().map(|(_, c)| {
                let name = format!(
                    "connection {} to {} ({})",
                    self.name(c.client.process),
                    self.name(c.server),
                    c.transport.name
                );
                (name, c.digest_at(DigestKind::now(), state.now))
            }));
            parts.push(("links".to_owned(), digest(&state.links)));
            parts
        })
    }
}
