//! Traces of past failures still show what they showed. `wavetank keep TRACE` adds one.

use std::path::Path;

use wavetank::catalogue::{Catalogue as _, Composition};
use wavetank::kube::Kube;
use wavetank::testing::replay_all;

#[test]
fn every_kept_trace_still_fits_and_comes_to_its_verdict() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../snapshots/traces");
    assert!(replay_all(&kept, &Kube::default()) >= 6);
}

/// A mending that is found later must not change what a kept trace is of.
#[test]
fn a_switch_that_is_younger_than_a_trace_stays_off() {
    let fixed = Composition {
        fixed: true,
        ..Composition::default()
    };
    let case = Kube::default()
        .open("service-storm", &fixed)
        .expect("it opens");
    let younger = "fix-release-own-address";
    let mut identity = case.identity();
    assert_eq!(
        Kube::default()
            .reopen(&identity)
            .expect("it opens")
            .identity(),
        identity
    );
    for server in identity["defects"].as_array_mut().expect("by server") {
        let switches = server.as_array_mut().expect("names");
        let before = switches.len();
        switches.retain(|name| name != younger);
        assert_eq!(switches.len(), before - 1);
    }
    let reopened = Kube::default()
        .reopen(&identity)
        .expect("it opens")
        .identity();
    assert_eq!(reopened["defects"], identity["defects"]);
    assert_eq!(reopened["off"], serde_json::json!([younger]));
}
