//! What quotas say once all has been well for a while. A request that was held up may be charged even then, in vain perhaps:
//! that is given back when all is counted again. Where something came so late, nothing is asked.

use std::time::Duration;

use wavetank_api::kinds::RESOURCE_QUOTAS;
use wavetank_api::quota::{Evaluator, ResourceList, calculate_usage};
use wavetank_api::{Json, Object, Resource, Stamp};
use wavetank_apiserver::Admitted;
use wavetank_engine::{Check, Note, Property, Stable, Time, World};
use wavetank_etcd::Change;

use super::super::CONTROLLER;
use super::GIVEN_BACK_WITHIN;
use super::charged::resource_of;
use crate::somebody_runs;
use wavetank_components::changes::all_changes;
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;

/// Quotas say what is used of them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct QuotaUsageConverges {
    after: Duration,
    /// When the last object was charged or changed, or what a quota allows.
    last: Option<Time>,
}

impl QuotaUsageConverges {
    pub(super) fn after(after: Duration) -> QuotaUsageConverges {
        QuotaUsageConverges { after, last: None }
    }
}

/// Does it change what is used, or what may be? What the controller writes does not.
fn matters(change: &Change<Object>) -> bool {
    let [before, now] = [&change.before, &change.now].map(|kv| kv.as_ref().map(|kv| &kv.value));
    match resource_of(change) {
        Some(own) if *own == RESOURCE_QUOTAS => {
            let hard = |own: &Object| ResourceList::of(own.json(), &["spec", "hard"]);
            before.map(hard) != now.map(hard)
        }
        Some(own) => {
            own.namespaced && Evaluator::of(own).is_some() && before.is_some() != now.is_some()
        }
        None => false,
    }
}

impl Property for QuotaUsageConverges {
    fn name(&self) -> &'static str {
        "quota-usage-converges"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let concerns =
            note.body.get::<Admitted>().is_some() || all_changes(note).iter().any(matters);
        (!concerns).then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if self.glance(world, note).is_none() {
            self.last = Some(world.now());
        }
        Check::Idle
    }

    fn calm(&mut self, _: &World) -> Option<Duration> {
        Some(self.after)
    }

    fn deadline(&mut self, world: &World) -> Check {
        let is_late = self
            .last
            .is_some_and(|last| last + GIVEN_BACK_WITHIN > world.now());
        if is_late || !somebody_runs(world, CONTROLLER) {
            return Check::Idle;
        }
        for quota in ClusterView(world).all(RESOURCE_QUOTAS.registry) {
            if let Some(wrong) = wrong(world, quota) {
                return violated("quota", quota.name(), wrong);
            }
        }
        Check::Held
    }
}

/// Why a quota does not bind as its spec says: apiservers go by its status.
fn does_not_bind(quota: &Object) -> Option<String> {
    let list = |path: [&str; 2]| ResourceList::of(quota.json(), &path);
    let (hard, says) = (list(["spec", "hard"]), list(["status", "hard"]));
    (!hard.equals(&says)).then(|| {
        let says = match says.pretty_print() {
            nothing if nothing.is_empty() => "nothing".to_owned(),
            says => says,
        };
        format!(
            "it allows {}, and its status says {says}",
            hard.pretty_print()
        )
    })
}

fn all_bind(world: &World) -> Check {
    if !somebody_runs(world, CONTROLLER) {
        return Check::Idle;
    }
    let quotas = ClusterView(world).all(RESOURCE_QUOTAS.registry);
    let mut checked = Check::Idle;
    for quota in quotas {
        if let Some(wrong) = does_not_bind(quota) {
            return violated("quota", quota.name(), wrong);
        }
        checked = Check::Held;
    }
    checked
}

/// Quotas bind.
pub(super) fn quotas_bind(after: Duration) -> Stable {
    Stable::new("quotas-bind", after, |_, _| Check::Idle, all_bind)
}

/// What is wrong with what a quota says.
fn wrong(world: &World, quota: &Object) -> Option<String> {
    if let Some(wrong) = does_not_bind(quota) {
        return Some(wrong);
    }
    let namespace = quota.namespace();
    let of = |resource: &'static Resource| {
        let own = ClusterView(world).all(resource.registry).into_iter();
        let own = own.filter(|own| own.namespace() == namespace);
        let own: Vec<&Json> = own.map(Object::json).collect();
        Some((Evaluator::of(resource)?, Some(own)))
    };
    let all: Vec<_> = Resource::ALL.into_iter().filter_map(of).collect();
    let is = calculate_usage(quota.json(), &all, Stamp::of(world.now()));
    let used = ResourceList::of(quota.json(), &["status", "used"]);
    (!is.equals(&used)).then(|| {
        let (is, used) = (is.pretty_print(), used.pretty_print());
        format!("{is} is used, and its status says {used}")
    })
}
