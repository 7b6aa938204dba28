//! A control plane that starts: who is listed, how, and what keeps it so.

use crate::common;

use common::{Bench, address, addresses, shipped};
use wavetank_api::json;
use wavetank_api::views::{self, Port};
use wavetank_components::kube_apiserver::bootstrap::master_lease_key;
use wavetank_components::kube_apiserver::bootstrap::{AdditionalPort, Published};
use wavetank_components::services::ServiceRanges;
use wavetank_components::{ENDPOINTS, SLICE};
use wavetank_engine::Fault;
use wavetank_engine::drive::Stepped;
use wavetank_etcd::Cause;
use wavetank_releases::{V1_16, V1_20, V1_36, VERSIONS};

const LABEL: &str = "endpointslice.kubernetes.io/skip-mirror";

#[test]
fn three_apiservers_are_listed_with_their_port() {
    for release in VERSIONS {
        let bench = Bench::settled(&shipped(release));
        assert_eq!(bench.listed(), addresses(&[1, 2, 3]), "{release}");
        let stored = bench.view().get(ENDPOINTS).expect("it was made");
        let subsets = views::subsets(stored.value.json());
        let [subset] = subsets.as_slice() else {
            panic!("{release}: {subsets:?}");
        };
        let https = Port {
            name: "https".into(),
            port: 6443,
        };
        assert_eq!(subset.ports, [https], "{release}");
        assert_eq!(bench.objections(), [""; 0], "{release}");
    }
}

#[test]
fn slice_and_label_came_with_v1_20() {
    for release in VERSIONS {
        let bench = Bench::settled(&shipped(release));
        let endpoints = bench.view().get(ENDPOINTS).expect("it was made");
        let label = ["metadata", "labels", LABEL];
        let is_labelled = json::text(endpoints.value.json(), &label) == "true";
        assert_eq!(is_labelled, release >= V1_20, "{release}");
        let Some(slice) = bench.view().get(SLICE) else {
            assert_eq!(release, V1_16);
            continue;
        };
        assert!(release >= V1_20, "{release}");
        assert_eq!(bench.sliced(), addresses(&[1, 2, 3]), "{release}");
        let slice = slice.value.json();
        assert_eq!(slice["addressType"], "IPv4");
        let ports = views::ports(slice);
        assert_eq!((&*ports[0].name, ports[0].port), ("https", 6443));
    }
}

#[test]
fn additional_ports_are_listed_until_v1_20() {
    for release in VERSIONS {
        let mut topology = shipped(release);
        topology.watching.front.published = Published {
            node_port: 30443,
            additional: vec![AdditionalPort {
                name: "metrics".into(),
                port: 9443,
                target: 9444,
            }],
        };
        topology.services = Some(ServiceRanges::of(&["10.96.0.0/24"]));
        topology.watching.cache = true;
        let bench = Bench::settled(&topology);
        let mut wanted = vec![("https".to_owned(), 6443)];
        if release < V1_36 {
            wanted.push(("metrics".to_owned(), 9444));
        }
        let of = |tree| -> Vec<(String, u16)> {
            let ports = views::ports(tree).into_iter();
            ports
                .map(|port| (port.name.to_string(), port.port))
                .collect()
        };
        let stored = |key| match bench.view().get(key) {
            Some(found) => found.value.json().clone(),
            None => panic!("{release}: no {key}"),
        };
        let subset = json::list(&stored(ENDPOINTS), &["subsets"])[0].clone();
        assert_eq!(of(&subset), wanted, "{release}");
        if release > V1_16 {
            assert_eq!(of(&stored(SLICE)), wanted, "{release}");
        }
        let service = stored("/registry/services/specs/default/kubernetes");
        assert_eq!(service["spec"]["type"], "NodePort", "{release}");
        let ports = service["spec"]["ports"].as_array().expect("it has ports");
        assert_eq!(ports.len(), wanted.len(), "{release}");
        assert_eq!(ports[0]["nodePort"], 30443, "{release}");
        assert_eq!(bench.objections(), [""; 0], "{release}");
    }
}

#[test]
fn the_family_of_the_slice_is_that_of_the_addresses() {
    for release in VERSIONS {
        let mut topology = shipped(release);
        topology.watching.front.six = true;
        let bench = Bench::settled(&topology);
        assert_eq!(
            bench.listed(),
            ["fd00::1", "fd00::2", "fd00::3"],
            "{release}"
        );
        if release > V1_16 {
            assert_eq!(bench.sliced(), bench.listed(), "{release}");
            let slice = bench.view().get(SLICE).expect("it was made");
            assert_eq!(slice.value.json()["addressType"], "IPv6", "{release}");
        }
        assert_eq!(bench.objections(), [""; 0], "{release}");
    }
}

#[test]
fn every_apiserver_renews_its_lease_of_15_s_each_10_s() {
    for release in VERSIONS {
        let mut bench = Bench::settled(&shipped(release));
        bench.run_to_second(100.0);
        assert_eq!(bench.leased(), addresses(&[1, 2, 3]), "{release}");
        for n in 1..=3 {
            let key = master_lease_key(&address(n));
            let writes = bench.commits(&key, 0.0);
            assert!(writes.len() >= 10, "{release}: {}", writes.len());
            for pair in writes.windows(2) {
                let (before, after) = (&pair[0], &pair[1]);
                let pause = after.0 - before.0;
                assert!((pause - 10.0).abs() < 0.02, "{release}: {pause} s");
                let of = |write: &(f64, Option<_>, Cause)| {
                    let kv: &wavetank_etcd::KeyValue<wavetank_api::Object> =
                        write.1.as_ref().expect("never deleted");
                    (
                        kv.value.json()["metadata"]["generation"]
                            .as_u64()
                            .expect("counted"),
                        kv.lease,
                    )
                };
                let ((old, old_lease), (new, new_lease)) = (of(before), of(after));
                assert_eq!(new, old + 1, "a renewal is always a write");
                assert!(
                    new_lease.is_some() && new_lease > old_lease,
                    "a lease of its own"
                );
            }
        }
    }
}

/// The TTL, seen from outside: a server that stands still after its renewal loses its lease.
#[test]
fn a_lease_lasts_15_s_and_up_to_half_a_second_more() {
    for release in VERSIONS {
        let mut bench = Bench::settled(&shipped(release));
        let key = master_lease_key(&address(2));
        let count = bench.commits(&key, 0.0).len();
        let renewed = bench.run_to("a renewal", 11.0, |b| b.commits(&key, 0.0).len() > count);
        bench.strike(Fault::Pause {
            process: "a2".to_owned(),
        });
        let gone = bench.run_to("expiry", 17.0, |b| !b.leased().contains(&address(2)));
        let lasted = gone - renewed;
        // The lease is granted one round trip before it is used.
        assert!((14.99..=15.52).contains(&lasted), "{release}: {lasted} s");
        let (_, _, cause) = bench.commits(&key, gone).remove(0);
        assert!(matches!(cause, Cause::Expiry(_)));
    }
}

#[test]
fn nothing_but_leases_is_written_once_all_is_right() {
    for release in VERSIONS {
        let mut bench = Bench::settled(&shipped(release));
        bench.run_to_second(200.0);
        for key in [ENDPOINTS, SLICE] {
            assert_eq!(bench.commits(key, 25.0).len(), 0, "{release}: {key}");
        }
    }
}

#[test]
fn replicas_of_different_releases_agree() {
    let mut topology = shipped(V1_20);
    topology.apiservers[0] = shipped(V1_16).apiservers.remove(0);
    topology.apiservers[2] = shipped(V1_36).apiservers.remove(0);
    let mut bench = Bench::settled(&topology);
    bench.run_to_second(200.0);
    assert_eq!(bench.listed(), addresses(&[1, 2, 3]));
    assert_eq!(bench.sliced(), addresses(&[1, 2, 3]));
    assert_eq!(
        bench.commits(ENDPOINTS, 60.0).len(),
        0,
        "they do not quarrel"
    );
}
