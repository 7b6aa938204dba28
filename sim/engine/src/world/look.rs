//! Looking at the world: for drivers, properties and stories. Nothing here changes it.

use crate::conn::{Dir, Frame};
use crate::memory::{Cell, CellType};
use crate::message::Payload;
use crate::name::{EventName, Kind, Origin, ProcId, RoutineId};
use crate::process::Process;
use crate::property::Property;
use crate::queue::{Entry, FrameHead, What};
use crate::slot::Status;
use crate::time::Time;

use super::{Phase, State, World};

impl World {
    /// The current virtual time.
    pub fn now(&self) -> Time {
        self.view.state().now
    }

    /// Storm or calm.
    pub fn phase(&self) -> Phase {
        self.view.state().phase
    }

    /// What can happen next, in the default order.
    pub fn pending(&self) -> impl DoubleEndedIterator<Item = &Entry> + ExactSizeIterator {
        self.view.state().queue.iter()
    }

    /// The next entry in the default order.
    pub fn next_entry(&self) -> Option<&Entry> {
        self.view.state().queue.peek()
    }

    /// All processes, in the order of their names.
    pub fn processes(&self) -> impl ExactSizeIterator<Item = ProcId> + use<> {
        (0..self.view.state().slots.len() as u16).map(ProcId)
    }

    /// The process with this name.
    pub fn find(&self, name: &str) -> Option<ProcId> {
        self.view.find(name)
    }

    /// The name of a process.
    pub fn name(&self, process: ProcId) -> &str {
        self.view.name(process)
    }

    /// Is the process alive?
    pub fn status(&self, process: ProcId) -> Status {
        self.view.state().slots[process.index()].status
    }

    /// Was it asked to stop, and has not ended yet?
    pub fn is_stopping(&self, process: ProcId) -> bool {
        self.view.state().slots[process.index()].stopping
    }

    /// Is it paused?
    pub fn is_paused(&self, process: ProcId) -> bool {
        self.view.state().slots[process.index()].paused
    }

    /// Is one of its routines held at an await?
    pub fn is_held(&self, process: ProcId) -> bool {
        let mut routines = self.view.state().slots[process.index()].routines.iter();
        routines.any(|routine| routine.descheduled)
    }

    /// Does nothing pass from the one process to the other at present?
    pub fn is_cut(&self, from: ProcId, to: ProcId) -> bool {
        self.view.state().links.get(from, to).cuts > 0
    }

    /// In which of its lives the process is, counted from 1; 0 before the first.
    pub fn incarnation(&self, process: ProcId) -> u32 {
        self.view.state().slots[process.index()].incarnation
    }

    /// The state of a process, if it is a `P`.
    pub fn process<P: Process>(&self, process: ProcId) -> Option<&P> {
        self.view.state().slots[process.index()]
            .process()
            .as_any()
            .downcast_ref()
    }

    /// What a cell of a process holds.
    pub fn cell<T: CellType>(&self, process: ProcId, cell: &Cell<T>) -> T {
        self.view.state().slots[process.index()].memory.read(cell)
    }

    /// The routines of a process that are alive.
    pub fn routines(&self, process: ProcId) -> impl ExactSizeIterator<Item = RoutineId> + '_ {
        self.view.state().slots[process.index()]
            .routines
            .iter()
            .map(|r| r.id)
    }

    /// The connections that both ends believe in: client, server, name of the transport.
    pub fn connections(&self) -> impl Iterator<Item = (ProcId, ProcId, &'static str)> + '_ {
        self.view
            .state()
            .conns
            .iter()
            .filter(|(_, c)| c.open && c.client_end && c.server_end && !c.dead)
            .map(|(_, c)| (c.client.process, c.server, c.transport.name.as_str()))
    }

    /// Frames under way, as (sender, receiver, is it an answer).
    pub fn in_flight(&self) -> impl Iterator<Item = (ProcId, ProcId, bool)> + '_ {
        self.view.state().conns.iter().flat_map(|(_, conn)| {
            [Dir::Up, Dir::Down].into_iter().flat_map(move |dir| {
                let (from, to) = conn.route(dir);
                conn.flights(dir)
                    .iter()
                    .map(move |f| (from, to, matches!(*f.frame, Frame::Response { .. })))
            })
        })
    }

    /// Is there such a connection (still)?
    pub fn is_connected(&self, wire: FrameHead) -> bool {
        self.view.state().conn(wire.conn).is_some()
    }

    /// How many frames are under way in one direction of a connection.
    pub fn under_way(&self, wire: FrameHead) -> usize {
        let conn = self.view.state().conn(wire.conn);
        conn.map_or(0, |conn| conn.flights(wire.dir).len())
    }

    /// Requests that have not arrived yet, as (sender, receiver, body): under way, or waiting for
    /// their connection.
    pub fn requests_in_flight(&self) -> impl Iterator<Item = (ProcId, ProcId, &Payload)> {
        self.view.state().conns.iter().flat_map(|(_, conn)| {
            let (from, to) = conn.route(Dir::Up);
            let flying = conn.flights(Dir::Up).iter().map(|flight| &*flight.frame);
            let frames = flying.chain(&conn.backlog);
            frames.filter_map(move |frame| match frame {
                Frame::Request { body, .. } => Some((from, to, body)),
                _ => None,
            })
        })
    }

    /// Is nothing held up by a pause, a cut link or a held routine?
    pub fn is_healthy(&self) -> bool {
        self.view.state().parked.iter().len() == 0 && self.view.state().links.are_normal()
    }

    /// The properties, by index.
    pub fn properties(&self) -> impl ExactSizeIterator<Item = &dyn Property> + '_ {
        self.watchers().iter().map(|property| &****property)
    }

    /// How many futures were rebuilt from their logs.
    pub fn rebuilt(&self) -> u64 {
        *self.rebuilt
    }

    /// The name of a pending entry.
    pub fn entry_name(&self, entry: &Entry) -> EventName {
        self.view.state().entry_name(entry)
    }

    /// An event's name as it stands in a trace.
    pub fn render(&self, name: &EventName) -> String {
        self.view.state().render(name)
    }
}

impl State {
    pub fn find(&self, name: &str) -> Option<ProcId> {
        let found = self.slots.binary_search_by(|slot| (*slot.name).cmp(name));
        found.ok().map(|at| ProcId(at as u16))
    }

    pub fn name(&self, process: ProcId) -> &str {
        let slot = self.slots.get(process.index());
        slot.map_or("world", |slot| &slot.name)
    }

    pub fn entry_name(&self, entry: &Entry) -> EventName {
        let life = || self.slots[entry.process.index()].life(entry.process);
        let nth = |routine, op| {
            let waiting = self.slot(entry.process).routine(routine);
            waiting.expect("it waits for this entry").log.steps[op as usize].nth
        };
        let routine = |verb, routine, op| Kind::Routine {
            verb,
            life: life(),
            routine,
            nth: nth(routine, op),
        };
        EventName(match entry.what {
            What::Frame(head) => {
                let conn = self.conn(head.conn).expect("pending frames have one");
                let frame = &conn.flights(head.dir).front().expect("the head").frame;
                match frame.origin() {
                    Some(origin) => Kind::CallFrame {
                        verb: frame.verb(),
                        client: conn.client,
                        origin,
                        server: conn.server,
                    },
                    None => Kind::LinkFrame {
                        verb: frame.verb(),
                        client: conn.client,
                        transport: conn.transport.name,
                        server: conn.server,
                    },
                }
            }
            What::Timer(timer) => Kind::Timer {
                life: life(),
                tag: timer.tag,
                arg: timer.arg,
            },
            What::Sleep { routine: r, op } => routine("sleep", r, op),
            What::Grant { routine: r, op, .. } => routine("grant", r, op),
            What::Recv { routine: r, op, .. } => routine("recv", r, op),
            What::Send { routine: r, op, .. } => routine("send", r, op),
            What::Wake { routine: r, op } => routine("wake", r, op),
            What::Deadline { routine } => Kind::Routine {
                verb: "deadline",
                life: life(),
                routine,
                nth: 0,
            },
            What::Choose {
                routine,
                op,
                domain,
                ..
            } => Kind::Choose {
                life: life(),
                origin: Origin {
                    routine,
                    op,
                    nth: nth(routine, op),
                },
                domain,
                value: 0,
            },
            What::Conn(timer) => {
                let conn = self.conn(timer.conn).expect("pending timers have one");
                Kind::LinkTimer {
                    verb: if timer.dial {
                        "dial-timeout"
                    } else {
                        "keepalive"
                    },
                    client: conn.client,
                    transport: conn.transport.name,
                    server: conn.server,
                }
            }
            What::Property(index) => Kind::Property { index },
        })
    }

    pub fn render(&self, name: &EventName) -> String {
        let mut out = String::new();
        name.render(&|p| self.name(p).to_owned(), &mut out);
        out
    }
}
