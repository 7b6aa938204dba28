//! A server has a connection to etcd for each resource, and one each for its other clients of etcd: faults strike one of
//! them.

use serde_json::json;
use wavetank_api::kinds::{CONFIG_MAPS, ENDPOINTS};
use wavetank_api::{Method, Query, Reason, Request, Resource};
use wavetank_apiserver::cacher::{self, CacheNote};
use wavetank_engine::Fault;
use wavetank_engine::drive::Stepped;
use wavetank_etcd::Connections;
use wavetank_releases::{V1_20, V1_36};
use wavetank_version::Version;

use crate::common::{Lab, Setting, reason, response};

const BOTH: [Version; 2] = [V1_20, V1_36];

fn create(resource: &Resource, name: &str) -> Request {
    let object = json!({
        "apiVersion": resource.api_version(),
        "kind": resource.kind,
        "metadata": {"name": name},
    });
    Request::new(Method::Post, resource.path("default", "")).with(object)
}

/// A read of what is stored.
fn get(resource: &Resource, name: &str) -> Request {
    Request::new(Method::Get, resource.path("default", name))
}

/// A read of what the cache has.
fn cached(resource: &Resource, name: &str) -> Request {
    let mut request = get(resource, name);
    request.query = Query::of(&[("resourceVersion", "0")]);
    request
}

fn probe(path: &str) -> Request {
    Request::new(Method::Get, path)
}

/// Two servers with watch caches over one etcd; the client asks `api`, the writer `other`.
fn lab(release: Version, script: Vec<Request>) -> Lab {
    let setting = Setting {
        watch_cache: true,
        connections: Connections::PerClient,
        ..Setting::default()
    };
    let mut lab = Lab::two(release, setting, script);
    lab.run(2.0);
    lab
}

fn half_open(transport: &str) -> Fault {
    Fault::HalfOpen {
        client: "api".to_owned(),
        server: "etcd".to_owned(),
        transport: transport.to_owned(),
    }
}

#[test]
fn each_resource_has_a_connection_and_so_has_each_check() {
    for release in BOTH {
        let mut lab = lab(release, vec![probe("/readyz")]);
        assert_eq!(lab.answer(0).code, 200);
        let (api, etcd) = (lab.bench.id("api"), lab.bench.id("etcd"));
        let all = lab.bench.world.connections();
        let own = all.filter(|(client, server, _)| (*client, *server) == (api, etcd));
        let names: Vec<&str> = own.map(|(_, _, transport)| transport).collect();
        for name in ["etcd/configmaps", "etcd/endpoints", "etcd/health"] {
            assert!(names.contains(&name), "{release}: {names:?}");
        }
        // Its own since PR #111399.
        let apart = names.contains(&"etcd/readiness");
        assert_eq!(apart, release == V1_36, "{names:?}");
        assert!(!names.contains(&"etcd"), "{names:?}");
    }
}

#[test]
fn one_cache_stands_still_while_the_others_go_on() {
    for release in BOTH {
        let script = vec![
            create(&ENDPOINTS, "e"),
            create(&CONFIG_MAPS, "c"),
            cached(&ENDPOINTS, "e"),
            cached(&CONFIG_MAPS, "c"),
        ];
        let mut lab = lab(release, script);
        lab.strike(half_open("etcd/endpoints"));
        assert_eq!(lab.written(0).code, 201);
        assert_eq!(lab.written(1).code, 201);
        lab.run(20.0);
        assert_eq!(reason(lab.answer(2)), Reason::NotFound, "{release}");
        assert_eq!(lab.answer(3).code, 200, "{release}");
        let shown =
            |lab: &Lab, server, of| cacher::shown(&lab.bench.world, lab.bench.id(server), of);
        assert!(shown(&lab, "api", &ENDPOINTS) < shown(&lab, "other", &ENDPOINTS));
        // Pings notice it after 40 s, and the watch goes on where it was.
        let again = |lab: &Lab| {
            let notes = lab.bench.noted::<CacheNote>().into_iter();
            let mut notes = notes.map(|(_, note)| note);
            notes.any(|note| matches!(note, CacheNote::WatchesAgain(of, _) if of == &ENDPOINTS))
        };
        assert!(!again(&lab), "{release}: nobody knows yet");
        lab.run(30.0);
        assert!(again(&lab), "{release}");
        assert_eq!(lab.answer(2).code, 200, "{release}");
    }
}

#[test]
fn a_server_is_ready_over_a_dead_connection_of_a_resource() {
    for release in BOTH {
        let script = vec![
            probe("/readyz"),
            get(&CONFIG_MAPS, "c"),
            get(&ENDPOINTS, "e"),
        ];
        let mut lab = lab(release, script);
        assert_eq!(lab.answer(0).code, 200);
        lab.strike(half_open("etcd/configmaps"));
        assert_eq!(lab.answer(0).code, 200, "{release}");
        assert_eq!(reason(lab.answer(2)), Reason::NotFound, "{release}");
        lab.ask(1);
        lab.run(5.0);
        assert_eq!(lab.answers().len(), 3, "{release}: nobody answers");
    }
}

#[test]
fn a_server_is_not_ready_although_its_resources_are_served() {
    let of_release = |release| match release == V1_36 {
        true => vec!["etcd/health", "etcd/readiness"],
        false => vec!["etcd/health"],
    };
    for release in BOTH {
        for dead in of_release(release) {
            let script = vec![probe("/readyz"), probe("/livez"), create(&CONFIG_MAPS, "c")];
            let mut lab = lab(release, script);
            assert_eq!(lab.answer(0).code, 200);
            lab.strike(half_open(dead));
            lab.ask(0);
            lab.run(5.0);
            let (_, ready) = lab.answers().remove(1);
            assert_eq!(response(ready).code, 500, "{release}, {dead}");
            let lives = dead == "etcd/readiness";
            lab.ask(1);
            lab.run(5.0);
            let (_, alive) = lab.answers().remove(2);
            assert_eq!(response(alive).code == 200, lives, "{release}, {dead}");
            assert_eq!(lab.answer(2).code, 201, "{release}, {dead}");
        }
    }
}

/// v1.20 makes no read again: the one whose connection is reset fails, and the other does not.
#[test]
fn a_reset_hits_one_resource() {
    let script = vec![get(&CONFIG_MAPS, "c"), get(&ENDPOINTS, "e")];
    let mut lab = lab(V1_20, script);
    lab.ask(0);
    lab.ask(1);
    lab.run(0.0012);
    lab.strike(Fault::Reset {
        client: "api".to_owned(),
        server: "etcd".to_owned(),
        transport: "etcd/configmaps".to_owned(),
    });
    lab.run(1.0);
    let mut answers = lab.answers();
    answers.sort_by_key(|(number, _)| *number);
    let reasons = answers
        .into_iter()
        .map(|(_, reply)| reason(response(reply)));
    let reasons: Vec<Reason> = reasons.collect();
    assert_eq!(reasons, [Reason::Unknown, Reason::NotFound]);
}

const MEMBERS: [&str; 3] = ["e1", "e2", "e3"];

/// The same over three members of etcd; each server knows all.
fn three(script: Vec<Request>) -> Lab {
    let setting = Setting {
        watch_cache: true,
        connections: Connections::PerClient,
        three: true,
        ..Setting::default()
    };
    let mut lab = Lab::two(V1_36, setting, script);
    lab.run(10.0);
    lab
}

fn of(process: &str, fault: fn(String) -> Fault) -> Fault {
    fault(process.to_owned())
}

#[test]
fn calls_go_round_the_members_that_are_there() {
    let mut lab = three(vec![get(&ENDPOINTS, "e")]);
    let connected = |lab: &Lab| -> Vec<String> {
        let api = lab.bench.id("api");
        let all = lab.bench.world.connections();
        let own = all.filter(|(client, _, name)| *client == api && *name == "etcd/endpoints");
        let members = own.map(|(_, server, _)| lab.bench.world.name(server).to_owned());
        members.collect()
    };
    let mut all = connected(&lab);
    all.sort();
    assert_eq!(all, MEMBERS);
    for down in MEMBERS {
        lab.strike(of(down, |process| Fault::Crash { process }));
        // There may be an election.
        lab.run(5.0);
        assert!(!connected(&lab).contains(&down.to_owned()), "{down}");
        for _ in 0..6 {
            assert_eq!(reason(lab.answer(0)), Reason::NotFound, "without {down}");
        }
        lab.strike(of(down, |process| Fault::Start { process }));
        lab.run(10.0);
        assert_eq!(connected(&lab).len(), 3, "{down} is dialled again");
    }
}

/// The list of a cache is of one member, and its watch at one that lags: it is filled with what that member does not
/// have yet, and stands still while others have more.
#[test]
fn a_watch_lags_behind_its_list() {
    let script = vec![
        create(&CONFIG_MAPS, "listed"),
        create(&CONFIG_MAPS, "watched"),
        cached(&CONFIG_MAPS, "listed"),
        cached(&CONFIG_MAPS, "watched"),
    ];
    let lags = |slow: &str| {
        let mut lab = three(script.clone());
        lab.crash("api");
        let others = || MEMBERS.into_iter().filter(|other| *other != slow);
        for from in others() {
            lab.strike(Fault::Stall {
                from: from.to_owned(),
                to: slow.to_owned(),
            });
        }
        let write = |lab: &mut Lab, number: usize| {
            lab.command("writer", "ask", number.into());
            lab.run(0.1);
        };
        write(&mut lab, 0);
        lab.start("api");
        lab.run(0.2);
        write(&mut lab, 1);
        let behind = lab.store_of(slow).revision();
        let (here, there) = ("api", "other");
        let shown =
            |lab: &Lab, server| cacher::shown(&lab.bench.world, lab.bench.id(server), &CONFIG_MAPS);
        let newest = others().map(|other| lab.store_of(other).revision()).max();
        let lags = shown(&lab, here) > behind && Some(shown(&lab, here)) < newest;
        for from in others() {
            lab.strike(Fault::Unstall {
                from: from.to_owned(),
                to: slow.to_owned(),
            });
        }
        lab.run(20.0);
        assert_eq!(shown(&lab, here), shown(&lab, there), "{slow}");
        assert_eq!(lab.answer(2).code, 200);
        assert_eq!(lab.answer(3).code, 200);
        lags
    };
    let seen = MEMBERS.map(lags);
    assert!(seen.contains(&true), "{seen:?}");
}
