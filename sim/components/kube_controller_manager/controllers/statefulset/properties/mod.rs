//! What is promised to users of StatefulSets: `own_view` says what a controller may act on, `pods` which pods it makes and
//! deletes, `partition` which of them it holds back, `end` what is true once all has been well for a while, `history` how many
//! revisions are kept then and `left_claims` which claims.

mod end;
mod history;
mod left_claims;
mod own_view;
mod partition;
mod pods;

use crate::pods_were_seen::PodsWereSeen;
use std::time::Duration;

use wavetank_component::{Entry, PropertyInfo, Spec};
use wavetank_engine::Reached;

use super::NEEDED;
use super::notes::{DeletesPod, GaveClaim, MadePod, Why};
use wavetank_components::promises::always;

/// What failed in a storm is tried again a little later than the storm was long; then pods end, are bound, become ready and
/// available, one after another, four of them.
pub(super) const SETTLES_WITHIN: Duration = Duration::from_secs(300);

/// Somebody has to use sets, and to run their pods.
const USED: [Entry; 4] = [
    Entry::new("topology", "stateful-set-users", "2"),
    Entry::new("workload", "use-stateful-sets", "{every: 3s}"),
    Entry::new("topology", "pod-runners", "1"),
    Entry::new("workload", "run-pods", "{every: 500ms}"),
];

pub(super) fn all() -> Vec<PropertyInfo> {
    let mut all = safe();
    all.extend(stable());
    all.extend(reached());
    all
}

fn safe() -> Vec<PropertyInfo> {
    vec![
        PropertyInfo::new(
            "stateful-sets-know-their-pods",
            "no controller updates a StatefulSet while it does not see pods that it made for it",
            NEEDED,
            |_| Box::new(own_view::StatefulSetsKnowTheirPods::default()),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "claims-do-not-go-with-others",
            "no controller makes a pod over a claim that goes with a pod before it, to which it gave that claim itself",
            NEEDED,
            |_| Box::new(own_view::ClaimsDoNotGoWithOthers::default()),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "ordered-pods-wait",
            "no pod of an ordered StatefulSet is made before those before it have been ready",
            NEEDED,
            |_| Box::new(pods::OrderedPodsWait::default()),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "deleted-pods-were-seen",
            "no pod of a StatefulSet goes whose deletion nobody asked for who saw it, and not an older one of its name",
            NEEDED,
            |_| Box::new(PodsWereSeen::by(pods::DELETED_PODS_WERE_SEEN)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "unchanged-pods-are-kept",
            "no pod of a StatefulSet is replaced by one of the same template",
            NEEDED,
            |_| Box::new(always("unchanged-pods-are-kept", pods::has_changed)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "partitions-hold-pods-back",
            "a pod below the partition that a StatefulSet has always had is made as the set was when its status first named a \
             revision; not where the set had no replicas meanwhile",
            NEEDED,
            |_| Box::new(partition::PartitionsHoldPodsBack::default()),
        ),
        PropertyInfo::new(
            "stateful-status-is-valid",
            "no status of a StatefulSet is refused because it is invalid",
            NEEDED,
            |_| Box::new(always("stateful-status-is-valid", pods::status_is_valid)),
        )
        .tested_by(&USED),
    ]
}

fn stable() -> Vec<PropertyInfo> {
    vec![
        PropertyInfo::new(
            "stateful-sets-are-met",
            "some time after calm each StatefulSet has the pods and claims that it asks for, and its status says so; \
             not one whose pods can never be ready",
            NEEDED,
            |settled| Box::new(end::stateful_sets_are_met(settled)),
        ),
        PropertyInfo::new(
            "stateful-sets-have-pods",
            "some time after calm each StatefulSet that asks for pods has the first of them, ready or not",
            NEEDED,
            |settled| Box::new(end::stateful_sets_have_pods(settled)),
        ),
        PropertyInfo::new(
            "stateful-history-is-limited",
            "some time after calm each StatefulSet has no more old revisions than `revisionHistoryLimit`, of those that its \
             controller saw when it last synced it",
            NEEDED,
            |settled| Box::new(history::StatefulHistoryIsLimited::new(settled)),
        ),
        PropertyInfo::new(
            "claims-follow-their-policy",
            "some time after calm each claim of a pod of a StatefulSet has the owners that persistentVolumeClaimRetentionPolicy asks for, \
             whether the pod is ready or not",
            NEEDED,
            |settled| Box::new(end::claims_follow_their_policy(settled)),
        ),
        PropertyInfo::new(
            "claims-of-scaled-sets-go",
            "some time after calm no claim is left of a pod that a StatefulSet had and does not ask for any more, if `whenScaled` \
             has always been `Delete`",
            NEEDED,
            |settled| Box::new(left_claims::ClaimsOfScaledSetsGo::new(settled)),
        ),
        PropertyInfo::new(
            "stateful-sets-are-quiet",
            "some time after calm no StatefulSet that has what it asks for is synced again",
            NEEDED,
            |settled| Box::new(end::stateful_sets_are_quiet(settled)),
        ),
    ]
}

fn reached() -> Vec<PropertyInfo> {
    let users = |spec: &Spec| spec.count(super::USERS) > 0;
    let made = PropertyInfo::new(
        "stateful-pod-was-made",
        "the controller made a pod of a StatefulSet",
        NEEDED,
        |_| {
            Box::new(Reached {
                name: "stateful-pod-was-made",
                here: |_, note| note.body.get::<MadePod>().is_some(),
            })
        },
    );
    let replaced = PropertyInfo::new(
        "stateful-pod-was-replaced",
        "the controller asked for the deletion of a pod, to make it of another revision",
        NEEDED,
        |_| {
            Box::new(Reached {
                name: "stateful-pod-was-replaced",
                here: |_, note| {
                    let deletes = note.body.get::<DeletesPod>();
                    deletes.is_some_and(|deletes| deletes.why == Why::Update)
                },
            })
        },
    );
    let given = PropertyInfo::new(
        "claim-was-given",
        "the controller gave a claim to a pod, with which it goes",
        NEEDED,
        |_| {
            Box::new(Reached {
                name: "claim-was-given",
                here: |_, note| {
                    let given = note.body.get::<GaveClaim>();
                    given.is_some_and(|given| given.to.is_some())
                },
            })
        },
    );
    [made, replaced, given].map(|own| own.fits(users)).into()
}
