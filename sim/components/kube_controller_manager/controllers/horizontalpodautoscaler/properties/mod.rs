//! What is promised to users of autoscalers: `decisions` says what a decision may be by itself, `load` that nobody scales up
//! without load, `remembered` what one leader holds to from one decision to the next, `pace` how often it looks, `end` what is
//! true once all has been well for a while.

mod decisions;
mod end;
mod load;
mod pace;
mod remembered;

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::Json;
use wavetank_component::{Entry, PropertyInfo, Spec};
use wavetank_components::metrics_servers;
use wavetank_components::promises::reaches;
use wavetank_engine::{Note, ProcId, World};

use super::notes::{Decides, IsAmbiguous, Rescales};
use super::{NEEDED, USERS};

/// For 5 min after it was seen first nothing is scaled down; then one of eight pods may come or go each 60 s; then two minutes for
/// looks and pods.
pub(super) const SETTLES_WITHIN: Duration = Duration::from_secs(5 * 60 + 8 * 60 + 120);

/// Somebody has to use autoscalers, to run pods, and to measure them.
const USED: [Entry; 5] = [
    Entry::new("topology", USERS, "2"),
    Entry::new("workload", "use-autoscalers", "{every: 3s}"),
    Entry::new("topology", metrics_servers::NAME, "1"),
    Entry::new("topology", "pod-runners", "1"),
    Entry::new("workload", "run-pods", "{every: 1s}"),
];

/// What a leader remembers of an autoscaler, by its UID: it is of one life of one process.
type Remembered = (ProcId, u32, Arc<str>);

fn remembered(world: &World, note: &Note, uid: &Arc<str>) -> Remembered {
    let life = world.incarnation(note.process);
    (note.process, life, uid.clone())
}

/// The specification that a decision goes by.
fn spec_of(decides: &Decides) -> Json {
    serde_json::from_str(&decides.spec).unwrap_or_default()
}

fn is_measured(spec: &Spec) -> bool {
    spec.count(metrics_servers::NAME) > 0
}

pub(super) fn all() -> Vec<PropertyInfo> {
    let mut all = of_decisions();
    all.extend(of_the_end());
    all.extend(reached());
    all
}

fn of_decisions() -> Vec<PropertyInfo> {
    let all = vec![
        PropertyInfo::new(
            "autoscalers-keep-their-bounds",
            "no autoscaler scales below its minimum or above its maximum",
            NEEDED,
            |_| Box::new(decisions::autoscalers_keep_their_bounds()),
        ),
        PropertyInfo::new(
            "scale-downs-know-all-metrics",
            "no autoscaler asks for fewer replicas while one of its metrics cannot be had",
            NEEDED,
            |_| Box::new(decisions::scale_downs_know_all_metrics()),
        ),
        PropertyInfo::new(
            "missing-pods-are-not-let-go",
            "an autoscaler that asks for fewer replicas keeps as many as there are pods of which it does not know what they use",
            NEEDED,
            |_| Box::new(decisions::missing_pods_are_not_let_go()),
        ),
        PropertyInfo::new(
            "windows-only-hold-back",
            "an autoscaler with a behavior scales up only if its metrics ask for more replicas than there are",
            NEEDED,
            |_| Box::new(decisions::windows_only_hold_back()),
        ),
        PropertyInfo::new(
            "zero-turns-autoscaling-off",
            "what somebody has scaled to zero stays there until somebody scales it up by hand",
            NEEDED,
            |_| Box::new(decisions::zero_turns_autoscaling_off()),
        ),
        PropertyInfo::new(
            "scale-ups-are-for-load",
            "metrics do not ask for more replicas than the load did that was measured",
            NEEDED,
            |_| Box::new(load::ScaleUpsAreForLoad::default()),
        ),
        PropertyInfo::new(
            "scale-downs-are-stabilized",
            "a leader scales down to no less than metrics asked for within the window of an autoscaler, and not at all before the \
             window is over since it saw the autoscaler first",
            NEEDED,
            |_| Box::new(remembered::ScaleDownsAreStabilized::default()),
        ),
        PropertyInfo::new(
            "scaling-policies-are-kept",
            "a leader scales as far as the policies of an autoscaler let it, and no farther",
            NEEDED,
            |_| Box::new(remembered::ScalingPoliciesAreKept::default()),
        ),
        PropertyInfo::new(
            "autoscalers-are-looked-at-in-time",
            "a leader looks at an autoscaler no three times within 15 s, and some time after calm every 15 s",
            NEEDED,
            |settled| Box::new(pace::LooksInTime::after(settled)),
        ),
    ];
    all.into_iter().map(|own| own.tested_by(&USED)).collect()
}

fn of_the_end() -> Vec<PropertyInfo> {
    vec![
        PropertyInfo::new(
            "replicas-fit-the-load",
            "some time after calm what one autoscaler scales has as many replicas as its load asks for, within bounds and \
             tolerance",
            NEEDED,
            |settled| Box::new(end::replicas_fit_the_load(settled)),
        )
        .fits(is_measured),
        PropertyInfo::new(
            "shared-pods-are-left-alone",
            "some time after calm nothing is scaled for which there are several autoscalers",
            NEEDED,
            |settled| Box::new(end::shared_pods_are_left_alone(settled)),
        ),
        PropertyInfo::new(
            "autoscalers-say-what-is",
            "some time after calm the status of each autoscaler says how many replicas there are, whether it can scale, and that \
             others select the same pods",
            NEEDED,
            |settled| Box::new(end::autoscalers_say_what_is(settled)),
        ),
        PropertyInfo::new(
            "autoscalers-are-quiet",
            "some time after calm no autoscaler scales or writes its status any more, but a few times after a change that comes \
             late",
            NEEDED,
            |settled| Box::new(end::autoscalers_are_quiet(settled)),
        ),
    ]
}

fn decides(note: &Note, test: fn(&Decides) -> bool) -> bool {
    note.body.get().is_some_and(test)
}

fn rescales(note: &Note, test: fn(&Rescales) -> bool) -> bool {
    note.body.get().is_some_and(test)
}

fn reached() -> Vec<PropertyInfo> {
    let users = |spec: &Spec| spec.count(USERS) > 0 && is_measured(spec);
    let all = [
        reaches(
            "autoscaler-scaled-up",
            "an autoscaler scaled up",
            NEEDED,
            |_, note| rescales(note, |own| own.to > own.from),
        ),
        reaches(
            "autoscaler-scaled-down",
            "an autoscaler scaled down",
            NEEDED,
            |_, note| rescales(note, |own| own.to < own.from),
        ),
        reaches(
            "scale-down-was-held-back",
            "an autoscaler kept what its metrics had asked for before",
            NEEDED,
            |_, note| decides(note, |own| own.stabilized > own.asked),
        ),
        reaches(
            "scaling-was-limited",
            "an autoscaler scaled less than it was asked for",
            NEEDED,
            |_, note| decides(note, |own| own.stabilized != own.desired),
        ),
        reaches(
            "pods-were-not-measured",
            "of some pods it was not known what they use",
            NEEDED,
            |_, note| decides(note, |own| own.missing > 0),
        ),
        reaches(
            "shared-pods-were-found",
            "several autoscalers were found to select the same pods",
            NEEDED,
            |_, note| note.body.get::<IsAmbiguous>().is_some(),
        ),
    ];
    all.map(|own| own.fits(users)).into()
}
