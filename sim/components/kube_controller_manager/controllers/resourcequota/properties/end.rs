//! What quotas say once all has been well for a while.

use std::time::Duration;

use wavetank_api::kinds::RESOURCE_QUOTAS;
use wavetank_api::quota::{Evaluator, ResourceList, calculate_usage};
use wavetank_api::{Json, Object, Resource, Stamp};
use wavetank_engine::{Check, Stable, World};

use super::super::CONTROLLER;
use crate::kube_controller_manager::somebody_runs;
use crate::promises::violated;
use crate::view::ClusterView;

pub(super) fn quota_usage_converges(after: Duration) -> Stable {
    let holds = |world: &World| {
        if !somebody_runs(world, CONTROLLER) {
            return Check::Idle;
        }
        for quota in ClusterView(world).all(RESOURCE_QUOTAS.registry) {
            if let Some(wrong) = wrong(world, quota) {
                return violated("quota", quota.name(), wrong);
            }
        }
        Check::Held
    };
    Stable::new("quota-usage-converges", after, |_, _| Check::Idle, holds)
}

/// What is wrong with what a quota says.
fn wrong(world: &World, quota: &Object) -> Option<String> {
    let list = |path: [&str; 2]| ResourceList::of(quota.json(), &path);
    let (hard, says) = (list(["spec", "hard"]), list(["status", "hard"]));
    if !hard.equals(&says) {
        return Some(format!(
            "it allows {}, and says that it allows {}",
            hard.pretty_print(),
            says.pretty_print()
        ));
    }
    let namespace = quota.namespace();
    let of = |resource: &'static Resource| {
        let own = ClusterView(world).all(resource.registry).into_iter();
        let own = own.filter(|own| own.namespace() == namespace);
        let own: Vec<&Json> = own.map(Object::json).collect();
        Some((Evaluator::of(resource)?, Some(own)))
    };
    let all: Vec<_> = Resource::ALL.iter().copied().filter_map(of).collect();
    let is = calculate_usage(quota.json(), &all, Stamp::of(world.now()));
    let used = list(["status", "used"]);
    (!is.equals(&used)).then(|| {
        format!(
            "{} is used, and it says {}",
            is.pretty_print(),
            used.pretty_print()
        )
    })
}
