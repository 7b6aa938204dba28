//! What is promised of claims. A pod that is scheduled when its claim is already being deleted does not count: a kubelet does
//! not start it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::Object;
use wavetank_api::kinds::{PERSISTENT_VOLUME_CLAIMS, PODS};
use wavetank_client::workqueue::Item;
use wavetank_component::{Entry, PropertyInfo};
use wavetank_engine::{Check, Note, Property, Reached, Stable, World};
use wavetank_etcd::{Change, Keys};

use super::NEEDED;
use super::controller::{CONTROLLER, FINALIZER, LetsClaimGo, pod_uses_pvc_for_deletion};
use crate::controller_utils::pod_key;
use crate::controller_utils::protectionutil::{is_deletion_candidate, is_protected};
use crate::somebody_runs;
use wavetank_components::changes::changes;
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;

/// What failed in a storm is tried again a little later than the storm was long; pods end first.
pub(super) const SETTLES_WITHIN: Duration = Duration::from_secs(300);

/// Somebody has to have claims that go.
const USED: [Entry; 2] = [
    Entry::new("topology", "stateful-set-users", "2"),
    Entry::new("workload", "use-stateful-sets", "{every: 3s}"),
];

pub(super) fn all() -> Vec<PropertyInfo> {
    vec![
        PropertyInfo::new(
            "claims-in-use-stay",
            "no claim goes while a pod uses it that was scheduled before the claim was deleted",
            NEEDED,
            |_| Box::new(ClaimsInUseStay::default()),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "unused-claims-go",
            "some time after calm no claim that is being deleted stays although no pod uses it",
            NEEDED,
            |settled| Box::new(unused_claims_go(settled)),
        ),
        PropertyInfo::new(
            "claim-went",
            "a claim was let go that no pod uses",
            NEEDED,
            |_| {
                Box::new(Reached {
                    name: "claim-went",
                    here: |_, note| note.body.get::<LetsClaimGo>().is_some(),
                })
            },
        ),
    ]
}

/// The UIDs of scheduled pods that use a claim.
fn users(world: &World, claim: &Item) -> BTreeSet<Arc<str>> {
    let prefix = Keys::Prefix(format!("{}/", PODS.registry).into());
    let store = ClusterView(world).store();
    let pods = store.iter(&prefix).map(|kv| &kv.value);
    let own = pods.filter(|pod| pod_uses_pvc_for_deletion(pod, claim));
    own.map(|pod| pod.uid().into()).collect()
}

/// The pods that used claims when these were deleted.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct ClaimsInUseStay {
    used: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
}

fn of_claims(note: &Note) -> impl Iterator<Item = &Change<Object>> {
    changes(note, &PERSISTENT_VOLUME_CLAIMS)
}

impl Property for ClaimsInUseStay {
    fn name(&self) -> &'static str {
        "claims-in-use-stay"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        of_claims(note).next().is_none().then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let mut checked = Check::Idle;
        for change in of_claims(note) {
            let before = change.before.as_ref().map(|kv| &kv.value);
            let now = change.now.as_ref().map(|kv| &kv.value);
            if let Some(now) = now
                && now.is_being_deleted()
                && !before.is_some_and(Object::is_being_deleted)
            {
                self.used
                    .insert(now.uid().into(), users(world, &pod_key(now)));
            }
            let (Some(gone), None) = (before, now) else {
                continue;
            };
            let was_protected = is_protected(gone, FINALIZER) || gone.is_being_deleted();
            let used = self.used.remove(gone.uid()).unwrap_or_default();
            let key = pod_key(gone);
            let still = users(world, &key);
            if was_protected && used.intersection(&still).next().is_some() {
                let message = format!("the claim {key} goes, and a pod uses it");
                return violated("claim", &key, message);
            }
            checked = Check::Held;
        }
        checked
    }
}

fn unused_claims_go(after: Duration) -> Stable {
    let holds = |world: &World| {
        if !somebody_runs(world, CONTROLLER) {
            return Check::Idle;
        }
        let prefix = Keys::Prefix(format!("{}/", PERSISTENT_VOLUME_CLAIMS.registry).into());
        let store = ClusterView(world).store();
        for claim in store.iter(&prefix).map(|kv| &kv.value) {
            let key = pod_key(claim);
            if is_deletion_candidate(claim, FINALIZER) && users(world, &key).is_empty() {
                let message = format!("the claim {key} is being deleted, and no pod uses it");
                return violated("claim", &key, message);
            }
        }
        Check::Held
    };
    Stable::new("unused-claims-go", after, |_, _| Check::Idle, holds)
}
