//! In which order a namespace is emptied: what guards its pods, as NetworkPolicies do, outlives them (KEP-5080).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use wavetank_api::kinds::PODS;
use wavetank_component::PropertyInfo;
use wavetank_components::changes::all_changes;
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;
use wavetank_engine::{Check, Note, Property, World};
use wavetank_etcd::Keys;

use super::notes::DeletesOthers;
use super::properties::{USED, namespace_of};
use super::{NEEDED, USERS};

pub(super) fn all() -> Vec<PropertyInfo> {
    vec![
        PropertyInfo::new(
            "pods-of-a-namespace-go-first",
            "the controller of namespaces deletes nothing else of a namespace while pods are in it that were there when its deletion \
             began",
            NEEDED,
            |_| Box::new(PodsGoFirst::default()),
        )
        .tested_by(&USED)
        .fits(|spec| spec.count(USERS) > 0),
    ]
}

/// The pods in a namespace, by their UIDs.
fn pods(world: &World, namespace: &str) -> BTreeSet<Arc<str>> {
    let own = Keys::Prefix(format!("{}/{namespace}/", PODS.registry).into());
    let all = ClusterView(world).store().iter(&own);
    all.map(|kv| kv.value.uid().into()).collect()
}

/// The pods that were in each namespace when its deletion began. (Later a server may still let one in whose informer lags.)
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct PodsGoFirst {
    had: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
}

impl PodsGoFirst {
    fn goes_on(&self, world: &World, namespace: &str) -> Check {
        let Some(had) = self.had.get(namespace) else {
            return Check::Idle;
        };
        match had.intersection(&pods(world, namespace)).count() {
            0 => Check::Held,
            left => {
                let message =
                    format!("all else in {namespace} is deleted, and {left} of its pods are there");
                violated("namespace", namespace, message)
            }
        }
    }
}

impl Property for PodsGoFirst {
    fn name(&self) -> &'static str {
        "pods-of-a-namespace-go-first"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        for change in all_changes(note) {
            let Some(name) = namespace_of(change) else {
                continue;
            };
            match &change.now {
                Some(now) if now.value.is_being_deleted() => {
                    let had = || pods(world, name);
                    self.had.entry(name.into()).or_insert_with(had);
                }
                Some(_) => {}
                None => drop(self.had.remove(name)),
            }
        }
        self.glance(world, note).unwrap_or(Check::Idle)
    }

    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        if let Some(DeletesOthers { namespace }) = note.body.get() {
            return Some(self.goes_on(world, namespace));
        }
        let mut all = all_changes(note).iter().filter_map(namespace_of);
        all.next().is_none().then_some(Check::Idle)
    }
}
