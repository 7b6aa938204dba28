use proptest::prelude::*;
use serde_json::json;

use super::*;

fn uid() -> Uid {
    "uid".into()
}

fn pod(phase: &str, deletion: Option<i64>, grace: i64) -> Object {
    let mut own = json!({
        "metadata": {"name": "a", "namespace": "default", "uid": "uid"},
        "spec": {"terminationGracePeriodSeconds": grace},
        "status": {"phase": phase},
    });
    if let Some(seconds) = deletion {
        own["metadata"]["deletionTimestamp"] = "2000-01-01T00:00:00Z".into();
        own["metadata"]["deletionGracePeriodSeconds"] = seconds.into();
    }
    Object::new(own)
}

fn update(own: &mut PodWorkers, kind: UpdateType, pod: &Object) -> Told {
    own.update_pod(&uid(), Update::of(kind, pod), false, false)
}

fn state(own: &PodWorkers) -> WorkerState {
    own.statuses[&uid()].work_type()
}

#[test]
fn a_pod_that_terminates_is_not_made_anew_until_its_worker_is_gone() {
    let mut own = PodWorkers::default();
    let running = pod("Running", None, 30);
    assert!(matches!(
        update(&mut own, UpdateType::Create, &running),
        Told::Pending { is_new: true, .. }
    ));
    update(&mut own, UpdateType::Kill, &running);
    assert_eq!(state(&own), WorkerState::Terminating);
    let told = update(&mut own, UpdateType::Create, &running);
    assert_eq!(told, Told::Nothing);
    assert!(own.statuses[&uid()].restart_requested);
    let (removed, ..) = own.remove_terminated_worker(&uid(), false);
    assert!(!removed, "it has not ended");
}

#[test]
fn a_pod_that_has_ended_before_is_told_so_once_more() {
    let ended = pod("Failed", None, 30);
    for finished in [false, true] {
        let mut own = PodWorkers::default();
        let create = Update::of(UpdateType::Create, &ended);
        let told = own.update_pod(&uid(), create, true, finished);
        assert_eq!(state(&own), WorkerState::Terminated);
        assert_eq!(told == Told::Nothing, finished);
    }
}

#[test]
fn an_orphan_that_never_began_goes_at_once() {
    let mut own = PodWorkers::default();
    update(&mut own, UpdateType::Create, &pod("Pending", None, 30));
    let (removed, told, _) = own.remove_terminated_worker(&uid(), true);
    assert!(removed && told.is_none());

    update(&mut own, UpdateType::Create, &pod("Pending", None, 30));
    assert!(matches!(
        own.start_pod_sync(&uid(), Set::NONE),
        Started::Work(..)
    ));
    let (removed, told, _) = own.remove_terminated_worker(&uid(), true);
    assert!(!removed && told.is_some(), "it is to be stopped first");
    assert_eq!(state(&own), WorkerState::Terminating);
}

/// What happens to a pod.
#[derive(Clone, Debug)]
enum Event {
    Update(UpdateType, &'static str, Option<i64>),
    Begins,
    HasTerminated,
}

fn event() -> impl Strategy<Value = Event> {
    let kind = prop_oneof![
        Just(UpdateType::Create),
        Just(UpdateType::Update),
        Just(UpdateType::Sync),
        Just(UpdateType::Kill),
    ];
    let phase = prop_oneof![3 => Just("Running"), 1 => Just("Failed")];
    let deletion = prop_oneof![2 => Just(None), 1 => (0_i64..60).prop_map(Some)];
    prop_oneof![
        4 => (kind, phase, deletion).prop_map(|(kind, phase, deletion)| Event::Update(kind, phase, deletion)),
        2 => Just(Event::Begins),
        1 => Just(Event::HasTerminated),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// A worker goes from syncing through terminating to terminated and never back, and its grace period never grows.
    #[test]
    fn a_worker_never_goes_back(grace in 0_i64..60, events in prop::collection::vec(event(), 1..20)) {
        let rank = |own: &PodWorkers| own.statuses.get(&uid()).map_or(0, |own| match own.work_type() {
            WorkerState::Syncing => 0,
            WorkerState::Terminating => 1,
            WorkerState::Terminated => 2,
        });
        let period = |own: &PodWorkers| own.statuses.get(&uid()).map_or(0, |own| own.grace_period);
        let mut own = PodWorkers::default();
        for event in events {
            let (was, had) = (rank(&own), period(&own));
            match event {
                Event::Update(kind, phase, deletion) => {
                    update(&mut own, kind, &pod(phase, deletion, grace));
                }
                Event::Begins => {
                    own.start_pod_sync(&uid(), Set::NONE);
                }
                Event::HasTerminated => {
                    for status in own.statuses.values_mut().filter(|own| own.terminating) {
                        status.terminated = true;
                    }
                }
            }
            prop_assert!(rank(&own) >= was);
            prop_assert!(had == 0 || (1..=had).contains(&period(&own)));
            prop_assert_eq!(period(&own) == 0, rank(&own) == 0);
        }
    }
}
