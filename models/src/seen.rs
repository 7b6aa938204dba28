//! Which states a search has been at: their fingerprints, and nothing else of them. All of them in
//! [`Seen`], the latest in [`Recent`].

use std::mem::size_of;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

use hashbrown::HashTable;
use wavetank_engine::{Digest, mutant};

/// Threads seldom want the same one of so many.
const SHARDS: usize = 64;

/// A set of fingerprints that threads share.
#[derive(Debug)]
pub struct Seen {
    shards: Vec<Mutex<HashTable<Digest>>>,
}

impl Default for Seen {
    fn default() -> Seen {
        let shards = (0..SHARDS).map(|_| Mutex::default());
        Seen {
            shards: shards.collect(),
        }
    }
}

impl Seen {
    /// Takes it in. False if it was there.
    pub fn insert(&self, mut fingerprint: Digest) -> bool {
        if mutant::is("seen: short") {
            fingerprint &= 0xfff;
        }
        let mut shard = self.shard(fingerprint);
        let same = |seen: &Digest| *seen == fingerprint;
        match shard.find(fingerprint, same) {
            Some(_) => false,
            None => {
                shard.insert_unique(fingerprint, fingerprint, |seen| *seen);
                true
            }
        }
    }

    /// Takes it out.
    pub fn remove(&self, fingerprint: Digest) {
        let mut shard = self.shard(fingerprint);
        if let Ok(found) = shard.find_entry(fingerprint, |seen| *seen == fingerprint) {
            found.remove();
        }
    }

    /// Is it there?
    pub fn contains(&self, fingerprint: Digest) -> bool {
        let shard = self.shard(fingerprint);
        shard
            .find(fingerprint, |seen| *seen == fingerprint)
            .is_some()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all().map(|shard| shard.len()).sum()
    }

    /// None yet?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory that they take, in bytes.
    pub fn bytes(&self) -> usize {
        let slot = size_of::<Digest>() + 1;
        self.all()
            .map(|shard| shard.capacity() * 8 / 7 * slot)
            .sum()
    }

    /// Shows all of them, in an order of no meaning.
    pub(crate) fn each(&self, mut show: impl FnMut(Digest)) {
        for shard in self.all() {
            shard.iter().for_each(|digest| show(*digest));
        }
    }

    fn shard(&self, fingerprint: Digest) -> MutexGuard<'_, HashTable<Digest>> {
        // The table itself goes by the other end of it.
        let at = (fingerprint >> 32) as usize % SHARDS;
        self.shards[at].lock().expect("nobody panics with it")
    }

    fn all(&self) -> impl Iterator<Item = MutexGuard<'_, HashTable<Digest>>> {
        let lock = |shard| Mutex::lock(shard).expect("nobody panics with it");
        self.shards.iter().map(lock)
    }
}

/// So many are remembered at most; it fits into a cache of the processor.
const RECENT: usize = 1 << 16;

/// Fingerprints that were met lately: each is remembered until another needs its place.
#[derive(Debug)]
pub struct Recent {
    places: Vec<AtomicU64>,
}

impl Default for Recent {
    fn default() -> Recent {
        Recent {
            places: (0..RECENT).map(|_| AtomicU64::new(0)).collect(),
        }
    }
}

impl Recent {
    /// Takes it in. False if it is known to have been met.
    pub fn insert(&self, fingerprint: Digest) -> bool {
        let place = &self.places[fingerprint as usize % RECENT];
        place.swap(fingerprint, Relaxed) != fingerprint
    }
}
