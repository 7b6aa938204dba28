//! Admission by the server's informer of namespaces, and what is asked where that may be behind.

use serde_json::json;
use wavetank_api::kinds::{CONFIG_MAPS, NAMESPACES};
use wavetank_api::{Json, Method, Reason, Request, Response};
use wavetank_engine::drive::Stepped;
use wavetank_releases::{V1_16, V1_36, VERSIONS};
use wavetank_version::Version;

use crate::common::{Lab, Setting, reason, response};

// What each request of the script does.
const MAKE: usize = 0;
const DELETE: usize = 1;
const FILL: usize = 2;
const ASTRAY: usize = 3;
const OTHER: usize = 4;
const READY: usize = 5;
const FILL_AGAIN: usize = 6;

fn script() -> Vec<Request> {
    let post = |path: String, body: Json| Request::new(Method::Post, path).with(body);
    let map = |name: &str| json!({"metadata": {"name": name}});
    vec![
        post(NAMESPACES.path("", ""), json!({"metadata": {"name": "n"}})),
        Request::new(Method::Delete, NAMESPACES.path("", "n")),
        post(CONFIG_MAPS.path("n", ""), map("a")),
        post(CONFIG_MAPS.path("astray", ""), map("a")),
        post(NAMESPACES.path("", ""), json!({"metadata": {"name": "m"}})),
        Request::new(Method::Get, "/readyz"),
        post(CONFIG_MAPS.path("n", ""), map("b")),
    ]
}

/// Two servers with informers of namespaces.
fn lab(release: Version) -> Lab {
    let setting = Setting {
        namespaces: true,
        ..Setting::default()
    };
    let mut lab = Lab::two(release, setting, script());
    lab.run(2.0);
    lab
}

/// The informer of a server takes nothing more.
fn hold(lab: &mut Lab, server: &str) {
    lab.command(
        server,
        "hold",
        json!({"resource": "namespaces", "informer": true}),
    );
}

#[track_caller]
fn is_made(response: &Response) {
    assert_eq!(response.code, 201, "{response:?}");
}

#[test]
fn a_namespace_that_the_informer_does_not_show_is_looked_up() {
    for release in VERSIONS {
        let mut lab = lab(release);
        hold(&mut lab, "other");
        is_made(&lab.answer(MAKE));
        is_made(&lab.written(FILL));
        assert_eq!(reason(lab.written(ASTRAY)), Reason::NotFound);
    }
}

/// What others have deleted it may still show, and then it does not ask. What it was asked to delete itself it looks up
/// for half a minute.
#[test]
fn a_deletion_is_remembered_where_it_was_asked_for() {
    for release in VERSIONS {
        let mut lab = lab(release);
        is_made(&lab.answer(MAKE));
        hold(&mut lab, "api");
        hold(&mut lab, "other");
        assert_eq!(lab.answer(DELETE).code, 200);
        assert_eq!(reason(lab.answer(FILL)), Reason::Forbidden);
        is_made(&lab.written(FILL));
        lab.run(30.0);
        is_made(&lab.answer(FILL_AGAIN));
    }
}

/// Webhooks wait for it whatever is made, and so does `/readyz`.
#[test]
fn nothing_is_admitted_before_the_informer_has_synced() {
    for release in VERSIONS {
        let mut lab = lab(release);
        // DeltaFIFO has synced with an empty list at once.
        is_made(&lab.answer(MAKE));
        lab.crash("api");
        lab.start("api");
        hold(&mut lab, "api");
        lab.run(1.0);
        let ready = lab.answer(READY);
        assert_eq!(ready.code == 200, release == V1_16, "{release}");
        lab.ask(OTHER);
        lab.run(9.0);
        let before = lab.answers().len();
        lab.run(2.0);
        let (_, reply) = lab.answers().split_off(before).remove(0);
        let refused = response(reply);
        assert!(
            format!("{refused:?}").contains("not yet ready to handle request"),
            "{refused:?}"
        );
        assert_eq!(reason(refused), Reason::Forbidden);
        lab.command(
            "api",
            "release",
            json!({"resource": "namespaces", "informer": true}),
        );
        assert_eq!(lab.answer(READY).code, 200);
        is_made(&lab.answer(OTHER));
    }
}

/// A policy that concerns all objects asks for their namespaces as well.
#[test]
fn a_policy_looks_up_what_the_informer_does_not_show() {
    let setting = Setting {
        namespaces: true,
        policies: true,
        ..Setting::default()
    };
    let mut lab = Lab::two(V1_36, setting, script());
    lab.run(2.0);
    hold(&mut lab, "other");
    is_made(&lab.answer(MAKE));
    is_made(&lab.written(FILL));
}
