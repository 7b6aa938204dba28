//! The chain of managers on real kinds.

use serde_json::json;
use wavetank_engine::Time;

use super::*;
use crate::decode::{self, FieldValidation, Reading};
use crate::http::Body;
use crate::json::{self, Json};
use crate::kinds::{CONFIG_MAPS, DEPLOYMENTS, PODS, Resource, SERVICES};
use crate::status::Status;
use crate::strategy::Part;
use crate::times::Stamp;

fn at(seconds: u64) -> Stamp {
    Stamp::of(Time::from_nanos(seconds * 1_000_000_000))
}

/// An object as a request brings it, with its defaults.
fn read(resource: &'static Resource, object: Json) -> Json {
    let body = Body::Json(object.into());
    let read = decode::object(
        &body,
        None,
        resource,
        Reading::newest(FieldValidation::Ignore),
    );
    read.expect("it can be read").0
}

/// As it is when it is stored.
fn stored(mut object: Json) -> Json {
    json::set(&mut object, &["metadata", "uid"], "u");
    object
}

fn of(resource: &'static Resource, seconds: u64) -> FieldManager {
    FieldManager::of(resource, Part::Whole, at(seconds))
}

fn created(resource: &'static Resource, object: Json, manager: &str) -> Json {
    let object = read(resource, object);
    stored(of(resource, 0).update_no_errors(None, object, manager))
}

fn map(data: Json) -> Json {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data})
}

fn entries(object: &Json) -> Vec<(String, String, Json)> {
    let text = |entry: &Json, field| json::text(entry, &[field]).to_owned();
    let all = json::list(object, &["metadata", "managedFields"]).iter();
    all.map(|entry| {
        (
            text(entry, "manager"),
            text(entry, "operation"),
            entry["fieldsV1"].clone(),
        )
    })
    .collect()
}

fn apply(live: &Json, config: Json, manager: &str, force: bool) -> Result<Json, Status> {
    of(&CONFIG_MAPS, 9).apply(Some(live), &config, manager, force)
}

#[test]
fn a_create_is_managed_by_who_sent_it() {
    let made = created(&CONFIG_MAPS, map(json!({"a": "1"})), "m");
    assert_eq!(
        made["metadata"]["managedFields"],
        json!([{"manager": "m", "operation": "Update", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z",
                "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {".": {}, "f:a": {}}}}])
    );
    // Nothing but what is nobody's.
    let bare = created(
        &CONFIG_MAPS,
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}),
        "m",
    );
    assert_eq!(bare["metadata"].get("managedFields"), None);
}

#[test]
fn defaults_are_managed_by_who_made_the_object_and_structs_by_nobody() {
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}},
                 "spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}]}}},
    });
    let made = created(&DEPLOYMENTS, deployment, "");
    let [(manager, _, fields)] = entries(&made).try_into().expect("one entry");
    assert_eq!(manager, "unknown");
    let spec = &fields["f:spec"];
    assert_eq!(
        spec["f:strategy"],
        json!({"f:rollingUpdate": {".": {}, "f:maxSurge": {}, "f:maxUnavailable": {}}, "f:type": {}})
    );
    assert_eq!(spec["f:selector"], json!({}));
    let container = &spec["f:template"]["f:spec"]["f:containers"]["k:{\"name\":\"c\"}"];
    assert_eq!(
        container["f:ports"],
        json!({".": {}, "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}, "f:protocol": {}}})
    );
}

#[test]
fn an_update_takes_what_it_changes_and_its_time_follows() {
    let live = created(&CONFIG_MAPS, map(json!({"a": "1", "b": "1"})), "m");
    let new = read(&CONFIG_MAPS, map(json!({"a": "1", "b": "2"})));
    let new = stored(of(&CONFIG_MAPS, 5).update_no_errors(Some(&live), new, "n"));
    let all = entries(&new);
    assert_eq!(
        all[0],
        (
            "m".to_owned(),
            "Update".to_owned(),
            json!({"f:data": {".": {}, "f:a": {}}})
        )
    );
    assert_eq!(
        all[1],
        (
            "n".to_owned(),
            "Update".to_owned(),
            json!({"f:data": {"f:b": {}}})
        )
    );
    let times = |object: &Json| {
        let all = json::list(object, &["metadata", "managedFields"]).iter();
        all.map(|entry| json::text(entry, &["time"]).to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        times(&new),
        ["2026-01-01T00:00:00Z", "2026-01-01T00:00:05Z"]
    );
    // Who writes what is there already changes nothing.
    let again = of(&CONFIG_MAPS, 7).update_no_errors(Some(&new), new.clone(), "other");
    assert_eq!(again, new);
}

#[test]
fn an_update_that_fits_no_schema_leaves_nobody() {
    let live = created(&CONFIG_MAPS, map(json!({"a": "1"})), "m");
    let mut new = live.clone();
    json::set(&mut new, &["nonsense"], 1);
    let new = of(&CONFIG_MAPS, 5).update_no_errors(Some(&live), new, "n");
    assert_eq!(new["metadata"].get("managedFields"), None);
}

#[test]
fn a_request_may_say_who_manages_but_not_through_a_subresource() {
    let live = created(&CONFIG_MAPS, map(json!({"a": "1"})), "m");
    let mut said = live.clone();
    json::set(&mut said, &["metadata", "managedFields"], json!([{}]));
    assert_eq!(
        entries(&of(&CONFIG_MAPS, 1).update_no_errors(Some(&live), said.clone(), "n")),
        []
    );
    // Nobody manages it from then on, until somebody applies.
    let none = of(&CONFIG_MAPS, 1).update_no_errors(Some(&live), said, "n");
    let mut new = none.clone();
    json::set(&mut new, &["data", "a"], "2");
    assert_eq!(
        entries(&of(&CONFIG_MAPS, 2).update_no_errors(Some(&none), new, "n")),
        []
    );
    let applied = apply(&none, map(json!({"b": "1"})), "x", false).expect("applied");
    let managers: Vec<_> = entries(&applied)
        .into_iter()
        .map(|(manager, ..)| manager)
        .collect();
    assert_eq!(managers, ["x", "before-first-apply"]);

    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
                     "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let live = created(&PODS, pod, "m");
    let mut said = live.clone();
    json::set(&mut said, &["metadata", "managedFields"], json!([{}]));
    json::set(&mut said, &["status", "phase"], "Running");
    let status = FieldManager::of(&PODS, Part::Status, at(3));
    let new = status.update_no_errors(Some(&live), said, "kubelet");
    let [before, (manager, _, fields)] = entries(&new).try_into().expect("two entries");
    assert_eq!(before, entries(&live)[0]);
    assert_eq!(
        (manager.as_str(), fields),
        ("kubelet", json!({"f:status": {"f:phase": {}}}))
    );
    assert_eq!(new["metadata"]["managedFields"][1]["subresource"], "status");
}

#[test]
fn what_is_not_understood_is_taken_from_the_live_object() {
    let live = created(&CONFIG_MAPS, map(json!({"a": "1"})), "m");
    for broken in [
        json!([{"manager": "x", "operation": "Nope", "apiVersion": "v1", "fieldsType": "FieldsV1"}]),
        json!([{"manager": "x", "operation": "Apply", "fieldsType": "FieldsV1"}]),
        json!([{"manager": "x", "operation": "Apply", "apiVersion": "v1"}]),
        json!([{"manager": "x", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV2"}]),
        json!([{"manager": "x", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f": {}}}]),
    ] {
        let mut said = live.clone();
        json::set(&mut said, &["metadata", "managedFields"], broken.clone());
        assert_eq!(
            of(&CONFIG_MAPS, 1).update_no_errors(Some(&live), said.clone(), "n"),
            live,
            "{broken}"
        );
        let refused = apply(&said, map(json!({})), "n", false).expect_err("it is broken");
        assert!(
            refused
                .message
                .starts_with("failed to decode managed fields: "),
            "{refused:?}"
        );
    }
}

#[test]
fn an_apply_creates_merges_and_prunes() {
    let made = of(&CONFIG_MAPS, 0).apply(None, &map(json!({"a": "1", "b": "2"})), "m1", false);
    let made = stored(made.expect("created"));
    assert_eq!(
        entries(&made),
        [(
            "m1".to_owned(),
            "Apply".to_owned(),
            json!({"f:data": {"f:a": {}, "f:b": {}}})
        )]
    );
    let next = apply(&made, map(json!({"a": "1"})), "m1", false).expect("applied");
    assert_eq!(next["data"], json!({"a": "1"}));
    // The same again changes nothing, and no time.
    assert_eq!(
        of(&CONFIG_MAPS, 99).apply(Some(&next), &map(json!({"a": "1"})), "m1", false),
        Ok(next)
    );
}

#[test]
fn a_conflict_says_who_and_where() {
    let live = created(&CONFIG_MAPS, map(json!({"a": "1"})), "updater");
    let refused = apply(&live, map(json!({"a": "2"})), "m", false).expect_err("a conflict");
    assert_eq!((refused.code, refused.reason.name()), (409, "Conflict"));
    assert_eq!(
        refused.message,
        "Apply failed with 1 conflict: conflict with \"updater\" using v1: .data.a"
    );
    let causes = refused.details.expect("it says who").causes;
    assert_eq!(causes[0].field, ".data.a");
    let forced = apply(&live, map(json!({"a": "2"})), "m", true).expect("forced");
    assert_eq!(forced["data"]["a"], "2");
    assert_eq!(
        entries(&forced)[1],
        (
            "updater".to_owned(),
            "Update".to_owned(),
            json!({"f:data": {}})
        )
    );
}

#[test]
fn what_is_no_configuration_of_the_kind_is_refused() {
    let live = created(&CONFIG_MAPS, map(json!({})), "m");
    let mut named = map(json!({}));
    json::set(&mut named, &["metadata", "managedFields"], json!([]));
    for (config, why) in [
        (json!({"data": {}}), "invalid object type: /, Kind="),
        (
            json!({"apiVersion": "apps/v1", "kind": "Other"}),
            "invalid object type: apps/v1, Kind=Other",
        ),
        (named, "metadata.managedFields must be nil"),
        (
            map(json!({"a": 1})),
            "failed to create typed patch object (/c; /v1, Kind=ConfigMap): .data.a: expected string, got \
             &value.valueUnstructured{Value:1}",
        ),
    ] {
        let refused = apply(&live, config, "m", false).expect_err("it is refused");
        assert_eq!(refused.message, why);
    }
}

#[test]
fn more_managers_than_ten_become_one() {
    let mut live = created(&CONFIG_MAPS, map(json!({"k0": "0"})), "m0");
    for n in 1..14_u64 {
        let mut new = live.clone();
        json::set(&mut new, &["data", &format!("k{n}")], "v");
        live = of(&CONFIG_MAPS, n).update_no_errors(Some(&live), new, &format!("m{n}"));
    }
    let all = entries(&live);
    assert_eq!(all.len(), 10);
    let (manager, _, fields) = &all[0];
    assert_eq!(manager, "ancient-changes");
    assert_eq!(
        *fields,
        json!({"f:data": {".": {}, "f:k0": {}, "f:k1": {}, "f:k2": {}, "f:k3": {}, "f:k4": {}}})
    );
    assert_eq!(
        live["metadata"]["managedFields"][0]["time"],
        "2026-01-01T00:00:04Z"
    );
}

#[test]
fn kubectl_conflicts_with_itself_no_more_and_its_annotation_follows() {
    const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
    let mut object = map(json!({"a": "1", "b": "1"}));
    let last = map(json!({"a": "1", "b": "old"})).to_string();
    json::set(&mut object, &["metadata", "annotations", ANNOTATION], last);
    let live = created(&CONFIG_MAPS, object, "kubectl-client-side-apply");
    // `a` is still as it was applied, `b` somebody has changed.
    let refused = apply(&live, map(json!({"a": "2", "b": "2"})), "kubectl", false)
        .expect_err("b is another's");
    assert!(
        refused
            .message
            .ends_with("conflict with \"kubectl-client-side-apply\" using v1: .data.b"),
        "{refused:?}"
    );
    let refused =
        apply(&live, map(json!({"a": "2"})), "else", false).expect_err("it is not kubectl");
    assert_eq!(refused.code, 409);
    let applied = apply(&live, map(json!({"a": "2"})), "kubectl", false).expect("upgraded");
    let annotation = json::text(&applied, &["metadata", "annotations", ANNOTATION]);
    assert_eq!(
        annotation,
        "{\"apiVersion\":\"v1\",\"data\":{\"a\":\"2\"},\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\"}}\n"
    );
}

#[test]
fn what_a_strategy_resets_is_not_managed() {
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"},
                         "spec": {"ports": [{"port": 80}]}, "status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}});
    let made = of(&SERVICES, 0)
        .apply(None, &service, "m", false)
        .expect("created");
    let [(.., fields)] = entries(&made).try_into().expect("one entry");
    assert_eq!(fields.get("f:status"), None);
    assert_eq!(
        fields["f:spec"]["f:ports"],
        json!({"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}})
    );
}

#[test]
fn the_managers_of_replicas_are_those_of_the_scale() {
    let entry = |manager: &str, operation: &str, fields: Json| {
        json!({"manager": manager, "operation": operation, "apiVersion": "apps/v1", "time": "2026-01-01T00:00:01Z",
               "fieldsType": "FieldsV1", "fieldsV1": fields})
    };
    let both = entry(
        "a",
        "Apply",
        json!({"f:spec": {"f:paused": {}, "f:replicas": {}}}),
    );
    let other = entry("b", "Update", json!({"f:spec": {"f:paused": {}}}));
    let parent = [both, other.clone()];
    let handler = ScaleHandler::new(&parent, "apps/v1".to_owned(), &["spec", "replicas"]);
    let scale = handler.to_subresource().expect("they are understood");
    assert_eq!(scale.len(), 1);
    assert_eq!(
        (&scale[0]["apiVersion"], &scale[0]["manager"]),
        (&"autoscaling/v1".into(), &"a".into())
    );
    assert_eq!(scale[0]["fieldsV1"], json!({"f:spec": {"f:replicas": {}}}));
    assert_eq!(handler.to_parent(&scale).as_deref(), Ok(&parent[..]));
    // Somebody has scaled: the field is not that of the applier any more.
    let mut scaler = entry("s", "Update", json!({"f:spec": {"f:replicas": {}}}));
    json::set(&mut scaler, &["apiVersion"], "autoscaling/v1");
    json::set(&mut scaler, &["subresource"], "scale");
    let after = handler.to_parent(&[scaler]).expect("they are understood");
    let shown: Vec<_> = after
        .iter()
        .map(|entry| (entry["manager"].clone(), entry["fieldsV1"].clone()))
        .collect();
    assert_eq!(
        shown,
        [
            ("a".into(), json!({"f:spec": {"f:paused": {}}})),
            ("s".into(), json!({"f:spec": {"f:replicas": {}}})),
            ("b".into(), json!({"f:spec": {"f:paused": {}}})),
        ]
    );
    assert_eq!(after[1]["apiVersion"], "apps/v1");
}

#[test]
fn a_write_that_only_moves_times_is_none() {
    let old = created(&CONFIG_MAPS, map(json!({"a": "1"})), "m");
    let mut new = old.clone();
    let later = json!("2026-01-01T00:00:09Z");
    new["metadata"]["managedFields"][0]["time"] = later.clone();
    let mut same = new.clone();
    ignore_managed_fields_timestamps_transformer(&mut same, &old);
    assert_eq!(same, old);
    json::set(&mut new, &["data", "a"], "2");
    let before = new.clone();
    ignore_managed_fields_timestamps_transformer(&mut new, &old);
    assert_eq!(new, before);
}

#[test]
fn a_manager_is_what_is_said_or_the_program() {
    assert_eq!(manager_or_user_agent("m", "kubectl/v1.36"), "m");
    assert_eq!(
        manager_or_user_agent("", "kubectl/v1.36 (linux)"),
        "kubectl"
    );
    assert_eq!(manager_or_user_agent("", "a\tb\u{7f}c"), "abc");
    assert_eq!(manager_or_user_agent("", &"é".repeat(100)).len(), 128);
}
