//! The simulated etcd beside itself: no real one has to be there.

use std::time::Duration;

use wavetank_conform::etcd::expiry::cases;
use wavetank_conform::etcd::{Ours, Plan, compare};

/// Whatever can be asked of a release that is not here, it answers, and always alike.
#[test]
fn each_release_is_like_itself() {
    for release in wavetank_releases::etcd::VERSIONS {
        let ours = || Ok(Ours::new(release));
        let report = compare(&Plan::new(1000, 7), ours, ours, |_| true);
        assert!(report.is_clean(), "{report}");
    }
}

#[test]
fn who_interrupts_it_is_told_what_was_reached() {
    let ours = || Ok(Ours::new(wavetank_releases::etcd::LATEST));
    let plan = Plan {
        length: 10,
        ..Plan::new(1_000_000, 7)
    };
    let mut heard = 0;
    let report = compare(&plan, ours, ours, |_| {
        heard += 1;
        heard < 3
    });
    assert!(report.interrupted && !report.is_clean());
    let text = report.to_string();
    assert!(
        text.contains("interrupted: no difference until then"),
        "{text}"
    );
    let done: u64 = report.figures.kinds.values().sum();
    assert!((30..10_000).contains(&done), "{done} operations");
}

#[test]
fn leases_end_in_time_in_the_simulated_world() {
    for release in wavetank_releases::etcd::VERSIONS {
        for (name, case) in cases::<Ours>() {
            let mut ours = Ours::new(release);
            if let Err(error) = case(&mut ours, Duration::ZERO) {
                panic!("{release}: {name}: {error}");
            }
        }
    }
}
