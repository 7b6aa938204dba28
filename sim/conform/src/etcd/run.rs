//! One sequence of operations on two sides, compared answer by answer.
//!
//! How both sides are let come to rest, which makes the comparison independent of timing, is in
//! `rest.rs`; which sequences are run is in `campaign.rs`.

use std::collections::BTreeSet;

use wavetank_etcd::{Keys, Range, Request, Response, Revision, WatchId, WatchRequest};

use crate::etcd::figures::Figures;
use crate::etcd::op::{Op, Seen, Step};
use crate::etcd::rest;
use crate::etcd::side::{Bytes, Item, Log, Outcome, Side, StreamId};

/// A sequence.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// After how many operations both sides are let come to rest. What watches got is compared
    /// then: with 1 each event is laid to the operation that caused it, with more of them the
    /// server's paths for watches that lag are used too.
    pub rhythm: usize,
    /// What is done.
    pub ops: Vec<Op>,
}

/// What was done, as far as it came, and what was answered.
#[derive(Clone, PartialEq, Debug)]
pub struct Done {
    /// What was asked.
    pub step: Step,
    /// What the first side answered; `None` on watch streams.
    pub answer: Option<Outcome>,
}

/// Why a sequence did not run to its end.
#[derive(Clone, PartialEq, Debug)]
pub enum Stop {
    /// The sides differ.
    Differ(Box<Differ>),
    /// A side could not be used.
    Trouble(String),
}

/// Where two sides differ.
#[derive(Clone, PartialEq, Debug)]
pub struct Differ {
    /// At, or before the rest after, which operation.
    pub at: usize,
    /// What was done up to there.
    pub done: Vec<Done>,
    /// What was compared.
    pub what: What,
}

/// Two things that should be alike.
#[derive(Clone, PartialEq, Debug)]
pub enum What {
    /// The answers to a request.
    Answers(Box<Outcome>, Box<Outcome>),
    /// What came on a stream for a watch (`None`: for all), from the first difference on.
    Watch(StreamId, Option<WatchId>, Vec<Item>, Vec<Item>),
    /// A watch that was opened to see the others come to rest got nothing from this side.
    Silence(String),
}

/// Runs a sequence on two fresh sides.
pub fn run<L: Side, R: Side>(
    left: &mut L,
    right: &mut R,
    sequence: &Sequence,
) -> Result<Figures, Stop> {
    left.restart().map_err(Stop::Trouble)?;
    right.restart().map_err(Stop::Trouble)?;
    let seen = Seen {
        current: 1,
        ..Seen::default()
    };
    let mut run = Run {
        left,
        right,
        seen,
        streams: BTreeSet::new(),
        at_rest: true,
        behind: None,
        own: rest::OWN,
        logs: (Log::new(), Log::new()),
        figures: Figures::default(),
        done: Vec::new(),
        at: 0,
    };
    let result = run.all(sequence);
    result.map(|()| run.figures).map_err(|what| {
        Stop::Differ(Box::new(Differ {
            at: run.at,
            done: run.done,
            what,
        }))
    })
}

/// A sequence on its way.
pub(crate) struct Run<'a, L, R> {
    pub(crate) left: &'a mut L,
    pub(crate) right: &'a mut R,
    pub(crate) seen: Seen,
    pub(crate) streams: BTreeSet<StreamId>,
    /// Nothing was written and no watch opened since the last rest.
    pub(crate) at_rest: bool,
    /// The least revision from which a watch may have to catch up.
    pub(crate) behind: Option<Revision>,
    /// The number of the runner's next own watch.
    pub(crate) own: u32,
    pub(crate) logs: (Log, Log),
    pub(crate) figures: Figures,
    pub(crate) done: Vec<Done>,
    pub(crate) at: usize,
}

impl<L: Side, R: Side> Run<'_, L, R> {
    fn all(&mut self, sequence: &Sequence) -> Result<(), What> {
        for (at, op) in sequence.ops.iter().enumerate() {
            self.at = at;
            self.op(op)?;
            if (at + 1) % sequence.rhythm.max(1) == 0 {
                self.rest()?;
            }
        }
        self.rest()?;
        self.call(&Request::Range(Range::of(Keys::all())))?;
        self.call(&Request::Leases)?;
        self.figures.sequences += 1;
        Ok(())
    }

    fn op(&mut self, op: &Op) -> Result<(), What> {
        // Whether a watch that is on its way to catch up, or an event that is not sent yet, is hit
        // by one of these is a matter of time: a compaction also takes the prev_kv from events.
        if matches!(
            op,
            Op::Compact { .. } | Op::Cancel { .. } | Op::Close { .. } | Op::Progress { .. }
        ) {
            self.rest()?;
        }
        let step = self.seen.resolve(op);
        self.done.push(Done {
            step: step.clone(),
            answer: None,
        });
        self.figures.operation(op);
        match step {
            Step::Call(request) => {
                let outcome = self.call(&request)?;
                self.figures.outcome(&outcome);
                self.learn(&request, &outcome)?;
                if let Some(done) = self.done.last_mut() {
                    done.answer = Some(outcome);
                }
            }
            Step::Watch(stream, request) => self.watch(stream, &request)?,
            Step::Close(stream) => {
                self.left.close(stream);
                self.right.close(stream);
                self.streams.remove(&stream);
                self.seen.watches.remove(&stream);
            }
        }
        Ok(())
    }

    /// Asks both sides and compares.
    pub(crate) fn call(&mut self, request: &Request<Bytes>) -> Result<Outcome, What> {
        let left = self.left.call(request).timeless();
        let right = self.right.call(request).timeless();
        if left != right {
            return Err(What::Answers(Box::new(left), Box::new(right)));
        }
        if let Some(revision) = header(&left)
            && revision > self.seen.current
        {
            self.seen.current = revision;
            self.at_rest = false;
        }
        Ok(left)
    }

    /// What later operations refer to.
    fn learn(&mut self, request: &Request<Bytes>, outcome: &Outcome) -> Result<(), What> {
        let Outcome::Answer(answer) = outcome else {
            return Ok(());
        };
        match (request, answer) {
            (Request::Compact { revision, physical }, Response::Compact(_)) => {
                self.seen.compacted = *revision;
                // A deletion of exactly this revision can be watched until the space is freed.
                // To ask again for the same is refused, but only when that is done.
                if !physical {
                    self.call(&Request::Compact {
                        revision: *revision,
                        physical: true,
                    })?;
                }
            }
            (Request::LeaseGrant { .. }, Response::LeaseGrant { id, .. }) => {
                self.seen.alive.push(*id);
                self.seen.revoked.retain(|revoked| revoked != id);
            }
            (Request::LeaseRevoke(id), Response::LeaseRevoke(_)) => {
                self.seen.alive.retain(|alive| alive != id);
                self.seen.revoked.push(*id);
            }
            _ => {}
        }
        Ok(())
    }

    fn watch(&mut self, stream: StreamId, request: &WatchRequest) -> Result<(), What> {
        self.streams.insert(stream);
        self.send(stream, request);
        self.flush(stream)?;
        match request {
            WatchRequest::Create(start) => {
                let before: Vec<WatchId> = self.seen.watches.entry(stream).or_default().clone();
                // The next comparison shows whether both sides gave it the same number.
                let new = self.logs.0.iter().find_map(|(&(of, id), items)| {
                    let id = id.filter(|id| of == stream && !before.contains(id))?;
                    items
                        .iter()
                        .any(|item| matches!(item, Item::Created(_)))
                        .then_some(id)
                });
                let below = start.revision != 0 && start.revision < self.seen.compacted;
                self.figures.watch(below);
                if let Some(id) = new {
                    self.seen.watches.entry(stream).or_default().push(id);
                    self.at_rest = false;
                    if start.revision != 0 && start.revision <= self.seen.current {
                        let least = self.behind.unwrap_or(start.revision);
                        self.behind = Some(least.min(start.revision));
                    }
                }
            }
            WatchRequest::Cancel(id) => {
                let known = self.seen.watches.entry(stream).or_default();
                known.retain(|known| known != id);
                // Its number may be given again before the next comparison, which would mix them.
                self.compare()?;
            }
            WatchRequest::Progress => {}
        }
        Ok(())
    }
}

/// The revision in the header of an answer.
fn header(outcome: &Outcome) -> Option<Revision> {
    let Outcome::Answer(answer) = outcome else {
        return None;
    };
    match answer {
        Response::Range(answer) => Some(answer.revision),
        Response::Put(answer) => Some(answer.revision),
        Response::DeleteRange(answer) => Some(answer.revision),
        Response::Txn(answer) => Some(answer.revision),
        Response::Compact(revision) | Response::LeaseRevoke(revision) => Some(*revision),
        Response::LeaseGrant { revision, .. } => Some(*revision),
        Response::LeaseKeepAlive { revision, .. } | Response::Leases { revision, .. } => {
            Some(*revision)
        }
        Response::LeaseTimeToLive(answer) => Some(answer.revision),
        Response::Error(_) => None,
    }
}
