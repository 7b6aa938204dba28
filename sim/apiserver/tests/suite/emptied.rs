//! An update that takes the last finalizer of an object deletes it, while somebody makes another one under its name.

use crate::common;

use common::{Lab, Setting};
use serde_json::json;
use wavetank_api::kinds::CONFIG_MAPS;
use wavetank_api::{Method, Request, Response};
use wavetank_engine::drive::Stepped;
use wavetank_releases::V1_36;

const PATCH: usize = 1;

fn thing(finalizer: &str) -> Request {
    let path = CONFIG_MAPS.path("default", "");
    Request::new(Method::Post, path).with(json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "thing", "namespace": "default", "finalizers": [finalizer]},
    }))
}

fn of_thing(method: Method) -> Request {
    Request::new(method, CONFIG_MAPS.path("default", "thing"))
}

fn uid(answer: &Response) -> String {
    let object = answer.json();
    let uid = object["metadata"]["uid"].as_str();
    uid.expect("it is an object").to_owned()
}

/// Two servers are asked for the last finalizer. What the first one writes to etcd comes when the second one is done and the
/// object was made anew: the UIDs of both, what the first one answers, and what is there then.
fn made_anew(emptied_go_by_uid: bool) -> ([String; 2], Response, Response) {
    let setting = Setting {
        emptied_go_by_uid,
        ..Setting::default()
    };
    let patch = Request {
        content_type: Some("application/merge-patch+json".into()),
        ..of_thing(Method::Patch).with(json!({"metadata": {"finalizers": null}}))
    };
    let script = vec![
        thing("example.com/old"),
        patch,
        of_thing(Method::Delete),
        thing("example.com/new"),
        of_thing(Method::Get),
    ];
    let mut lab = Lab::two(V1_36, setting, script);
    lab.run(1.0);
    let old = uid(&lab.written(0));
    assert_eq!(lab.written(2).code, 200, "it is being deleted");
    assert_eq!(lab.answer(4).code, 200, "its connections are open");
    lab.ask(PATCH);
    // The server has read the object, and its deletion is not there yet: each way takes half a millisecond.
    lab.run(0.001_75);
    lab.strike(common::stall_to_etcd());
    assert_eq!(lab.written(PATCH).code, 200);
    assert_eq!(lab.written(4).code, 404, "nothing holds it any more");
    let new = uid(&lab.written(3));
    lab.strike(common::unstall_to_etcd());
    lab.run(1.0);
    let (_, answer) = lab.answers().pop().expect("the first server answers");
    let found = lab.written(4);
    ([old, new], common::response(answer), found)
}

#[test]
fn the_object_made_anew_is_deleted() {
    let ([old, new], answer, found) = made_anew(false);
    assert_ne!(old, new);
    assert_eq!((answer.code, uid(&answer)), (200, old));
    assert_eq!(found.code, 404, "its finalizer did not hold it");
}

#[test]
fn it_stays_where_deletions_of_updates_go_by_uid() {
    let ([old, new], answer, found) = made_anew(true);
    assert_eq!((answer.code, uid(&answer)), (200, old));
    assert_eq!((found.code, uid(&found)), (200, new));
}
