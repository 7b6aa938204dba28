//! Steps that need not be run again: how one is written down, recognised and repeated. What is kept of
//! it is in [`crate::memo`]; that it is the same as running it is tested wherever a search runs.

use std::hash::{Hash, Hasher};

use triomphe::Arc;

use crate::conn::{Conn, ConnId};
use crate::digest::{Digest, DigestKind, StableHasher, digest, pair};
use crate::fault::Action;
use crate::memo::{Memo, Question, Record, Taken};
use crate::mutant;
use crate::name::ProcId;
use crate::net::Sent;
use crate::queue::What;
use crate::time::Time;

use super::{ApplyError, Event, NOBODY, Report, State, World};

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
    /// [`ApplyError`], if the event is not possible here; the world is then as it was.
    pub fn apply_known(
        &mut self,
        memo: &mut Memo,
        at: Time,
        event: Event<'_>,
    ) -> Result<Box<Report>, ApplyError> {
        let local = match memo.learns() {
            true => self.view.state().local(event),
            false => None,
        };
        let Some(local) = local else {
            return self.apply(at, event, &mut nominal);
        };
        let state = self.view.state_mut();
        state.now = state.now.max(at);
        let key = state.key(local);
        let known = memo.find(key, |question| state.answer_to(question));
        match known {
            Some(taken) => Ok(self.take_again(local, taken)),
            None => self.take_first(memo, key, local, event),
        }
    }

    /// Runs a step and keeps what it did.
    fn take_first(
        &mut self,
        memo: &mut Memo,
        key: Digest,
        local: Local,
        event: Event<'_>,
    ) -> Result<Box<Report>, ApplyError> {
        let now = self.now();
        self.view.begin_record(local.process);
        self.begin();
        let injected = self.take_effect(now, event);
        if injected.is_ok() {
            self.settle();
            self.flush(&mut nominal);
        }
        let record = self.view.end_record().expect("it was begun");
        if let Ok(injected) = injected {
            let is_spoiled = record.spoiled && !mutant::is("memory: spoiled");
            if !is_spoiled && !self.report.is_stuck() {
                self.keep(memo, key, *record, injected);
            }
            self.check_notes();
        }
        let mut report = self.end();
        report.injected = injected?;
        Ok(report)
    }

    fn keep(&mut self, memo: &mut Memo, key: Digest, record: Record, injected: bool) {
        self.cache_all_digests();
        let state = self.view.state();
        let of = |state: &State, id| state.conn(id).map(|conn| conn.ends.clone());
        let (mut ends, mut over) = (Vec::new(), Vec::new());
        for id in record.conns() {
            match (of(&record.before, id), of(state, id)) {
                (Some(then), Some(now)) if Arc::ptr_eq(&then, &now) => {}
                (_, Some(now)) => ends.push(now),
                (Some(_), None) => over.push(id),
                (None, None) => {}
            }
        }
        let taken = Taken {
            process: record.process,
            injected,
            slot: state.slots[record.process.index()].clone(),
            ends,
            over,
            dialed: state.next_conn - record.before.next_conn,
            edits: record.edits,
            notes: self.report.notes.clone(),
            delays: self.report.delays.clone(),
        };
        memo.keep(key, &record.asked, taken);
    }

    /// What the step did, done without running it.
    fn take_again(&mut self, local: Local, taken: &Taken) -> Box<Report> {
        let all_cached = self.all_cached;
        self.begin();
        let state = self.view.state_mut();
        if let Some(seq) = local.entry {
            state.queue.take(seq);
        }
        state.slots[taken.process.index()] = taken.slot.clone();
        if !mutant::is("memory: dialed") {
            state.next_conn += taken.dialed;
        }
        for ends in taken.ends.iter().filter(|_| !mutant::is("memory: ends")) {
            let place = state.conns.binary_search_by_key(&ends.id, |(id, _)| *id);
            match place {
                Ok(place) => Arc::make_mut(&mut state.conns[place].1).ends = ends.clone(),
                Err(place) => {
                    let conn = Arc::new(Conn::of(ends.clone()));
                    state.conns.insert(place, (ends.id, conn));
                }
            }
        }
        for edit in &taken.edits {
            state.make(edit);
        }
        if !taken.over.is_empty() && !mutant::is("memory: over") {
            state.conns.retain(|(id, _)| !taken.over.contains(id));
        }
        if !mutant::is("memory: notes") {
            self.report.notes.extend_from_slice(&taken.notes);
        }
        self.report.delays.extend_from_slice(&taken.delays);
        self.check_notes();
        let mut report = self.end();
        // All that it puts into place is cached; only properties that were told of something are not.
        self.all_cached.0 = all_cached.0 && report.notes.is_empty();
        report.injected = taken.injected || mutant::is("memory: injected");
        report
    }
}

/// What a step is known by.
impl State {
    /// What the event is to the process that it concerns, if it concerns one alone.
    fn local(&self, event: Event<'_>) -> Option<Local> {
        let (seq, value) = match event {
            Event::Pending(seq) => (seq, 0),
            Event::Choice(seq, _) if mutant::is("memory: choice") => (seq, 0),
            Event::Choice(seq, value) => (seq, value),
            Event::Act(Action::Fault(fault)) => {
                return Some(Local {
                    process: self.find(fault.only_process()?)?,
                    entry: None,
                    digest: digest(fault),
                });
            }
            Event::Act(Action::Command { .. }) | Event::Calm => return None,
        };
        let mut entries = self.queue.iter();
        let entry = entries.find(|entry| entry.seq == seq)?;
        let frame = match entry.what {
            What::Frame(_) if mutant::is("memory: frame") => 0,
            What::Frame(head) => {
                let flights = self.conn(head.conn)?.flights(head.dir);
                flights.front()?.frame.digest(DigestKind::EXACT)
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
        let sight = match mutant::is("memory: instants") {
            true => DigestKind::COMMON,
            false => DigestKind::EXACT,
        };
        state.write_u64(self.slots[local.process.index()].digest(sight));
        state.write_u64(local.digest);
        state.write_u64(local.entry.is_some().into());
        if !mutant::is("memory: links") {
            self.links.hash(&mut state);
        }
        self.spec.hash(&mut state);
        state.finish()
    }

    /// The answer of this state, which is as it was when the step began.
    pub(crate) fn answer_to(&self, question: Question) -> Digest {
        if mutant::is(question.left_out()) {
            return 0;
        }
        let all =
            |ids: &mut dyn Iterator<Item = ConnId>| ids.fold(0, |all, id| pair(all, id.0.into()));
        match question {
            Question::Ends(id) => self
                .conn(id)
                .map_or(0, |conn| conn.ends.digest(DigestKind::EXACT)),
            Question::Heard(id) => {
                let heard = self.conn(id).and_then(|conn| conn.heard);
                heard.map_or(0, |at| pair(1, self.now.since(at).as_nanos() as u64))
            }
            Question::UnderWayUp(id) => self.conn(id).map_or(0, |conn| conn.up.len() as u64),
            Question::ConnsOf(p) => {
                all(&mut self.conns_where(|c| c.client.process == p || c.server == p))
            }
            Question::ConnsTo(p) => all(&mut self.conns_where(|c| c.server == p)),
            Question::Connection(client, server, transport) => {
                let found = self.open_connection(client, server, transport);
                found.map_or(0, |id| id.0.into())
            }
            Question::NextConn => self.next_conn.into(),
            Question::Entry(sought) => {
                let entry = self.sought(sought);
                entry.map_or(0, |entry| entry.digest_at(self.now))
            }
            Question::Timers(process, tag) => {
                let timers = self.entries().filter(|entry| {
                    entry.process == process
                        && matches!(entry.what, What::Timer(timer) if timer.tag == tag)
                });
                timers.fold(0, |all, entry| pair(all, entry.digest_at(self.now)))
            }
            Question::Now => self.now.nanos(),
        }
    }
}

fn nominal(sent: Sent) -> std::time::Duration {
    sent.nominal
}
