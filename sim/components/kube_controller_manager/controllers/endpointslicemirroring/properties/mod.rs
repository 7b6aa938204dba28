//! What those who keep Endpoints may rely on: `end` says what slices list, say and belong to once all has been well for a while,
//! `quiet` that they are left alone then. What every controller of slices is held to is in `endpoint_utils`.

mod end;
mod quiet;

use std::time::Duration;

use wavetank_component::{Entry, PropertyInfo, Spec};
use wavetank_engine::{Check, Reached};

use super::controller::MANAGER;
use super::notes::Makes;
use super::{NEEDED, USERS};
use crate::endpoint_utils::notes::{CleansUp, Finalizes};
use crate::endpoint_utils::{OwnSlicesAreKnown, SlicesThatAreGoneAreNotAwaited};
use wavetank_components::promises::{always, violated};

/// What failed in a storm is tried again a little later than the storm was long (1 s, doubled up to 100 s).
pub(super) const SETTLES_WITHIN: Duration = Duration::from_secs(5 * 60);

/// Somebody has to keep Endpoints.
const USED: [Entry; 2] = [
    Entry::new("topology", USERS, "2"),
    Entry::new("workload", "use-endpoints", "{every: 5s}"),
];

pub(super) fn all() -> Vec<PropertyInfo> {
    let users = |spec: &Spec| spec.count(USERS) > 0;
    vec![
        PropertyInfo::new(
            "mirrors-list-the-addresses",
            "some time after calm the slices that mirror Endpoints list each of their addresses once, with its ports, and say whether \
             it is ready; if not all have room, those that are ready come first",
            NEEDED,
            |settled| Box::new(end::mirrors_list_the_addresses(settled)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "mirrors-say-what-endpoints-say",
            "some time after calm the slices that mirror Endpoints have their labels and annotations, but for what is of the Endpoints \
             alone",
            NEEDED,
            |settled| Box::new(end::mirrors_say_what_endpoints_say(settled)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "mirrors-are-of-their-endpoints",
            "some time after calm the slices that mirror Endpoints are owned by these, and not by others that had their name",
            NEEDED,
            |settled| Box::new(end::mirrors_are_of_their_endpoints(settled)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "no-mirrors-are-left",
            "some time after calm there are no slices that mirror Endpoints which are gone, are not to be mirrored, or have no Service \
             without a selector",
            NEEDED,
            |settled| Box::new(end::no_mirrors_are_left(settled)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "own-mirrors-are-known",
            "the controller mirrors Endpoints only if it has seen the slices that it made, updated and deleted for them",
            NEEDED,
            |_| Box::new(OwnSlicesAreKnown::new("own-mirrors-are-known", MANAGER)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "mirrors-that-are-gone-are-not-awaited",
            "the controller does not wait until its cache shows a mirrored slice if it was told that the slice is gone or somebody \
             else's",
            NEEDED,
            |_| {
                let name = "mirrors-that-are-gone-are-not-awaited";
                Box::new(SlicesThatAreGoneAreNotAwaited::new(name, MANAGER))
            },
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "new-mirrors-have-new-names",
            "the controller makes no slice under the name of one that it has seen: an apiserver gives new ones a name",
            NEEDED,
            |_| Box::new(new_mirrors_have_new_names()),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "mirrors-are-quiet",
            "some time after calm the controller writes and deletes no mirrored slices any more, but a few times after a change that \
             comes late",
            NEEDED,
            |settled| Box::new(quiet::mirrors_are_quiet(settled)),
        ),
        PropertyInfo::new(
            "mirrors-were-written",
            "the controller found Endpoints whose slices were not as they should be",
            NEEDED,
            |_| Box::new(mirrors_were_written()),
        )
        .fits(users),
        PropertyInfo::new(
            "mirrors-were-cleaned-up",
            "the controller found slices that mirrored what is not to be mirrored any more",
            NEEDED,
            |_| Box::new(mirrors_were_cleaned_up()),
        )
        .fits(users),
    ]
}

fn new_mirrors_have_new_names() -> wavetank_engine::Always {
    always("new-mirrors-have-new-names", |_, note| {
        let Some(Makes { endpoints, name }) = note.body.get() else {
            return Check::Idle;
        };
        match name {
            None => Check::Held,
            Some(name) => {
                let message = format!(
                    "a slice of {endpoints} is to be made under the name {name}, which is taken"
                );
                violated("endpoints", endpoints, message)
            }
        }
    })
}

fn mirrors_were_written() -> Reached {
    Reached {
        name: "mirrors-were-written",
        here: |_, note| {
            let told = note.body.get::<Finalizes>();
            let writes = |own: &Finalizes| own.create + own.update + own.delete > 0;
            told.is_some_and(|own| own.manager == MANAGER && writes(own))
        },
    }
}

fn mirrors_were_cleaned_up() -> Reached {
    Reached {
        name: "mirrors-were-cleaned-up",
        here: |_, note| {
            let told = note.body.get::<CleansUp>();
            told.is_some_and(|own| own.manager == MANAGER && own.delete > 0)
        },
    }
}
