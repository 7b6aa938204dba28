//! What is promised to users of budgets: `evictions` says what an eviction may take, `taken` which pod, `counts` that what it took does not count any
//! more, `end` what is true once all has been well for a while.
//!
//! A budget bounds evictions only: that pods fail, are deleted or are scaled away is nobody's promise. It bounds them by its
//! status, which may be behind what is; so an eviction is judged by the status that it was let go by, and a status by the
//! evictions that it knew of.

mod counts;
mod end;
mod evictions;
mod scales;
mod taken;

use std::time::Duration;

use wavetank_apiserver::{Evicts, LetGoBy, RefusesEviction};
use wavetank_component::{Entry, PropertyInfo, Spec};
use wavetank_components::promises::reaches;

use super::controller::DELETION_TIMEOUT;
use super::notes::TakesBackDisruption;
use super::{NEEDED, USERS};

/// What others do with pods may wait for expectations, which expire after 5 min; what failed in a storm is tried again a little
/// later than the storm was long.
pub(super) const SETTLES_WITHIN: Duration = Duration::from_secs(5 * 60 + 200);
/// A pod that stays is noted for 2 min, and that it was is taken back a little later.
const CHANGES_SETTLE_WITHIN: Duration = DELETION_TIMEOUT.saturating_add(Duration::from_secs(60));

/// Somebody has to use budgets, and to run pods.
const USED: [Entry; 4] = [
    Entry::new("topology", USERS, "2"),
    Entry::new("workload", "use-budgets", "{every: 2s}"),
    Entry::new("topology", "pod-runners", "1"),
    Entry::new("workload", "run-pods", "{every: 500ms}"),
];

pub(super) fn all() -> Vec<PropertyInfo> {
    let mut all = of_evictions();
    all.extend(of_the_end());
    all.extend(reached());
    all
}

fn of_evictions() -> Vec<PropertyInfo> {
    let all = vec![
        PropertyInfo::new(
            "evictions-spend-budgets",
            "each eviction that a budget lets go takes one disruption of those that it allowed when it was last written, notes \
             its pod, forgets none, and goes by a status that is about the newest spec",
            NEEDED,
            |_| Box::new(evictions::EvictionsSpendBudgets::default()),
        ),
        PropertyInfo::new(
            "evictions-outlast-conflicts",
            "no eviction is refused because somebody else wrote its budget at the same time",
            NEEDED,
            |_| Box::new(evictions::evictions_outlast_conflicts()),
        ),
        PropertyInfo::new(
            "ready-pods-do-not-go-for-nothing",
            "no pod is evicted past its budget for not being ready that has become ready",
            NEEDED,
            |_| Box::new(evictions::ReadyPodsDoNotGoForNothing::default()),
        ),
        PropertyInfo::new(
            "evictions-take-the-pod-they-read",
            "no pod that is ready and guarded by a budget is evicted without asking it because it has the name of one that was \
             read before",
            NEEDED,
            |_| Box::new(taken::EvictionsTakeThePodTheyRead::default()),
        ),
        PropertyInfo::new(
            "evicted-pods-do-not-count",
            "no controller counts a pod as healthy that its budget has let go before, within 2 min; what another controller \
             has seen go, and this one has not, is left out",
            NEEDED,
            |_| Box::new(counts::EvictedPodsDoNotCount::default()),
        ),
    ];
    all.into_iter().map(|own| own.tested_by(&USED)).collect()
}

fn of_the_end() -> Vec<PropertyInfo> {
    let all = vec![
        PropertyInfo::new(
            "budgets-say-what-is",
            "some time after calm the status of each budget says how many pods there should be, how many are to be healthy \
             and are, and how many may go, or that its sync has failed; not asked where something changed late",
            NEEDED,
            |settled| Box::new(end::BudgetsSayWhatIs::after(settled)),
        ),
        PropertyInfo::new(
            "noted-pods-go",
            "some time after calm no budget whose sync has not failed notes a pod as about to go for much longer than 2 min",
            NEEDED,
            |settled| Box::new(end::noted_pods_go(settled)),
        ),
        PropertyInfo::new(
            "stale-disruptions-go",
            "some time after calm no pod says for much longer than 2 min that it is about to go, unless it does",
            NEEDED,
            |settled| Box::new(end::stale_disruptions_go(settled)),
        ),
    ];
    let mut all: Vec<PropertyInfo> = all.into_iter().map(|own| own.tested_by(&USED)).collect();
    all.push(PropertyInfo::new(
        "budgets-are-quiet",
        "some time after calm the disruption controller writes nothing any more, but a few times after a change that comes late",
        NEEDED,
        |settled| Box::new(end::budgets_are_quiet(settled)),
    ));
    all
}

fn reached() -> Vec<PropertyInfo> {
    let users = |spec: &Spec| spec.count(USERS) > 0;
    let all = [
        reaches(
            "eviction-was-granted",
            "a budget let a pod go",
            NEEDED,
            |_, note| {
                let evicts = note.body.get::<Evicts>();
                evicts.is_some_and(|own| matches!(own.by, LetGoBy::Budget { .. }))
            },
        ),
        reaches(
            "eviction-was-refused",
            "a budget did not let a pod go",
            NEEDED,
            |_, note| {
                let refuses = note.body.get::<RefusesEviction>();
                refuses.is_some_and(|own| own.code == 429)
            },
        ),
        reaches(
            "unready-pod-was-evicted",
            "a pod was evicted past its budget, as it was not ready",
            NEEDED,
            |_, note| {
                let evicts = note.body.get::<Evicts>();
                evicts.is_some_and(|own| own.by == LetGoBy::Unready)
            },
        ),
        reaches(
            "disruption-was-taken-back",
            "a pod that was to be evicted and stayed does not say so any more",
            NEEDED,
            |_, note| note.body.get::<TakesBackDisruption>().is_some(),
        ),
    ];
    all.map(|own| own.fits(users)).into()
}
