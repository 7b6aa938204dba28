//! Apiservers that crash: their lease runs out, and somebody else's next round takes them off.

use crate::common;

use common::{Bench, address, addresses, crash, seconds, shipped, start};
use wavetank_components::kube_apiserver::bootstrap::master_lease_key;
use wavetank_components::kube_apiserver::gates::ENDPOINT_SLICES;
use wavetank_engine::Fault;
use wavetank_engine::drive::Stepped;
use wavetank_etcd::Cause;
use wavetank_releases::VERSIONS;

/// When the lease of `a2` was last renewed.
fn last_renewal(bench: &Bench) -> f64 {
    let writes = bench.commits(&master_lease_key(&address(2)), 0.0);
    writes.last().expect("it was").0
}

#[test]
fn a_crashed_one_is_taken_off_when_its_lease_has_expired() {
    for release in VERSIONS {
        for (power, wait) in [(false, 0.0), (false, 3.3), (true, 7.1)] {
            let mut bench = Bench::settled(&shipped(release));
            bench.run(wait);
            let renewed = last_renewal(&bench);
            bench.strike(match power {
                false => crash("a2"),
                true => Fault::PowerLoss {
                    process: "a2".to_owned(),
                },
            });
            let expired = bench.run_to("expiry", 17.0, |b| b.leased() == addresses(&[1, 3]));
            assert!((14.99..15.51).contains(&(expired - renewed)), "{release}");
            let key = master_lease_key(&address(2));
            let (_, now, cause) = bench.commits(&key, expired).remove(0);
            assert!(
                now.is_none() && matches!(cause, Cause::Expiry(_)),
                "{release}"
            );
            assert_eq!(
                bench.listed(),
                addresses(&[1, 2, 3]),
                "not before: {release}"
            );
            bench.run_to("a round", 10.1, |b| b.listed() == addresses(&[1, 3]));
            bench.run(1.0);
            if release.has(ENDPOINT_SLICES) {
                assert_eq!(bench.sliced(), addresses(&[1, 3]), "{release}");
            }
            assert!(seconds(bench.now) - renewed < 15.0 + 10.0 + 1.5 + 1.0);
            bench.run(60.0);
            assert_eq!(bench.listed(), addresses(&[1, 3]), "{release}");
            assert_eq!(bench.objections(), [""; 0], "{release}");
        }
    }
}

#[test]
fn one_that_is_back_before_its_lease_expires_was_off_for_a_moment() {
    for release in VERSIONS {
        let mut bench = Bench::settled(&shipped(release));
        bench.strike(crash("a2"));
        bench.run(2.0);
        bench.strike(start("a2"));
        // `Start` removes what its last life left; then it is healthy and its first round adds it.
        bench.run_to("removed at start", 1.0, |b| {
            b.listed() == addresses(&[1, 3])
        });
        bench.run_to("its first round", 1.0, |b| {
            b.listed() == addresses(&[1, 2, 3])
        });
        bench.run(60.0);
        assert_eq!(bench.listed(), addresses(&[1, 2, 3]), "{release}");
        assert_eq!(bench.objections(), [""; 0], "{release}");
    }
}

/// etcd gives every lease its whole time again, and a second more, when it starts.
#[test]
fn an_etcd_that_restarts_keeps_the_dead_listed_for_longer() {
    for release in VERSIONS {
        let mut bench = Bench::settled(&shipped(release));
        bench.strike(crash("a2"));
        bench.run(2.0);
        bench.strike(crash("etcd"));
        bench.run(1.0);
        let restarted = seconds(bench.now);
        bench.strike(start("etcd"));
        let expired = bench.run_to("expiry", 20.0, |b| !b.leased().contains(&address(2)));
        let after = expired - restarted;
        assert!((16.0..16.51).contains(&after), "{release}: {after} s");
        bench.run(60.0);
        assert_eq!(bench.listed(), addresses(&[1, 3]), "{release}");
        assert_eq!(bench.leased(), addresses(&[1, 3]), "{release}");
    }
}
