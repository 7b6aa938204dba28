//! What a step does inside, beyond what drivers need: who ran, who told, what was looked at and changed, which frames
//! left. It is written down where a replay asks for it ([`World::observe`](crate::World::observe)), and nowhere else: it
//! is no part of the state, no copy of a world has it, and nothing depends on it.

use std::collections::VecDeque;
use std::panic::Location;

use crate::channel::Channel;
use crate::message::Payload;
use crate::name::{Name, ProcId, RoutineId};
use crate::queue::FrameHead;
use crate::time::Time;

/// A cell, by its name and number.
pub(crate) type CellKey = (Name, u32);

/// A place in the sources.
pub(crate) type Source = &'static Location<'static>;

/// Who tells a note.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Teller {
    /// A routine, at the place that it has said.
    Routine(RoutineId),
    /// A callback, here.
    Callback(Source),
}

/// What became of an item of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Passed {
    /// It was put in.
    In,
    /// The oldest was taken out,
    Out,
    /// and went back.
    Back,
}

/// A routine that ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ran {
    pub process: ProcId,
    pub routine: RoutineId,
    /// For the first time?
    pub begins: bool,
}

/// A frame that left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Left {
    pub wire: FrameHead,
    pub from: ProcId,
    pub to: ProcId,
    /// Was its link slowed?
    pub is_slowed: bool,
}

/// What happened within one event.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    pub(crate) ran: Vec<Ran>,
    /// For each note of the report the routine that told it, `None` for a callback, and the place in the sources.
    pub(crate) told: Vec<(Option<RoutineId>, Option<Source>)>,
    /// The places at which the routine that ran last told its notes, as far as these are still to come.
    pub(crate) telling: VecDeque<Source>,
    pub(crate) left: Vec<Left>,
    /// The frame that arrived: where, and what was in it.
    pub(crate) landed: Option<FrameHead>,
    pub(crate) body: Option<Payload>,
    /// Cells that were looked at, and those that were changed.
    pub(crate) seen: Vec<(ProcId, CellKey)>,
    pub(crate) changed: Vec<(ProcId, CellKey)>,
    pub(crate) passed: Vec<(ProcId, Channel, Passed)>,
    /// Who looked at a wall clock.
    pub(crate) clocks: Vec<ProcId>,
    /// Entries, by their numbers, that are now due at another time, or are now held up, or no longer are.
    pub(crate) moved: Vec<u64>,
}

impl Observed {
    /// What was in the frame that arrived, if that has anything in it.
    pub fn body(&self) -> Option<&Payload> {
        self.body.as_ref()
    }

    /// The routine that told the note with this index; `None`: a callback of its process did.
    pub fn told_by(&self, note: usize) -> Option<RoutineId> {
        self.told.get(note)?.0
    }

    /// Where in the sources the note with this index is told.
    pub fn told_at(&self, note: usize) -> Option<&'static Location<'static>> {
        self.told.get(note)?.1
    }

    /// The routines that ran, in order, and whether each did so for the first time.
    pub fn ran(&self) -> impl Iterator<Item = (ProcId, RoutineId, bool)> {
        let ran = self.ran.iter();
        ran.map(|ran| (ran.process, ran.routine, ran.begins))
    }
}

/// A world's observer, if it is observed. No copy of a world has one.
#[derive(Debug, Default)]
pub(crate) struct Observer(Option<Box<Observed>>);

impl Clone for Observer {
    fn clone(&self) -> Observer {
        Observer(None)
    }
}

impl Observer {
    pub fn begin(&mut self) {
        self.0 = Some(Box::default());
    }

    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Writes down, if there is anybody to.
    pub fn see(&mut self, write: impl FnOnce(&mut Observed)) {
        if let Some(observed) = &mut self.0 {
            write(observed);
        }
    }

    /// What was seen since it was asked last.
    pub fn take(&mut self) -> Option<Box<Observed>> {
        self.0.as_mut().map(std::mem::take)
    }
}

/// When each entry is due, by its number, and whether it is held up: in the order of the numbers.
pub(crate) type Dues = Vec<(u64, Time, bool)>;

/// The numbers of those that are in both, but otherwise.
pub(crate) fn moved(before: &Dues, after: &Dues) -> Vec<u64> {
    let is_other = |(seq, at, held): &&(u64, Time, bool)| {
        let found = after.binary_search_by_key(seq, |(seq, ..)| *seq);
        found.is_ok_and(|place| (after[place].1, after[place].2) != (*at, *held))
    };
    before
        .iter()
        .filter(is_other)
        .map(|(seq, ..)| *seq)
        .collect()
}
