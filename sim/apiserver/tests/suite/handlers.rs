//! What a client sees of an apiserver: verbs, refusals, watches, health checks, the time limit.

use crate::common;

use std::time::Duration;

use common::{Lab, Reply, Slow, address, ask, create, object, put, response, watch};
use wavetank_api::{
    Body, Content, List, Method, Query, Reason, Request, Response, Status, Stored, WatchEvent,
    WatchPart, kinds,
};
use wavetank_engine::drive::Stepped;
use wavetank_engine::{Fault, NetError};
use wavetank_etcd::Revision;
use wavetank_releases::{V1_20, V1_36, VERSIONS};

#[track_caller]
fn refusal(response: Response) -> Status {
    match response.content {
        Content::Status(status) if !status.success => status,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn reason(response: Response) -> Reason {
    refusal(response).reason
}

#[track_caller]
fn one(response: Response) -> Stored {
    match response.content {
        Content::One(stored) => stored,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn list(response: Response) -> (Vec<Stored>, Revision) {
    match response.content {
        Content::List(List {
            items,
            resource_version,
            ..
        }) => (items, resource_version),
        other => panic!("{other:?}"),
    }
}

fn update(address: &str, seen: Option<Revision>) -> Request {
    put(&kinds::ENDPOINTS, "e", address, seen)
}

#[test]
fn objects_are_created_read_replaced_and_deleted() {
    let mut lab = Lab::plain(
        V1_20,
        vec![
            ask(Method::Get, "e"),
            create("e", "1.1.1.1"),
            update("2.2.2.2", Some(2)),
            ask(Method::Get, ""),
            ask(Method::Delete, "e"),
        ],
    );
    assert_eq!(reason(lab.answer(0)), Reason::NotFound);
    assert_eq!(one(lab.answer(1)).resource_version, 2);
    assert_eq!(reason(lab.answer(1)), Reason::AlreadyExists);
    let replaced = one(lab.answer(2));
    assert_eq!(
        (replaced.resource_version, &*address(&replaced.object)),
        (3, "2.2.2.2")
    );
    assert_eq!(one(lab.answer(0)), replaced);
    assert_eq!(list(lab.answer(3)), (vec![replaced.clone()], 3));
    let deleted = lab.answer(4);
    let uid = replaced.object.uid();
    let gone = Status::deleted(&kinds::ENDPOINTS, "e", uid);
    assert_eq!(
        (deleted.code, deleted.content),
        (200, Content::Status(gone))
    );
    assert_eq!(reason(lab.answer(4)), Reason::NotFound);
    assert_eq!(list(lab.answer(3)), (vec![], 4));
}

/// What is created without a name gets one; here each draw is the same.
#[test]
fn another_name_is_made_for_one_that_is_taken() {
    let unnamed = |address: &str| {
        let mut object = object(&kinds::ENDPOINTS, "", address);
        object["metadata"]["generateName"] = "e-".into();
        ask(Method::Post, "").with(object)
    };
    let name = |stored: Stored| stored.object.name().to_owned();
    let mut lab = Lab::plain(V1_36, vec![unnamed("1.1.1.1")]);
    let names: Vec<String> = (0..8).map(|_| name(one(lab.answer(0)))).collect();
    assert_eq!(names[..3], ["e-bbbbb", "e-cbbbb", "e-dbbbb"]);
    assert_eq!(names[7], "e-kbbbb");
    // Each of the eight that it makes up is taken.
    let refused = refusal(lab.answer(0));
    assert_eq!(refused.reason, Reason::AlreadyExists);
    assert!(
        refused
            .message
            .ends_with("was not able to generate a unique name for the object"),
        "{}",
        refused.message
    );
    // Before 1.31 the first one decides.
    let mut lab = Lab::plain(V1_20, vec![unnamed("1.1.1.1")]);
    assert_eq!(name(one(lab.answer(0))), "e-bbbbb");
    assert_eq!(reason(lab.answer(0)), Reason::AlreadyExists);
}

#[test]
fn where_nobody_manages_fields_objects_do_not_say_who_and_nothing_is_applied() {
    let apply = Request {
        content_type: Some("application/apply-patch+yaml".into()),
        query: Query::parse("fieldManager=m"),
        body: Body::Bytes(b"{}"[..].into()),
        ..ask(Method::Patch, "e")
    };
    let mut lab = Lab::plain(V1_36, vec![create("e", "1.1.1.1"), apply]);
    let made = one(lab.answer(0));
    let metadata = &made.object.json()["metadata"];
    assert_eq!(metadata.get("managedFields"), None);
    let refused = refusal(lab.answer(1));
    assert_eq!(refused.message, "server-side apply is not served");
}

#[test]
fn a_replacement_of_what_has_changed_conflicts() {
    let script = vec![
        create("e", "1.1.1.1"),
        update("2.2.2.2", Some(2)),
        update("3.3.3.3", Some(2)),
        update("4.4.4.4", None),
    ];
    let mut lab = Lab::plain(V1_20, script);
    one(lab.answer(0));
    one(lab.answer(1));
    let refused = refusal(lab.answer(2));
    assert_eq!((refused.reason, refused.code), (Reason::Conflict, 409));
    assert_eq!(
        refused.message,
        "Operation cannot be fulfilled on endpoints \"e\": the object has been modified; please \
         apply your changes to the latest version and try again"
    );
    one(lab.answer(3));
}

/// Two at once read the same revision; the transaction of one fails, and it looks again.
#[test]
fn of_two_replacements_at_once_one_conflicts_unless_it_is_unconditional() {
    let script = |seen| {
        vec![
            create("e", "1.1.1.1"),
            update("2.2.2.2", seen),
            update("3.3.3.3", seen),
        ]
    };
    for (seen, revision, conflicts) in [(Some(2), 3, 1), (None, 4, 0)] {
        let mut lab = Lab::plain(V1_36, script(seen));
        one(lab.answer(0));
        lab.ask(1);
        lab.ask(2);
        lab.run(1.0);
        let refused =
            lab.answers()
                .into_iter()
                .filter_map(|(_, reply)| match response(reply).content {
                    Content::Status(status) => Some(status.reason),
                    _ => None,
                });
        let refused: Vec<Reason> = refused.collect();
        assert_eq!(refused, vec![Reason::Conflict; conflicts], "{seen:?}");
        assert_eq!(lab.store().revision(), revision, "{seen:?}");
    }
}

#[test]
fn a_replacement_that_changes_nothing_is_not_written() {
    let script = vec![
        create("e", "1.1.1.1"),
        update("1.1.1.1", None),
        update("1.1.1.1", Some(2)),
    ];
    let mut lab = Lab::plain(V1_20, script);
    one(lab.answer(0));
    for number in [1, 2] {
        assert_eq!(one(lab.answer(number)).resource_version, 2);
    }
    assert_eq!(lab.commits(), 1);
}

/// `AllowCreateOnUpdate`
#[test]
fn endpoints_are_created_by_a_put_and_slices_are_not() {
    let script = vec![
        update("1.1.1.1", None),
        put(&kinds::ENDPOINT_SLICES, "e", "1.1.1.1", None),
    ];
    let mut lab = Lab::plain(V1_36, script);
    assert_eq!(one(lab.answer(0)).resource_version, 2);
    assert_eq!(reason(lab.answer(1)), Reason::NotFound);
}

/// The parts of the watch with this number.
fn parts(lab: &Lab, watch: usize) -> Vec<(&'static str, String, Revision)> {
    let all = lab.answers().into_iter().filter(|(n, _)| *n == watch);
    all.filter_map(|(_, reply)| match reply {
        Ok(Reply::Part(WatchPart::Accepted)) => None,
        Ok(Reply::Part(WatchPart::Event(WatchEvent::Object(kind, stored)))) => Some((
            kind.name(),
            address(&stored.object),
            stored.resource_version,
        )),
        other => panic!("{other:?}"),
    })
    .collect()
}

#[test]
fn a_watch_tells_all_since_its_revision_and_what_comes() {
    let script = vec![
        create("e", "1.1.1.1"),
        create("other", "9.9.9.9"),
        update("2.2.2.2", None),
        watch("e", 2),
        update("3.3.3.3", None),
        ask(Method::Delete, "e"),
    ];
    let mut lab = Lab::plain(V1_20, script);
    for number in [0, 1, 2, 3, 4, 5] {
        lab.ask(number);
        lab.run(1.0);
    }
    let told = [
        ("MODIFIED", "2.2.2.2".to_owned(), 4),
        ("MODIFIED", "3.3.3.3".to_owned(), 5),
        ("DELETED", "3.3.3.3".to_owned(), 6),
    ];
    assert_eq!(parts(&lab, 3), told);
}

#[test]
fn a_watch_from_a_compacted_revision_is_expired() {
    let script = vec![
        create("e", "1.1.1.1"),
        update("2.2.2.2", None),
        watch("e", 1),
    ];
    let mut lab = Lab::plain(V1_20, script);
    one(lab.answer(0));
    one(lab.answer(1));
    lab.command("etcd", "compact", serde_json::Value::Null);
    lab.ask(2);
    lab.run(1.0);
    assert_eq!(failure(&lab, 2).reason, Reason::Expired);
}

#[test]
fn a_watch_ends_when_etcd_does() {
    let mut lab = Lab::plain(V1_36, vec![watch("e", 1)]);
    lab.ask(0);
    lab.run(1.0);
    lab.crash("etcd");
    lab.run(1.0);
    assert_eq!(failure(&lab, 0).reason, Reason::InternalError);
}

/// The error event that ends the watch with this number, right after its headers.
#[track_caller]
fn failure(lab: &Lab, watch: usize) -> Status {
    let all = lab.answers().into_iter().filter(|(n, _)| *n == watch);
    let all: Vec<_> = all
        .map(|(_, reply)| reply.expect("the server is there"))
        .collect();
    match all.as_slice() {
        [
            Reply::Part(WatchPart::Accepted),
            Reply::Part(WatchPart::Event(WatchEvent::Error(status))),
            Reply::Part(WatchPart::Closed),
        ] => status.clone(),
        other => panic!("{other:?}"),
    }
}

fn health() -> Vec<Request> {
    let checks = ["/healthz", "/readyz"];
    checks.map(|path| Request::new(Method::Get, path)).to_vec()
}

/// Do `/healthz` and `/readyz` pass?
fn probes(lab: &mut Lab) -> (bool, bool) {
    (lab.answer(0).code == 200, lab.answer(1).code == 200)
}

#[test]
fn health_waits_for_the_post_start_hooks() {
    let slow = Slow {
        start: Duration::from_secs(5),
        ..Slow::default()
    };
    let mut lab = Lab::new(V1_36, slow, Duration::ZERO, health());
    assert_eq!(probes(&mut lab), (false, false));
    lab.run(4.0);
    assert_eq!(probes(&mut lab), (true, true));
}

/// `/healthz` does not know of a shutdown.
#[test]
fn readyz_fails_from_the_beginning_of_a_shutdown() {
    for release in VERSIONS {
        let delay = Duration::from_secs(10);
        let mut lab = Lab::new(release, Slow::default(), delay, health());
        lab.run(1.0);
        assert_eq!(probes(&mut lab), (true, true), "{release}");
        lab.shut_down();
        assert_eq!(probes(&mut lab), (true, false), "{release}");
    }
}

#[test]
fn health_fails_when_etcd_does_not_answer_within_2_s() {
    let mut lab = Lab::plain(V1_20, health());
    lab.strike(Fault::Pause {
        process: "etcd".to_owned(),
    });
    lab.ask(1);
    lab.run(1.99);
    assert_eq!(lab.answers().len(), 0);
    lab.run(0.1);
    let answers = lab.answers();
    let codes: Vec<u16> = answers.into_iter().map(|(_, r)| response(r).code).collect();
    assert_eq!(codes, [500]);
    lab.strike(Fault::Resume {
        process: "etcd".to_owned(),
        order: 0,
    });
    assert_eq!(probes(&mut lab), (true, true));
}

/// A call to an etcd that is down waits. After 60 s the client is told; up to v1.20 the handler goes
/// on (`WithTimeoutForNonLongRunningRequests`), in v1.36 its context has ended.
#[test]
fn after_60_s_the_client_is_answered_and_only_old_handlers_go_on() {
    for release in VERSIONS {
        let create = create("e", "1.1.1.1");
        let mut lab = Lab::plain(release, vec![create]);
        lab.crash("etcd");
        lab.ask(0);
        lab.run(59.9);
        assert_eq!(lab.answers().len(), 0, "{release}");
        lab.run(0.2);
        let (_, reply) = lab.answers().remove(0);
        assert_eq!(reason(response(reply)), Reason::Timeout, "{release}");
        lab.start("etcd");
        lab.run(120.0);
        let written = usize::from(release < V1_36);
        assert_eq!(lab.commits(), written, "{release}");
    }
}

/// The etcd client gives a read 100 attempts from v1.23 on, and none but the first before.
#[test]
fn a_broken_read_is_tried_again_by_new_releases() {
    for release in VERSIONS {
        let mut lab = Lab::plain(release, vec![ask(Method::Get, "e")]);
        refusal(lab.answer(0));
        lab.ask(0);
        lab.run(0.0012);
        lab.strike(Fault::Reset {
            client: "api".to_owned(),
            server: "etcd".to_owned(),
            transport: "etcd".to_owned(),
        });
        lab.run(1.0);
        let expected = match release {
            V1_36 => Reason::NotFound,
            _ => Reason::Unknown,
        };
        let (_, reply) = lab.answers().remove(1);
        assert_eq!(reason(response(reply)), expected, "{release}");
    }
}

/// A write is tried again by nobody: it may have been done.
#[test]
fn a_broken_write_has_an_unknown_outcome() {
    for release in VERSIONS {
        let create = create("e", "1.1.1.1");
        let mut lab = Lab::plain(release, vec![ask(Method::Get, "e"), create]);
        refusal(lab.answer(0));
        lab.ask(1);
        // The transaction has arrived, its answer is under way.
        lab.run(0.0012);
        assert_eq!(lab.commits(), 1, "{release}");
        lab.strike(Fault::LoseAnswer {
            client: "api".to_owned(),
            server: "etcd".to_owned(),
        });
        lab.run(1.0);
        let (_, reply) = lab.answers().remove(1);
        assert_eq!(reason(response(reply)), Reason::Unknown, "{release}");
        assert_eq!(lab.commits(), 1, "{release}");
    }
}

#[test]
fn a_server_that_is_not_there_refuses() {
    let mut lab = Lab::plain(V1_36, health());
    lab.crash("api");
    lab.ask(0);
    lab.run(1.0);
    assert_eq!(lab.answers(), [(0, Err(NetError::Refused))]);
}
