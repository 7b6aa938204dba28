//! What is promised to those who use quotas. `charged` is about what apiservers admit, `end` what is true once all has been
//! well for a while.
//!
//! A quota does not bind at once: a server hears of it from its informer. What was made without being charged is nobody's
//! promise, and is left out of what a quota may hold.

mod charged;
mod end;

use std::time::Duration;

use wavetank_apiserver::Admitted;
use wavetank_component::{Entry, PropertyInfo, Spec};
use wavetank_engine::Reached;

use super::notes::Counts;
use super::{NEEDED, USERS};

/// What was charged in vain is given back when all is counted again, every 5 min, and where counts wait for charges 2 min
/// after the last of these.
const GIVEN_BACK_WITHIN: Duration = Duration::from_secs(5 * 60 + 120);
/// What failed in a storm is tried again a little later than the storm was long.
const TRIED_AGAIN_WITHIN: Duration = Duration::from_secs(180);
pub(super) const SETTLES_WITHIN: Duration = GIVEN_BACK_WITHIN.saturating_add(TRIED_AGAIN_WITHIN);

/// Somebody has to use quotas, and apiservers have to charge to them.
const USED: [Entry; 3] = [
    Entry::new("topology", USERS, "2"),
    Entry::new("workload", "use-quotas", "{every: 500ms}"),
    Entry::new("options", "enable-admission-plugins", "[ResourceQuota]"),
];

pub(super) fn all() -> Vec<PropertyInfo> {
    let mut all = vec![
        PropertyInfo::new(
            "quota-is-not-overrun",
            "no object is stored that was charged to a quota and with which more is used than that has ever allowed; what was \
             made without being charged does not count",
            NEEDED,
            |_| Box::new(charged::QuotaIsNotOverrun::default()),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "quota-refusals-stand",
            "no object is admitted that a quota has refused when it was last asked",
            NEEDED,
            |_| Box::new(charged::quota_refusals_stand()),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "quota-usage-converges",
            "some time after calm each quota says what it allows, and how much of that is used; not asked where a request came \
             late",
            NEEDED,
            |settled| Box::new(end::QuotaUsageConverges::after(settled)),
        ),
        PropertyInfo::new(
            "quotas-bind",
            "3 min after calm the status of each quota says what it allows: until it does, a quota binds nobody",
            NEEDED,
            |_| Box::new(end::quotas_bind(TRIED_AGAIN_WITHIN)),
        ),
    ];
    let users = |spec: &Spec| spec.count(USERS) > 0;
    let charged = PropertyInfo::new(
        "object-was-charged",
        "an object was admitted and charged to a quota",
        NEEDED,
        |_| {
            Box::new(Reached {
                name: "object-was-charged",
                here: |_, note| {
                    let admitted = note.body.get::<Admitted>();
                    admitted.is_some_and(|own| !own.charged.is_empty())
                },
            })
        },
    );
    let counted = PropertyInfo::new(
        "quota-was-counted",
        "the controller has counted what is used of a quota, and written that",
        NEEDED,
        |_| {
            Box::new(Reached {
                name: "quota-was-counted",
                here: |_, note| note.body.get::<Counts>().is_some(),
            })
        },
    );
    all.extend([charged, counted].map(|own| own.fits(users)));
    all
}
