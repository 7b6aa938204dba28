//! All watches, and the frame of the monitors that judge what happens to them. What a watch has had
//! is in `had`, what is judged in a file for each.

use std::collections::BTreeMap;
use std::mem;

use wavetank_engine::{Check, Class, NotState, Note, Property, World};

use crate::api::{Change, Request, Revision, Value, WatchResponse, WatchStart};
use crate::observed::{CallId, Called, ProgressAsked, Unwatched, Watched, Watching};
use crate::server::Etcd;

use super::had::Watch;
use super::truth::Truth;
use super::violated;

/// All watches that are not over.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Watches<V: Value> {
    /// By the client's number for it.
    pub all: BTreeMap<CallId, Watch<V>>,
    /// The history.
    pub truth: Truth<V>,
    /// The newest revision that anybody wanted compacted.
    asked_to_compact: Revision,
    /// Watches whose client has asked for progress on their stream.
    asked: Vec<CallId>,
}

impl<V: Value> Default for Watches<V> {
    fn default() -> Self {
        Watches {
            all: BTreeMap::new(),
            truth: Truth::default(),
            asked_to_compact: 0,
            asked: Vec::new(),
        }
    }
}

/// What happens to a watch.
pub enum Happens<'a, V> {
    /// It is resumed.
    Resumes(&'a WatchStart),
    /// A response came, whole.
    Gets(&'a WatchResponse<V>),
}

/// What a rule sees.
pub struct Seen<'a, V: Value> {
    /// The history.
    pub truth: &'a Truth<V>,
    /// The watch, before this.
    pub watch: &'a Watch<V>,
    /// What happens.
    pub happens: Happens<'a, V>,
    /// History below this revision may be compacted.
    pub compacted: Revision,
}

impl<V: Value> Seen<'_, V> {
    /// The events of the response, if it is one.
    pub fn events(&self) -> &[Change<V>] {
        match &self.happens {
            Happens::Gets(response) => &response.events,
            Happens::Resumes(_) => &[],
        }
    }

    /// The revision of a progress notification that speaks of this watch.
    pub fn progress(&self) -> Option<Revision> {
        match &self.happens {
            Happens::Gets(r) if r.is_progress() && !self.watch.is_doubtful(r) => Some(r.revision),
            _ => None,
        }
    }
}

/// Was it put to the test, and held? Else what is wrong.
pub type Verdict = Result<bool, String>;

/// Judges what happens to a watch.
pub type Rule<V> = fn(&Seen<'_, V>) -> Verdict;

impl<V: Value> Watches<V> {
    /// Follows the notes; what happens to a watch is judged before it is taken in.
    pub fn follow(&mut self, world: &World, note: &Note, rule: Rule<V>) -> Check {
        self.truth.learn(world, note);
        if let Some(call) = note.body.get::<Called<V>>() {
            if let Request::Compact { revision, .. } = call.request {
                self.asked_to_compact = self.asked_to_compact.max(revision);
            }
            return Check::Idle;
        }
        if let Some(ProgressAsked { watch }) = note.body.get() {
            if !self.asked.contains(watch) {
                self.asked.push(*watch);
            }
            return Check::Idle;
        }
        if let Some(Unwatched { watch, .. }) = note.body.get() {
            self.forget(*watch);
            return Check::Idle;
        }
        if let Some(watching) = note.body.get::<Watching>() {
            return self.begin(world, watching, rule);
        }
        match note.body.get::<Watched<V>>() {
            Some(watched) => self.get(world, watched, rule),
            None => Check::Idle,
        }
    }

    fn forget(&mut self, watch: CallId) {
        self.all.remove(&watch);
        self.asked.retain(|asked| *asked != watch);
    }

    fn begin(&mut self, world: &World, watching: &Watching, rule: Rule<V>) -> Check {
        // Its own questions were asked on the stream that it has left.
        self.asked.retain(|asked| *asked != watching.watch);
        let client = watching.watch.client;
        let asked_before = self.asked.iter().any(|asked| asked.client == client);
        let compacted = self.compacted(world);
        let start = watching.start.clone();
        let Some(watch) = self
            .all
            .get_mut(&watching.watch)
            .filter(|_| watching.resumed)
        else {
            let watch = Watch::new(start, asked_before);
            self.all.insert(watching.watch, watch);
            return Check::Idle;
        };
        let verdict = rule(&Seen {
            truth: &self.truth,
            watch,
            happens: Happens::Resumes(&watching.start),
            compacted,
        });
        watch.resume(start, asked_before);
        self.check(world, watching.watch, verdict)
    }

    fn get(&mut self, world: &World, watched: &Watched<V>, rule: Rule<V>) -> Check {
        let compacted = self.compacted(world);
        let Some(watch) = self.all.get_mut(&watched.watch) else {
            return Check::Idle;
        };
        if watched.response.fragment {
            watch.parts.extend(watched.response.events.iter().cloned());
            return Check::Idle;
        }
        let mut response = watched.response.clone();
        if !watch.parts.is_empty() && !response.events.is_empty() {
            let mut parts = mem::take(&mut watch.parts);
            parts.append(&mut response.events);
            response.events = parts;
        }
        let ahead = response
            .events
            .iter()
            .any(|e| e.revision > self.truth.revision());
        let verdict = match self.truth.is_whole() && !ahead {
            true => rule(&Seen {
                truth: &self.truth,
                watch,
                happens: Happens::Gets(&response),
                compacted,
            }),
            false => Ok(false),
        };
        watch.take(&self.truth, &response);
        let check = self.check(world, watched.watch, verdict);
        if watched.response.canceled {
            self.forget(watched.watch);
        }
        check
    }

    fn check(&self, world: &World, watch: CallId, verdict: Verdict) -> Check {
        match verdict {
            Ok(true) => Check::Held,
            Ok(false) => Check::Idle,
            Err(what) => {
                let client = world.name(watch.client);
                let object = format!("watch {} of {client}", watch.number);
                violated("watch", &object, format!("{object}: {what}"))
            }
        }
    }

    /// History below this may be compacted: members say so, or somebody asked for it.
    fn compacted(&self, world: &World) -> Revision {
        let members = world
            .processes()
            .filter_map(|p| world.process::<Etcd<V>>(p));
        let compacted = members.map(|member| member.store().compacted()).max();
        self.asked_to_compact.max(compacted.unwrap_or(0))
    }
}

/// A monitor that judges each response of each watch by a rule.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct WatchMonitor<V: Value> {
    name: &'static str,
    /// It follows from the name, as the rule does.
    class: NotState<Class>,
    rule: NotState<Rule<V>>,
    watches: Watches<V>,
}

impl<V: Value> WatchMonitor<V> {
    /// A monitor of this name.
    pub fn new(name: &'static str, class: Class, rule: Rule<V>) -> WatchMonitor<V> {
        WatchMonitor {
            name,
            class: NotState(class),
            rule: NotState(rule),
            watches: Watches::default(),
        }
    }
}

impl<V: Value> Property for WatchMonitor<V> {
    fn name(&self) -> &'static str {
        self.name
    }
    fn class(&self) -> Class {
        *self.class
    }
    fn note(&mut self, world: &World, note: &Note) -> Check {
        self.watches.follow(world, note, *self.rule)
    }
}
