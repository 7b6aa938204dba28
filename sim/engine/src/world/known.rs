//! Steps that need not be run again: how one is written down, recognised and repeated. What is kept of
//! it is in [`crate::memo`]; that it is the same as running it is tested wherever a search runs.

use std::hash::{Hash, Hasher};

use triomphe::Arc;

use crate::conn::{Conn, ConnId, Ends};
use crate::digest::{Digest, Sight, StableHasher, digest, pair};
use crate::fault::Action;
use crate::memo::{Edit, Memo, Question, Record, Taken};
use crate::name::ProcId;
use crate::net::Sent;
use crate::queue::{Entry, Sought, What};
use crate::time::Time;

use super::{Event, Misfit, NOBODY, Report, World};

/// An event that concerns one process.
#[derive(Clone, Copy)]
struct Local {
    process: ProcId,
    /// The entry that it takes, if it takes one.
    entry: Option<u64>,
    /// What it is.
    digest: Digest,
}

impl World {
    /// As [`World::apply`] under nominal latencies, with the help of what is known of earlier steps.
    ///
    /// # Errors
    /// [`Misfit`], if the event is not possible here; the world is then as it was.
    pub fn apply_known(
        &mut self,
        memo: &mut Memo,
        at: Time,
        event: Event<'_>,
    ) -> Result<Report, Misfit> {
        let local = match memo.learns() {
            true => self.local(event),
            false => None,
        };
        let Some(local) = local else {
            return self.apply(at, event, &mut nominal);
        };
        self.now = self.now.max(at);
        let key = self.key(local);
        let known = memo.find(key, |question| self.answer_to(question, self.now));
        match known {
            Some(taken) => Ok(self.take_again(local, taken)),
            None => self.take_first(memo, key, local, event),
        }
    }

    /// What the event is to the process that it concerns, if it concerns one alone.
    fn local(&self, event: Event<'_>) -> Option<Local> {
        let (seq, value) = match event {
            Event::Pending(seq) => (seq, 0),
            Event::Choice(seq, value) => (seq, value),
            Event::Act(Action::Fault(fault)) => {
                return Some(Local {
                    process: self.find(fault.only_process()?)?,
                    entry: None,
                    digest: digest(fault),
                });
            }
            Event::Act(Action::Tell { .. }) | Event::Calm => return None,
        };
        let mut entries = self.queue.iter();
        let entry = entries.find(|entry| entry.seq == seq)?;
        let frame = match entry.what {
            What::Frame(head) => {
                let flights = self.peek_conn(head.conn)?.flights(head.dir);
                flights.front()?.digest(Sight::Exact)
            }
            _ => 0,
        };
        (entry.process != NOBODY).then(|| Local {
            process: entry.process,
            entry: Some(seq),
            digest: pair(entry.digest(), pair(value, frame)),
        })
    }

    /// Where, what, and all that every step depends on.
    fn key(&self, local: Local) -> Digest {
        let mut state = StableHasher::new();
        state.write_u64(self.slot(local.process).digest(Sight::Exact));
        state.write_u64(local.digest);
        state.write_u64(local.entry.is_some().into());
        self.links.hash(&mut state);
        self.spec.hash(&mut state);
        state.finish()
    }

    /// Runs a step and keeps what it did.
    fn take_first(
        &mut self,
        memo: &mut Memo,
        key: Digest,
        local: Local,
        event: Event<'_>,
    ) -> Result<Report, Misfit> {
        let before = self.clone();
        let first_seq = self.begin();
        self.scratch.record = Some(Record::new(local.process, before));
        let struck = self.take_effect(self.now, event);
        if struck.is_ok() {
            self.settle();
            self.flush(&mut nominal);
        }
        let record = self.scratch.record.take().expect("nobody else takes it");
        if let Ok(struck) = struck {
            if !record.spoiled && self.scratch.deadlock.is_none() {
                self.keep(memo, key, record, struck);
            }
            self.check_notes();
        }
        let report = self.end(first_seq);
        struck.map(|struck| Report { struck, ..report })
    }

    fn keep(&mut self, memo: &mut Memo, key: Digest, record: Record, struck: bool) {
        self.cache_all_digests();
        let of = |conns: &[(ConnId, Arc<Conn>)], id| {
            let at = conns.binary_search_by_key(&id, |(id, _)| *id).ok()?;
            Some(conns[at].1.ends.clone())
        };
        let (mut ends, mut over): (Vec<Arc<Ends>>, _) = (Vec::new(), Vec::new());
        for id in record.conns() {
            match (of(&record.before.conns, id), of(&self.conns, id)) {
                (Some(then), Some(now)) if Arc::ptr_eq(&then, &now) => {}
                (_, Some(now)) => ends.push(now),
                (Some(_), None) => over.push(id),
                (None, None) => {}
            }
        }
        let taken = Taken {
            process: record.process,
            struck,
            slot: self.slots[record.process.index()].clone(),
            ends,
            over,
            dialed: self.next_conn - record.before.next_conn,
            edits: record.edits,
            notes: self.scratch.notes.clone(),
            delays: self.scratch.delays.clone(),
        };
        memo.keep(key, &record.asked, taken);
    }

    /// What the step did, done without running it.
    fn take_again(&mut self, local: Local, taken: &Taken) -> Report {
        let first_seq = self.begin();
        if let Some(seq) = local.entry {
            self.queue.take(seq);
        }
        self.slots[taken.process.index()] = taken.slot.clone();
        self.next_conn += taken.dialed;
        for ends in &taken.ends {
            let place = self.conns.binary_search_by_key(&ends.id, |(id, _)| *id);
            match place {
                Ok(place) => Arc::make_mut(&mut self.conns[place].1).ends = ends.clone(),
                Err(place) => {
                    let conn = Arc::new(Conn::of(ends.clone()));
                    self.conns.insert(place, (ends.id, conn));
                }
            }
        }
        for edit in &taken.edits {
            self.redo(edit);
        }
        if !taken.over.is_empty() {
            self.conns.retain(|(id, _)| !taken.over.contains(id));
        }
        self.scratch.notes.extend_from_slice(&taken.notes);
        self.scratch.delays.extend_from_slice(&taken.delays);
        self.check_notes();
        let report = self.end(first_seq);
        Report {
            struck: taken.struck,
            ..report
        }
    }

    fn redo(&mut self, edit: &Edit) {
        let now = self.now;
        match edit {
            Edit::Enqueue { entry, after } => {
                self.admit(entry.again(now + *after, self.next_seq));
            }
            Edit::Cancel(sought) => self.remove(*sought),
            Edit::CancelAll(which) => self.remove_all(*which),
            Edit::Land(head) => drop(self.land(*head)),
            Edit::Fly {
                conn,
                dir,
                flight,
                after,
            } => self.fly(*conn, *dir, flight.arriving(now + *after)),
            Edit::Hear(conn, now_) => self.hear(*conn, now_.then_some(now)),
            Edit::Park => self.park_now(),
            Edit::Unpark(after) => self.unpark_now(*after),
        }
    }

    pub(crate) fn answer_to(&self, question: Question, now: Time) -> Digest {
        match question {
            Question::Ends(id) => self
                .peek_conn(id)
                .map_or(0, |conn| conn.ends.digest(Sight::Exact)),
            Question::Heard(id) => {
                let heard = self.peek_conn(id).and_then(|conn| conn.heard);
                heard.map_or(0, |at| pair(1, now.since(at).as_nanos() as u64))
            }
            Question::UnderWayUp(id) => {
                let conn = self.peek_conn(id);
                conn.map_or(0, |conn| conn.up.len() as u64)
            }
            Question::ConnsOf(p) => {
                let own = |(_, c): &&(ConnId, Arc<Conn>)| c.client.process == p || c.server == p;
                let ids = self.conns.iter().filter(own).map(|(id, _)| id.0);
                ids.fold(0, |all, id| pair(all, id.into()))
            }
            Question::Connection(client, server, transport) => {
                let found = self.open_connection(client, server, transport);
                found.map_or(0, |id| id.0.into())
            }
            Question::NextConn => self.next_conn.into(),
            Question::Entry(sought) => self.sought(sought).map_or(0, |entry| entry.digest_at(now)),
            Question::Timers(process, tag) => {
                let timers = self.entries().filter(|entry| {
                    entry.process == process
                        && matches!(entry.what, What::Timer(timer) if timer.tag == tag)
                });
                timers.fold(0, |all, entry| pair(all, entry.digest_at(now)))
            }
            Question::Now => now.nanos(),
        }
    }
}

/// What the parts of a step tell the record, if there is one.
impl World {
    /// The step depends on this.
    pub(super) fn ask(&mut self, question: Question) {
        let now = self.now;
        if let Some(record) = self.recorded() {
            record.ask(question, now);
        }
    }

    pub(super) fn write_down(&mut self, edit: impl FnOnce() -> Edit) {
        if let Some(record) = self.recorded() {
            record.edits.push(edit());
        }
    }

    /// A step that changes another process is not one that can be known.
    pub(super) fn spoil_unless_at(&mut self, process: ProcId) {
        if let Some(record) = self.recorded() {
            record.spoiled |= record.process != process;
        }
    }

    fn recorded(&mut self) -> Option<&mut Record> {
        self.scratch.0.as_mut()?.record.as_mut()
    }

    /// All entries, pending or not.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.queue.iter().chain(self.parked.iter())
    }

    /// The entry that does this, pending or not.
    pub(super) fn sought(&self, sought: Sought) -> Option<&Entry> {
        let pending = self.queue.find(sought);
        pending.or_else(|| self.parked.find(sought))
    }
}

fn nominal(sent: Sent) -> std::time::Duration {
    sent.nominal
}
