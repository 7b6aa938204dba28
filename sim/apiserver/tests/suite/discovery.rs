//! What tells of the API, the forms of answers, kinds in two versions, and evictions, as a client sees them.

use std::collections::BTreeMap;

use crate::common;

use common::{Lab, Reply};
use serde_json::{Value as Json, json};
use wavetank_api::{Header, Method, Query, Request, Response, WatchEvent, WatchPart};
use wavetank_engine::drive::Stepped;
use wavetank_releases::{V1_20, V1_36};

const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1";
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const ALL: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

fn get(path: &str) -> Request {
    Request::new(Method::Get, path)
}

fn accepting(accept: &str, path: &str) -> Request {
    Request {
        accept: Some(accept.into()),
        ..get(path)
    }
}

fn post(path: &str, body: Json) -> Request {
    Request::new(Method::Post, path).with(body)
}

fn merge(path: String, body: Json) -> Request {
    Request {
        content_type: Some("application/merge-patch+json".into()),
        ..Request::new(Method::Patch, path).with(body)
    }
}

fn answers(script: Vec<Request>) -> Vec<Response> {
    let count = script.len();
    let mut lab = Lab::plain(V1_36, script);
    (0..count).map(|at| lab.answer(at)).collect()
}

#[test]
fn groups_and_resources_are_listed() {
    let paths = [
        "/api",
        "/apis",
        "/apis/apps",
        "/apis/autoscaling",
        "/api/v1",
        "/apis/nobody",
        "/",
    ];
    let all = answers(paths.map(get).to_vec());
    assert_eq!(all[0].json()["versions"], json!(["v1"]));
    let groups = all[1].json()["groups"].clone();
    assert_eq!(groups[1]["name"], "apps");
    assert_eq!(all[2].json()["preferredVersion"]["groupVersion"], "apps/v1");
    assert_eq!(all[3].json()["versions"][0]["version"], "v2");
    let resources = all[4].json()["resources"].clone();
    let pods = resources
        .as_array()
        .expect("a list")
        .iter()
        .find(|own| own["name"] == "pods");
    let pods = pods.expect("pods");
    assert_eq!(
        (&pods["shortNames"], &pods["categories"]),
        (&json!(["po"]), &json!(["all"]))
    );
    assert_eq!(pods["storageVersionHash"], "xPOwRZ+Yhw8=");
    assert_eq!(
        (all[5].code, all[5].json()),
        (404, json!("404 page not found\n"))
    );
    let paths = all[6].json()["paths"].clone();
    assert!(
        paths
            .as_array()
            .expect("paths")
            .contains(&json!("/apis/apps/v1"))
    );
}

#[test]
fn all_is_told_at_once_to_those_who_ask_and_not_again() {
    let mut lab = Lab::plain(V1_36, vec![accepting(ALL, "/apis")]);
    let first = lab.answer(0);
    let document = first.json();
    assert_eq!(document["kind"], "APIGroupDiscoveryList");
    let apps = &document["items"][1]["versions"][0]["resources"];
    let deployments = apps
        .as_array()
        .expect("a list")
        .iter()
        .find(|own| own["resource"] == "deployments");
    let below = &deployments.expect("deployments")["subresources"];
    assert_eq!(below[0]["responseKind"]["group"], "autoscaling");
    let tag = first.e_tag.clone();
    assert!(tag.0.is_some());
    let again = |tag: Header| Request {
        if_none_match: tag,
        ..accepting(ALL, "/apis")
    };
    let script = vec![again(tag.clone()), again(Header(Some("\"other\"".into())))];
    let all = answers(script);
    assert_eq!((all[0].code, &all[0].e_tag), (304, &tag));
    assert_eq!((all[1].code, &all[1].e_tag), (200, &tag));
}

#[test]
fn an_old_server_knows_no_such_document() {
    let mut lab = Lab::plain(V1_20, vec![accepting(ALL, "/apis"), get("/version")]);
    assert_eq!(lab.answer(0).json()["kind"], "APIGroupList");
    let version = lab.answer(1).json();
    assert_eq!(
        (&version["minor"], version.get("emulationMinor")),
        (&json!("20"), None)
    );
}

#[test]
fn objects_are_shown_as_rows_or_by_their_metadata() {
    let path = "/api/v1/namespaces/a/configmaps";
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"k": "v"}});
    let all = answers(vec![
        post(path, object),
        accepting(TABLE, path),
        accepting(METADATA, &format!("{path}/c")),
        accepting(METADATA, path),
        accepting("text/plain", path),
        Request {
            query: Query::parse("includeObject=None"),
            ..accepting(TABLE, path)
        },
    ]);
    let table = all[1].json();
    assert_eq!(table["kind"], "Table");
    assert_eq!(table["columnDefinitions"][1]["name"], "Data");
    let row = &table["rows"][0];
    assert_eq!(
        (&row["cells"][0], &row["cells"][1]),
        (&json!("c"), &json!(1))
    );
    assert_eq!(row["cells"][2], "1s");
    assert_eq!(row["object"]["kind"], "PartialObjectMetadata");
    let metadata = all[2].json();
    assert_eq!(
        (&metadata["metadata"]["name"], metadata.get("data")),
        (&json!("c"), None)
    );
    assert_eq!((all[3].code, all[4].code), (406, 406));
    assert_eq!(all[5].json()["rows"][0]["object"], Json::Null);
}

#[test]
fn a_watch_shows_columns_once() {
    let path = "/api/v1/namespaces/a/configmaps";
    let object = |name: &str| post(path, json!({"metadata": {"name": name}}));
    let watch = Request {
        query: Query::parse("watch=true&resourceVersion=1"),
        ..accepting(TABLE, path)
    };
    let mut lab = Lab::plain(V1_36, vec![object("b"), object("c"), watch]);
    lab.answer(0);
    lab.answer(1);
    lab.ask(2);
    lab.run(1.0);
    let parts = lab
        .answers()
        .into_iter()
        .filter_map(|(_, reply)| match reply {
            Ok(Reply::Part(WatchPart::Event(event))) => Some(event.json()["object"].clone()),
            _ => None,
        });
    let tables: Vec<Json> = parts.collect();
    assert_eq!(tables.len(), 2, "{tables:?}");
    assert_eq!(tables[0]["columnDefinitions"][0]["name"], "Name");
    assert_eq!(tables[1]["columnDefinitions"], Json::Null);
    assert_eq!(tables[1]["rows"][0]["cells"][0], "c");
}

/// The objects that watches of one change are sent, of which two each ask for the same form.
#[test]
fn an_event_is_shown_once_in_each_form() {
    let path = "/api/v1/namespaces/a/configmaps";
    let forms = ["", METADATA, TABLE];
    let watch = |accept: &&str| Request {
        query: Query::parse("watch=true&resourceVersion=1"),
        ..accepting(accept, path)
    };
    let twice = forms.iter().chain(&forms).map(watch);
    let made = post(path, json!({"metadata": {"name": "b"}}));
    let mut lab = Lab::plain(V1_36, [made].into_iter().chain(twice).collect());
    lab.answer(0);
    (1..=6).for_each(|at| lab.ask(at));
    lab.run(1.0);
    let parts = lab.answers().into_iter();
    let shown = parts.filter_map(|(at, reply)| match reply {
        Ok(Reply::Part(WatchPart::Event(WatchEvent::Object(_, stored)))) => {
            Some((at, stored.object.clone()))
        }
        _ => None,
    });
    let shown: BTreeMap<_, _> = shown.collect();
    assert_eq!(shown.len(), 6);
    let all: Vec<_> = shown.into_values().collect();
    for (at, object) in all.iter().enumerate() {
        let alike = all.iter().filter(|other| object.is_shared_with(other));
        assert_eq!(alike.count(), 2, "{}", forms[at % 3]);
    }
}

#[test]
fn an_autoscaler_is_one_object_in_both_versions() {
    let path = |version: &str| {
        format!("/apis/autoscaling/{version}/namespaces/a/horizontalpodautoscalers")
    };
    let spec = json!({
        "scaleTargetRef": {"kind": "Deployment", "name": "d"}, "maxReplicas": 5,
        "targetCPUUtilizationPercentage": 70,
    });
    let old = json!({
        "apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h"}, "spec": spec,
    });
    let wrong = {
        let mut wrong = old.clone();
        wrong["apiVersion"] = "autoscaling/v2".into();
        wrong
    };
    let target = json!({"spec": {"targetCPUUtilizationPercentage": 33}});
    let patch = merge(format!("{}/h", path("v1")), target);
    let all = answers(vec![
        post(&path("v1"), old),
        get(&format!("{}/h", path("v2"))),
        patch,
        get(&path("v2")),
        post(&path("v1"), wrong),
    ]);
    assert_eq!(all[0].json()["apiVersion"], "autoscaling/v1");
    let metrics =
        |spec: &Json| spec["metrics"][0]["resource"]["target"]["averageUtilization"].clone();
    assert_eq!(metrics(&all[1].json()["spec"]), 70);
    assert_eq!(all[2].json()["spec"]["targetCPUUtilizationPercentage"], 33);
    assert_eq!(metrics(&all[3].json()["items"][0]["spec"]), 33);
    assert_eq!(
        all[4].json()["message"],
        "the API version in the data (autoscaling/v2) does not match the expected API version (autoscaling/v1)"
    );
}

#[test]
fn an_eviction_asks_the_budget() {
    let pods = "/api/v1/namespaces/a/pods";
    let pod = json!({
        "metadata": {"name": "p", "labels": {"app": "x"}},
        "spec": {"containers": [{"name": "c", "image": "i:1"}], "nodeName": "n"},
    });
    let budgets = "/apis/policy/v1/namespaces/a/poddisruptionbudgets";
    let budget = json!({
        "metadata": {"name": "b"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}},
    });
    let ready = json!({"status": {
        "phase": "Running", "conditions": [{"type": "Ready", "status": "True"}],
    }});
    let allowed = json!({"status": {
        "observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1,
    }});
    let evict = || {
        let body =
            json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}});
        post(&format!("{pods}/p/eviction"), body)
    };
    let all = answers(vec![
        post(pods, pod),
        merge(format!("{pods}/p/status"), ready),
        post(budgets, budget),
        evict(),
        merge(format!("{budgets}/b/status"), allowed),
        evict(),
        get(&format!("{budgets}/b")),
        get(&format!("{pods}/p")),
    ]);
    assert_eq!((all[3].code, all[3].retry_after), (429, Some(10)));
    assert_eq!(all[5].code, 201, "{:?}", all[5]);
    let spent = all[6].json();
    assert_eq!(spent["status"]["disruptionsAllowed"], 0);
    assert!(spent["status"]["disruptedPods"]["p"].is_string());
    let going = all[7].json();
    assert_eq!(going["metadata"]["deletionGracePeriodSeconds"], 30);
    assert_eq!(going["status"]["conditions"][1]["type"], "DisruptionTarget");
}

#[test]
fn a_stateful_set_is_scaled() {
    let path = "/apis/apps/v1/namespaces/a/statefulsets";
    let labels = json!({"app": "s"});
    let set = json!({
        "metadata": {"name": "s"},
        "spec": {
            "serviceName": "s", "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}},
        },
    });
    let scale = json!({
        "apiVersion": "autoscaling/v1", "kind": "Scale",
        "metadata": {"name": "s", "namespace": "a"}, "spec": {"replicas": 3},
    });
    let all = answers(vec![
        post(path, set),
        get(&format!("{path}/s/scale")),
        Request::new(Method::Put, format!("{path}/s/scale")).with(scale),
        get(&format!("{path}/s")),
    ]);
    assert_eq!(all[1].json()["status"]["selector"], "app=s");
    assert_eq!(all[2].json()["spec"]["replicas"], 3);
    let scaled = all[3].json();
    assert_eq!(
        (
            &scaled["spec"]["replicas"],
            &scaled["metadata"]["generation"]
        ),
        (&json!(3), &json!(2))
    );
}

#[test]
fn a_part_of_an_object_is_neither_made_nor_deleted() {
    let delete = Request::new(Method::Delete, "/api/v1/namespaces/a/pods/p/status");
    let [refused] = answers(vec![delete]).try_into().expect("one");
    assert_eq!(refused.code, 405);
}
