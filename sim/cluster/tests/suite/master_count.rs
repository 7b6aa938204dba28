//! The master-count reconciler: every server sees to its own address and believes in a number.

use crate::common;

use common::topology::Topology;
use wavetank_components::ENDPOINTS;
use wavetank_components::kube_apiserver::bootstrap::Reconciler;

use common::{Bench, addresses, crash, seconds, shipped, start, stop};
use wavetank_api::{Object, views};
use wavetank_components::kube_apiserver::BootstrapDefect;
use wavetank_components::kube_apiserver::bootstrap::{ReconcileError, RemovalOutcome};
use wavetank_components::kube_apiserver::gates::ENDPOINT_SLICES;
use wavetank_engine::Fault;
use wavetank_engine::drive::Stepped;
use wavetank_etcd::{Cause, Keys, Range, Request};
use wavetank_releases::{V1_36, VERSIONS};
use wavetank_version::Version;

fn master_count(release: Version, count: u32) -> Topology {
    Topology {
        reconciler: Reconciler::MasterCount,
        apiserver_count: count,
        ..shipped(release)
    }
}

#[test]
fn all_are_listed_and_there_are_no_leases() {
    for release in VERSIONS {
        let bench = Bench::settled(&master_count(release, 3));
        assert_eq!(bench.listed(), addresses(&[1, 2, 3]), "{release}");
        assert_eq!(bench.leased(), [""; 0], "{release}");
        if release.has(ENDPOINT_SLICES) {
            assert_eq!(bench.sliced(), addresses(&[1, 2, 3]), "{release}");
        }
    }
}

#[test]
fn a_graceful_stop_takes_the_address_away_even_of_the_last() {
    for release in VERSIONS {
        let mut bench = Bench::settled(&master_count(release, 3));
        for (name, left) in [("a2", vec![1, 3]), ("a3", vec![1]), ("a1", vec![])] {
            bench.strike(stop(name));
            bench.run(1.0);
            assert_eq!(bench.listed(), addresses(&left), "{release}");
            bench.run(20.0);
        }
        let stored = bench.view().get(ENDPOINTS).expect("it stays");
        assert_eq!(views::subsets(stored.value.json()).len(), 0);
    }
}

/// k/k#22609
#[test]
fn a_crashed_one_stays_listed_for_ever() {
    for release in VERSIONS {
        let mut bench = Bench::settled(&master_count(release, 3));
        bench.strike(crash("a2"));
        bench.run(3600.0);
        assert_eq!(bench.listed(), addresses(&[1, 2, 3]), "{release}");
    }
}

/// Off, the defect gives way to our proposal: the lease reconciler.
#[test]
fn without_the_defect_a_crashed_one_goes() {
    for release in VERSIONS {
        let mut topology = master_count(release, 3);
        for server in &mut topology.apiservers {
            server.defects = server
                .defects
                .with(BootstrapDefect::MasterCountKeepsCrashed, false);
        }
        let mut bench = Bench::settled(&topology);
        bench.strike(crash("a2"));
        bench.run(30.0);
        assert_eq!(bench.listed(), addresses(&[1, 3]), "{release}");
    }
}

/// A server that finds too many takes off the one after itself, which comes back in its next round
/// and takes off the one after itself, and so on.
#[test]
fn more_than_the_count_push_each_other_off() {
    for release in VERSIONS {
        let mut bench = Bench::settled(&master_count(release, 2));
        bench.run_to_second(100.0);
        let writes = bench.commits(ENDPOINTS, 30.0);
        assert!(writes.len() > 10, "{release}: they never rest");
        let lists: Vec<Vec<String>> = writes
            .iter()
            .map(|(_, now, _)| {
                let listed = views::addresses(now.as_ref().expect("never deleted").value.json());
                listed.iter().map(|a| a.to_string()).collect()
            })
            .collect();
        for (before, (after, write)) in lists.iter().zip(lists.iter().zip(&writes).skip(1)) {
            let Cause::Client(writer) = write.2 else {
                panic!("{release}: {:?}", write.2);
            };
            let writer = bench.world.name(writer).replace('a', "10.0.0.");
            assert!(!before.contains(&writer), "{release}: it had nothing to do");
            let mut expected = before.clone();
            expected.push(writer.clone());
            expected.sort();
            let own = expected.iter().position(|a| *a == writer).expect("pushed");
            expected.remove((own + 1) % expected.len());
            assert_eq!(*after, expected, "{release}");
        }
    }
}

/// The removal tries four times with the object that it read: after one conflict all conflict.
#[test]
fn of_two_simultaneous_stops_one_conflicts_four_times() {
    for release in VERSIONS {
        let mut bench = Bench::settled(&master_count(release, 3));
        let asked = seconds(bench.now);
        bench.strike(stop("a1"));
        bench.strike(stop("a3"));
        bench.run(2.0);
        let conflict = RemovalOutcome::Failed(ReconcileError::Conflict);
        let ended = [1, 3].map(|n| bench.removal(n).expect("it has ended"));
        let mut losers = ended.iter().filter(|(_, outcome)| *outcome == conflict);
        let (at, _) = losers.next().expect("one conflicts");
        // 10 + 50 + 250 ms of pauses.
        assert!(
            (0.31..0.34).contains(&(at - asked)),
            "{release}: {}",
            at - asked
        );
        assert!(losers.next().is_none(), "{release}");
        assert_eq!(bench.listed().len(), 2, "{release}");
        bench.run(60.0);
        assert_eq!(bench.listed().len(), 2, "nobody mends it: {release}");
    }
}

#[test]
fn one_that_is_back_lists_itself_beside_the_others() {
    for release in VERSIONS {
        let mut bench = Bench::settled(&master_count(release, 3));
        bench.strike(crash("a2"));
        bench.run(5.0);
        bench.strike(start("a2"));
        bench.run_to("removed at start", 1.0, |b| {
            b.listed() == addresses(&[1, 3])
        });
        bench.run_to("its first round", 1.0, |b| {
            b.listed() == addresses(&[1, 2, 3])
        });
    }
}

/// A GET that fails is taken for "there are none": the PUT that follows has no resourceVersion and
/// takes everybody else off, who come back in their next rounds. In v1.36 the etcd client tries a
/// read again, and all is well.
#[test]
fn a_failed_get_wipes_the_others_off() {
    for release in VERSIONS {
        let mut bench = Bench::settled(&master_count(release, 3));
        let (a2, etcd) = (bench.id("a2"), bench.id("etcd"));
        let reads = Request::<Object>::Range(Range::of(Keys::one(ENDPOINTS)));
        bench.run_to("a round of a2", 11.0, |b| {
            let mut all = b.world.requests_in_flight();
            all.any(|(from, to, body)| {
                (from, to) == (a2, etcd) && body.get::<Request<Object>>() == Some(&reads)
            })
        });
        bench.strike(Fault::Reset {
            client: "a2".to_owned(),
            server: "etcd".to_owned(),
            transport: "etcd".to_owned(),
        });
        bench.run(0.1);
        if release >= V1_36 {
            assert_eq!(bench.listed(), addresses(&[1, 2, 3]));
            continue;
        }
        assert_eq!(bench.listed(), addresses(&[2]), "{release}");
        bench.run(10.0);
        assert_eq!(bench.listed(), addresses(&[1, 2, 3]), "{release}");
    }
}
