//! What can happen next, in the default order: by time, then by process, then first come, first served.

use std::time::Duration;

use crate::channel::Channel;
use crate::conn::{ConnId, Dir};
use crate::digest::{Digest, digest, pair};
use crate::mutant;
use crate::name::{Name, ProcId, RoutineId};
use crate::process::Timer;
use crate::room::Roomy;
use crate::time::{Time, grains};
use crate::world::Event;

/// What a pending entry will do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum What {
    /// The frame at the head of a direction of a connection arrives.
    #[doc(hidden)]
    Frame(FrameHead),
    /// A timer of the process fires.
    Timer(Timer),
    /// A sleep of a routine is over.
    Sleep {
        /// The routine.
        routine: RoutineId,
        /// The operation in its log.
        op: u32,
    },
    /// A routine may have the lock it waits for.
    Grant {
        /// The lock.
        lock: Name,
        /// The routine.
        routine: RoutineId,
        /// The operation in its log.
        op: u32,
    },
    /// A routine may take from the channel at which it waits.
    Recv {
        /// The channel.
        channel: Channel,
        /// The routine.
        routine: RoutineId,
        /// The operation in its log.
        op: u32,
    },
    /// A routine may put into the channel at which it waits.
    Send {
        /// The channel.
        channel: Channel,
        /// The routine.
        routine: RoutineId,
        /// The operation in its log.
        op: u32,
    },
    /// A routine that waited for a signal or a condition runs on.
    Wake {
        /// The routine.
        routine: RoutineId,
        /// The operation in its log.
        op: u32,
    },
    /// A routine asked for a choice among `domain` values.
    Choose {
        /// The routine.
        routine: RoutineId,
        /// The operation in its log.
        op: u32,
        /// The number of values.
        domain: u64,
        /// The one of the default order.
        usual: u64,
    },
    /// The deadline of a routine's context.
    Deadline {
        /// The routine.
        routine: RoutineId,
    },
    /// A connection's timer: keep-alive, or the limit on connecting.
    #[doc(hidden)]
    Conn(ConnTimer),
    /// The deadline of the property with this index.
    Property(u16),
}

/// The head of one direction of a connection. Frames of one direction arrive in the order in which they were sent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FrameHead {
    pub(crate) conn: ConnId,
    pub(crate) dir: Dir,
}

impl FrameHead {
    /// Does it go from the client to the server? The first frame that does opens the connection.
    pub fn is_up(self) -> bool {
        self.dir == Dir::Up
    }

    /// The other direction of the same connection.
    #[must_use]
    pub fn back(self) -> FrameHead {
        let dir = match self.dir {
            Dir::Up => Dir::Down,
            Dir::Down => Dir::Up,
        };
        FrameHead { dir, ..self }
    }
}

/// A timer that belongs to a connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ConnTimer {
    pub(crate) conn: ConnId,
    pub(crate) dial: bool,
}

impl What {
    /// The routine it resumes, if it resumes one.
    pub fn routine(&self) -> Option<RoutineId> {
        match self {
            What::Sleep { routine, .. }
            | What::Grant { routine, .. }
            | What::Recv { routine, .. }
            | What::Send { routine, .. }
            | What::Wake { routine, .. }
            | What::Choose { routine, .. }
            | What::Deadline { routine } => Some(*routine),
            _ => None,
        }
    }
}

/// One thing that can happen.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// When, in the default order.
    pub at: Time,
    /// Where.
    pub process: ProcId,
    /// A number that is unique in this world's history and not part of its state: nothing but its name for
    /// drivers.
    pub seq: u64,
    /// What.
    pub what: What,
    /// The fingerprint of where and what.
    digest: Digest,
}

impl Entry {
    pub(crate) fn new(at: Time, process: ProcId, what: What) -> Entry {
        Entry {
            at,
            process,
            seq: 0,
            what,
            digest: digest(&(process, what)),
        }
    }

    /// What happens with it in the default order.
    pub fn usual(&self) -> Event<'static> {
        match self.what {
            What::Choose { usual, .. } => Event::Choice(self.seq, usual),
            _ => Event::Pending(self.seq),
        }
    }

    /// Its place in the default order, among those that have another.
    fn key(&self) -> u128 {
        u128::from(self.at.nanos()) << 64 | u128::from(self.process.0)
    }

    /// The fingerprint, with the time that is left. What is overdue counts by how much: in that order it
    /// goes on, when whatever holds it up is over.
    pub(crate) fn digest_at(&self, now: Time) -> Digest {
        if mutant::is("digest: when") {
            return self.digest;
        }
        pair(self.digest, self.at.ahead_of(now))
    }

    /// The fingerprint, with the time that is left in whole grains.
    pub(crate) fn coarse_digest_at(&self, now: Time, grain: Duration) -> Digest {
        pair(self.digest, grains(self.at.since(now), grain))
    }

    /// The fingerprint of where and what.
    pub(crate) fn digest(&self) -> Digest {
        self.digest
    }

    /// The same, at another time.
    pub(crate) fn again(&self, at: Time) -> Entry {
        Entry { at, ..*self }
    }

    /// The same, by its name for drivers.
    pub(crate) fn named(self, seq: u64) -> Entry {
        Entry { seq, ..self }
    }

    pub(crate) fn same(&self, now: Time, other: &Entry, other_now: Time) -> bool {
        self.process == other.process
            && self.what == other.what
            && self.at.ahead_of(now) == other.at.ahead_of(other_now)
    }
}

/// What is looked for among entries; its fingerprint tells at a glance most of those that are
/// something else.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Sought {
    process: ProcId,
    what: What,
    digest: Digest,
}

impl Sought {
    pub fn new(process: ProcId, what: What) -> Sought {
        let digest = digest(&(process, what));
        Sought {
            process,
            what,
            digest,
        }
    }

    pub fn is(&self, entry: &Entry) -> bool {
        entry.digest == self.digest && entry.process == self.process && entry.what == self.what
    }
}

/// Entries that go together.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Which {
    /// Offers of a lock.
    Grants(ProcId, Name),
    /// Offers to receive from a channel.
    Receives(ProcId, Channel),
    /// Offers to send to a channel.
    Sends(ProcId, Channel),
    /// All but frames that are under way to a process.
    OwnOf(ProcId),
    /// The timers of a connection.
    TimersOf(ConnId),
    /// Its frames.
    FramesOf(ConnId),
    /// Those to the client.
    FramesDown(ConnId),
    /// Both frames and timers.
    AllOf(ConnId),
}

impl Which {
    pub fn is(self, entry: &Entry) -> bool {
        match (self, entry.what) {
            (Which::Grants(p, name), What::Grant { lock, .. }) => {
                entry.process == p && lock == name
            }
            (Which::Receives(p, c), What::Recv { channel, .. })
            | (Which::Sends(p, c), What::Send { channel, .. }) => {
                entry.process == p && channel == c
            }
            (Which::OwnOf(_), What::Frame(_)) => false,
            (Which::OwnOf(p), _) => entry.process == p,
            (Which::TimersOf(id) | Which::AllOf(id), What::Conn(timer)) => timer.conn == id,
            (Which::FramesOf(id) | Which::AllOf(id), What::Frame(head)) => head.conn == id,
            (Which::FramesDown(id), What::Frame(head)) => head.conn == id && head.dir == Dir::Down,
            _ => false,
        }
    }
}

/// Entries in the default order, the latest first, so that the next one is popped from the end; of those
/// with one time and process, whichever came here first goes first. That is all that is known of their
/// order. Worlds have tens of entries: a sorted vector is the fastest to clone, to hash in order and to
/// cancel in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    entries: Roomy<Entry>,
}

impl Queue {
    pub fn push(&mut self, entry: Entry) {
        let at = self.place(&entry);
        self.entries.insert(at, entry);
    }

    /// Many with one time and process, one after the other: thousands may wait for one lock.
    pub fn push_all(&mut self, entries: Vec<Entry>) {
        if let Some(first) = entries.first() {
            let at = self.place(first);
            self.entries.splice(at..at, entries.into_iter().rev());
        }
    }

    /// Behind all that have its time and process.
    fn place(&self, entry: &Entry) -> usize {
        let key = entry.key();
        // Most new entries are soon: search from the near end first.
        let near = self.entries.len().saturating_sub(8);
        if self.entries.get(near).is_some_and(|e| e.key() > key) {
            near + self.entries[near..].partition_point(|e| e.key() > key)
        } else {
            self.entries[..near.min(self.entries.len())].partition_point(|e| e.key() > key)
        }
    }

    pub fn peek(&self) -> Option<&Entry> {
        self.entries.last()
    }

    /// In the default order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Entry> + ExactSizeIterator {
        self.entries.iter().rev()
    }

    pub fn take(&mut self, seq: u64) -> Option<Entry> {
        let at = self.entries.iter().rposition(|e| e.seq == seq)?;
        Some(self.entries.remove(at))
    }

    /// The first entry that does this at this process.
    pub fn find(&self, sought: Sought) -> Option<&Entry> {
        self.iter().find(|entry| sought.is(entry))
    }

    /// Removes that entry. Was there one?
    pub fn remove(&mut self, sought: Sought) -> bool {
        let at = self.entries.iter().rposition(|entry| sought.is(entry));
        at.map(|at| self.entries.remove(at)).is_some()
    }

    pub fn discard(&mut self, unwanted: impl Fn(&Entry) -> bool) {
        self.entries.retain(|entry| !unwanted(entry));
    }

    /// Removes and returns, in the default order.
    pub fn extract(&mut self, wanted: impl Fn(&Entry) -> bool) -> Vec<Entry> {
        let mut out: Vec<Entry> = self.entries.extract_if(.., |e| wanted(e)).collect();
        out.reverse();
        out
    }

    pub fn shift(&mut self, by: Duration) {
        for entry in self.entries.iter_mut() {
            entry.at = entry.at + by;
        }
    }
}
