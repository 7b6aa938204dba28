use proptest::prelude::*;
use wavetank_api::Body;
use wavetank_api::decode::{FieldValidation, Reading};
use wavetank_api::patch::{self, PatchKind};

use super::merge::bare;
use super::*;

fn pod(policy: &str) -> Object {
    Object::new(json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": "default", "uid": "uid"},
        "spec": {"restartPolicy": policy, "containers": [{"name": "main"}]},
    }))
}

fn condition(kind: &str, status: &str) -> Json {
    json!({"type": kind, "status": status, "lastTransitionTime": "2000-01-01T00:00:00Z"})
}

fn merge(pod: &Object, old: &Json, new: &Json, could_run: bool) -> Json {
    merge_pod_status(Set::NONE, pod, old, new, could_run, "2000-01-01T00:09:00Z")
}

#[test]
fn a_disruption_is_told_with_the_end() {
    let (old, mut new) = (json!({"phase": "Running"}), json!({"phase": "Failed"}));
    new["conditions"] = json!([condition("DisruptionTarget", "True")]);
    let of = |status: &Json| pod::condition(status, "DisruptionTarget").cloned();
    assert_eq!(of(&merge(&pod("Never"), &old, &new, true)), None);
    let told = of(&merge(&pod("Never"), &old, &new, false)).expect("it is told");
    assert_eq!(told["lastTransitionTime"], "2000-01-01T00:09:00Z");
}

#[test]
fn a_terminal_phase_waits_until_nothing_can_run() {
    let (old, new) = (
        json!({"phase": "Running"}),
        json!({"phase": "Failed", "reason": "Why"}),
    );
    let waits = merge(&pod("Never"), &old, &new, true);
    assert_eq!(phase(&waits), "Running");
    assert!(waits.get("reason").is_none());
    let goes = merge(&pod("Never"), &old, &new, false);
    assert_eq!(phase(&goes), "Failed");
    let ended = merge(&pod("Never"), &new, &new, true);
    assert_eq!(phase(&ended), "Failed");
}

#[test]
fn conditions_of_others_stay_and_no_ended_pod_is_ready() {
    let old = json!({"phase": "Running", "conditions": [condition("Theirs", "True"), condition("Ready", "False")]});
    let new = json!({"phase": "Succeeded", "conditions": [
        condition("Theirs", "False"),
        condition("Ready", "True"),
        condition("ContainersReady", "True"),
    ]});
    let merged = merge(&pod("Never"), &old, &new, false);
    let of = |kind| pod::condition(&merged, kind).expect("it is there").clone();
    assert_eq!(of("Theirs"), condition("Theirs", "True"));
    for kind in ["Ready", "ContainersReady"] {
        assert_eq!(of(kind)["status"], "False");
        assert_eq!(of(kind)["reason"], "PodCompleted");
    }
}

#[test]
fn a_version_follows_where_something_has_changed_or_is_to_be_written() {
    let own = pod("Always");
    let running = json!({"phase": "Running", "conditions": [condition("Ready", "True")]});
    let next = |cached: Option<&Versioned>, status: &Json, force| {
        let now = "2000-01-01T00:01:00Z";
        {
            let shown = pod::status(&own);
            let flags = Flags {
                force,
                is_finished: force,
                ..Flags::default()
            };
            next_version(
                Set::NONE,
                &own,
                shown,
                cached.cloned(),
                status.clone(),
                now,
                flags,
            )
        }
    };
    let first = next(None, &running, false).expect("it is new");
    assert_eq!((first.version, first.is_finished), (1, false));
    assert_eq!(first.status.json()["startTime"], "2000-01-01T00:01:00Z");
    assert_eq!(next(Some(&first), &running, false), None);
    let forced = next(Some(&first), &running, true).expect("it has to");
    assert_eq!((forced.version, forced.is_finished), (2, true));
    let failed = json!({"phase": "Failed"});
    let later = next(Some(&forced), &failed, false).expect("it has changed");
    assert_eq!((later.version, later.is_finished), (3, true));
}

#[test]
fn a_condition_keeps_its_time_while_its_status_stays() {
    let old =
        json!({"conditions": [condition("Ready", "True"), condition("ContainersReady", "True")]});
    let mut new =
        json!({"conditions": [condition("Ready", "True"), condition("ContainersReady", "False")]});
    update_last_transition_times(&mut new, &old, "2000-01-01T00:05:00Z");
    let of = |kind| pod::condition(&new, kind).expect("it is there")["lastTransitionTime"].clone();
    assert_eq!(of("Ready"), "2000-01-01T00:00:00Z");
    assert_eq!(of("ContainersReady"), "2000-01-01T00:05:00Z");
}

#[test]
fn a_container_that_has_ended_for_good_does_not_run_again() {
    let of = |state: Json| json!({"containerStatuses": [{"name": "main", "state": state}]});
    let running = of(json!({"running": {}}));
    let ended = |code: i64| of(json!({"terminated": {"exitCode": code}}));
    let may = |policy, old: &Json, new: &Json| {
        check_container_state_transition(Set::NONE, &pod(policy), old, new)
    };
    assert!(!may("Never", &ended(1), &running));
    assert!(!may("OnFailure", &ended(0), &running));
    assert!(may("OnFailure", &ended(1), &running));
    assert!(may("Always", &ended(0), &running));
    assert!(may("Never", &ended(1), &ended(0)));
}

fn a_status() -> impl Strategy<Value = Json> {
    let phase = prop_oneof![Just("Pending"), Just("Running"), Just("Failed")];
    let conditions = prop::sample::subsequence(vec!["Ready", "ContainersReady", "Initialized"], 3);
    let conditions = (conditions, any::<[bool; 3]>()).prop_map(|(kinds, all)| {
        let all = kinds.iter().zip(all);
        let all = all.map(|(kind, own)| condition(kind, if own { "True" } else { "False" }));
        all.collect::<Vec<Json>>()
    });
    let address = prop::option::of(prop_oneof![Just("10.64.1.2"), Just("10.64.1.3")]);
    let reason = prop::option::of(prop_oneof![Just("Evicted"), Just("DeadlineExceeded")]);
    let restarts = prop::option::of(0_i64..3);
    (phase, conditions, address, reason, restarts).prop_map(
        |(phase, conditions, address, reason, restarts)| {
            let mut own = json!({"phase": phase, "conditions": conditions});
            if let Some(address) = address {
                own["podIP"] = address.into();
                own["podIPs"] = json!([{"ip": address}]);
            }
            if let Some(reason) = reason {
                own["reason"] = reason.into();
            }
            if let Some(restarts) = restarts {
                own["containerStatuses"] = json!([{
                    "name": "main", "image": "image:1", "imageID": "", "ready": false,
                    "restartCount": restarts, "state": {"waiting": {}}, "lastState": {},
                }]);
            }
            own
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// A server that applies the patch has the status that is told.
    #[test]
    fn a_patch_makes_the_new_status_of_the_old(old in a_status(), new in a_status()) {
        // Nobody takes the statuses of containers back.
        prop_assume!(old.get("containerStatuses").is_none() || new.get("containerStatuses").is_some());
        let mut current = pod("Always").json().clone();
        current["status"] = old.clone();
        let body = json!({"status": patch_of_status(&old, &new)});
        let body = Body::Json(Arc::new(body));
        let reading = Reading::newest(FieldValidation::Ignore);
        let applied = patch::apply(PatchKind::Strategic, &current, &body, &PODS, reading);
        let (applied, _) = applied.expect("it applies");
        let own = pod::status(&Object::new(applied)).clone();
        prop_assert_eq!(phase(&own), phase(&new));
        for field in ["podIP", "reason"] {
            prop_assert_eq!(json::text(&own, &[field]), json::text(&new, &[field]));
        }
        for list in ["podIPs", "containerStatuses", "conditions"] {
            let bare_list = |own: &Json| json::list(own, &[list]).iter().map(bare).collect::<Vec<Json>>();
            prop_assert_eq!(bare_list(&own), bare_list(&new));
        }
        prop_assert!(patch_of_status(&new, &new).is_empty());
    }
}
