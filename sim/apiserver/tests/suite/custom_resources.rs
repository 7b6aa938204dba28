//! The life of definitions and of what they make: established after their names are accepted, served from a storage of
//! their own, torn down as they change and go. What schemas mean is tested in `wavetank_api`, answers against recordings
//! in `wavetank_oracle`.

use serde_json::json;
use wavetank_api::apiextensions::CUSTOM_RESOURCE_DEFINITIONS;
use wavetank_api::apiextensions::conditions::is_crd_condition_true;
use wavetank_api::{Content, Json, Method, Query, Reason, Request, Response, WatchPart};
use wavetank_apiserver::CustomResources;
use wavetank_engine::drive::Stepped;
use wavetank_releases::V1_36;
use wavetank_version::Set;

use crate::common::{Lab, Reply, Setting, reason};

const NAME: &str = "things.g.example";
const THINGS: &str = "/apis/g.example/v1/namespaces/n/things";

fn definition(most: u64) -> Json {
    let spec = json!({"type": "object", "properties": {
        "n": {"type": "integer", "maximum": most}, "d": {"type": "string", "default": "x"},
    }});
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME},
        "spec": {
            "group": "g.example",
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
        },
    })
}

fn define() -> Request {
    let path = CUSTOM_RESOURCE_DEFINITIONS.path("", "");
    Request::new(Method::Post, path).with(definition(10))
}

fn of_definition(method: Method) -> Request {
    Request::new(method, CUSTOM_RESOURCE_DEFINITIONS.path("", NAME))
}

fn create(name: &str, finalizers: &[&str], n: u64) -> Request {
    let metadata = json!({"name": name, "finalizers": finalizers});
    let thing = json!({
        "apiVersion": "g.example/v1", "kind": "Thing", "metadata": metadata,
        "spec": {"n": n, "unknown": 1},
    });
    Request::new(Method::Post, THINGS).with(thing)
}

fn merge(name: &str, patch: Json) -> Request {
    let path = match name {
        NAME => CUSTOM_RESOURCE_DEFINITIONS.path("", NAME),
        name => format!("{THINGS}/{name}"),
    };
    Request {
        content_type: Some("application/merge-patch+json".into()),
        ..Request::new(Method::Patch, path).with(patch)
    }
}

fn watch() -> Request {
    Request {
        query: Query::of(&[("watch", "true"), ("resourceVersion", "0")]),
        ..Request::new(Method::Get, THINGS)
    }
}

fn lab(apiserver_count: u32, watch_cache: bool, script: Vec<Request>) -> Lab {
    let setting = Setting {
        watch_cache,
        custom_resources: CustomResources::Served {
            apiserver_count,
            aggregated: false,
            webhooks: Default::default(),
            defects: Set::NONE,
        },
        ..Setting::default()
    };
    let mut lab = Lab::with(V1_36, setting, script);
    lab.run(2.0);
    lab
}

#[track_caller]
fn object(response: Response) -> Json {
    match response.content {
        Content::One(stored) => stored.json(),
        other => panic!("{other:?}"),
    }
}

fn is_established(lab: &mut Lab, get: usize) -> bool {
    is_crd_condition_true(&object(lab.answer(get)), "Established")
}

#[test]
fn a_definition_is_established_and_its_objects_are_served() {
    for watch_cache in [false, true] {
        let get = Request::new(Method::Get, format!("{THINGS}/a"));
        let script = vec![
            define(),
            of_definition(Method::Get),
            create("a", &[], 1),
            get,
            create("b", &[], 11),
        ];
        let mut lab = lab(1, watch_cache, script);
        assert_eq!(lab.answer(2).code, 404);
        assert_eq!(lab.answer(0).code, 201);
        assert!(is_established(&mut lab, 1));
        lab.run(4.0);
        let made = object(lab.answer(2));
        assert_eq!(made["spec"], json!({"n": 1, "d": "x"}));
        assert_eq!(object(lab.answer(3)), made);
        assert_eq!(reason(lab.answer(4)), Reason::Invalid);
        let key = "/registry/g.example/things/n/a";
        assert!(
            lab.store()
                .iter(&wavetank_etcd::Keys::one(key))
                .next()
                .is_some()
        );
    }
}

#[test]
fn a_patched_object_that_is_refused_is_shown_as_a_map() {
    let unknown = Request {
        query: Query::of(&[("fieldValidation", "Strict")]),
        ..merge("a", json!({"spec": {"other": 1}}))
    };
    let mut lab = lab(1, false, vec![define(), create("a", &[], 1), unknown]);
    assert_eq!(lab.answer(0).code, 201);
    lab.run(4.0);
    assert_eq!(lab.answer(1).code, 201);
    let Content::Status(status) = lab.answer(2).content else {
        panic!("it has a field that nobody knows");
    };
    let at = |field: &str| {
        let found = status.message.find(&format!("\\\"{field}\\\":"));
        found.unwrap_or_else(|| panic!("{}", status.message))
    };
    let order = [
        "creationTimestamp",
        "generation",
        "name",
        "namespace",
        "resourceVersion",
        "uid",
        "spec",
    ];
    assert!(
        order.is_sorted_by_key(|field| at(field)),
        "{}",
        status.message
    );
    let end = "strict decoding error: unknown field \"spec.other\"";
    assert!(status.message.ends_with(end), "{}", status.message);
}

#[test]
fn a_name_that_is_going_is_said_to_be_so_in_a_dry_run_as_well() {
    let again = create("a", &[], 2);
    let dry = Request {
        query: Query::of(&[("dryRun", "All")]),
        ..again.clone()
    };
    let script = vec![
        define(),
        create("a", &["g.example/f"], 1),
        dry.clone(),
        Request::new(Method::Delete, format!("{THINGS}/a")),
        dry,
        again,
    ];
    let mut lab = lab(1, false, script);
    assert_eq!(lab.answer(0).code, 201);
    lab.run(4.0);
    assert_eq!(lab.answer(1).code, 201);
    let message = |lab: &mut Lab, request| match lab.answer(request).content {
        Content::Status(status) => status.message,
        other => panic!("{other:?}"),
    };
    let exists = "things.g.example \"a\" already exists";
    assert_eq!(message(&mut lab, 2), exists);
    assert_eq!(lab.answer(3).code, 200);
    for request in [4, 5] {
        let going = format!("object is being deleted: {exists}");
        assert_eq!(message(&mut lab, request), going);
    }
}

/// Objects of the stored version are served; without its webhook the other one cannot be, and nothing is lost.
#[test]
fn without_its_webhook_a_version_cannot_be_read_or_written() {
    let mut crd = definition(10);
    let mut second = crd["spec"]["versions"][0].clone();
    second["name"] = "v2".into();
    second["storage"] = false.into();
    let versions = crd["spec"]["versions"].as_array_mut();
    versions.expect("it is a list").push(second);
    let client = json!({"url": "https://nowhere/convert"});
    let webhook = json!({"clientConfig": client, "conversionReviewVersions": ["v1"]});
    crd["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": webhook});
    let path = CUSTOM_RESOURCE_DEFINITIONS.path("", "");
    let v2 = "/apis/g.example/v2/namespaces/n/things";
    let second = json!({"apiVersion": "g.example/v2", "kind": "Thing", "metadata": {"name": "b"}});
    let script = vec![
        Request::new(Method::Post, path).with(crd),
        create("a", &[], 1),
        Request::new(Method::Get, format!("{v2}/a")),
        Request::new(Method::Get, v2),
        Request::new(Method::Post, v2).with(second),
        Request::new(Method::Get, format!("{THINGS}/a")),
        Request::new(Method::Get, format!("{THINGS}/b")),
    ];
    let mut lab = lab(1, false, script);
    assert_eq!(lab.answer(0).code, 201);
    lab.run(4.0);
    assert_eq!(lab.answer(1).code, 201);
    for (request, from) in [(2, "v1"), (3, "v1"), (4, "v2")] {
        let response = lab.answer(request);
        assert_eq!(response.code, 500, "{response:?}");
        let Content::Status(status) = response.content else {
            panic!("{:?}", response.content);
        };
        let why = format!(
            "conversion webhook for g.example/{from}, Kind=Thing failed: Post \"https://nowhere\": dial tcp: lookup \
             nowhere: no such host"
        );
        assert_eq!(status.message, why);
    }
    assert_eq!(lab.answer(5).code, 200);
    assert_eq!(lab.answer(6).code, 404);
}

/// What is said of a version comes before it is known whether there is such a subresource.
#[test]
fn a_deprecated_version_warns_of_a_subresource_that_it_has_not() {
    let mut crd = definition(10);
    crd["spec"]["versions"][0]["deprecated"] = true.into();
    crd["spec"]["versions"][0]["deprecationWarning"] = "no more".into();
    let path = CUSTOM_RESOURCE_DEFINITIONS.path("", "");
    let get = |path: &str| Request::new(Method::Get, format!("{THINGS}/a{path}"));
    let script = vec![
        Request::new(Method::Post, path).with(crd),
        create("a", &[], 1),
        get("/scale"),
        get(""),
    ];
    let mut lab = lab(1, false, script);
    assert_eq!(lab.answer(0).code, 201);
    lab.run(4.0);
    for (request, code) in [(1, 201), (2, 404), (3, 200)] {
        let response = lab.answer(request);
        assert_eq!(response.code, code);
        let warned: Vec<&str> = response.warnings.iter().map(|w| &**w).collect();
        assert_eq!(warned, ["299 - \"no more\""], "{request}");
    }
}

#[test]
fn discovery_lists_a_definition_from_when_it_is_established_until_it_is_gone() {
    let get = |path: &str| Request::new(Method::Get, path);
    let script = vec![
        define(),
        get("/apis/g.example/v1"),
        get("/apis/g.example"),
        of_definition(Method::Delete),
        get("/apis/g.example/v1"),
        get("/apis"),
    ];
    let mut lab = lab(1, true, script);
    lab.answer(0);
    lab.run(4.0);
    let tree = |response: Response| match response.content {
        Content::Tree(tree) => (*tree).clone(),
        other => panic!("{other:?}"),
    };
    let resources = tree(lab.answer(1));
    let names: Vec<&str> = resources["resources"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|of| of["name"].as_str())
        .collect();
    assert_eq!(names, ["things"]);
    let group = tree(lab.answer(2));
    assert_eq!(group["preferredVersion"]["groupVersion"], "g.example/v1");
    assert_eq!(lab.answer(3).code, 200);
    lab.run(4.0);
    assert_eq!(lab.answer(4).code, 404);
    let groups = tree(lab.answer(5));
    let is_listed = |groups: &Json| groups.to_string().contains("g.example");
    assert!(!is_listed(&groups), "{groups}");
}

#[test]
fn several_servers_wait_before_a_definition_is_established() {
    let mut lab = lab(2, false, vec![define(), of_definition(Method::Get)]);
    assert_eq!(lab.answer(0).code, 201);
    lab.run(2.0);
    assert!(!is_established(&mut lab, 1));
    lab.run(3.0);
    assert!(is_established(&mut lab, 1));
}

#[test]
fn objects_go_before_their_definition_does() {
    let script = vec![
        define(),
        create("kept", &["g.example/keep"], 1),
        create("b", &[], 2),
        of_definition(Method::Delete),
        create("late", &[], 3),
        merge("kept", json!({"metadata": {"finalizers": null}})),
        of_definition(Method::Get),
        Request::new(Method::Get, format!("{THINGS}/b")),
    ];
    let mut lab = lab(1, true, script);
    lab.answer(0);
    lab.run(4.0);
    lab.answer(1);
    lab.answer(2);
    assert_eq!(lab.answer(3).code, 200);
    lab.run(1.0);
    assert_eq!(reason(lab.answer(4)), Reason::Forbidden);
    assert_eq!(reason(lab.answer(7)), Reason::NotFound);
    assert_eq!(lab.answer(6).code, 200);
    assert_eq!(lab.answer(5).code, 200);
    lab.run(10.0);
    assert_eq!(reason(lab.answer(6)), Reason::NotFound);
    assert_eq!(lab.answer(7).code, 404);
}

#[test]
fn a_watch_ends_as_its_definition_changes() {
    let versions = definition(50)["spec"]["versions"].clone();
    let script = vec![
        define(),
        create("a", &[], 1),
        watch(),
        merge(NAME, json!({"spec": {"versions": versions}})),
        create("b", &[], 40),
    ];
    let mut lab = lab(1, true, script);
    lab.answer(0);
    lab.run(4.0);
    lab.answer(1);
    lab.ask(2);
    lab.run(1.0);
    let closed = |lab: &Lab| {
        let is_end = |reply: &Reply| matches!(reply, Reply::Part(WatchPart::Closed));
        lab.answers()
            .iter()
            .any(|(of, reply)| *of == 2 && reply.as_ref().is_ok_and(is_end))
    };
    assert!(!closed(&lab));
    let before = lab.answers().len();
    lab.ask(3);
    lab.run(0.5);
    assert_eq!(lab.answers().len(), before + 1);
    assert!(!closed(&lab), "requests in flight get a second");
    lab.run(2.0);
    assert!(closed(&lab));
    assert_eq!(lab.answer(4).code, 201);
}

#[test]
fn a_name_that_another_definition_has_is_not_accepted() {
    let mut other = definition(10);
    other["metadata"]["name"] = "others.g.example".into();
    other["spec"]["names"] = json!({"plural": "others", "kind": "Thing", "listKind": "OtherList"});
    let all = CUSTOM_RESOURCE_DEFINITIONS.path("", "");
    let path = CUSTOM_RESOURCE_DEFINITIONS.path("", "others.g.example");
    let script = vec![
        define(),
        Request::new(Method::Post, all).with(other),
        Request::new(Method::Get, path),
        of_definition(Method::Delete),
    ];
    let mut lab = lab(1, false, script);
    lab.answer(0);
    lab.answer(1);
    let refused = object(lab.answer(2));
    assert!(!is_crd_condition_true(&refused, "NamesAccepted"));
    lab.answer(3);
    lab.run(4.0);
    // What it wanted is free now.
    let accepted = object(lab.answer(2));
    assert!(is_crd_condition_true(&accepted, "NamesAccepted"));
    assert!(is_crd_condition_true(&accepted, "Established"));
}
