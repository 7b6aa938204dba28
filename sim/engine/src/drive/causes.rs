//! What each event of an observed replay follows from: its happens-before graph.
//!
//! An event follows from the one that sent its frame, armed its timer, gave up its lock or put what it receives; from
//! those in which its routines ran before; from those that wrote what they read; and from the faults that changed when it
//! came. What messages and notes mean is not known here: who knows links reads to writes ([`Causes::link`]).

mod faults;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use petgraph::Direction::Incoming;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;

use crate::channel::Channel;
use crate::fault::Action;
use crate::name::{ProcId, RoutineId};
use crate::observe::{CellKey, Observed, Passed};
use crate::queue::{Entry, FrameHead, What};
use crate::slot::Status;
use crate::time::Time;
use crate::trace::{TraceEvent, TraceWhat};
use crate::world::{Report, World};

use faults::Faults;

/// How an event follows from another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Because {
    /// That one sent the frame that arrives.
    Message,
    /// On its connection it arrived behind that one.
    Order,
    /// That one armed the timer.
    Timer,
    /// That one gave up the lock, or asked for a free one.
    Lock,
    /// That one put in what is received, or made room.
    Channel,
    /// That one raised the signal or changed the condition.
    Signal,
    /// A routine goes on.
    Program,
    /// It reads of memory what that one wrote.
    Memory,
    /// It reads of a store what that one wrote.
    Key,
    /// A life of the process follows the one before.
    Life,
    /// That fault changed when it came, or what a clock showed; or a fault ends.
    Fault,
}

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Because::Message => "message",
            Because::Order => "order",
            Because::Timer => "timer",
            Because::Lock => "lock",
            Because::Channel => "channel",
            Because::Signal => "signal",
            Because::Program => "program",
            Because::Memory => "memory",
            Because::Key => "key",
            Because::Life => "life",
            Because::Fault => "fault",
        })
    }
}

/// A frame under way.
#[derive(Clone, Copy, Debug)]
struct Flight {
    sent_by: usize,
    slowed_by: Option<usize>,
}

/// The graph. Events are numbered from 0 in the order in which they happened.
#[derive(Debug, Default)]
pub struct Causes {
    graph: DiGraph<Time, Because>,
    /// Where the numbers of the entries begin that each event made.
    first_seqs: Vec<u64>,
    flights: BTreeMap<FrameHead, VecDeque<Flight>>,
    /// The last event at which each routine ran,
    routines: BTreeMap<(ProcId, RoutineId), usize>,
    /// or that changed a cell,
    cells: BTreeMap<(ProcId, CellKey), usize>,
    /// and those that put in what a channel holds.
    channels: BTreeMap<(ProcId, Channel), VecDeque<usize>>,
    /// The one that was taken out last: it may go back.
    taken: BTreeMap<(ProcId, Channel), usize>,
    /// Events that changed when an entry is due.
    moves: BTreeMap<u64, Vec<usize>>,
    /// In which life each process is, and the event that ended the last one.
    lives: Vec<(u32, Option<usize>)>,
    faults: Faults,
}

impl Causes {
    /// How many events there are.
    pub fn len(&self) -> usize {
        self.graph.node_count()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// When an event happened.
    pub fn at(&self, event: usize) -> Time {
        self.graph[NodeIndex::new(event)]
    }

    /// Adds an event that the observed `world` has just applied.
    ///
    /// # Panics
    /// If the world is not observed.
    pub fn add(
        &mut self,
        world: &World,
        event: &TraceEvent,
        entry: Option<&Entry>,
        report: &Report,
    ) {
        let me = self.graph.add_node(event.at).index();
        self.first_seqs.push(report.first_seq);
        let observed = report.observed.as_deref().expect("the world is observed");
        self.begin_lives(world, me);
        match (&event.what, entry) {
            (TraceWhat::Act(Action::Fault(fault)), _) if report.injected => {
                let ended = self.faults.strike(me, fault);
                self.link_all(ended, me, Because::Fault);
            }
            (_, Some(entry)) => self.follow_entry(world, me, entry, observed),
            _ => {}
        }
        if let TraceWhat::Pending(name) = &event.what {
            let silent = self.faults.behind(name);
            self.link_all(silent, me, Because::Fault);
            self.follow_caller(world, me, name);
        }
        self.follow_routines(world, me, observed);
        self.follow_channels(me, observed);
        self.send(world, me, observed);
        for seq in &observed.moved {
            self.moves.entry(*seq).or_default().push(me);
        }
        self.end_lives(world, me);
    }

    /// One event follows from another, which happened before it.
    pub fn link(&mut self, from: usize, to: usize, because: Because) {
        let (from, to) = (NodeIndex::new(from), NodeIndex::new(to));
        let mut known = self.graph.edges_connecting(from, to);
        if from < to && !known.any(|edge| *edge.weight() == because) {
            self.graph.add_edge(from, to, because);
        }
    }

    fn link_all(&mut self, from: impl IntoIterator<Item = usize>, to: usize, because: Because) {
        for from in from {
            self.link(from, to, because);
        }
    }

    /// What an event follows from, in order.
    pub fn before(&self, event: usize) -> Vec<(usize, Because)> {
        let edges = self.graph.edges_directed(NodeIndex::new(event), Incoming);
        let mut before: Vec<(usize, Because)> = edges
            .map(|edge| (edge.source().index(), *edge.weight()))
            .collect();
        before.sort_unstable();
        before
    }

    /// Over how many others each event leads to one of these; `None` if it does not.
    pub fn slice(&self, ends: impl IntoIterator<Item = usize>) -> Vec<Option<u32>> {
        let mut distances = vec![None; self.len()];
        let mut next: VecDeque<(usize, u32)> = ends.into_iter().map(|end| (end, 0)).collect();
        while let Some((event, distance)) = next.pop_front() {
            if distances[event].is_some() {
                continue;
            }
            distances[event] = Some(distance);
            let before = self.before(event).into_iter();
            next.extend(before.map(|(event, _)| (event, distance + 1)));
        }
        distances
    }

    /// A process that begins another life has forgotten what it held.
    fn begin_lives(&mut self, world: &World, me: usize) {
        self.lives.resize(world.processes().len(), (0, None));
        for process in world.processes() {
            let (life, ended) = &mut self.lives[process.index()];
            if *life == world.incarnation(process) {
                continue;
            }
            *life = world.incarnation(process);
            let ended = ended.take();
            self.link_all(ended, me, Because::Life);
            self.routines.retain(|(own, _), _| *own != process);
            self.cells.retain(|(own, _), _| *own != process);
            self.channels.retain(|(own, _), _| *own != process);
        }
    }

    fn end_lives(&mut self, world: &World, me: usize) {
        for process in world.processes() {
            let (life, ended) = &mut self.lives[process.index()];
            if *life > 0 && ended.is_none() && world.status(process) != Status::Up {
                *ended = Some(me);
            }
        }
    }

    /// The event that made an entry.
    fn maker(&self, entry: &Entry, me: usize) -> Option<usize> {
        let made_by = self.first_seqs.partition_point(|seq| *seq <= entry.seq);
        made_by.checked_sub(1).filter(|maker| *maker != me)
    }

    fn follow_entry(&mut self, world: &World, me: usize, entry: &Entry, observed: &Observed) {
        let maker = self.maker(entry, me);
        let because = match entry.what {
            What::Frame(_) => {
                self.follow_frame(me, maker, observed);
                None
            }
            What::Timer(_)
            | What::Sleep { .. }
            | What::Conn(_)
            | What::Deadline { .. }
            | What::Property(_) => Some(Because::Timer),
            What::Grant { .. } => Some(Because::Lock),
            What::Recv { .. } | What::Send { .. } => Some(Because::Channel),
            What::Wake { .. } => Some(Because::Signal),
            What::Choose { .. } => Some(Because::Program),
        };
        if let Some(because) = because {
            self.link_all(maker, me, because);
        }
        if because == Some(Because::Timer) && world.processes().len() > entry.process.index() {
            let rate = self.faults.rate(world.name(entry.process));
            let rate = rate.filter(|fault| maker.is_some_and(|maker| maker > *fault));
            self.link_all(rate, me, Because::Fault);
        }
        let moves = self.moves.remove(&entry.seq).unwrap_or_default();
        self.link_all(moves, me, Because::Fault);
    }

    fn follow_frame(&mut self, me: usize, maker: Option<usize>, observed: &Observed) {
        let Some(wire) = observed.landed else { return };
        let flights = self.flights.entry(wire).or_default();
        let Some(flight) = flights.pop_front() else {
            return;
        };
        self.link(flight.sent_by, me, Because::Message);
        self.link_all(flight.slowed_by, me, Because::Fault);
        // It became the next one when another arrived, and comes at the same time: that one held it up.
        let behind = maker.filter(|maker| *maker > flight.sent_by);
        let behind = behind.filter(|maker| self.at(*maker) == self.at(me));
        self.link_all(behind, me, Because::Order);
    }

    /// A request that waited for its connection was sent by whatever opened that: it follows from its routine, too.
    fn follow_caller(&mut self, world: &World, me: usize, name: &str) {
        let Some(("request", rest)) = name.split_once(' ') else {
            return;
        };
        let Some((life, op)) = rest.split_once('/') else {
            return;
        };
        let client = life.rsplit_once('.').and_then(|(name, _)| world.find(name));
        let routine = op.split(' ').next().and_then(|op| op.rsplit_once('.'));
        let (Some(client), Some((routine, _))) = (client, routine) else {
            return;
        };
        let mut routines = self.routines.iter();
        let caller = routines.find(|((own, id), _)| *own == client && id.to_string() == routine);
        let caller = caller.map(|(_, ran)| *ran);
        self.link_all(caller, me, Because::Program);
    }

    fn follow_routines(&mut self, world: &World, me: usize, observed: &Observed) {
        for ran in &observed.ran {
            let before = self.routines.insert((ran.process, ran.routine), me);
            if !ran.begins {
                self.link_all(before, me, Because::Program);
            }
        }
        for cell in &observed.seen {
            let wrote = self.cells.get(cell).copied();
            self.link_all(wrote, me, Because::Memory);
        }
        for cell in &observed.changed {
            self.cells.insert(*cell, me);
        }
        for process in &observed.clocks {
            let jump = self.faults.jump(world.name(*process));
            self.link_all(jump, me, Because::Fault);
        }
    }

    fn follow_channels(&mut self, me: usize, observed: &Observed) {
        for (process, channel, passed) in &observed.passed {
            let key = (*process, *channel);
            let items = self.channels.entry(key).or_default();
            match passed {
                Passed::In => items.push_back(me),
                Passed::Out => {
                    if let Some(put) = items.pop_front() {
                        self.taken.insert(key, put);
                        self.link(put, me, Because::Channel);
                    }
                }
                Passed::Back => {
                    if let Some(put) = self.taken.remove(&key) {
                        items.push_front(put);
                    }
                }
            }
        }
    }

    /// What leaves is behind what is under way. What a fault has dropped was there before.
    fn send(&mut self, world: &World, me: usize, observed: &Observed) {
        for left in &observed.left {
            let (from, to) = (world.name(left.from), world.name(left.to));
            let slowed_by = left.is_slowed.then(|| self.faults.slowing(from, to));
            self.flights
                .entry(left.wire)
                .or_default()
                .push_back(Flight {
                    sent_by: me,
                    slowed_by: slowed_by.flatten(),
                });
        }
        self.flights.retain(|wire, flights| {
            let dropped = flights.len().saturating_sub(world.under_way(*wire));
            flights.drain(..dropped);
            !flights.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_goes_back_over_all_causes_and_counts_them() {
        let mut causes = Causes::default();
        for at in 0..5 {
            causes.graph.add_node(Time::from_nanos(at));
        }
        causes.link(0, 2, Because::Message);
        causes.link(0, 2, Because::Message);
        causes.link(0, 2, Because::Memory);
        causes.link(2, 4, Because::Timer);
        causes.link(1, 3, Because::Lock);
        causes.link(4, 3, Because::Lock);
        assert_eq!(causes.slice([4]), [Some(2), None, Some(1), None, Some(0)]);
        let twice = [(0, Because::Message), (0, Because::Memory)];
        assert_eq!(causes.before(2), twice);
        assert_eq!(causes.before(3), [(1, Because::Lock)], "time goes one way");
    }
}
