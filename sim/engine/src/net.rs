//! Links between processes: nominal latency, slowness, and what is cut.

use std::hash::{Hash, Hasher};
use std::time::Duration;

use crate::digest::{Digest, digest};
use crate::name::ProcId;

/// The nominal one-way latency of links.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LinkSpec {
    /// Between two processes.
    pub remote: Duration,
    /// From a process to itself.
    pub local: Duration,
}

impl Default for LinkSpec {
    fn default() -> Self {
        LinkSpec {
            remote: Duration::from_micros(500),
            local: Duration::from_micros(50),
        }
    }
}

/// A frame that was just sent: the driver says how long it takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent {
    /// The sender.
    pub from: ProcId,
    /// The receiver.
    pub to: ProcId,
    /// What it takes by default, slowness included.
    pub nominal: Duration,
    /// By how much the link is slowed; 1 is normal.
    pub slow: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Link {
    /// How many faults cut it.
    pub cuts: u32,
    pub slow: u32,
}

const NORMAL: Link = Link { cuts: 0, slow: 1 };

/// The links that are not as they should be, by (from, to); a healthy network is empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links {
    odd: Vec<((ProcId, ProcId), Link)>,
    /// The fingerprint of the odd ones; 0 if there are none.
    digest: Digest,
}

impl PartialEq for Links {
    fn eq(&self, other: &Links) -> bool {
        self.odd == other.odd
    }
}
impl Eq for Links {}

impl Hash for Links {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.digest);
    }
}

impl Links {
    pub fn get(&self, from: ProcId, to: ProcId) -> Link {
        if self.odd.is_empty() {
            return NORMAL;
        }
        self.odd
            .iter()
            .find(|(key, _)| *key == (from, to))
            .map_or(NORMAL, |(_, link)| *link)
    }

    pub fn change(&mut self, from: ProcId, to: ProcId, change: impl FnOnce(&mut Link)) {
        let key = (from, to);
        let at = self.odd.partition_point(|(k, _)| *k < key);
        if self.odd.get(at).is_none_or(|(k, _)| *k != key) {
            self.odd.insert(at, (key, NORMAL));
        }
        change(&mut self.odd[at].1);
        if self.odd[at].1 == NORMAL {
            self.odd.remove(at);
        }
        self.digest = match self.odd.is_empty() {
            true => 0,
            false => digest(&self.odd),
        };
    }

    pub fn heal(&mut self) -> bool {
        let healed = !self.odd.is_empty();
        *self = Links::default();
        healed
    }
}
