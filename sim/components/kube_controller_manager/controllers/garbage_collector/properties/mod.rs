//! What is promised to owners and dependents: `deletions` says who may be deleted, `waiting` what owners wait for, `end`
//! what is true once all has been well for a while.
//!
//! Informers may be late, and so the graph may lack dependents: an owner goes without having waited for them, and they go
//! with it although it was to leave them alone. Upstream promises no more. So what owners wait for is judged by what the
//! process that lets them go has been shown.

mod deletions;
mod end;
mod waiting;

use std::time::Duration;

use wavetank_component::{Entry, PropertyInfo, Spec};
use wavetank_engine::Reached;

use super::notes::{EndsForeground, EndsOrphaning, Releases};
use super::{NEEDED, USERS};
use wavetank_components::promises::always;

/// What failed in a storm is tried again a little later than the storm was long; an informer that stood still has begun
/// anew after that.
pub(super) const SETTLES_WITHIN: Duration = Duration::from_secs(300);

/// Somebody has to use owners.
const USED: [Entry; 2] = [
    Entry::new("topology", USERS, "2"),
    Entry::new("workload", "use-owners", "{every: 2s}"),
];

pub(super) fn all() -> Vec<PropertyInfo> {
    let users = |spec: &Spec| spec.count(USERS) > 0;
    vec![
        PropertyInfo::new(
            "owned-objects-stay",
            "the garbage collector deletes no object of which an owner is there that has not been deleted in the foreground",
            NEEDED,
            |_| Box::new(deletions::OwnedObjectsStay::default()),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "foreground-waits",
            "an owner that is deleted in the foreground goes after all dependents that block it, as far as its collector \
             has been shown them",
            NEEDED,
            |_| Box::new(waiting::ForegroundWaits::default()),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "orphans-are-released",
            "an owner that orphans its dependents goes after none of those that its collector knows refers to it",
            NEEDED,
            |_| Box::new(waiting::OrphansAreReleased::default()),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "finalizers-go-from-their-owner",
            "when the garbage collector is done with the dependents of an owner it takes the finalizer from that object, and from no other \
             of its name",
            NEEDED,
            |_| {
                Box::new(always(
                    "finalizers-go-from-their-owner",
                    waiting::is_of_owner,
                ))
            },
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "graph-keeps-what-is-there",
            "the garbage collector takes no object for gone that an informer has shown to it and that is there",
            NEEDED,
            |_| Box::new(always("graph-keeps-what-is-there", waiting::is_gone)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "unowned-objects-go",
            "some time after calm there is no object whose owners are all gone",
            NEEDED,
            |settled| Box::new(end::unowned_objects_go(settled)),
        ),
        PropertyInfo::new(
            "owners-go",
            "some time after calm no owner waits for its dependents any more, unless an apiserver broke off the deletion of one",
            NEEDED,
            |settled| Box::new(end::owners_go(settled)),
        ),
        PropertyInfo::new(
            "collector-is-quiet",
            "some time after calm the garbage collector changes nothing and looks at nothing any more, unless a late request has \
             changed something",
            NEEDED,
            |settled| Box::new(end::collector_is_quiet(settled)),
        ),
        PropertyInfo::new(
            "object-was-collected",
            "an object went because its owners had gone",
            NEEDED,
            |_| {
                Box::new(Reached {
                    name: "object-was-collected",
                    here: |_, note| note.body.get::<super::notes::Deletes>().is_some(),
                })
            },
        )
        .fits(users),
        PropertyInfo::new(
            "foreground-deletion-ended",
            "an owner went after its dependents",
            NEEDED,
            |_| {
                Box::new(Reached {
                    name: "foreground-deletion-ended",
                    here: |_, note| note.body.get::<EndsForeground>().is_some(),
                })
            },
        )
        .fits(users),
        PropertyInfo::new(
            "dependents-were-orphaned",
            "an owner went without its dependents",
            NEEDED,
            |_| {
                Box::new(Reached {
                    name: "dependents-were-orphaned",
                    here: |_, note| note.body.get::<EndsOrphaning>().is_some(),
                })
            },
        )
        .fits(users),
        PropertyInfo::new(
            "owner-was-taken-away",
            "an object that has an owner lost another",
            NEEDED,
            |_| {
                Box::new(Reached {
                    name: "owner-was-taken-away",
                    here: |_, note| note.body.get::<Releases>().is_some(),
                })
            },
        )
        .fits(users),
    ]
}
