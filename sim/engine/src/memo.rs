//! Steps that were taken before, so that a search need not take them again.
//!
//! An event touches one process, a few of its connections and its entries; the same process meets the
//! same event in thousands of worlds that differ elsewhere. While a step is taken, [`Record`] writes
//! down what it asked of the rest of the world, with the answers, and what it changed there. Wherever
//! a process in the same state has the same event and all those questions have the same answers, the
//! step does the same: how is in `world/known.rs`.
//!
//! States are told apart by their exact fingerprints.

use std::time::Duration;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry as Place;
use triomphe::Arc;

use crate::conn::{ConnId, Dir, Ends, Frame, Transport};
use crate::digest::{Cached, Digest, DigestKind, pair};
use crate::name::{Life, Name, ProcId};
use crate::property::Note;
use crate::queue::{Entry, FrameHead, Sought, What, Which};
use crate::slot::Slot;
use crate::time::Time;
use crate::world::{After, State};

/// What a step can ask of the world around its process.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Question {
    /// What do the ends of a connection know?
    Ends(ConnId),
    /// When did its client hear anything?
    Heard(ConnId),
    /// How much is under way to its server? Before the step, so that what it takes counts.
    UnderWayUp(ConnId),
    /// Which connections is a process the client or the server of?
    ConnsOf(ProcId),
    /// Which is it the server of?
    ConnsTo(ProcId),
    /// Which connection of a client leads to a server?
    Connection(Life, ProcId, &'static Transport),
    /// Which number has the next one?
    NextConn,
    /// Is an entry pending, and when?
    Entry(Sought),
    /// Which timers with a tag are armed, and when do they fire?
    Timers(ProcId, Name),
    /// What time is it?
    Now,
}

impl Question {
    /// The mutant that leaves it out.
    pub fn left_out(self) -> &'static str {
        match self {
            Question::Ends(_) => "question: ends",
            Question::Heard(_) => "question: heard",
            Question::UnderWayUp(_) => "question: under way",
            Question::ConnsOf(_) => "question: connections of",
            Question::ConnsTo(_) => "question: connections to",
            Question::Connection(..) => "question: connection",
            Question::NextConn => "question: next connection",
            Question::Entry(_) => "question: entry",
            Question::Timers(..) => "question: timers",
            Question::Now => "question: now",
        }
    }
}

/// What a step does to pending entries and to what is under way on connections, each by a function of
/// the world that does just this.
#[derive(Clone, Debug)]
pub(crate) enum Edit {
    Enqueue {
        entry: Entry,
        after: Duration,
    },
    Cancel(Sought),
    CancelAll(Which),
    Land(FrameHead),
    Fly {
        conn: ConnId,
        dir: Dir,
        frame: Box<Cached<Frame>>,
        after: Duration,
    },
    /// Now, or not any more.
    Hear(ConnId, bool),
    Park,
    Unpark(After),
}

impl Edit {
    /// The mutant that leaves it out.
    pub fn left_out(&self) -> &'static str {
        match self {
            Edit::Enqueue { .. } => "edit: enqueue",
            Edit::Cancel(_) => "edit: cancel",
            Edit::CancelAll(_) => "edit: cancel all",
            Edit::Land(_) => "edit: land",
            Edit::Fly { .. } => "edit: fly",
            Edit::Hear(..) => "edit: hear",
            Edit::Park => "edit: park",
            Edit::Unpark(_) => "edit: unpark",
        }
    }

    pub fn enqueue(after: Duration, process: ProcId, what: What) -> Edit {
        let entry = Entry::new(Time::ZERO, process, what);
        Edit::Enqueue { entry, after }
    }

    pub fn fly(conn: ConnId, dir: Dir, frame: &Cached<Frame>, after: Duration) -> Edit {
        let mut frame = Box::new(frame.clone());
        for sight in DigestKind::BOTH {
            frame.cache(sight);
        }
        Edit::Fly {
            conn,
            dir,
            frame,
            after,
        }
    }
}

/// What a step did.
#[derive(Debug)]
pub(crate) struct Taken {
    pub process: ProcId,
    /// For a fault: did it find its target?
    pub injected: bool,
    /// What became of the process.
    pub slot: Arc<Cached<Slot>>,
    /// What became of the ends of connections.
    pub ends: Vec<Arc<Cached<Ends>>>,
    /// Connections that are over.
    pub over: Vec<ConnId>,
    /// How many were opened.
    pub dialed: u32,
    pub edits: Vec<Edit>,
    pub notes: Vec<Note>,
    pub delays: Vec<u64>,
}

/// What is written down while a step is taken.
#[derive(Debug)]
pub(crate) struct Record {
    /// Where it is taken.
    pub process: ProcId,
    /// The world before the step: its answers count.
    pub before: State,
    /// What was asked, and answered.
    pub asked: Vec<(Question, Digest)>,
    pub edits: Vec<Edit>,
    /// It did something that is not written down.
    pub spoiled: bool,
}

impl Record {
    pub fn new(process: ProcId, before: State) -> Record {
        Record {
            process,
            before,
            asked: Vec::new(),
            edits: Vec::new(),
            spoiled: false,
        }
    }

    /// The step depends on this.
    pub fn ask(&mut self, question: Question) {
        if self.asked.iter().all(|(asked, _)| *asked != question) {
            let answer = self.before.answer_to(question);
            self.asked.push((question, answer));
        }
    }

    /// The connections that it looked at, and may have changed.
    pub fn conns(&self) -> impl Iterator<Item = ConnId> {
        self.asked.iter().filter_map(|(asked, _)| match asked {
            Question::Ends(id) => Some(*id),
            _ => None,
        })
    }
}

/// What follows what is known so far of a world: what to look at next, or the step.
#[derive(Debug)]
enum Next {
    Ask(Question),
    Take(Box<Taken>),
}

/// So many steps are known at most; then all are forgotten.
const MOST: usize = 1 << 16;

/// Steps that were taken before. Whoever has one gets the same worlds as without it, faster
/// ([`World::apply_known`](crate::World::apply_known)). All worlds that it is used for must be copies of
/// one.
///
/// It is a decision tree, flat in a table: the key of a node is made of the process, the event and the
/// answers on the way to it.
#[derive(Debug)]
pub struct Memo {
    nodes: HashTable<(Digest, Next)>,
    steps: usize,
    learns: bool,
    found: u64,
    missed: u64,
}

impl Default for Memo {
    fn default() -> Memo {
        Memo {
            nodes: HashTable::new(),
            steps: 0,
            learns: true,
            found: 0,
            missed: 0,
        }
    }
}

impl Memo {
    /// Knows nothing yet.
    pub fn new() -> Memo {
        Memo::default()
    }

    /// Learns nothing: every step is run.
    pub fn off() -> Memo {
        Memo {
            learns: false,
            ..Memo::default()
        }
    }

    pub(crate) fn learns(&self) -> bool {
        self.learns
    }

    /// How many steps were known, and how many were not.
    pub fn uses(&self) -> (u64, u64) {
        (self.found, self.missed)
    }

    /// The step that begins like this, if it was taken before where all answers are the same.
    pub(crate) fn find(
        &mut self,
        mut key: Digest,
        answer: impl Fn(Question) -> Digest,
    ) -> Option<&Taken> {
        loop {
            match self.nodes.find(key, |(known, _)| *known == key) {
                None => {
                    self.missed += 1;
                    return None;
                }
                Some((_, Next::Ask(question))) => key = pair(key, answer(*question)),
                Some((_, Next::Take(taken))) => {
                    self.found += 1;
                    return Some(taken);
                }
            }
        }
    }

    pub(crate) fn keep(&mut self, mut key: Digest, asked: &[(Question, Digest)], taken: Taken) {
        if self.steps >= MOST {
            self.nodes.clear();
            self.steps = 0;
        }
        self.steps += 1;
        for (question, answer) in asked {
            self.put(key, Next::Ask(*question));
            key = pair(key, *answer);
        }
        self.put(key, Next::Take(Box::new(taken)));
    }

    fn put(&mut self, key: Digest, next: Next) {
        let place = self
            .nodes
            .entry(key, |(known, _)| *known == key, |(known, _)| *known);
        match place {
            Place::Vacant(place) => {
                place.insert((key, next));
            }
            Place::Occupied(place) => match (&place.get().1, next) {
                (Next::Ask(known), Next::Ask(question)) if *known == question => {}
                (known, next) => {
                    panic!("what is known of a step goes on with {known:?}, and with {next:?}")
                }
            },
        }
    }
}
