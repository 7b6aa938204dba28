//! A scenario costs what it uses: apiservers have connections to etcd for the kinds that its components use, and for
//! nothing else.

use std::collections::BTreeSet;

use wavetank::catalogue::{Catalogue as _, Composition};
use wavetank::kube::Kube;
use wavetank::testing::trace_of;

/// What the clients of etcd are for to which a1 opens connections under this seed.
fn connected(scenario: &str, seed: u64) -> BTreeSet<String> {
    let composition = Composition {
        fixed: true,
        ..Composition::default()
    };
    let case = Kube::default().open(scenario, &composition);
    let case = case.expect("it is bundled");
    let trace = trace_of(case.as_ref(), seed);
    let trace = String::from_utf8(trace).expect("a trace is text");
    let purpose = |line: &str| {
        let (_, opened) = line.split_once(" open a1.")?;
        let (_, rest) = opened.split_once(":etcd/")?;
        rest.split_whitespace().next().map(str::to_owned)
    };
    trace.lines().filter_map(purpose).collect()
}

#[test]
fn kinds_that_nobody_uses_have_no_connection() {
    let all = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let expected: BTreeSet<String> = all(&[
        "compactor",
        "configmaps",
        "health",
        "pods",
        "readiness",
        "secrets",
    ]);
    assert_eq!(connected("watch-storm", 0), expected);
    let services = connected("service-storm", 0);
    let expected: BTreeSet<String> = all(&[
        "endpoints",
        "events",
        "health",
        "ipaddresses.networking.k8s.io",
        "readiness",
        "servicecidrs.networking.k8s.io",
        "servicenodeports",
        "services",
    ]);
    assert_eq!(services, expected);
}
