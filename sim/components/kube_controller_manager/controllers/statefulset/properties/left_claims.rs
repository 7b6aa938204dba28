//! Which claims are left when a set is scaled down.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::Object;
use wavetank_api::json::Json;
use wavetank_api::kinds::{PERSISTENT_VOLUME_CLAIMS, PODS, STATEFUL_SETS};
use wavetank_engine::{Check, Note, Property, World};

use super::super::claims::deletes_when_scaled;
use super::super::left_claims::{is_left, pod_of_claim};
use super::super::util::{is_terminating, namespace, uid};
use super::end::EACH;
use wavetank_components::changes::changes;
use wavetank_components::view::ClusterView;

/// None, where `whenScaled` has been `Delete` as long as the set was there. What was retained by another policy is not asked about.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct ClaimsOfScaledSetsGo {
    after: Duration,
    /// The UIDs of sets that have had another policy.
    retained: BTreeSet<Arc<str>>,
}

impl ClaimsOfScaledSetsGo {
    pub fn new(after: Duration) -> ClaimsOfScaledSetsGo {
        ClaimsOfScaledSetsGo {
            after,
            retained: BTreeSet::new(),
        }
    }

    fn judge(&self, world: &World, set: &Json) -> Option<Result<(), String>> {
        if is_terminating(set) || !deletes_when_scaled(set) || self.retained.contains(uid(set)) {
            return None;
        }
        let view = ClusterView(world);
        let has_pod = |claim: &Object| {
            let pod = pod_of_claim(set, claim).map(|pod| PODS.key(namespace(set), &pod));
            pod.is_some_and(|pod| view.get(&pod).is_some())
        };
        let claims = view.all(PERSISTENT_VOLUME_CLAIMS.registry);
        let mut left = claims.into_iter();
        let left = left.find(|claim| is_left(set, claim) && !has_pod(claim));
        Some(match left {
            Some(claim) => Err(format!(
                "leaves the claim {} of a pod that it does not ask for any more",
                claim.name()
            )),
            None => Ok(()),
        })
    }
}

impl Property for ClaimsOfScaledSetsGo {
    fn name(&self) -> &'static str {
        "claims-of-scaled-sets-go"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        changes(note, &STATEFUL_SETS)
            .next()
            .is_none()
            .then_some(Check::Idle)
    }

    fn note(&mut self, _: &World, note: &Note) -> Check {
        for change in changes(note, &STATEFUL_SETS) {
            let set = change.now.as_ref().map(|now| &now.value);
            if let Some(set) = set.filter(|set| !deletes_when_scaled(set.json())) {
                self.retained.insert(set.uid().into());
            }
        }
        Check::Idle
    }

    fn calm(&mut self, _: &World) -> Option<Duration> {
        Some(self.after)
    }

    fn deadline(&mut self, world: &World) -> Check {
        EACH.is_met(world, |set| self.judge(world, set.json()))
    }
}
