//! What users of Services may rely on: `end` says what slices list once all has been well for a while, `quiet` that they are left
//! alone then. What every controller of slices is held to is in `endpoint_utils`.

mod end;
mod quiet;

use std::time::Duration;

use wavetank_component::{Entry, PropertyInfo, Spec};
use wavetank_engine::Reached;

use super::controller::MANAGER;
use super::{NEEDED, USERS};
use crate::endpoint_utils::notes::Finalizes;
use crate::endpoint_utils::{OwnSlicesAreKnown, SlicesThatAreGoneAreNotAwaited};

/// What failed in a storm is tried again a little later than the storm was long (1 s, doubled up to 128 s).
pub(super) const SETTLES_WITHIN: Duration = Duration::from_secs(5 * 60);

/// Somebody has to use Services, and to register the node of their pods.
const USED: [Entry; 3] = [
    Entry::new("topology", USERS, "2"),
    Entry::new("topology", "nodes", "1"),
    Entry::new("workload", "use-services", "{every: 5s}"),
];

pub(super) fn all() -> Vec<PropertyInfo> {
    let users = |spec: &Spec| spec.count(USERS) > 0;
    vec![
        PropertyInfo::new(
            "slices-list-the-pods",
            "some time after calm the EndpointSlices of each Service that selects pods belong to it, list each of those that \
             run once, and say which are ready, which serve and which go",
            NEEDED,
            |settled| Box::new(end::slices_list_the_pods(settled)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "own-slices-are-known",
            "the controller reconciles a Service only if it has seen the slices that it made, updated and deleted itself",
            NEEDED,
            |_| Box::new(OwnSlicesAreKnown::new("own-slices-are-known", MANAGER)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "slices-that-are-gone-are-not-awaited",
            "the controller does not wait until its cache shows a slice if it was told that the slice is gone or somebody else's",
            NEEDED,
            |_| {
                let name = "slices-that-are-gone-are-not-awaited";
                Box::new(SlicesThatAreGoneAreNotAwaited::new(name, MANAGER))
            },
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "slices-are-quiet",
            "some time after calm the controller writes no EndpointSlices any more, but a few times after a change that comes late",
            NEEDED,
            |settled| Box::new(quiet::slices_are_quiet(settled)),
        ),
        PropertyInfo::new(
            "slices-were-written",
            "the controller found a Service whose EndpointSlices were not as they should be",
            NEEDED,
            |_| Box::new(slices_were_written()),
        )
        .fits(users),
    ]
}

fn slices_were_written() -> Reached {
    Reached {
        name: "slices-were-written",
        here: |_, note| {
            let told = note.body.get::<Finalizes>();
            told.is_some_and(|own| {
                own.manager == MANAGER && own.create + own.update + own.delete > 0
            })
        },
    }
}
