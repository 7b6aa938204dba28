//! What is promised of namespaces that go. A server admits objects by what its informer of namespaces shows: one that lags
//! for more than 5 s makes objects in a namespace that is emptied, or gone (k/k#36891). Upstream has made that rare and does
//! not promise that it never happens, so it is counted. What was there before the deletion began has to go.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::kinds::NAMESPACES;
use wavetank_api::{Object, json};
use wavetank_component::{Entry, PropertyInfo, Spec};
use wavetank_engine::{Check, Class, Note, Property, Reached, Stable, World};
use wavetank_etcd::{Change, Keys};

use super::notes::Finalizes;
use super::ordered;
use super::{CONTROLLER, NEEDED, USERS};
use crate::somebody_runs;
use wavetank_components::changes::all_changes;
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;

/// What failed is tried again after 60 s at most; a grace period, and the estimate of a pod, come on top.
pub(super) const SETTLES_WITHIN: Duration = Duration::from_secs(60 + 5 + 30 + 60);

pub(super) const USED: [Entry; 2] = [
    Entry::new("topology", USERS, "2"),
    Entry::new("workload", "use-namespaces", "{every: 2s}"),
];

pub(super) fn all() -> Vec<PropertyInfo> {
    let users = |spec: &Spec| spec.count(USERS) > 0;
    let mut all = vec![
        PropertyInfo::new(
            "namespace-takes-its-content",
            "a namespace goes after all that was in it when its deletion began",
            NEEDED,
            |_| Box::new(NamespaceTakesItsContent::default()),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "nothing-is-made-in-a-gone-namespace",
            "no object is made in a namespace that was there and is gone",
            NEEDED,
            |_| Box::new(NothingIsMadeInAGoneNamespace::default()),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "namespaces-end",
            "some time after calm no namespace is being deleted but for those in which a finalizer keeps something",
            NEEDED,
            |settled| Box::new(namespaces_end(settled)),
        ),
        PropertyInfo::new("namespace-ended", "a namespace was let go", NEEDED, |_| {
            Box::new(Reached {
                name: "namespace-ended",
                here: |_, note| note.body.get::<Finalizes>().is_some(),
            })
        })
        .fits(users),
    ];
    all.extend(ordered::all());
    all
}

/// The name of the namespace that a change is of.
pub(super) fn namespace_of(change: &Change<Object>) -> Option<&str> {
    change
        .key
        .strip_prefix(NAMESPACES.registry)?
        .strip_prefix('/')
}

/// All objects in a namespace, by their UIDs.
fn content(world: &World, namespace: &str) -> BTreeSet<Arc<str>> {
    let everything = Keys::Prefix("/".into());
    let all = ClusterView(world).store().iter(&everything);
    let all = all.map(|kv| &kv.value);
    let own = all.filter(|own| own.namespace() == namespace && !own.uid().is_empty());
    own.map(|own| own.uid().into()).collect()
}

/// What was in each namespace when its deletion began.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct NamespaceTakesItsContent {
    had: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
}

impl Property for NamespaceTakesItsContent {
    fn name(&self) -> &'static str {
        "namespace-takes-its-content"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let mut checked = Check::Idle;
        for change in all_changes(note) {
            let Some(name) = namespace_of(change) else {
                continue;
            };
            match &change.now {
                Some(now) if now.value.is_being_deleted() => {
                    let had = || content(world, name);
                    self.had.entry(name.into()).or_insert_with(had);
                }
                Some(_) => {}
                None => {
                    let had = self.had.remove(name).unwrap_or_default();
                    let left = content(world, name);
                    if let Some(uid) = had.intersection(&left).next() {
                        let message = format!("{name} goes, and {uid} in it stays");
                        return violated("namespace", name, message);
                    }
                    checked = Check::Held;
                }
            }
        }
        checked
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let mut all = all_changes(note).iter().filter_map(namespace_of);
        all.next().is_none().then_some(Check::Idle)
    }
}

/// The namespaces that are gone.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct NothingIsMadeInAGoneNamespace {
    gone: BTreeSet<Arc<str>>,
}

impl Property for NothingIsMadeInAGoneNamespace {
    fn name(&self) -> &'static str {
        "nothing-is-made-in-a-gone-namespace"
    }

    fn class(&self) -> Class {
        Class::Observation
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        for change in all_changes(note) {
            if let Some(name) = namespace_of(change) {
                match change.now {
                    None => self.gone.insert(name.into()),
                    Some(_) => self.gone.remove(name),
                };
            }
        }
        self.glance(world, note).unwrap_or(Check::Idle)
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let mut checked = Check::Idle;
        for change in all_changes(note) {
            if let Some(name) = namespace_of(change)
                && change.now.is_none() != self.gone.contains(name)
            {
                return None;
            }
            let (None, Some(now)) = (&change.before, &change.now) else {
                continue;
            };
            let (namespace, name) = (now.value.namespace(), now.value.name());
            if self.gone.contains(namespace) {
                let message = format!("{name} is made in {namespace}, which is gone");
                return Some(violated("namespace", namespace, message));
            }
            if !namespace.is_empty() {
                checked = Check::Held;
            }
        }
        Some(checked)
    }
}

fn namespaces_end(after: Duration) -> Stable {
    let holds = |world: &World| {
        if !somebody_runs(world, CONTROLLER) {
            return Check::Idle;
        }
        let everything = Keys::Prefix("/".into());
        let all = || {
            ClusterView(world)
                .store()
                .iter(&everything)
                .map(|kv| &kv.value)
        };
        let namespaces = Keys::Prefix(format!("{}/", NAMESPACES.registry).into());
        for kv in ClusterView(world).store().iter(&namespaces) {
            let name = kv.value.name();
            let is_kept = all().any(|own| {
                let finalizers = json::list(own.json(), &["metadata", "finalizers"]);
                own.namespace() == name && !finalizers.is_empty()
            });
            if kv.value.is_being_deleted() && !is_kept {
                let message = format!("{name} is still being deleted, and nothing keeps it");
                return violated("namespace", name, message);
            }
        }
        Check::Held
    };
    Stable::new("namespaces-end", after, |_, _| Check::Idle, holds)
}
