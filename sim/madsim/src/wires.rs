//! How frames travel. A connection of the engine is a connection of madsim's `Endpoint`, and a frame is a ticket on it:
//! when the ticket arrives, so does the frame. The frame itself stays in the world meanwhile, where properties see what
//! is under way.
//!
//! Latency, loss and clogging act on tickets. A connection of madsim breaks when the node at one of its ends is killed.
//! What is sent, or still under way, on a broken one is handled as the machines of both ends would: it arrives late at
//! a node that runs, is answered by the machine of a process that has ended, and is lost at a machine that is off.

use std::collections::BTreeMap;
use std::time::Duration;

use madsim::net::{Endpoint, Receiver, Sender};
use madsim::rand::{Rng, thread_rng};
use madsim::time::sleep;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use wavetank_engine::{FrameHead, ProcId, Sent, Status};

use crate::cluster::{Cluster, Delivery, State, address, spawn_on};

/// A first frame is sent again after so long, and then after twice as long each time.
const DIAL_AGAIN: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(4));
/// The same of a frame that a cut or a pause holds up.
const TRY_AGAIN: (Duration, Duration) = (Duration::from_millis(1), Duration::from_secs(2));

/// One direction of a connection.
#[derive(Debug)]
struct Wire {
    from: ProcId,
    to: ProcId,
    line: Line,
}

#[derive(Debug)]
enum Line {
    /// The client dials; so many frames wait.
    Dialing(u32),
    /// Tickets go to whoever writes.
    Open(UnboundedSender<()>),
    /// A task lets frames arrive without a line.
    Draining,
    /// There is none.
    Broken,
}

/// The wires, by connection and direction.
#[derive(Debug, Default)]
pub(crate) struct Wires(BTreeMap<FrameHead, Wire>);

impl State {
    /// Forgets the wires of connections that are no more: whoever reads or writes there ends.
    pub fn forget_wires(&mut self) {
        let world = &self.world;
        self.wires.0.retain(|wire, _| world.is_connected(*wire));
    }
}

/// Sending.
impl Cluster {
    /// Takes a frame that has just been sent.
    pub(crate) fn carry(&self, state: &mut State, sent: Sent) {
        let Sent { from, to, wire, .. } = sent;
        let is_new = !state.wires.0.contains_key(&wire);
        if is_new {
            let line = match wire.is_up() {
                true => Line::Dialing(0),
                false => Line::Broken,
            };
            state.wires.0.insert(wire, Wire { from, to, line });
        }
        let entry = state.wires.0.get_mut(&wire).expect("it is there now");
        match &mut entry.line {
            Line::Dialing(waiting) => *waiting += 1,
            Line::Open(tickets) if tickets.send(()).is_ok() => {}
            Line::Draining => {}
            Line::Open(_) | Line::Broken => self.drain(state, wire),
        }
        if is_new && wire.is_up() {
            let cluster = self.clone();
            let dial = async move { cluster.dial(wire, from, to).await };
            state.nodes.spawn(from, dial);
        }
    }

    /// A process has ended: its node is killed, and all lines at it break.
    pub(crate) fn cut_off(&self, state: &mut State, process: ProcId) {
        let mut broken = Vec::new();
        for (wire, entry) in &mut state.wires.0 {
            if entry.to == process {
                // Whoever drained it was killed as well.
                entry.line = Line::Broken;
            }
            if entry.to == process || entry.from == process {
                broken.push(*wire);
            }
        }
        for wire in broken {
            self.lose(state, wire);
        }
    }

    /// There is no line any more. What is under way comes without.
    fn lose(&self, state: &mut State, wire: FrameHead) {
        let Some(entry) = state.wires.0.get_mut(&wire) else {
            return;
        };
        if matches!(entry.line, Line::Draining) {
            return;
        }
        entry.line = Line::Broken;
        if state.world.is_connected(wire) && state.world.under_way(wire) > 0 {
            self.drain(state, wire);
        }
    }

    /// Lets what is under way arrive by and by: at the node of the process, if it runs.
    fn drain(&self, state: &mut State, wire: FrameHead) {
        let entry = state.wires.0.get_mut(&wire).expect("found before");
        entry.line = Line::Draining;
        let to = entry.to;
        let cluster = self.clone();
        let task = async move {
            let mut wait = TRY_AGAIN.0;
            loop {
                let latency =
                    thread_rng().gen_range(Duration::from_millis(1)..Duration::from_millis(10));
                sleep(latency.max(wait)).await;
                wait = match cluster.deliver(wire) {
                    Delivery::Done => TRY_AGAIN.0,
                    Delivery::HeldUp => (wait * 2).min(TRY_AGAIN.1),
                    Delivery::Nothing => break,
                };
            }
            if let Some(entry) = cluster.lock().wires.0.get_mut(&wire)
                && matches!(entry.line, Line::Draining)
            {
                entry.line = Line::Broken;
            }
        };
        match state.world.status(to) {
            Status::Up => state.nodes.spawn(to, task),
            Status::Down | Status::Off => spawn_on(state.nodes.outside(), task),
        }
    }
}

impl Wires {
    /// Who sends there, and to whom.
    fn ends(&self, wire: FrameHead) -> Option<(ProcId, ProcId)> {
        self.0.get(&wire).map(|entry| (entry.from, entry.to))
    }

    /// How many frames wait for the line, if it is being dialed.
    fn dialing(&self, wire: FrameHead) -> Option<u32> {
        match self.0.get(&wire)?.line {
            Line::Dialing(waiting) => Some(waiting),
            _ => None,
        }
    }
}

/// Both ends of a line.
impl Cluster {
    /// Opens the line of a connection, at its client. A packet that is lost is sent again; a machine that runs without
    /// the process refuses; one that is off says nothing.
    async fn dial(self, wire: FrameHead, from: ProcId, to: ProcId) {
        let socket = Endpoint::bind("0.0.0.0:0").await;
        let socket = socket.expect("a node has many ports");
        let mut wait = DIAL_AGAIN.0;
        loop {
            let waiting = self.lock().wires.dialing(wire);
            match waiting {
                // Its process has ended.
                None => return,
                Some(1) => {}
                // It has given up.
                Some(_) => return self.lose(&mut self.lock(), wire),
            }
            if let Ok((up, down)) = socket.connect1(address(to)).await {
                // Whoever accepts is told which connection this is.
                if up.send(Box::new(wire)).await.is_ok() {
                    self.open(wire, (from, to), up);
                    return self.read(wire.back(), down).await;
                }
            } else {
                let mut state = self.lock();
                let refuses = state.world.status(to) == Status::Down;
                if refuses && !state.world.is_cut(from, to) {
                    return self.lose(&mut state, wire);
                }
            }
            sleep(wait).await;
            wait = (wait * 2).min(DIAL_AGAIN.1);
        }
    }

    /// Takes a connection that was accepted, at its server.
    pub(crate) async fn serve(self, down: Sender, mut up: Receiver) {
        let Ok(hello) = up.recv().await else {
            return;
        };
        let wire = *hello
            .downcast::<FrameHead>()
            .expect("what a client says first");
        let ends = self.lock().wires.ends(wire);
        if let Some((client, server)) = ends {
            self.open(wire.back(), (server, client), down);
            self.read(wire, up).await;
        }
    }

    /// From now on tickets go this way. Those that wait go first.
    fn open(&self, wire: FrameHead, (from, to): (ProcId, ProcId), out: Sender) {
        let (tickets, queue) = mpsc::unbounded_channel();
        let mut state = self.lock();
        if !state.world.is_connected(wire) {
            return;
        }
        for _ in 0..state.wires.dialing(wire).unwrap_or(0) {
            let _ = tickets.send(());
        }
        let line = Line::Open(tickets);
        state.wires.0.insert(wire, Wire { from, to, line });
        let cluster = self.clone();
        madsim::task::spawn(async move { cluster.write(wire, out, queue).await });
    }

    async fn write(self, wire: FrameHead, out: Sender, mut queue: UnboundedReceiver<()>) {
        while queue.recv().await.is_some() {
            if out.send(Box::new(())).await.is_err() {
                return self.lose(&mut self.lock(), wire);
            }
        }
    }

    async fn read(self, wire: FrameHead, mut line: Receiver) {
        while line.recv().await.is_ok() {
            let mut wait = TRY_AGAIN.0;
            while self.deliver(wire) == Delivery::HeldUp {
                sleep(wait).await;
                wait = (wait * 2).min(TRY_AGAIN.1);
            }
        }
        let mut state = self.lock();
        self.lose(&mut state, wire);
    }
}
