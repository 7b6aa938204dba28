//! What users of a custom resource may rely on, as etcd and answers show it.

use std::collections::BTreeMap;
use std::time::Duration;

use wavetank_api::apiextensions::CUSTOM_RESOURCE_DEFINITIONS;
use wavetank_api::apiextensions::conditions::is_crd_condition_true;
use wavetank_api::{Json, Object, json};
use wavetank_client::informer::{INFORMERS, Informer};
use wavetank_component::{Entry, PropertyInfo};
use wavetank_engine::{Check, Note, ProcId, Property, Reached, Stable, World};
use wavetank_etcd::{Change, Keys};

use super::NEEDED;
use super::definition::{DEFINITION, THINGS, knows_extra, serves};
use super::own::Own;
use super::users::{Applied, Applying, Looked, User, key};
use crate::changes::all_changes;
use crate::promises::{always, violated};
use crate::view::ClusterView;

/// The finalizer of definitions looks for a minute whether the objects are gone. If they are not, or what it asks for fails, it
/// tries again after a delay that has doubled each time: it is no longer than the trouble has lasted. Where it was overtaken by
/// what it wrote itself, nobody calls it before the resync of 5 minutes; all others have settled by then.
const TRIED_AGAIN_WITHIN: Duration = Duration::from_secs(240);

const APPLIES: [Entry; 2] = [
    Entry::new("workload", "apply-custom-objects", "{every: 2s}"),
    Entry::new("workload", "change-definitions", "{every: 10s}"),
];
const LOOKS: [Entry; 2] = [
    Entry::new("workload", "look-at-custom-objects", "{every: 5s}"),
    Entry::new("workload", "change-definitions", "{every: 10s}"),
];
const WRITES: [Entry; 1] = [Entry::new(
    "workload",
    "write-custom-objects",
    "{every: 2s}",
)];
const DEFINES: [Entry; 1] = [Entry::new("workload", "change-definitions", "{every: 10s}")];

pub(super) fn all() -> Vec<PropertyInfo> {
    vec![
        PropertyInfo::new(
            "applied-fields-stay",
            "no change of a custom object takes away a field that its owner still applies",
            NEEDED,
            |_| Box::new(always("applied-fields-stay", applied_fields_stay)),
        )
        .tested_by(&APPLIES),
        PropertyInfo::new(
            "applied-state-is-reached",
            "some time after calm each custom object has what each of its managers applied last, in whatever order",
            NEEDED,
            |settled| Box::new(AppliedStateIsReached::new(settled)),
        )
        .tested_by(&APPLIES),
        PropertyInfo::new(
            "generation-never-goes-back",
            "no change of a custom object takes its generation back",
            NEEDED,
            |_| Box::new(always("generation-never-goes-back", generation_never_goes_back)),
        )
        .tested_by(&WRITES),
        PropertyInfo::new(
            "deletion-has-one-time",
            "a custom object that is being deleted says the same time of it until it is gone",
            NEEDED,
            |_| Box::new(always("deletion-has-one-time", deletion_has_one_time)),
        )
        .tested_by(&WRITES),
        PropertyInfo::new(
            "reset-fields-have-no-owner",
            "nobody owns a field that is reset when he writes: the status, but by way of the subresource",
            NEEDED,
            |_| Box::new(always("reset-fields-have-no-owner", reset_fields_have_no_owner)),
        )
        .tested_by(&DEFINES),
        PropertyInfo::new(
            "versions-are-served-as-defined",
            "some time after calm each apiserver serves the versions that the definition says, and shows no field that \
             their schemas do not know",
            NEEDED,
            |settled| {
                Box::new(Stable::new(
                    "versions-are-served-as-defined",
                    settled,
                    served_as_defined,
                    |_| Check::Idle,
                ))
            },
        )
        .tested_by(&LOOKS),
        PropertyInfo::new(
            "custom-informers-converge",
            "some time after calm informers of a version that is served hold what etcd does",
            NEEDED,
            |settled| {
                Box::new(Stable::new(
                    "custom-informers-converge",
                    settled,
                    |_, _| Check::Idle,
                    custom_informers_converge,
                ))
            },
        )
        .tested_by(&DEFINES),
        PropertyInfo::new(
            "deleted-definition-leaves-nothing",
            "some time after calm there is no custom object without its definition",
            NEEDED,
            |settled| {
                Box::new(Stable::new(
                    "deleted-definition-leaves-nothing",
                    settled,
                    |_, _| Check::Idle,
                    leaves_nothing,
                ))
            },
        )
        .tested_by(&DEFINES),
        PropertyInfo::new(
            "deleted-definitions-go",
            "some time after calm no definition is being deleted, but for one with an object that a finalizer keeps",
            NEEDED,
            |settled| {
                Box::new(Stable::new(
                    "deleted-definitions-go",
                    settled + TRIED_AGAIN_WITHIN,
                    |_, _| Check::Idle,
                    deleted_definitions_go,
                ))
            },
        )
        .tested_by(&DEFINES),
        PropertyInfo::new(
            "established-is-served",
            "who sees that a definition is established finds it served by any apiserver that is not cut off for long",
            NEEDED,
            |_| Box::new(always("established-is-served", established_is_served)),
        )
        .fits(|_| false),
        PropertyInfo::new(
            "definition-went-with-objects",
            "a definition was deleted whose objects had gone before it",
            NEEDED,
            |_| {
                Box::new(Reached {
                    name: "definition-went-with-objects",
                    here: |_, note| all_changes(note).iter().any(|c| *c.key == *crd_key() && c.now.is_none()),
                })
            },
        ),
        PropertyInfo::new(
            "custom-object-was-applied",
            "a custom object was applied that somebody else manages, too",
            NEEDED,
            |_| {
                Box::new(Reached {
                    name: "custom-object-was-applied",
                    here: |_, note| all_changes(note).iter().any(|c| after(c).is_some_and(|now| fields(now).len() > 1)),
                })
            },
        ),
    ]
}

fn crd_key() -> wavetank_etcd::Key {
    CUSTOM_RESOURCE_DEFINITIONS.key("", DEFINITION)
}

/// The definition, as it is stored.
fn definition(world: &World) -> Option<&Json> {
    let stored = ClusterView(world).get(&crd_key())?;
    Some(stored.value.json())
}

fn is_thing(key: &str) -> bool {
    let rest = key.strip_prefix(THINGS[0].registry);
    rest.is_some_and(|rest| rest.starts_with('/'))
}

/// What a change makes of a custom object.
fn after(change: &Change<Object>) -> Option<&Json> {
    let now = change.now.as_ref().filter(|_| is_thing(&change.key))?;
    Some(now.value.json())
}

/// What managers have applied to an object: in its field, and in its item.
fn fields(thing: &Json) -> BTreeMap<&str, (Option<u64>, Option<u64>)> {
    let mut all: BTreeMap<&str, (Option<u64>, Option<u64>)> = BTreeMap::new();
    let own = json::at(thing, &["spec", "fields"]).and_then(Json::as_object);
    for (manager, value) in own.into_iter().flatten() {
        all.entry(manager).or_default().0 = value.as_u64();
    }
    for item in json::list(thing, &["spec", "items"]) {
        let manager = item["name"].as_str().unwrap_or_default();
        all.entry(manager).or_default().1 = item["value"].as_u64();
    }
    all
}

/// What there is of a manager: both are to have the same value.
fn in_words((field, item): (Option<u64>, Option<u64>)) -> String {
    match (field, item) {
        (None, None) => "neither its field nor its item".to_owned(),
        (Some(field), Some(item)) if field == item => format!("{field} in its field and its item"),
        (Some(field), Some(item)) => format!("{field} in its field and {item} in its item"),
        (Some(field), None) => format!("{field} in its field and no item"),
        (None, Some(item)) => format!("no field and {item} in its item"),
    }
}

/// Judges each update of a custom object: whether that put the property to the test, or what is wrong.
fn updates(note: &Note, judge: impl Fn(&Json, &Json) -> Result<bool, String>) -> Check {
    let mut looked = Check::Idle;
    for change in all_changes(note) {
        let (Some(before), Some(now)) = (change.before.as_ref(), after(change)) else {
            continue;
        };
        let before = before.value.json();
        if json::text(before, &["metadata", "uid"]) != json::text(now, &["metadata", "uid"]) {
            continue;
        }
        match judge(before, now) {
            Ok(true) => looked = Check::Held,
            Ok(false) => {}
            Err(message) => return violated("object", &change.key, message),
        }
    }
    looked
}

/// Nobody gives up a field while the object lives, and nobody else changes it.
fn applied_fields_stay(_: &World, note: &Note) -> Check {
    updates(note, |before, now| {
        let (before, now) = (fields(before), fields(now));
        for (manager, was) in &before {
            let is = now.get(manager).copied().unwrap_or_default();
            let lost = is.0.is_none() || is.1.is_none();
            if lost || is.0 != is.1 {
                let (was, is) = (in_words(*was), in_words(is));
                return Err(format!(
                    "{manager} has applied {was}, and now there is {is}"
                ));
            }
        }
        Ok(!before.is_empty())
    })
}

fn generation_never_goes_back(_: &World, note: &Note) -> Check {
    updates(note, |before, now| {
        let generation = |thing| json::number(thing, &["metadata", "generation"]).unwrap_or(0);
        match (generation(before), generation(now)) {
            (was, is) if is < was => Err(format!("its generation was {was}, and is {is}")),
            _ => Ok(true),
        }
    })
}

fn deletion_has_one_time(_: &World, note: &Note) -> Check {
    updates(note, |before, now| {
        let path = ["metadata", "deletionTimestamp"];
        match (json::text(before, &path), json::text(now, &path)) {
            ("", _) | (_, "") => Ok(false),
            (was, is) if was != is => Err(format!("it began to go at {was}, and then at {is}")),
            _ => Ok(true),
        }
    })
}

/// The definition has a status that only its subresource writes (`GetResetFields`).
fn reset_fields_have_no_owner(_: &World, note: &Note) -> Check {
    let mut looked = Check::Idle;
    for change in all_changes(note) {
        let Some(now) = change.now.as_ref().filter(|_| change.key == crd_key()) else {
            continue;
        };
        for entry in json::list(now.value.json(), &["metadata", "managedFields"]) {
            let is_whole = json::text(entry, &["subresource"]).is_empty();
            if is_whole && json::at(entry, &["fieldsV1", "f:status"]).is_some() {
                let manager = json::text(entry, &["manager"]);
                let message = format!("{manager} owns its status, which he cannot write");
                return violated("definition", DEFINITION, message);
            }
        }
        looked = Check::Held;
    }
    looked
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct AppliedStateIsReached {
    after: Duration,
    all: BTreeMap<(ProcId, String), Own>,
}

impl AppliedStateIsReached {
    fn new(after: Duration) -> AppliedStateIsReached {
        let all = BTreeMap::new();
        AppliedStateIsReached { after, all }
    }
}

impl Property for AppliedStateIsReached {
    fn name(&self) -> &'static str {
        "applied-state-is-reached"
    }

    fn note(&mut self, _: &World, note: &Note) -> Check {
        if let Some(Applying { object, value }) = note.body.get() {
            let own = self.all.entry((note.process, object.clone())).or_default();
            own.asks(*value);
        }
        if let Some(Applied { object, uid, value }) = note.body.get() {
            let own = self.all.entry((note.process, object.clone())).or_default();
            own.has_applied(uid, *value);
        }
        Check::Idle
    }

    fn calm(&mut self, _: &World) -> Option<Duration> {
        Some(self.after)
    }

    fn deadline(&mut self, world: &World) -> Check {
        let view = ClusterView(world);
        let mut looked = Check::Idle;
        for ((user, object), own) in &self.all {
            let (Some((uid, last)), Some(stored)) = (&own.applied, view.get(&key(object))) else {
                continue;
            };
            let thing = stored.value.json();
            if json::text(thing, &["metadata", "uid"]) != uid {
                continue; // another one
            }
            let manager = world.name(*user);
            let is = fields(thing).get(manager).copied().unwrap_or_default();
            let fits = is.0.is_some_and(|is| own.may_be_last(is));
            if !fits || is.0 != is.1 {
                let is = in_words(is);
                let message = format!("{manager} has applied {last}, and there is {is}");
                return violated("object", object, message);
            }
            looked = Check::Held;
        }
        looked
    }
}

/// Is a version served, as the definition says? It is said neither of one that goes, nor of one that is not established.
fn is_served(world: &World, version: &str) -> Option<bool> {
    let Some(crd) = definition(world) else {
        return Some(false);
    };
    let is = |condition| is_crd_condition_true(crd, condition);
    let settled = is("Established") && !is("Terminating");
    settled.then(|| serves(crd, version))
}

fn served_as_defined(world: &World, note: &Note) -> Check {
    let Some(looked) = note.body.get::<Looked>() else {
        return Check::Idle;
    };
    let Some(is_served) = is_served(world, looked.version) else {
        return Check::Idle;
    };
    let server = world.name(looked.server);
    let version = looked.version;
    match (looked.code, is_served) {
        (200, true) | (404, false) => {}
        (200, false) => {
            let message = format!("{server} serves {version}, and the definition does not say so");
            return violated("version", version, message);
        }
        (404, true) => {
            let message = format!("{server} does not know {version}, and the definition says so");
            return violated("version", version, message);
        }
        _ => return Check::Idle,
    }
    let knows = definition(world).is_some_and(|crd| knows_extra(crd, version));
    match &looked.extra {
        Some(object) if !knows => {
            let message = format!("{server} shows a field in {version} that its schema forbids");
            violated("object", object, message)
        }
        _ => Check::Held,
    }
}

fn established_is_served(world: &World, note: &Note) -> Check {
    let looked = note.body.get::<Looked>().filter(|own| own.established);
    let Some(looked) = looked else {
        return Check::Idle;
    };
    match (looked.code, is_served(world, looked.version)) {
        (404, Some(true)) => {
            let server = world.name(looked.server);
            let message = format!("it is established, and {server} does not serve it");
            violated("version", looked.version, message)
        }
        (404, _) => Check::Idle,
        // Also one whose watch cache is not filled yet, which answers 429.
        _ => Check::Held,
    }
}

/// What is stored of it, by the name that stores of informers have for it.
fn stored(world: &World) -> BTreeMap<String, u64> {
    let prefix = Keys::Prefix(format!("{}/", THINGS[0].registry).into());
    let store = ClusterView(world).store();
    let all = store.iter(&prefix).map(|kv| {
        let name = kv.key[THINGS[0].registry.len() + 1..].to_owned();
        (name, kv.mod_revision)
    });
    all.collect()
}

fn custom_informers_converge(world: &World) -> Check {
    let held = stored(world);
    let mut looked = Check::Idle;
    for process in world.processes() {
        if world.process::<User>(process).is_none() || world.is_paused(process) {
            continue;
        }
        let informers = world.cell(process, &INFORMERS);
        for (resource, informer) in THINGS.into_iter().zip(&informers) {
            if is_served(world, resource.version) != Some(true) {
                continue;
            }
            if let Some(message) = wrong(informer, &held) {
                let name = format!("{} {}", world.name(process), resource.version);
                return violated("informer", &name, message);
            }
            looked = Check::Held;
        }
    }
    looked
}

/// Objects with their revisions.
fn listed(all: &BTreeMap<String, u64>) -> String {
    let one = |(name, revision): (&String, &u64)| format!("{name} of revision {revision}");
    match all.is_empty() {
        true => "nothing".to_owned(),
        false => all.iter().map(one).collect::<Vec<_>>().join(", "),
    }
}

fn wrong(informer: &Informer, held: &BTreeMap<String, u64>) -> Option<String> {
    let own: BTreeMap<String, u64> = informer
        .content()
        .iter()
        .map(|(key, revision)| (key.to_string(), *revision))
        .collect();
    (own != *held).then(|| format!("it holds {}, and etcd {}", listed(&own), listed(held)))
}

fn deleted_definitions_go(world: &World) -> Check {
    let Some(crd) = definition(world) else {
        return Check::Held;
    };
    if json::at(crd, &["metadata", "deletionTimestamp"]).is_none() {
        return Check::Held;
    }
    let prefix = Keys::Prefix(format!("{}/", THINGS[0].registry).into());
    let store = ClusterView(world).store();
    let finalizers = ["metadata", "finalizers"];
    let mut kept = store.iter(&prefix).map(|kv| kv.value.json());
    if kept.any(|thing| !json::list(thing, &finalizers).is_empty()) {
        return Check::Idle;
    }
    let message = "it is still being deleted, and nothing keeps it".to_owned();
    violated("definition", DEFINITION, message)
}

fn leaves_nothing(world: &World) -> Check {
    if definition(world).is_some() {
        return Check::Idle;
    }
    match stored(world).keys().next() {
        Some(object) => {
            // In the form of a key, so that its story tells how it went.
            let message = format!(
                "it is stored, and its definition, customresourcedefinitions/{DEFINITION}, is gone"
            );
            violated("object", object, message)
        }
        None => Check::Held,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_there_is_of_a_manager_is_told_in_words() {
        let words = [
            ((None, None), "neither its field nor its item"),
            ((Some(41), Some(41)), "41 in its field and its item"),
            ((Some(41), Some(7)), "41 in its field and 7 in its item"),
            ((Some(41), None), "41 in its field and no item"),
            ((None, Some(7)), "no field and 7 in its item"),
        ];
        for (own, said) in words {
            assert_eq!(in_words(own), said);
        }
        let held = BTreeMap::from([("n/a".to_owned(), 5), ("n/b".to_owned(), 6)]);
        assert_eq!(listed(&held), "n/a of revision 5, n/b of revision 6");
        assert_eq!(listed(&BTreeMap::new()), "nothing");
    }
}
