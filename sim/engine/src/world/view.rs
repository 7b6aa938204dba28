//! How a step of a process sees the world around the process, and changes it. While a step is recorded,
//! each method here writes down what is asked, as a [`Question`], or what is done, as an [`Edit`]: so none
//! can be forgotten, and a step that was recorded is repeated only where it would do the same. What is
//! recorded of a step, and how it is repeated, is in `known.rs`.
//!
//! Links and nominal latencies are asked for freely: no step is known but where they are the same.

use std::time::Duration;

use triomphe::Arc;

use crate::conn::{Conn, ConnId, Dir, Ends, Frame, Transport};
use crate::digest::{Cached, DigestKind};
use crate::memo::{Edit, Question, Record};
use crate::name::{Life, Name, ProcId};
use crate::net::{Link, Links};
use crate::not_state::NotState;
use crate::process::Timer;
use crate::queue::{Entry, FrameHead, Sought, What, Which};
use crate::slot::Slot;
use crate::time::Time;

use super::state::{After, State};

/// The state of a world, as a step may come to it.
#[derive(Clone, Debug)]
pub(crate) struct View {
    /// Apart, since a search moves worlds far more often than it copies them.
    state: Box<State>,
    /// What is written down of this step, if it is to be known later. No copy of a world has one.
    record: NotState<OnlyHere>,
}

#[derive(Default)]
struct OnlyHere(Option<Box<Record>>);

impl Clone for OnlyHere {
    fn clone(&self) -> OnlyHere {
        OnlyHere(None)
    }
}

/// The time, for whoever may look at it or not.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Watch {
    now: Time,
    was_read: bool,
}

impl Watch {
    pub fn read(&mut self) -> Time {
        self.was_read = true;
        self.now
    }
}

/// What is no step, or none that is recorded.
impl View {
    pub fn new(state: State) -> View {
        View {
            state: Box::new(state),
            record: NotState::default(),
        }
    }

    /// Everything, to look at.
    ///
    /// # Panics
    /// If a step is recorded: then what it looks at would not be known.
    pub fn state(&self) -> &State {
        assert!(self.record.0.0.is_none(), "a step looks past its record");
        &self.state
    }

    /// Everything, to change. A step that does so cannot be known.
    pub fn state_mut(&mut self) -> &mut State {
        self.spoil();
        &mut self.state
    }

    /// From now on fingerprints are known, which no step depends on.
    pub fn cache_digests(&mut self, sight: DigestKind) {
        self.state.cache_digests(sight);
    }

    /// From here on the step of this process is recorded.
    pub fn begin_record(&mut self, process: ProcId) {
        let before = State::clone(&self.state);
        self.record.0.0 = Some(Box::new(Record::new(process, before)));
    }

    /// What was recorded.
    pub fn end_record(&mut self) -> Option<Box<Record>> {
        self.record.0.0.take()
    }

    fn spoil(&mut self) {
        if let Some(record) = &mut self.record.0.0 {
            record.spoiled = true;
        }
    }

    /// The step depends on this.
    fn ask(&mut self, question: Question) {
        if let Some(record) = &mut self.record.0.0 {
            record.ask(question);
        }
    }

    fn write_down(&mut self, edit: impl FnOnce() -> Edit) {
        if let Some(record) = &mut self.record.0.0 {
            record.edits.push(edit());
        }
    }
}

/// The process itself, and what is the same wherever a step is known.
impl View {
    /// The process that takes the step.
    pub fn slot(&self, process: ProcId) -> &Slot {
        let record = self.record.0.0.as_ref();
        let is_its_own = record.is_none_or(|record| record.process == process);
        assert!(is_its_own, "a step looks into another process");
        self.state.slot(process)
    }

    /// A step that changes another process than its own is not one that can be known.
    pub fn slot_mut(&mut self, process: ProcId) -> &mut Slot {
        if let Some(record) = &mut self.record.0.0 {
            record.spoiled |= record.process != process;
        }
        let slot: &mut Cached<Slot> = Arc::make_mut(&mut self.state.slots[process.index()]);
        slot
    }

    /// The name of a process; it never has another.
    pub fn name(&self, process: ProcId) -> &str {
        self.state.name(process)
    }

    /// The process with this name.
    pub fn find(&self, name: &str) -> Option<ProcId> {
        self.state.find(name)
    }

    pub fn link(&self, from: ProcId, to: ProcId) -> Link {
        self.state.links.get(from, to)
    }

    /// Faults of the network are no steps of a process.
    pub fn links_mut(&mut self) -> &mut Links {
        &mut self.state_mut().links
    }

    pub fn nominal(&self, from: ProcId, to: ProcId) -> Duration {
        self.state.nominal(from, to)
    }
}

/// Time, and what is pending.
impl View {
    /// Takes the entry that the step is about, by which it is known.
    pub fn take(&mut self, seq: u64) -> Option<Entry> {
        self.state.queue.take(seq)
    }

    /// Time passes; before a step, so that it begins at its own.
    pub fn pass_to(&mut self, at: Time) {
        self.state.now = self.state.now.max(at);
    }

    /// The name of the next entry, which is for drivers.
    pub fn next_seq(&self) -> u64 {
        *self.state.next_seq
    }

    /// A watch for a routine, which gives it back.
    pub fn lend_watch(&self) -> Watch {
        Watch {
            now: self.state.now,
            was_read: false,
        }
    }

    pub fn take_back(&mut self, watch: Watch) {
        if watch.was_read {
            self.ask(Question::Now);
        }
    }

    pub fn enqueue(&mut self, after: Duration, process: ProcId, what: What) {
        self.write_down(|| Edit::enqueue(after, process, what));
        let at = self.state.now + after;
        self.state.enter(at, process, what);
    }

    /// Many of the process, all of which may happen now.
    pub fn enqueue_all(&mut self, process: ProcId, all: impl Iterator<Item = What> + Clone) {
        if self.record.0.0.is_some() {
            for what in all.clone() {
                self.write_down(|| Edit::enqueue(Duration::ZERO, process, what));
            }
        }
        self.state.enter_all(process, all);
    }

    /// Removes the first entry that does this at this process, pending or parked.
    pub fn cancel_entry(&mut self, process: ProcId, what: What) {
        let sought = Sought::new(process, what);
        self.write_down(|| Edit::Cancel(sought));
        self.state.remove(sought);
    }

    pub fn cancel_entries(&mut self, which: Which) {
        self.write_down(|| Edit::CancelAll(which));
        self.state.remove_all(which);
    }

    /// How long until a timer of the process fires.
    pub fn remaining(&mut self, process: ProcId, timer: Timer) -> Option<Duration> {
        let sought = Sought::new(process, What::Timer(timer));
        self.ask(Question::Entry(sought));
        let entry = self.state.sought(sought)?;
        Some(entry.at.since(self.state.now))
    }

    /// The timers of the process with this tag: number, and how long until it fires.
    pub fn timers(
        &mut self,
        process: ProcId,
        tag: Name,
    ) -> impl Iterator<Item = (u64, Duration)> + '_ {
        self.ask(Question::Timers(process, tag));
        let now = self.state.now;
        let is_one = move |entry: &Entry| match entry.what {
            What::Timer(timer) if entry.process == process && timer.tag == tag => {
                Some((timer.arg, entry.at.since(now)))
            }
            _ => None,
        };
        self.state.entries().filter_map(is_one)
    }

    /// Parks what is now blocked.
    pub fn park(&mut self) {
        self.write_down(|| Edit::Park);
        self.state.park();
    }

    /// Lets go on what is no longer blocked.
    pub fn unpark(&mut self, after: After) {
        self.write_down(|| Edit::Unpark(after));
        self.state.unpark(after);
    }
}

/// Connections.
impl View {
    /// What the ends of a connection know.
    pub fn conn(&mut self, id: ConnId) -> Option<&Ends> {
        self.ask(Question::Ends(id));
        let conn = self.state.conn(id)?;
        Some(&conn.ends)
    }

    pub fn conn_mut(&mut self, id: ConnId) -> Option<&mut Ends> {
        self.ask(Question::Ends(id));
        self.state.conn_mut(id).map(Conn::ends_mut)
    }

    /// The open connection of a client to a server, or a new one. Is it new?
    pub fn connection(
        &mut self,
        client: Life,
        to: ProcId,
        transport: &'static Transport,
    ) -> (ConnId, bool) {
        self.ask(Question::Connection(client, to, transport));
        if let Some(id) = self.state.open_connection(client, to, transport) {
            return (id, false);
        }
        self.ask(Question::NextConn);
        self.state.next_conn += 1;
        let id = ConnId(self.state.next_conn);
        // It is among those that the step changes.
        self.ask(Question::Ends(id));
        self.state.open(Conn::new(id, client, to, transport));
        (id, true)
    }

    /// The connections that a process is the client or the server of.
    pub fn conns_of(&mut self, process: ProcId) -> Vec<ConnId> {
        self.ask(Question::ConnsOf(process));
        let its = |c: &Ends| c.client.process == process || c.server == process;
        self.state.conns_where(its).collect()
    }

    /// Those that it is the server of.
    pub fn conns_to(&mut self, server: ProcId) -> Vec<ConnId> {
        self.ask(Question::ConnsTo(server));
        self.state.conns_where(|c| c.server == server).collect()
    }

    /// How long ago its client heard anything, unless it has forgotten.
    pub fn heard(&mut self, id: ConnId) -> Option<Duration> {
        self.ask(Question::Heard(id));
        let heard = self.state.conn(id)?.heard?;
        Some(self.state.now.since(heard))
    }

    pub fn hear(&mut self, id: ConnId, heard: bool) {
        self.write_down(|| Edit::Hear(id, heard));
        self.state.hear(id, heard);
    }

    /// Is anything under way to its server?
    pub fn is_under_way_up(&mut self, id: ConnId) -> bool {
        self.ask(Question::UnderWayUp(id));
        let conn = self.state.conn(id);
        conn.is_some_and(|conn| !conn.up.is_empty())
    }

    pub fn fly(&mut self, id: ConnId, dir: Dir, frame: Frame, after: Duration) {
        let frame = Cached::new(frame);
        self.write_down(|| Edit::fly(id, dir, &frame, after));
        self.state.fly(id, dir, frame, after);
    }

    pub fn land(&mut self, head: FrameHead) -> Frame {
        self.write_down(|| Edit::Land(head));
        self.state.land(head)
    }

    /// It is over: neither end knows it, and nothing is under way on it.
    pub fn forget(&mut self, id: ConnId) {
        self.state.forget(id);
        self.cancel_entries(Which::AllOf(id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::context::Cx;
    use crate::message::Payload;
    use crate::net::LinkSpec;
    use crate::process::Process;

    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Idle;

    impl Process for Idle {
        fn boot(&mut self, _: &mut Cx<'_>) {}
        fn request(&mut self, _: &mut Cx<'_>, _: crate::Caller, _: &Payload) {}
        fn crash(&mut self) {}
    }

    /// Two processes; a step of the first is recorded.
    fn recorded() -> View {
        let slot = |name: &str| {
            let slot = Slot::new(name.into(), Box::new(Idle));
            Arc::new(Cached::new(slot))
        };
        let state = State::new(vec![slot("a"), slot("b")], LinkSpec::default());
        let mut view = View::new(state);
        view.begin_record(ProcId(0));
        view
    }

    #[test]
    #[should_panic(expected = "looks past its record")]
    fn a_step_that_looks_past_its_record_is_noticed() {
        let _ = recorded().state().now;
    }

    #[test]
    #[should_panic(expected = "looks into another process")]
    fn a_step_that_looks_into_another_process_is_noticed() {
        let view = recorded();
        assert_eq!(&*view.slot(ProcId(0)).name, "a");
        let _ = view.slot(ProcId(1));
    }

    #[test]
    fn a_step_that_changes_what_it_cannot_write_down_is_not_kept() {
        let change: [fn(&mut View); 3] = [
            |view| view.links_mut().heal(),
            |view| {
                let _ = view.state_mut();
            },
            |view| view.slot_mut(ProcId(1)).paused = true,
        ];
        for change in change {
            let mut view = recorded();
            change(&mut view);
            assert!(view.end_record().expect("it was begun").spoiled);
        }
        let mut view = recorded();
        view.slot_mut(ProcId(0)).paused = true;
        view.park();
        assert!(!view.end_record().expect("it was begun").spoiled);
    }

    #[test]
    fn a_watch_that_was_read_is_a_question() {
        let asked = |reads: bool| {
            let mut view = recorded();
            let mut watch = view.lend_watch();
            if reads {
                watch.read();
            }
            view.take_back(watch);
            view.end_record().expect("it was begun").asked.len()
        };
        assert_eq!((asked(false), asked(true)), (0, 1));
    }
}
