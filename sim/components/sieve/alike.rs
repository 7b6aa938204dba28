//! The end of a run beside that of the same run without faults: Sieve's differential oracle. A controller that does what is
//! asked of it, whatever happens meanwhile, has made the same in the end, and has not written much more often.
//!
//! What is looked at is in [`Ending`], what makes a difference in [`Ending::beside`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use wavetank_api::http::Method;
use wavetank_api::{Object, json};
use wavetank_client::cut_off::{self, Wrote};
use wavetank_component::{Need, PropertyInfo};
use wavetank_engine::trace::FoundViolation;
use wavetank_engine::{
    Check, Digest, NotState, Note, ProcId, Process, Property, Status, Violation, World, digest,
};

use super::normal::{Normal, generated};
use super::objects::{Objects, Stored, changes, is_orphan};
use super::path::{self, Path};
use super::{is_asked, named};

/// Whose runs are compared.
#[derive(Clone, Copy, Debug)]
pub struct Replicas {
    /// Their key in `topology`.
    pub key: &'static str,
    /// What one of them asks of an apiserver, if a note tells that.
    pub asks: for<'a> fn(&World, &'a Note, &'static str) -> Option<Asks<'a>>,
    /// Can they do their work?
    pub can_work: fn(&World) -> bool,
    /// What of an object is compared, if anything is: what others draw, or what is left of what has passed, may differ.
    pub compared: fn(&Object, Json) -> Option<Json>,
    /// Have all others to have asked for the same all along, and not in the end only?
    pub all_along: bool,
}

/// What a replica asks.
#[derive(Clone, Copy, Debug)]
pub struct Asks<'a> {
    /// `POST`
    pub verb: &'a str,
    /// The path, without a query.
    pub path: &'a str,
    /// If its body is an object: its name, and what that is made of.
    pub object: Option<(&'a str, &'a str)>,
}

impl<'a> From<&'a Wrote> for Asks<'a> {
    fn from(wrote: &'a Wrote) -> Asks<'a> {
        let Wrote {
            method,
            path,
            name,
            generate_name,
        } = wrote;
        let verb = match method {
            Method::Post => "POST",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
            Method::Put | Method::Get | Method::Head | Method::Options => "PUT",
        };
        Asks {
            verb,
            path,
            object: Some((name, generate_name)),
        }
    }
}

/// What a process of this type asks that is [watched](wavetank_client::RestClient::watched), if the note tells that.
pub fn asks<'a, P: Process>(world: &World, note: &'a Note, _: &'static str) -> Option<Asks<'a>> {
    let wrote = note.body.get::<Wrote>()?;
    world.process::<P>(note.process)?;
    Some(wrote.into())
}

/// Is one of the processes of this type up, and all that they need?
pub fn can_work<P: Process>(world: &World) -> bool {
    let is_up = |process: &ProcId| world.status(*process) == Status::Up;
    let (own, others): (Vec<ProcId>, Vec<ProcId>) = world
        .processes()
        .partition(|process| world.process::<P>(*process).is_some());
    world.is_healthy() && own.iter().any(is_up) && others.iter().all(is_up)
}

/// So many times as often it may write,
const TIMES: u64 = 2;
/// and so often besides.
const MORE: u64 = 20;

/// The property of these replicas. Who does not name it has it where the workload has one of Sieve's patterns.
pub fn ends_alike(replicas: Replicas, need: Need) -> PropertyInfo {
    let name = named(replicas.key, "end-alike");
    let about = "some time after calm: what they have made is what they make without faults, and they have not written more \
                 than twice as often";
    let property = PropertyInfo::new(name, about, need, move |settled| {
        Box::new(EndsAlike::new(name, replicas, settled))
    });
    property.fits(move |spec| is_asked(replicas.key, spec))
}

/// What the replicas with this key came to in this run, if that is looked at and they could work.
pub fn ending(world: &World, key: &str) -> Option<Json> {
    let mut all = world.properties().filter_map(|own| {
        let own = own.as_any().downcast_ref::<EndsAlike>()?;
        (own.replicas.key == key).then_some(own)
    });
    let ending = all.next()?.ending.as_ref()?;
    Some(serde_json::from_str(ending).expect("it was written as JSON"))
}

/// What the property of the replicas with this key says to the end of a run beside that of one without faults.
pub fn compare(key: &str, undisturbed: &Json, run: &Json) -> (&'static str, Check) {
    let read = |ending: &Json| Ending::deserialize(ending).expect("it was written as one");
    let check = match read(run).beside(&read(undisturbed)) {
        Compared::Otherwise => Check::Idle,
        Compared::Alike => Check::Held,
        Compared::Differs(object, message) => Check::Violated(Violation {
            kind: FoundViolation::DIFFERENCE,
            object,
            message,
        }),
    };
    (named(key, "end-alike"), check)
}

/// What comes of a comparison.
enum Compared {
    /// People did something else in that run: there is nothing to compare.
    Otherwise,
    Alike,
    /// The object, and what is wrong with it.
    Differs(String, String),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct EndsAlike {
    name: &'static str,
    replicas: NotState<Replicas>,
    settled: Duration,
    objects: Objects,
    /// The places of objects that replicas asked to make, and where names are made, what they begin with.
    made: BTreeSet<String>,
    /// The places of objects that replicas asked to delete.
    deleted: BTreeSet<String>,
    /// Where objects are stored of the kinds that replicas have asked for.
    kinds: BTreeSet<String>,
    /// Objects of others that replicas have taken away.
    taken: BTreeMap<String, u64>,
    /// Made with an owner. Who has none any more was left to itself, sooner or later.
    owned: BTreeSet<Arc<str>>,
    /// All that others have asked for of an object.
    asked: BTreeMap<Arc<str>, Digest>,
    writes: u64,
    is_promised: bool,
    ending: Option<String>,
}

impl EndsAlike {
    fn new(name: &'static str, replicas: Replicas, settled: Duration) -> EndsAlike {
        EndsAlike {
            name,
            replicas: NotState(replicas),
            settled,
            objects: Objects::default(),
            made: BTreeSet::new(),
            deleted: BTreeSet::new(),
            kinds: BTreeSet::new(),
            taken: BTreeMap::new(),
            owned: BTreeSet::new(),
            asked: BTreeMap::new(),
            writes: 0,
            is_promised: false,
            ending: None,
        }
    }

    fn hear(&mut self, Asks { verb, path, object }: Asks<'_>) {
        let about = Path::of(path);
        if about.plural.is_empty() || cut_off::is_housekeeping(path) {
            return;
        }
        self.kinds.insert(path::registry(about.group, about.plural));
        match (verb, object) {
            ("POST", Some((name, generate_name))) if about.name.is_empty() => {
                let name = if name.is_empty() { generate_name } else { name };
                self.made.insert(about.key(name));
            }
            // An object that is applied is made, if it is not there.
            ("PATCH", Some((name, _))) if about.subresource.is_empty() && !name.is_empty() => {
                self.made.insert(about.key(about.name));
            }
            ("DELETE", _) => {
                self.deleted.insert(about.key(about.name));
            }
            _ => {}
        }
    }

    fn is_made(&self, key: &str) -> bool {
        self.made.contains(key) || self.made.iter().any(|made| is_generated(key, made))
    }

    fn take(&mut self, note: &Note) {
        for stored in changes(note) {
            if self.is_made(stored.key) {
                self.writes += 1;
                if stored.before.is_none() && stored.now.is_some_and(has_owner) {
                    self.owned.insert(stored.key.into());
                }
                continue;
            }
            let known = stored.now.or(stored.before);
            let is_object = known.is_some_and(|own| own.json().is_object());
            if self.replicas.all_along && is_object {
                self.remember(&stored);
            }
            if self.deleted.contains(stored.key)
                && let (Some(gone), None) = (stored.before, stored.now)
                && !is_orphan(gone, &self.objects)
            {
                let place = place(stored.key, gone);
                *self.taken.entry(place).or_default() += 1;
            }
        }
        self.objects.take(note);
    }

    /// Others have changed what they ask for.
    fn remember(&mut self, stored: &Stored<'_>) {
        let [before, now] = [stored.before, stored.now].map(|own| own.map(asked));
        if before == now || now.is_none() && before.as_ref().is_some_and(is_deleted) {
            return;
        }
        let all = self.asked.entry(stored.key.into()).or_default();
        *all = digest(&(*all, now.map(|now| now.to_string())));
    }

    fn ending(&self) -> Ending {
        let normal = Normal::of(&self.objects);
        let mut objects: BTreeMap<String, Vec<Json>> = BTreeMap::new();
        let mut made = BTreeSet::new();
        for (key, object) in self.objects.iter() {
            let is_asked_for = self.kinds.iter().any(|kind| key.starts_with(kind));
            let is_left = self.owned.contains(key) && !has_owner(object);
            if !is_asked_for || is_left || is_orphan(object, &self.objects) {
                continue;
            }
            let compared = (self.replicas.compared)(object, normal.object(object));
            let Some(compared) = compared else { continue };
            let place = place(key, object);
            if self.is_made(key) {
                made.insert(place.clone());
            }
            let same = objects.entry(place).or_default();
            same.push(compared);
        }
        for same in objects.values_mut() {
            same.sort_by_key(Json::to_string);
        }
        made.extend(self.made.iter().cloned());
        let asked = self.asked.iter().filter(|(key, _)| !self.is_made(key));
        Ending {
            kinds: self.kinds.clone(),
            asked: asked.map(|(key, all)| (key.clone(), *all)).collect(),
            objects,
            made,
            taken: self.taken.clone(),
            writes: self.writes,
        }
    }
}

fn has_owner(object: &Object) -> bool {
    let owners = json::at(object.json(), &["metadata", "ownerReferences"]);
    owners
        .and_then(Json::as_array)
        .is_some_and(|all| !all.is_empty())
}

/// What is asked for by an object: not what has come of it, and who holds it.
fn asked(object: &Object) -> Json {
    let normal = Normal::default().object(object);
    without(&normal, &["status", "finalizers", "ownerReferences"])
}

fn is_deleted(asked: &Json) -> bool {
    asked["isDeleted"] == true
}

/// Was a name made of this, which ends with a hyphen?
fn is_generated(key: &str, made: &str) -> bool {
    made.ends_with('-') && key.starts_with(made)
}

/// Where an object is, with a name that is made as it was asked for.
fn place(key: &str, object: &Object) -> String {
    let (folder, _) = key.rsplit_once('/').unwrap_or(("", key));
    match generated(object) {
        Some(generated) => format!("{folder}/{generated}"),
        None => key.to_owned(),
    }
}

impl Property for EndsAlike {
    fn name(&self) -> &'static str {
        self.name
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if self.ending.is_some() {
            return Check::Idle;
        }
        match (self.replicas.asks)(world, note, self.replicas.key) {
            Some(asks) => self.hear(asks),
            None => self.take(note),
        }
        Check::Idle
    }

    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        let is_of_none = (self.replicas.asks)(world, note, self.replicas.key).is_none()
            && changes(note).next().is_none();
        is_of_none.then_some(Check::Idle)
    }

    fn calm(&mut self, world: &World) -> Option<Duration> {
        self.is_promised = (self.replicas.can_work)(world);
        Some(self.settled)
    }

    /// What is compared is how it is now.
    fn deadline(&mut self, world: &World) -> Check {
        if !self.is_promised || !(self.replicas.can_work)(world) {
            return Check::Idle;
        }
        let ending = serde_json::to_string(&self.ending()).expect("it is JSON");
        self.ending = Some(ending);
        // Whether it held is known when the other run has ended.
        Check::Idle
    }
}

/// What replicas and those who use them have come to.
#[derive(Debug, Serialize, Deserialize)]
struct Ending {
    kinds: BTreeSet<String>,
    /// What was asked for all along, where that matters.
    asked: BTreeMap<Arc<str>, Digest>,
    /// The objects of these kinds that are nobody's leftovers, by their places, as they compare.
    objects: BTreeMap<String, Vec<Json>>,
    /// The places of those that the replicas make.
    made: BTreeSet<String>,
    taken: BTreeMap<String, u64>,
    writes: u64,
}

impl Ending {
    /// Beside the end of a run without faults.
    fn beside(&self, other: &Ending) -> Compared {
        let is_known = |place: &str| {
            let of = |ending: &Ending| ending.kinds.iter().any(|kind| place.starts_with(kind));
            of(self) && of(other)
        };
        let asked_of = |ending: &Ending| {
            let known = ending.asked.iter().filter(|(key, _)| is_known(key));
            known
                .map(|(key, all)| (key.clone(), *all))
                .collect::<Vec<_>>()
        };
        if asked_of(self) != asked_of(other) {
            return Compared::Otherwise;
        }
        let places: BTreeSet<&String> = self.objects.keys().chain(other.objects.keys()).collect();
        let places: Vec<&String> = places.into_iter().filter(|place| is_known(place)).collect();
        let is_made = |place: &str| self.made.contains(place) || other.made.contains(place);
        let asked = |place: &&&String| !is_made(place);
        if !places
            .iter()
            .filter(asked)
            .all(|place| self.asks_like(other, place))
        {
            return Compared::Otherwise;
        }
        let mut all = places.into_iter();
        let found = all.find_map(|place| self.differs_at(other, place, is_made(place)));
        match found.or_else(|| self.writes_more(other)) {
            None => Compared::Alike,
            Some((object, message)) => Compared::Differs(object, message),
        }
    }

    fn at(&self, place: &str) -> &[Json] {
        self.objects.get(place).map_or(&[], Vec::as_slice)
    }

    /// Have people asked for the same here? What the replicas took away they had asked for.
    fn asks_like(&self, other: &Ending, place: &str) -> bool {
        let count = |ending: &Ending| {
            let taken = ending.taken.get(place).copied().unwrap_or_default();
            ending.at(place).len() as u64 + taken
        };
        let asked = |object: &Json| without(object, &["status", "finalizers"]);
        let mut both = self.at(place).iter().zip(other.at(place));
        count(self) == count(other) && both.all(|(own, other)| asked(own) == asked(other))
    }

    fn differs_at(&self, other: &Ending, place: &str, is_made: bool) -> Option<(String, String)> {
        let (own, theirs) = (self.at(place), other.at(place));
        let object = told(place);
        if own.len() < theirs.len() {
            let message = format!("{object} is not there, and without faults it would be");
            return Some((object, message));
        }
        if own.len() > theirs.len() {
            let message = format!("{object} is there, and without faults it would not be");
            return Some((object, message));
        }
        // The status of what it makes is somebody else's.
        let left: &[&str] = if is_made { &["status"] } else { &[] };
        let mut both = own.iter().zip(theirs);
        let difference = both.find_map(|(own, other)| {
            let (own, other) = (without(own, left), without(other, left));
            first_difference(&own, &other, "")
        });
        let (path, own, theirs) = difference?;
        let message = format!("{path} of {object} is {own}, and without faults {theirs}");
        Some((object, message))
    }

    fn writes_more(&self, other: &Ending) -> Option<(String, String)> {
        if self.writes <= TIMES * other.writes + MORE {
            return None;
        }
        let (own, other) = (self.writes, other.writes);
        let message = format!(
            "it has written {own} times what it makes, and without faults {other} times: more than {TIMES} times as often \
             and {MORE} times besides"
        );
        Some((String::new(), message))
    }
}

/// `configmaps default/shop1-page`
fn told(place: &str) -> String {
    let place = place.strip_prefix("/registry/").unwrap_or(place);
    let parts: Vec<&str> = place.split('/').collect();
    match parts.as_slice() {
        [.., plural, namespace, name] => format!("{plural} {namespace}/{name}"),
        _ => place.replace('/', " "),
    }
}

/// An object without some of its parts.
fn without(object: &Json, parts: &[&str]) -> Json {
    let mut object = object.clone();
    for part in parts {
        if let Some(fields) = object.as_object_mut() {
            fields.remove(*part);
        }
        if let Some(metadata) = object.get_mut("metadata").and_then(Json::as_object_mut) {
            metadata.remove(*part);
        }
    }
    object
}

/// Where two values differ first, and what they are there.
fn first_difference(own: &Json, other: &Json, path: &str) -> Option<(String, String, String)> {
    if own == other {
        return None;
    }
    let below = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    if let (Json::Object(own), Json::Object(other)) = (own, other) {
        let names: BTreeSet<&String> = own.keys().chain(other.keys()).collect();
        let at = |all: &serde_json::Map<String, Json>, name: &str| {
            all.get(name).cloned().unwrap_or_default()
        };
        return names
            .into_iter()
            .find_map(|name| first_difference(&at(own, name), &at(other, name), &below(name)));
    }
    let said = |value: &Json| match value {
        Json::Null => "not said".to_owned(),
        value => value.to_string(),
    };
    let path = if path.is_empty() {
        "what is said"
    } else {
        path
    };
    Some((path.to_owned(), said(own), said(other)))
}
