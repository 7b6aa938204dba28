//! Informers of each release, step by step: what they ask, and what becomes of it.

use crate::common;

use std::time::Duration;

use common::server::Like;
use common::{Bench, Setup, fixed, like};
use wavetank_api::Reason;
use wavetank_client::Policy;
use wavetank_client::informer::{HandlerSpec, InformerSpec, Lag, Resync};
use wavetank_client::observed::{
    Call, Handled, Listed, NotListed, Ready, Synced, Trouble, WatchBegan, WatchOver, Watched,
};
use wavetank_engine::Fault;
use wavetank_engine::drive::Stepped;
use wavetank_releases::{V1_16, V1_20, V1_36, VERSIONS};
use wavetank_version::{Set, Version};

const ALL: [Version; 3] = VERSIONS;

fn held(items: &[(&str, u64)]) -> Vec<(String, u64)> {
    items.iter().map(|(n, r)| ((*n).to_owned(), *r)).collect()
}

fn lists(bench: &Bench) -> Vec<Option<u64>> {
    let told = bench.noted::<Listed>();
    told.into_iter().map(|(_, listed)| listed.asked).collect()
}

fn watches(bench: &Bench) -> Vec<Option<u64>> {
    let told = bench.noted::<WatchBegan>();
    told.into_iter().map(|(_, began)| began.from).collect()
}

#[test]
fn an_informer_fills_its_store_and_follows() {
    for release in ALL {
        let mut bench = Bench::settled(&Setup::new(release));
        assert_eq!(bench.store(), held(&[("a", 2), ("b", 3)]), "{release}");
        bench.put("c");
        bench.put("a");
        bench.delete("b");
        bench.run(0.1);
        assert_eq!(bench.store(), held(&[("a", 5), ("c", 4)]), "{release}");
        assert_eq!(bench.view(), bench.store(), "{release}");
        let streamed = bench.noted::<Listed>()[0].1.streamed;
        assert_eq!(streamed, release == V1_36);
        let first = if streamed { None } else { Some(0) };
        assert_eq!(lists(&bench), [first], "{release}");
        assert_eq!(bench.noted::<Synced>().len(), 1);
        assert_eq!(bench.noted::<Ready>().len(), 1);
        bench.settle(release);
        bench.is_clean();
        for name in [
            "informers-converge",
            "handlers-agree",
            "list-shows-a-moment",
        ] {
            assert!(bench.held(name), "{release}: {name}");
        }
    }
}

#[test]
fn an_empty_list_is_one() {
    for release in ALL {
        let mut bench = Bench::new(&Setup::new(release));
        for process in ["truth", "a1", "a2", "c1"] {
            bench.start(process);
        }
        bench.run(1.0);
        assert_eq!(bench.noted::<Ready>().len(), 1, "{release}");
        bench.put("a");
        bench.run(0.1);
        assert_eq!(bench.view(), held(&[("a", 2)]), "{release}");
    }
}

#[test]
fn a_selector_selects() {
    for release in ALL {
        let mut setup = Setup::new(release);
        let requirement = wavetank_api::selector::Requirement {
            key: "app".into(),
            operator: wavetank_api::selector::Operator::In,
            values: vec!["x".into()],
        };
        setup.specs[0].selection.labels.0.0.push(requirement);
        let mut bench = Bench::settled(&setup);
        for (name, app) in [("c", "x"), ("d", "y"), ("c", "y"), ("d", "x")] {
            let args = serde_json::json!({"name": name, "labels": {"app": app}});
            bench.command("truth", "put", args);
        }
        bench.run(0.1);
        assert_eq!(bench.view(), held(&[("d", 7)]), "{release}");
        bench.settle(release);
        bench.is_clean();
    }
}

/// v1.16 as it shipped begins anew; later ones ask for what they know.
#[test]
fn after_an_expired_watch_it_lists_again() {
    for release in ALL {
        let defects = [Set::shipped_with(release), fixed()];
        for defects in defects {
            let mut bench = Bench::settled(&Setup {
                defects,
                ..Setup::new(release)
            });
            bench.command("a1", "expire", serde_json::json!({}));
            bench.run(5.0);
            let asked = *lists(&bench).last().unwrap();
            let anew = release == V1_16 && defects == Set::shipped_with(release);
            assert_eq!(asked, Some(if anew { 0 } else { 3 }), "{release}");
            assert_eq!(lists(&bench).len(), 2);
            let over = bench.noted::<WatchOver>();
            let Some(Trouble::Status(status)) = &over[0].1.why else {
                panic!("{over:?}");
            };
            assert!(status.is(Reason::Expired));
            // The shortest back-off.
            let waited = bench.noted::<Listed>()[1].0 - over[0].0;
            let expected = if release == V1_16 { 1.0 } else { 0.8 };
            assert!((waited - expected).abs() < 0.01, "{release}: {waited}");
            bench.put("c");
            bench.run(0.1);
            assert_eq!(bench.store().len(), 3);
            bench.is_clean();
        }
    }
}

#[test]
fn a_watch_that_ends_goes_on_where_it_was() {
    for release in ALL {
        let mut bench = Bench::settled(&Setup::new(release));
        bench.put("c");
        bench.run(2.0);
        bench.command("a1", "close", serde_json::json!({}));
        bench.run(0.1);
        assert_eq!(watches(&bench).last().unwrap(), &Some(4), "{release}");
        assert_eq!(lists(&bench).len(), 1);
        bench.put("d");
        bench.run(0.1);
        assert_eq!(bench.store().len(), 4);
        // Its time is over after 300 s, and a bookmark comes before.
        bench.run(301.0);
        assert_eq!(lists(&bench).len(), 1);
        assert_eq!(watches(&bench).len(), 3, "{release}");
        bench.is_clean();
    }
}

#[test]
fn a_watch_that_ends_within_a_second_and_brings_nothing_ends_the_round() {
    for release in ALL {
        let mut bench = Bench::settled(&Setup::new(release));
        bench.command("a1", "close", serde_json::json!({}));
        bench.run(0.5);
        assert_eq!(watches(&bench).len(), 2);
        bench.command("a1", "close", serde_json::json!({}));
        bench.run(5.0);
        assert_eq!(lists(&bench).len(), 2, "{release}");
        let over = bench.noted::<WatchOver>();
        assert_eq!(over[1].1.why, Some(Trouble::Short));
    }
}

#[test]
fn a_crashed_server_is_left_without_a_list() {
    for release in ALL {
        let mut bench = Bench::settled(&Setup::new(release));
        bench.crash("a1");
        bench.put("c");
        bench.run(0.1);
        assert_eq!(bench.store().len(), 3, "{release}");
        assert_eq!(lists(&bench).len(), 1);
        assert!(bench.held("client-changed-servers"));
        bench.is_clean();
    }
}

/// With a fixed address there is nowhere to go.
#[test]
fn a_refused_connection_is_tried_again_without_a_list() {
    for release in ALL {
        let mut bench = Bench::settled(&Setup {
            policy: Policy::Fixed,
            ..Setup::new(release)
        });
        bench.crash("a1");
        bench.run(4.0);
        let tries = bench.noted::<WatchOver>();
        let refused =
            |why: &Option<Trouble>| *why == Some(Trouble::Net(wavetank_engine::NetError::Refused));
        let times: Vec<f64> = tries
            .iter()
            .filter(|(_, over)| refused(&over.why))
            .map(|(at, _)| *at)
            .collect();
        let gap = times[1] - times[0];
        let expected = if release == V1_16 { 1.0 } else { 0.8 };
        assert!((gap - expected).abs() < 0.01, "{release}: {gap}");
        bench.start("a1");
        bench.put("c");
        bench.run(5.0);
        assert_eq!(lists(&bench).len(), 1, "{release}");
        assert_eq!(bench.store().len(), 3, "{release}");
        bench.is_clean();
    }
}

/// Only a silent connection: TCP tells after 300 s, HTTP/2's health check after 45 s.
#[test]
fn a_half_open_connection_is_noticed_in_time() {
    for release in ALL {
        let mut bench = Bench::settled(&Setup::new(release));
        bench.strike(Fault::PowerLoss {
            process: "a1".to_owned(),
        });
        bench.put("c");
        let limit = if release == V1_16 { 301.0 } else { 46.0 };
        bench.run(limit - 35.0);
        let early = bench.store().len();
        bench.run(40.0);
        assert_eq!((early, bench.store().len()), (2, 3), "{release}");
    }
}

#[test]
fn a_client_is_moved() {
    for release in ALL {
        let mut bench = Bench::settled(&Setup::new(release));
        bench.move_to(1);
        bench.run(0.1);
        bench.put("c");
        bench.run(0.1);
        assert_eq!(bench.store().len(), 3, "{release}");
        assert_eq!(lists(&bench).len(), 1);
        assert!(bench.held("client-changed-servers"));
    }
}

/// A server that is behind: the list at the known revision is refused for as long as the REST client
/// repeats it, then it is asked for without one.
#[test]
fn a_server_that_lags_is_asked_for_the_newest() {
    for release in ALL {
        let plain = Like {
            watch_list: false,
            pages: false,
            stingy: None,
        };
        let mut bench = Bench::settled(&Setup {
            fronts: vec![plain; 2],
            ..Setup::new(release)
        });
        bench.command("a2", "lag", serde_json::json!({}));
        bench.put("c");
        bench.run(0.1);
        bench.move_to(1);
        bench.run(2.0);
        bench.delete("a");
        bench.command("a2", "expire", serde_json::json!({}));
        bench.run(60.0);
        assert_eq!(bench.store(), held(&[("b", 3), ("c", 4)]), "{release}");
        let (at, failed) = bench.noted::<NotListed>().remove(0);
        assert_eq!(failed.asked, Some(4));
        assert_eq!(lists(&bench).last().unwrap(), &None);
        // 3 s for each try, and 1 s between: eleven tries.
        let over = bench.noted::<WatchOver>();
        let waited = at - over.iter().rev().find(|(t, _)| *t < at - 30.0).unwrap().0;
        assert!((43.0..46.0).contains(&waited), "{release}: {waited}");
        assert!(bench.held("list-was-too-large"));
        bench.is_clean();
    }
}

/// v1.36 tries a watch that begins with a list, and goes on without it where servers do not know that.
#[test]
fn without_watch_list_it_lists() {
    let mut bench = Bench::settled(&Setup {
        fronts: vec![like(V1_20); 2],
        ..Setup::new(V1_36)
    });
    assert_eq!(lists(&bench), [Some(0)]);
    assert_eq!(bench.store().len(), 2);
    bench.put("c");
    bench.run(0.1);
    assert_eq!(bench.store().len(), 3);
    bench.is_clean();
}

#[test]
fn a_busy_server_is_asked_again() {
    // The REST client of v1.36 repeats a watch by itself; without Retry-After its reflector backs off.
    // Before, the round ends.
    for (release, retry, rounds) in [
        (V1_36, true, 1),
        (V1_36, false, 1),
        (V1_20, true, 2),
        (V1_16, true, 2),
    ] {
        let mut bench = Bench::settled(&Setup::new(release));
        bench.command("a1", "busy", serde_json::json!({ "retry": retry }));
        bench.command("a1", "close", serde_json::json!({}));
        bench.put("c");
        bench.run(4.0);
        assert_eq!(lists(&bench).len(), rounds, "{release}");
        assert_eq!(bench.store().len(), 3, "{release}");
        let gone = bench.noted::<WatchOver>()[0].0;
        let waited = bench.noted::<WatchBegan>()[1].0 - gone;
        assert!((0.79..1.1).contains(&waited), "{release}: {waited}");
    }
}

#[test]
fn long_lists_come_in_pages() {
    for release in ALL {
        let paging = Like {
            watch_list: false,
            pages: true,
            stingy: None,
        };
        let mut bench = Bench::served(&Setup {
            fronts: vec![paging],
            ..Setup::new(release)
        });
        for n in 0..600 {
            bench.put(&format!("o{n}"));
        }
        bench.run(0.5);
        bench.start("c1");
        bench.run(0.01);
        bench.put("late");
        bench.run(2.0);
        assert_eq!(bench.store().len(), 603, "{release}");
        assert_eq!(bench.noted::<Listed>()[0].1.items.len(), 602);
        bench.is_clean();
    }
}

#[test]
fn handlers_lag_each_on_its_own() {
    for release in ALL {
        let mut setup = Setup::new(release);
        let slow = HandlerSpec {
            lag: Some(Lag {
                one_in: 1,
                upto: Duration::from_secs(4),
            }),
            ..HandlerSpec::new("slow")
        };
        setup.specs[0].handlers.push(slow);
        let mut bench = Bench::served(&setup);
        bench.choose(|_, _, domain| domain - 1);
        bench.start("c1");
        bench.run(2.0);
        let seen = |bench: &Bench, handler| {
            let told = bench.noted::<Handled>();
            told.iter().filter(|(_, h)| h.handler == handler).count()
        };
        assert_eq!((seen(&bench, 0), seen(&bench, 1)), (2, 0), "{release}");
        assert_eq!(bench.noted::<Synced>().len(), 1);
        // All is fixed: the process waits for the slow one.
        assert!(bench.noted::<Ready>().is_empty());
        bench.run(7.0);
        assert_eq!((seen(&bench, 0), seen(&bench, 1)), (2, 2), "{release}");
        assert_eq!(bench.noted::<Ready>().len(), 1);
        bench.is_clean();
    }
}

#[test]
fn who_wants_a_resync_gets_one() {
    for release in ALL {
        let mut setup = Setup::new(release);
        setup.specs = vec![InformerSpec {
            resync: Some(Duration::from_secs(10)),
            handlers: vec![
                HandlerSpec::new("resyncs"),
                HandlerSpec {
                    resync: Resync::Never,
                    ..HandlerSpec::new("does not")
                },
            ],
            ..setup.specs.remove(0)
        }];
        let mut bench = Bench::settled(&setup);
        bench.run(30.0);
        let updates = |handler| {
            let told = bench.noted::<Handled>();
            let of = told.iter().filter(|(_, h)| h.handler == handler);
            of.filter(|(_, h)| h.call == Call::Update).count()
        };
        // The reflector begins to count with the list, so that its looks come after the handler's due.
        assert_eq!((updates(0), updates(1)), (6, 0), "{release}");
        bench.is_clean();
    }
}

#[test]
fn an_informer_is_held_and_released() {
    for release in ALL {
        let mut bench = Bench::settled(&Setup::new(release));
        let args = serde_json::json!({"resource": "configmaps", "revision": 4});
        bench.command("c1", "hold", args);
        for name in ["c", "d", "e"] {
            bench.put(name);
        }
        bench.run(1.0);
        assert_eq!(bench.store().len(), 3, "{release}");
        let came = |bench: &Bench| {
            bench
                .noted::<Watched>()
                .iter()
                .any(|(_, w)| w.revision == 6)
        };
        assert!(came(&bench));
        bench.hold(false);
        bench.run(0.1);
        assert_eq!(bench.store().len(), 5, "{release}");
        let args = serde_json::json!({"resource": "configmaps", "watch": true});
        bench.command("c1", "hold", args);
        bench.put("f");
        bench.put("g");
        bench.run(1.0);
        assert!(bench.store().len() <= 6, "{release}");
        bench.hold(false);
        bench.run(0.1);
        assert_eq!(bench.store().len(), 7, "{release}");
        bench.command("c1", "content", serde_json::Value::Null);
        bench.is_clean();
    }
}

/// k/k#59848: nothing keeps a restarted client from an older list. A watch-list without a revision is
/// consistent.
#[test]
fn a_restarted_client_may_go_back_in_time() {
    for release in ALL {
        let mut bench = Bench::settled(&Setup::new(release));
        bench.command("a2", "lag", serde_json::json!({}));
        bench.delete("a");
        bench.run(0.1);
        bench.crash("c1");
        bench.crash("a1");
        bench.start("c1");
        bench.run(3.0);
        let travelled = release < V1_36;
        assert_eq!(!bench.observed().is_empty(), travelled, "{release}");
        if travelled {
            assert_eq!(bench.store(), held(&[("a", 2), ("b", 3)]), "{release}");
        }
        bench.is_clean();
    }
}
