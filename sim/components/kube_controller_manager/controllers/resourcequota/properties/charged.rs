//! What is admitted is what quotas allow.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use wavetank_api::kinds::RESOURCE_QUOTAS;
use wavetank_api::quota::{Evaluator, ResourceList, ResourceQuota};
use wavetank_api::{Object, Resource, Stamp, Stored};
use wavetank_apiserver::Admitted;
use wavetank_engine::{Always, Check, Note, Property, World};
use wavetank_etcd::{Change, Committed};

use wavetank_components::promises::{always, violated};
use wavetank_components::view::ClusterView;

pub(super) fn quota_refusals_stand() -> Always {
    always("quota-refusals-stand", |_, note| {
        let Some(admitted) = note.body.get::<Admitted>() else {
            return Check::Idle;
        };
        if admitted.refused_by.is_empty() {
            return Check::Held;
        }
        let message = format!(
            "{} is admitted, although a quota has refused it",
            admitted.object
        );
        violated("object", &admitted.object, message)
    })
}

/// The UID of an object.
type Uid = Arc<str>;

/// What is known of quotas and objects, by their UIDs.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct QuotaIsNotOverrun {
    /// To which quotas an object was charged.
    charged: BTreeMap<Uid, BTreeSet<Uid>>,
    /// The most that a quota has ever allowed, as an object shows it.
    allowed: BTreeMap<Uid, Vec<Object>>,
    /// Objects that were made while there was a quota, and not charged to it.
    uncharged: BTreeMap<Uid, BTreeSet<Uid>>,
}

/// The resource of a change of what is stored.
pub(super) fn resource_of(change: &Change<Object>) -> Option<&'static Resource> {
    let mut all = Resource::ALL.into_iter();
    all.find(|own| own.has_key(&change.key))
}

fn quota_of(object: &Object) -> ResourceQuota {
    ResourceQuota::of(&Stored {
        object: object.clone(),
        resource_version: 0,
    })
}

/// Objects of a quota's namespace of this resource.
fn objects<'a>(
    world: &'a World,
    resource: &Resource,
    namespace: &'a str,
) -> impl Iterator<Item = &'a Object> {
    let all = ClusterView(world).all(resource.registry).into_iter();
    // Who is on its way out may end to count at any moment.
    all.filter(move |own| own.namespace() == namespace && !own.is_being_deleted())
}

impl QuotaIsNotOverrun {
    fn changed(&mut self, world: &World, change: &Change<Object>) -> Check {
        let Some(resource) = resource_of(change) else {
            return Check::Idle;
        };
        let now = change.now.as_ref().map(|kv| &kv.value);
        if *resource == RESOURCE_QUOTAS {
            if let Some(quota) = now {
                self.allows(quota);
            }
            return Check::Idle;
        }
        match (&change.before, now) {
            (None, Some(made)) => self.made(world, resource, made),
            _ => Check::Idle,
        }
    }

    /// A quota says what it allows.
    fn allows(&mut self, quota: &Object) {
        let known = self.allowed.entry(quota.uid().into()).or_default();
        let hard = |own: &Object| ResourceList::of(own.json(), &["spec", "hard"]);
        let is_new = known
            .last()
            .is_none_or(|last| !hard(last).equals(&hard(quota)));
        if is_new {
            known.push(quota.clone());
        }
    }

    /// An object was made.
    fn made(&mut self, world: &World, resource: &'static Resource, made: &Object) -> Check {
        let Some(evaluator) = Evaluator::of(resource) else {
            return Check::Idle;
        };
        let charged = self.charged.remove(made.uid()).unwrap_or_default();
        let mut checked = Check::Idle;
        for quota in objects(world, &RESOURCE_QUOTAS, made.namespace()) {
            if !evaluator.matches(&by_spec(quota), made.json()) {
                continue;
            }
            if !charged.contains(quota.uid()) {
                let own = self.uncharged.entry(quota.uid().into()).or_default();
                own.insert(made.uid().into());
                continue;
            }
            checked = Check::Held;
            if let Some(message) = self.overrun(world, &evaluator, quota) {
                return violated("quota", quota.name(), message);
            }
        }
        checked
    }

    /// What is used that no quota of this UID has ever allowed.
    fn overrun(&self, world: &World, evaluator: &Evaluator, quota: &Object) -> Option<String> {
        let now = Stamp::of(world.now());
        let uncharged = self.uncharged.get(quota.uid());
        let bound = by_spec(quota);
        let counted = objects(world, evaluator.resource(), quota.namespace()).filter(|own| {
            let is_charged = uncharged.is_none_or(|all| !all.contains(own.uid()));
            is_charged && evaluator.matches(&bound, own.json())
        });
        let used = counted.fold(ResourceList::default(), |used, own| {
            used.add(&evaluator.usage(own.json(), now))
        });
        let allowed = self.allowed.get(quota.uid())?;
        let fits = |own: &Object| {
            used.exceeding(&ResourceList::of(own.json(), &["spec", "hard"]))
                .is_empty()
        };
        if allowed.iter().any(fits) {
            return None;
        }
        let hard = ResourceList::of(quota.json(), &["spec", "hard"]);
        let used = used.mask(&hard.names());
        Some(format!(
            "{} is used, and the quota {} allows {}",
            used.pretty_print(),
            quota.name(),
            hard.pretty_print()
        ))
    }
}

/// A quota as it binds once its status says what its spec does.
fn by_spec(quota: &Object) -> ResourceQuota {
    ResourceQuota {
        hard: ResourceList::of(quota.json(), &["spec", "hard"]),
        ..quota_of(quota)
    }
}

impl Property for QuotaIsNotOverrun {
    fn name(&self) -> &'static str {
        "quota-is-not-overrun"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let concerns = note.body.get::<Admitted>().is_some()
            || note
                .body
                .get::<Committed<Object>>()
                .is_some_and(|commit| !commit.changes.is_empty());
        (!concerns).then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(admitted) = note.body.get::<Admitted>() {
            let charged = admitted.charged.iter().cloned().collect();
            self.charged.insert(admitted.uid.clone(), charged);
            return Check::Idle;
        }
        let Some(commit) = note.body.get::<Committed<Object>>() else {
            return Check::Idle;
        };
        let mut checked = Check::Idle;
        for change in commit.changes.iter() {
            match self.changed(world, change) {
                Check::Idle => {}
                other => checked = other,
            }
            if matches!(checked, Check::Violated(_)) {
                break;
            }
        }
        checked
    }
}
