//! Links between processes: nominal latency, slowness, and what is cut.

use std::time::Duration;

use crate::digest::{Cached, DigestKind};
use crate::name::ProcId;
use crate::queue::FrameHead;

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
    /// On which wire: for whoever carries frames over a network of their own.
    pub wire: FrameHead,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Link {
    /// How many faults cut it.
    pub cuts: u32,
    pub slow: u32,
}

const NORMAL: Link = Link { cuts: 0, slow: 1 };

/// The links that are not as they should be, by (from, to); a healthy network is empty.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Links(Cached<Vec<((ProcId, ProcId), Link)>>);

impl Links {
    pub fn get(&self, from: ProcId, to: ProcId) -> Link {
        let odd = self.0.iter().find(|(key, _)| *key == (from, to));
        odd.map_or(NORMAL, |(_, link)| *link)
    }

    pub fn are_normal(&self) -> bool {
        self.0.is_empty()
    }

    pub fn change(&mut self, from: ProcId, to: ProcId, change: impl FnOnce(&mut Link)) {
        let key = (from, to);
        let odd = &mut *self.0;
        let at = odd.partition_point(|(k, _)| *k < key);
        if odd.get(at).is_none_or(|(k, _)| *k != key) {
            odd.insert(at, (key, NORMAL));
        }
        change(&mut odd[at].1);
        if odd[at].1 == NORMAL {
            odd.remove(at);
        }
    }

    pub fn heal(&mut self) {
        *self = Links::default();
    }

    pub fn cache_digest(&mut self, sight: DigestKind) {
        self.0.cache(sight);
    }
}
