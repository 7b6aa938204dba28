//! What fits every operator. Each has these under the key of its replicas: `shop-operators-rest`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;
use wavetank_api::{Object, json};
use wavetank_component::{Need, PropertyInfo};
use wavetank_components::sieve::alike::{self, Asks, Replicas};
use wavetank_components::sieve::named;
use wavetank_components::sieve::objects::{Objects, Stored, changes, is_orphan, shown, uid};
use wavetank_engine::{Check, Instant, Name, Note, Property, World};
use wavetank_kube_controller_manager as kube_controller_manager;

use super::typed::Breach;
use crate::life::Ended;
use crate::observed::{Asked, Exited};
use crate::process::{Hosted, can_work};

/// How long an operator is watched once it has settled.
const WINDOW: Duration = Duration::from_secs(60);
/// One request a second is what a loop makes that never rests; an elector asks for its lease every other second.
const MOST: u32 = 60;
/// The garbage collector's own bound, with managers that elect (`unowned-objects-go`).
const COLLECTED: Duration = Duration::from_secs(700);

/// What is compared with a run without faults.
fn compared(key: &'static str) -> Replicas {
    Replicas {
        key,
        asks: |world, note, key| {
            let asked = note.body.get::<Asked>()?;
            let own = world.process::<Hosted>(note.process)?;
            if own.program().as_str() != key {
                return None;
            }
            let (verb, path) = asked.verb_and_path();
            let object = asked.object.as_ref();
            let object = object.map(|own| (&*own.name, &*own.generate_name));
            Some(Asks { verb, path, object })
        },
        can_work,
        compared: |_, normal| Some(normal),
        all_along: false,
    }
}

/// Those of the operator with this key.
pub(crate) fn of_every_operator(key: &'static str) -> Vec<PropertyInfo> {
    let no_panic = named(key, "do-not-panic");
    let kept = named(key, "keep-ownership");
    let finalizers = named(key, "finalizers-go");
    let rest = named(key, "rest");
    vec![
        PropertyInfo::new(
            no_panic,
            "the operator's main function does not panic",
            Need::NOTHING,
            move |_| {
                let program = Name::new(key);
                let name = no_panic;
                Box::new(DoesNotPanic { name, program })
            },
        ),
        PropertyInfo::new(
            kept,
            "an object does not lose its controller while that lives",
            Need::NOTHING,
            move |_| {
                let name = kept;
                let objects = Objects::default();
                Box::new(KeepsOwnership { name, objects })
            },
        ),
        PropertyInfo::new(
            finalizers,
            "some time after calm: no object waits for a finalizer",
            Need::NOTHING,
            move |settled| Box::new(FinalizersGo::new(finalizers, settled)),
        ),
        PropertyInfo::new(
            rest,
            "some time after calm: the operator does not send one request again and again",
            Need::NOTHING,
            move |settled| Box::new(Rests::new(rest, settled)),
        ),
        no_orphans(named(key, "leave-no-orphans")),
        alike::ends_alike(compared(key), Need::NOTHING),
    ]
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct DoesNotPanic {
    name: &'static str,
    program: Name,
}

impl Property for DoesNotPanic {
    fn name(&self) -> &'static str {
        self.name
    }

    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        let exited = note.body.get::<Exited>();
        let own = exited.filter(|exited| exited.program == self.program);
        Some(match own.map(|exited| &exited.how) {
            Some(Ended::Panicked(why)) => {
                Breach::of(world.name(note.process), format!("panics: {why}")).check()
            }
            _ => Check::Idle,
        })
    }

    fn calm(&mut self, _: &World) -> Option<Duration> {
        Some(Duration::ZERO)
    }

    /// It came through the storm.
    fn deadline(&mut self, _: &World) -> Check {
        Check::Held
    }
}

/// The uid of the owner that is the controller.
fn controller(object: &Object) -> Option<&str> {
    let owners = json::at(object.json(), &["metadata", "ownerReferences"])?.as_array()?;
    let own = owners
        .iter()
        .find(|owner| owner["controller"] == Json::Bool(true))?;
    own["uid"].as_str()
}

fn is_going(object: &Object) -> bool {
    !json::text(object.json(), &["metadata", "deletionTimestamp"]).is_empty()
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct KeepsOwnership {
    name: &'static str,
    objects: Objects,
}

impl KeepsOwnership {
    /// The living object that was the controller, and is no longer.
    fn lost(&self, stored: &Stored<'_>) -> Option<Option<Breach>> {
        let (before, now) = (stored.before?, stored.now?);
        let was = controller(before)?;
        if uid(before) != uid(now) {
            return None;
        }
        if controller(now) == Some(was) {
            return Some(None);
        }
        let mut all = self.objects.iter();
        let (_, owner) = all.find(|(_, object)| uid(object) == was && !is_going(object))?;
        let message = format!(
            "{} is no longer controlled by {}, which lives",
            shown(now),
            shown(owner)
        );
        Some(Some(Breach::of(shown(now), message)))
    }
}

impl Property for KeepsOwnership {
    fn name(&self) -> &'static str {
        self.name
    }

    fn note(&mut self, _: &World, note: &Note) -> Check {
        self.objects.take(note);
        let mut check = Check::Idle;
        for stored in changes(note) {
            match self.lost(&stored) {
                Some(Some(breach)) => return breach.check(),
                Some(None) => check = Check::Held,
                None => {}
            }
        }
        check
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        changes(note).next().is_none().then_some(Check::Idle)
    }

    fn calm(&mut self, _: &World) -> Option<Duration> {
        Some(Duration::ZERO)
    }

    /// Nothing was lost in the storm.
    fn deadline(&mut self, _: &World) -> Check {
        Check::Held
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct FinalizersGo {
    name: &'static str,
    within: Duration,
    objects: Objects,
    since: BTreeMap<Arc<str>, Instant>,
    /// Has everybody been there since calm began?
    is_promised: bool,
}

impl FinalizersGo {
    fn new(name: &'static str, settled: Duration) -> FinalizersGo {
        FinalizersGo {
            name,
            within: settled + WINDOW,
            objects: Objects::default(),
            since: BTreeMap::new(),
            is_promised: false,
        }
    }
}

/// The finalizers of an object that are not those of Kubernetes itself.
fn finalizers(object: &Object) -> impl Iterator<Item = &str> {
    let all = json::at(object.json(), &["metadata", "finalizers"]).and_then(Json::as_array);
    let all = all.into_iter().flatten().filter_map(Json::as_str);
    all.filter(|name| name.contains('/') && !name.starts_with("kubernetes.io/"))
}

impl Property for FinalizersGo {
    fn name(&self) -> &'static str {
        self.name
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if self.objects.take(note) {
            for stored in changes(note) {
                let waits = stored
                    .now
                    .is_some_and(|now| is_going(now) && finalizers(now).next().is_some());
                match waits {
                    true => {
                        self.since
                            .entry(stored.key.into())
                            .or_insert(Instant(world.now()));
                    }
                    false => {
                        self.since.remove(stored.key);
                    }
                }
            }
        }
        Check::Idle
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        changes(note).next().is_none().then_some(Check::Idle)
    }

    fn calm(&mut self, world: &World) -> Option<Duration> {
        self.is_promised = can_work(world);
        Some(self.within)
    }

    /// What is deleted only in calm may still be under way.
    fn deadline(&mut self, world: &World) -> Check {
        if !can_work(world) || !self.is_promised {
            return Check::Idle;
        }
        let mut all = self.objects.iter();
        let stuck = all.find(|(key, _)| {
            let since = self.since.get(*key);
            since.is_some_and(|since| world.now().since(since.0) >= self.within)
        });
        let Some((_, object)) = stuck else {
            return Check::Held;
        };
        let names: Vec<&str> = finalizers(object).collect();
        let message = format!(
            "{} is deleted and waits for {}",
            shown(object),
            names.join(", ")
        );
        Breach::of(shown(object), message).check()
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Rests {
    name: &'static str,
    settled: Duration,
    calm: Option<Instant>,
    /// How often each request was sent by each process since all was settled.
    sent: BTreeMap<(String, Arc<str>), u32>,
}

impl Rests {
    fn new(name: &'static str, settled: Duration) -> Rests {
        Rests {
            name,
            settled,
            calm: None,
            sent: BTreeMap::new(),
        }
    }
}

impl Property for Rests {
    fn name(&self) -> &'static str {
        self.name
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let Some(asked) = note.body.get::<Asked>() else {
            return Check::Idle;
        };
        let is_settled = |calm: Instant| world.now().since(calm.0) >= self.settled;
        if self.calm.is_some_and(is_settled) {
            let what = asked.what.split('?').next().unwrap_or_default();
            let key = (world.name(note.process).to_owned(), what.into());
            *self.sent.entry(key).or_default() += 1;
        }
        Check::Idle
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        note.body.get::<Asked>().is_none().then_some(Check::Idle)
    }

    fn calm(&mut self, world: &World) -> Option<Duration> {
        self.calm = Some(Instant(world.now()));
        Some(self.settled + WINDOW)
    }

    fn deadline(&mut self, _: &World) -> Check {
        let sent = std::mem::take(&mut self.sent);
        let most = sent.into_iter().max_by_key(|(_, count)| *count);
        self.calm = None;
        match most {
            Some(((process, what), count)) if count > MOST => {
                let seconds = WINDOW.as_secs();
                let message = format!(
                    "{process} does not rest: {count} times in {seconds} s it sends {what}"
                );
                Breach::of(process, message).check()
            }
            _ => Check::Held,
        }
    }
}

/// Long after the storm no object is left whose owners are gone: it takes a garbage collector, and a calm of 760 s.
pub fn no_orphans(name: &'static str) -> PropertyInfo {
    let need = Need {
        met: |spec| kube_controller_manager::runs(spec, "garbage-collector-controller"),
        lacking: "what collects garbage, and nobody does",
        add: "`controllers: [garbage-collector-controller]` to `options`",
    };
    let about = "some time after calm: no object is left whose owners are gone";
    PropertyInfo::new(name, about, need, move |settled| {
        let within = settled.max(COLLECTED) + WINDOW;
        let objects = Objects::default();
        Box::new(NoOrphans {
            name,
            within,
            objects,
        })
    })
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct NoOrphans {
    name: &'static str,
    within: Duration,
    objects: Objects,
}

impl Property for NoOrphans {
    fn name(&self) -> &'static str {
        self.name
    }

    fn note(&mut self, _: &World, note: &Note) -> Check {
        self.objects.take(note);
        Check::Idle
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        changes(note).next().is_none().then_some(Check::Idle)
    }

    fn calm(&mut self, _: &World) -> Option<Duration> {
        Some(self.within)
    }

    fn deadline(&mut self, _: &World) -> Check {
        let mut all = self.objects.iter();
        let orphan = all.find(|(_, object)| is_orphan(object, &self.objects));
        match orphan {
            None => Check::Held,
            Some((_, object)) => {
                let message = format!("{} is left, and its owners are gone", shown(object));
                Breach::of(shown(object), message).check()
            }
        }
    }
}
