//! The order of a shutdown: delay, hooks, listener, drain, exit; by release.

use crate::common;

use std::time::Duration;

use common::{Lab, Reply, Slow, create, watch};
use wavetank_api::{Method, Request, Response};
use wavetank_apiserver::ServerNote;
use wavetank_engine::drive::Stepped;
use wavetank_engine::{Fault, NetError};
use wavetank_releases::{V1_16, V1_20, V1_36, VERSIONS};
use wavetank_version::Version;

/// When, in seconds after SIGTERM, the listener closes and the server exits.
fn times(release: Version, hook: u64, delay: u64) -> (f64, f64) {
    let hook = Slow {
        start: Duration::ZERO,
        stop: Duration::from_secs(hook),
    };
    let mut lab = Lab::new(release, hook, Duration::from_secs(delay), vec![]);
    lab.run(1.0);
    let asked = lab.bench.now.secs_f64();
    lab.shut_down();
    lab.run(200.0);
    assert!(!lab.is_up());
    let closed = lab.noted(&ServerNote::ListenerClosed).expect("it closes");
    let exited = lab.noted(&ServerNote::Exiting).expect("it exits");
    (closed - asked, exited - asked)
}

/// PR #108033 (1.24): the listener closes after the hooks, too.
#[test]
fn the_listener_closes_after_the_delay_and_from_v1_24_on_after_the_hooks() {
    for release in [V1_16, V1_20] {
        assert_eq!(times(release, 3, 0), (0.0, 3.0), "{release}");
        assert_eq!(times(release, 3, 5), (5.0, 5.0), "{release}");
        assert_eq!(times(release, 8, 5), (5.0, 8.0), "{release}");
    }
    assert_eq!(times(V1_36, 3, 0), (3.0, 3.0));
    assert_eq!(times(V1_36, 3, 5), (5.0, 5.0));
    assert_eq!(times(V1_36, 8, 5), (8.0, 8.0));
}

/// `SetupSignalContext`
#[test]
fn a_second_sigterm_ends_it_at_once() {
    for release in VERSIONS {
        let delay = Duration::from_secs(5);
        let mut lab = Lab::new(release, Slow::default(), delay, vec![]);
        lab.run(1.0);
        lab.shut_down();
        lab.run(3.0);
        assert!(lab.is_up(), "{release}");
        lab.shut_down();
        assert!(!lab.is_up(), "{release}");
        assert!(lab.noted(&ServerNote::SecondSignal).is_some(), "{release}");
        assert_eq!(lab.noted(&ServerNote::Exiting), None, "in no orderly way");
    }
}

/// A request in flight is answered to the end; a new connection is refused.
#[test]
fn a_shutdown_waits_for_requests_in_flight() {
    for release in VERSIONS {
        let create = create("e", "1.1.1.1");
        let script = vec![create, Request::new(Method::Get, "/healthz")];
        let mut lab = Lab::plain(release, script);
        lab.strike(Fault::Pause {
            process: "etcd".to_owned(),
        });
        lab.ask(0);
        lab.run(1.0);
        lab.shut_down();
        lab.run(10.0);
        assert!(lab.is_up(), "{release}");
        lab.ask(1);
        lab.run(1.0);
        assert_eq!(lab.answers(), [(1, Err(NetError::Refused))], "{release}");
        lab.strike(Fault::Resume {
            process: "etcd".to_owned(),
            order: 0,
        });
        lab.run(1.0);
        assert!(
            matches!(
                lab.answers()[1],
                (0, Ok(Reply::Response(Response { code: 201, .. })))
            ),
            "{release}"
        );
        assert!(!lab.is_up(), "{release}");
    }
}

/// `Server.Shutdown` waits for open watches, up to 60 s; v1.16 does not wait for `Shutdown`.
#[test]
fn open_watches_hold_a_shutdown_for_60_s_except_in_v1_16() {
    for release in VERSIONS {
        let mut lab = Lab::plain(release, vec![watch("e", 1)]);
        lab.ask(0);
        lab.run(1.0);
        let asked = lab.bench.now.secs_f64();
        lab.shut_down();
        lab.run(100.0);
        let exited = lab.noted(&ServerNote::Exiting).expect("it exits") - asked;
        let expected = match release {
            V1_16 => 0.0..1.0,
            _ => 60.0..61.0,
        };
        assert!(expected.contains(&exited), "{release}: {exited} s");
        assert!(
            matches!(
                lab.answers().as_slice(),
                [_headers, (0, Err(NetError::Reset))]
            ),
            "{release}"
        );
    }
}
