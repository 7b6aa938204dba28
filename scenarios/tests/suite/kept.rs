//! Traces of past failures still show what they showed. `wavetank keep TRACE` adds one.

use std::path::Path;

use wavetank::kube::Kube;
use wavetank::testing::replay_all;

#[test]
fn every_kept_trace_still_fits_and_comes_to_its_verdict() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../snapshots/traces");
    assert!(replay_all(&kept, &Kube) >= 6);
}
