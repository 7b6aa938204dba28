//! A controller rests once all has been well for a while: what properties of controllers that are quiet are made of.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::Object;
use wavetank_engine::{Check, NotState, Note, Property, World};
use wavetank_etcd::Change;

use super::somebody_runs;
use wavetank_components::changes::all_changes;
use wavetank_components::promises::violated;

/// What a controller acts on, or what a change concerns, in words of the property's own: a key or a UID.
pub(crate) type Subject = Arc<str>;

/// An act of a controller.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Act {
    /// By this its acts are counted.
    pub on: Subject,
    /// How it is called.
    pub name: Arc<str>,
}

/// What it means that a controller rests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rest {
    /// The property.
    pub property: &'static str,
    /// The controller.
    pub controller: &'static str,
    /// What it acts on: its kind, and what it does to one of this name.
    pub kind: &'static str,
    pub acts: fn(&str) -> String,
    /// The act that a note tells of.
    pub act: fn(&Note) -> Option<Act>,
    /// Whom a change of what is stored concerns.
    pub concerns: fn(&Change<Object>) -> Vec<Subject>,
    /// May an act on this one follow from a change that concerned these?
    pub follows: fn(&World, &Subject, &BTreeSet<Subject>) -> bool,
}

/// What has changed since all should be settled, and what the controller did about it. A request may be so late that it is
/// done only then, whether a user sent it or a controller that led before: what follows from that is right. It is not if it
/// goes on and on. Only what the controller itself is about to do counts as its act: a commit may be anybody's.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct IsQuiet {
    rest: NotState<Rest>,
    after: Duration,
    is_settled: bool,
    changed: BTreeSet<Subject>,
    acts: BTreeMap<Subject, u32>,
}

/// So often a controller may act on one object because of late changes.
const MOST_ACTS: u32 = 5;

impl IsQuiet {
    /// The calm has to last so long before the controller is to rest.
    pub(crate) fn after(after: Duration, rest: Rest) -> IsQuiet {
        IsQuiet {
            rest: NotState(rest),
            after,
            is_settled: false,
            changed: BTreeSet::new(),
            acts: BTreeMap::new(),
        }
    }
}

impl Property for IsQuiet {
    fn name(&self) -> &'static str {
        self.rest.property
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let concerns = !all_changes(note).is_empty() || (self.rest.act)(note).is_some();
        (!self.is_settled || !concerns).then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(idle) = self.glance(world, note) {
            return idle;
        }
        let rest = *self.rest;
        self.changed
            .extend(all_changes(note).iter().flat_map(rest.concerns));
        let Some(Act { on, name }) = (rest.act)(note) else {
            return Check::Idle;
        };
        let acts = self.acts.entry(on.clone()).or_default();
        *acts += 1;
        let is_late = (rest.follows)(world, &on, &self.changed);
        if is_late && *acts <= MOST_ACTS {
            return Check::Idle;
        }
        let why = match is_late {
            true => "again and again",
            false => "although nothing has changed",
        };
        let what = (rest.acts)(&name);
        violated(rest.kind, &name, format!("{what}, {why}"))
    }

    fn calm(&mut self, _: &World) -> Option<Duration> {
        Some(self.after)
    }

    fn deadline(&mut self, world: &World) -> Check {
        self.is_settled = true;
        match somebody_runs(world, self.rest.controller) {
            true => Check::Held,
            false => Check::Idle,
        }
    }
}

/// The object that a note says is synced, if nothing is to be done about it.
type SyncedInVain = fn(&World, &Note) -> Option<Subject>;

/// What has what it asks for is not synced again, once all has been well for a while. Once it may be: what failed is tried again up
/// to 1000 s later (`AddRateLimited`), and nobody takes that back if another sync has done it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct SyncsEnd {
    name: &'static str,
    kind: &'static str,
    after: Duration,
    synced: NotState<SyncedInVain>,
    is_settled: bool,
    once: BTreeSet<Subject>,
}

impl SyncsEnd {
    /// The calm has to last so long before; `kind` is what is synced.
    pub(crate) fn new(
        name: &'static str,
        kind: &'static str,
        after: Duration,
        synced: SyncedInVain,
    ) -> SyncsEnd {
        SyncsEnd {
            name,
            kind,
            after,
            synced: NotState(synced),
            is_settled: false,
            once: BTreeSet::new(),
        }
    }
}

impl Property for SyncsEnd {
    fn name(&self) -> &'static str {
        self.name
    }

    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        let is_vain = self.is_settled && (self.synced)(world, note).is_some();
        (!is_vain).then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let synced = self.is_settled.then(|| (self.synced)(world, note));
        let Some(object) = synced.flatten() else {
            return Check::Idle;
        };
        if self.once.insert(object.clone()) {
            return Check::Idle;
        }
        let message = format!("{object} is synced again and again, although nothing has changed");
        violated(self.kind, &object, message)
    }

    fn calm(&mut self, _: &World) -> Option<Duration> {
        Some(self.after)
    }

    fn deadline(&mut self, _: &World) -> Check {
        self.is_settled = true;
        Check::Held
    }
}
