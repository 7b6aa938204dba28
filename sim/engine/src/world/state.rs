//! All that a world is, but for what its properties remember; and each change of what lies between
//! processes, as a function of this state alone. A step of a process does not come here: it goes through
//! [`View`](super::view::View), which writes down what it asks and does.

use std::time::Duration;

use triomphe::Arc;

use crate::conn::{Conn, ConnId, Dir, Ends, Flight, Frame};
use crate::digest::{Cached, digest};
use crate::memo::Edit;
use crate::mutant;
use crate::name::{Life, ProcId};
use crate::net::{LinkSpec, Links};
use crate::not_state::NotState;
use crate::observe::Dues;
use crate::queue::{Entry, FrameHead, Queue, Sought, What, Which};
use crate::room::Roomy;
use crate::slot::Slot;
use crate::time::Time;

use super::{NOBODY, Phase};

/// All but the properties. Copying it copies pointers.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub now: Time,
    pub phase: Phase,
    pub slots: Vec<Arc<Cached<Slot>>>,
    pub queue: Queue,
    /// Due or not, these wait for a pause, a cut or a hold to end.
    pub parked: Queue,
    pub conns: Roomy<(ConnId, Arc<Conn>)>,
    pub next_conn: u32,
    pub links: Links,
    pub spec: LinkSpec,
    /// The name of the next entry.
    pub next_seq: NotState<u64>,
}

/// What is over, when parked entries go on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum After {
    /// A hold of a routine, or the process: they are there already.
    Hold,
    /// A cut: frames are sent again.
    Cut,
    /// A pause: see [`crate::fault::Fault::Resume`].
    Pause { order: u16 },
}

/// Looking.
impl State {
    pub fn new(slots: Vec<Arc<Cached<Slot>>>, spec: LinkSpec) -> State {
        State {
            now: Time::ZERO,
            phase: Phase::Storm,
            slots,
            queue: Queue::default(),
            parked: Queue::default(),
            conns: Roomy::default(),
            next_conn: 0,
            links: Links::default(),
            spec,
            next_seq: NotState(0),
        }
    }

    pub fn slot(&self, process: ProcId) -> &Slot {
        &self.slots[process.index()]
    }

    pub fn conn(&self, id: ConnId) -> Option<&Conn> {
        let at = self.conns.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some(&self.conns[at].1)
    }

    pub fn conn_mut(&mut self, id: ConnId) -> Option<&mut Conn> {
        let at = self.conns.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some(Arc::make_mut(&mut self.conns[at].1))
    }

    /// The connections of which this is so, in the order in which they were opened.
    pub fn conns_where(&self, is: impl Fn(&Ends) -> bool) -> impl Iterator<Item = ConnId> {
        let those = self.conns.iter().filter(move |(_, conn)| is(&conn.ends));
        those.map(|(id, _)| *id)
    }

    /// All entries, pending or not.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.queue.iter().chain(self.parked.iter())
    }

    /// The entry that does this, pending or not.
    pub fn sought(&self, sought: Sought) -> Option<&Entry> {
        let pending = self.queue.find(sought);
        pending.or_else(|| self.parked.find(sought))
    }

    /// How long a frame takes from the one to the other by default.
    pub fn nominal(&self, from: ProcId, to: ProcId) -> Duration {
        let base = match from == to {
            true => self.spec.local,
            false => self.spec.remote,
        };
        base * self.links.get(from, to).slow
    }

    fn is_blocked(&self, entry: &Entry) -> bool {
        if entry.process == NOBODY {
            return false;
        }
        let slot = self.slot(entry.process);
        slot.paused
            || match entry.what {
                What::Frame(head) => self.conn(head.conn).is_some_and(|conn| {
                    let (from, to) = conn.route(head.dir);
                    self.links.get(from, to).cuts > 0
                }),
                what => what
                    .routine()
                    .and_then(|id| slot.routine(id))
                    .is_some_and(|routine| routine.descheduled),
            }
    }
}

/// Changes of what is pending and under way.
impl State {
    /// Makes an edit that was written down.
    pub fn make(&mut self, edit: &Edit) {
        if mutant::is(edit.left_out()) {
            return;
        }
        match edit {
            Edit::Enqueue { entry, after } => self.admit(entry.again(self.now + *after)),
            Edit::Cancel(sought) => self.remove(*sought),
            Edit::CancelAll(which) => self.remove_all(*which),
            Edit::Land(head) => drop(self.land(*head)),
            Edit::Fly {
                conn,
                dir,
                frame,
                after,
            } => self.fly(*conn, *dir, Cached::clone(frame), *after),
            Edit::Hear(conn, heard) => self.hear(*conn, *heard),
            Edit::Park => self.park(),
            Edit::Unpark(after) => self.unpark(*after),
        }
    }

    /// When each entry is due, and whether it is held up.
    pub fn dues(&self) -> Dues {
        let pending = self.queue.iter().map(|entry| (entry.seq, entry.at, false));
        let parked = self.parked.iter().map(|entry| (entry.seq, entry.at, true));
        let mut dues: Dues = pending.chain(parked).collect();
        dues.sort_unstable();
        dues
    }

    pub fn enter(&mut self, at: Time, process: ProcId, what: What) {
        self.admit(Entry::new(at, process, what));
    }

    /// Many at a process, all of which may happen now.
    pub fn enter_all(&mut self, process: ProcId, all: impl Iterator<Item = What>) {
        let mut free = Vec::new();
        for what in all {
            let entry = self.name_entry(Entry::new(self.now, process, what));
            match self.is_blocked(&entry) {
                true => self.parked.push(entry),
                false => free.push(entry),
            }
        }
        self.queue.push_all(free);
    }

    fn admit(&mut self, entry: Entry) {
        let entry = self.name_entry(entry);
        match self.is_blocked(&entry) {
            true => self.parked.push(entry),
            false => self.queue.push(entry),
        }
    }

    fn name_entry(&mut self, entry: Entry) -> Entry {
        let seq = *self.next_seq;
        *self.next_seq += 1;
        entry.named(seq)
    }

    pub fn remove(&mut self, sought: Sought) {
        if !self.queue.remove(sought) {
            self.parked.remove(sought);
        }
    }

    pub fn remove_all(&mut self, which: Which) {
        self.queue.discard(|entry| which.is(entry));
        self.parked.discard(|entry| which.is(entry));
    }

    /// Parks what is now blocked, behind what is parked already.
    pub fn park(&mut self) {
        let mut queue = std::mem::take(&mut self.queue);
        let blocked = queue.extract(|entry| self.is_blocked(entry));
        self.queue = queue;
        for entry in blocked {
            self.parked.push(entry);
        }
    }

    /// Lets go on what is no longer blocked, in the order in which it was due, behind what is pending
    /// already.
    pub fn unpark(&mut self, after: After) {
        let mut parked = std::mem::take(&mut self.parked);
        let free = parked.extract(|entry| !self.is_blocked(entry));
        self.parked = parked;
        for mut entry in free {
            match (after, entry.what) {
                (After::Cut, What::Frame(head)) => {
                    let conn = self.conn(head.conn).expect("parked frames have one");
                    let (from, to) = conn.route(head.dir);
                    entry.at = entry.at.max(self.now + self.nominal(from, to));
                }
                (After::Pause { order: order @ 1.. }, _) if entry.at <= self.now => {
                    entry.at = self.now + self.noticed_after(order, &entry);
                    if let What::Frame(head) = entry.what {
                        self.spread(order, head, entry.at);
                    }
                }
                _ => {}
            }
            self.queue.push(entry);
        }
    }

    /// A process that wakes up finds many connections readable and many timers due, and nothing
    /// says which of them it looks at first.
    fn noticed_after(&self, order: u16, entry: &Entry) -> Duration {
        let place = match entry.what {
            What::Frame(head) => {
                let conn = self.conn(head.conn).expect("parked frames have one");
                digest(&(order, conn.client, conn.transport.name, conn.server))
            }
            _ => digest(&(order, self.render(&self.entry_name(entry)))),
        };
        Duration::from_nanos(place % 1_000_000)
    }

    /// Each connection has a reader of its own: between two frames of one that came in meanwhile, frames
    /// of another may be read.
    fn spread(&mut self, order: u16, head: FrameHead, first: Time) {
        let now = self.now;
        let conn = self.conn_mut(head.conn);
        let conn = conn.expect("parked frames have one");
        let place = digest(&(order, conn.client, conn.transport.name, conn.server));
        let mut at = first;
        let flights = conn.flights_mut(head.dir).iter_mut();
        for (number, flight) in flights.take_while(|f| f.at <= now).enumerate() {
            flight.at = at;
            // As often as not there is nothing in between.
            let step = digest(&(place, number));
            at = at + Duration::from_nanos((step >> 32) % 300_000 * (step & 1));
        }
    }

    /// A frame is on its way, behind those that are.
    pub fn fly(&mut self, id: ConnId, dir: Dir, frame: Cached<Frame>, after: Duration) {
        let mut at = self.now + after;
        let conn = self.conn_mut(id).expect("it can be sent on");
        let (_, to) = conn.route(dir);
        let flights = conn.flights_mut(dir);
        if let Some(last) = flights.back() {
            at = at.max(last.at);
        }
        flights.push_back(Flight { at, frame });
        if flights.len() == 1 {
            self.enter(at, to, What::Frame(FrameHead { conn: id, dir }));
        }
    }

    /// The head arrives; the next one becomes the head.
    pub fn land(&mut self, head: FrameHead) -> Frame {
        let now = self.now;
        let conn = self.conn_mut(head.conn);
        let conn = conn.expect("pending frames have one");
        let (_, to) = conn.route(head.dir);
        let flights = conn.flights_mut(head.dir);
        let frame = flights.pop_front().expect("the head").frame;
        if let Some(next) = flights.front() {
            let at = next.at.max(now);
            self.enter(at, to, What::Frame(head));
        }
        frame.into_inner()
    }

    /// The client has heard something now, or forgets when.
    pub fn hear(&mut self, id: ConnId, heard: bool) {
        let now = self.now;
        if let Some(conn) = self.conn_mut(id) {
            conn.heard = heard.then_some(now);
        }
    }

    /// A connection that a client opens.
    pub fn open(&mut self, conn: Conn) {
        self.conns.push((conn.ends.id, Arc::new(conn)));
    }

    /// The connection is no more.
    pub fn forget(&mut self, id: ConnId) {
        self.conns.retain(|(c, _)| *c != id);
    }

    /// The open connection of a client to a server.
    pub fn open_connection(
        &self,
        client: Life,
        to: ProcId,
        transport: &'static crate::conn::Transport,
    ) -> Option<ConnId> {
        let mut those = self.conns_where(|c| {
            c.client == client
                && c.client_end
                && !c.draining
                && c.server == to
                && c.transport == transport
        });
        those.next()
    }
}
