//! Ranges of both families: which address a Service is given, and what becomes of the second one.

use serde_json::json;
use wavetank_api::{Json, Response};
use wavetank_releases::{V1_16, V1_20, V1_36};
use wavetank_version::Version;

use crate::lab::{Lab, RANGE, path, service};
use wavetank_engine::drive::Stepped;

/// Three addresses of IPv6 until v1.20.
const SIX: &str = "fd00::/126";
const FIRST: &str = "serviceips";
const SECOND: &str = "secondaryserviceips";

fn lab(release: Version) -> Lab {
    Lab::with_ranges(release, &[RANGE, SIX])
}

/// Three Services have all addresses of IPv6, and three of IPv4.
fn full(release: Version) -> Lab {
    let mut lab = lab(release);
    for name in ["a", "b", "c"] {
        let both = json!({"ipFamilyPolicy": "RequireDualStack"});
        let made = lab.ask("a1", "POST", &path(""), service(name, both));
        assert_eq!(made.code, 201, "{made:?}");
    }
    lab
}

/// The families of the addresses that it was answered with.
fn families(response: &Response) -> Vec<&'static str> {
    let service = response.json();
    let all = match service["spec"]["clusterIPs"].as_array() {
        Some(all) => all.clone(),
        None => vec![service["spec"]["clusterIP"].clone()],
    };
    let family = |ip: &Json| match ip.as_str().expect("an address").contains(':') {
        true => "IPv6",
        false => "IPv4",
    };
    all.iter().map(family).collect()
}

#[test]
fn a_service_of_v1_16_has_one_family() {
    let mut lab = lab(V1_16);
    let mut make = |name: &str, spec: Json| {
        let made = lab.ask("a1", "POST", &path(""), service(name, spec));
        assert_eq!(made.code, 201, "{made:?}");
        (
            families(&made),
            lab.taken(FIRST).len(),
            lab.taken(SECOND).len(),
        )
    };
    // The first one is that of `kubernetes`.
    assert_eq!(make("a", json!({})), (vec!["IPv4"], 2, 0));
    let named = make("b", json!({"clusterIP": "fd00::2"}));
    assert_eq!(named, (vec!["IPv6"], 2, 1));
    let any = make("c", json!({"ipFamily": "IPv6"}));
    assert_eq!(any, (vec!["IPv6"], 2, 2));
    let six = json!({"spec": {"ipFamily": "IPv4"}});
    let refused = lab.ask("a1", "PATCH", &path("b"), six);
    assert_eq!(refused.code, 422, "{refused:?}");
    assert_eq!(lab.ask("a2", "DELETE", &path("b"), json!(null)).code, 200);
    assert_eq!(lab.taken(SECOND).len(), 1);
}

#[test]
fn a_service_gains_and_loses_its_second_family() {
    let mut lab = lab(V1_20);
    let made = lab.ask("a1", "POST", &path(""), service("a", json!({})));
    assert_eq!(families(&made), ["IPv4"]);
    assert_eq!(made.json()["spec"]["ipFamilyPolicy"], "SingleStack");
    let both = json!({"spec": {"ipFamilyPolicy": "RequireDualStack"}});
    let upgraded = lab.ask("a2", "PATCH", &path("a"), both);
    assert_eq!(families(&upgraded), ["IPv4", "IPv6"], "{upgraded:?}");
    assert_eq!((lab.taken(FIRST).len(), lab.taken(SECOND).len()), (2, 1));
    let one = json!({"spec": {"ipFamilyPolicy": "SingleStack"}});
    let downgraded = lab.ask("a1", "PATCH", &path("a"), one);
    assert_eq!(families(&downgraded), ["IPv4"], "{downgraded:?}");
    assert_eq!((lab.taken(FIRST).len(), lab.taken(SECOND).len()), (2, 0));
    let six = json!({"ipFamilies": ["IPv6"], "ipFamilyPolicy": "PreferDualStack"});
    let made = lab.ask("a1", "POST", &path(""), service("b", six));
    assert_eq!(families(&made), ["IPv6", "IPv4"]);
    let outside = json!({"spec": {"type": "ExternalName", "externalName": "x.example",
                                  "clusterIP": null, "clusterIPs": null,
                                  "ipFamilies": null, "ipFamilyPolicy": null}});
    assert_eq!(lab.ask("a1", "PATCH", &path("b"), outside).code, 200);
    assert_eq!((lab.taken(FIRST).len(), lab.taken(SECOND).len()), (2, 0));
}

#[test]
fn v1_20_gives_back_what_it_took_when_the_second_family_is_full() {
    let mut lab = full(V1_20);
    let both = json!({"ipFamilyPolicy": "RequireDualStack"});
    let refused = lab.ask("a1", "POST", &path(""), service("d", both));
    assert_eq!(refused.code, 500, "{refused:?}");
    assert_eq!((lab.taken(FIRST).len(), lab.taken(SECOND).len()), (4, 3));
}

/// FINDINGS.md, 19.
#[test]
fn v1_36_forgets_what_it_took_when_the_second_family_is_full() {
    let mut lab = full(V1_36);
    let addresses = |lab: &Lab| {
        let all = (1..=6).map(|n| format!("/registry/ipaddresses/10.0.0.{n}"));
        all.filter(|key| lab.is_stored(key)).count()
    };
    assert_eq!(addresses(&lab), 4);
    let both = json!({"ipFamilyPolicy": "RequireDualStack"});
    let refused = lab.ask("a1", "POST", &path(""), service("d", both));
    assert_eq!(refused.code, 500, "{refused:?}");
    assert_eq!(addresses(&lab), 5, "nobody has it");
    lab.run(65.0);
    assert_eq!(addresses(&lab), 4, "the repair has found it");
}

#[test]
fn what_leaks_of_the_second_family_comes_back_too() {
    for release in [V1_16, V1_20] {
        let mut lab = lab(release);
        let spec = match release {
            V1_16 => json!({"ipFamily": "IPv6"}),
            _ => json!({"ipFamilyPolicy": "RequireDualStack"}),
        };
        lab.send("a1", "POST", &path(""), service("lost", spec));
        lab.run_until_written("/registry/ranges/secondaryserviceips");
        lab.crash("a1");
        lab.run(1.0 + 2.0 * 180.0);
        assert_eq!(lab.taken(SECOND).len(), 1, "{release}");
        lab.run(180.0);
        assert!(lab.taken(SECOND).is_empty(), "{release}");
        assert_eq!(lab.taken(FIRST), [0], "{release}: that of `kubernetes`");
    }
}

/// The default ServiceCIDR gains the second family when a server has it, and allocators follow it; that of the server
/// which has one family only says that flags and ServiceCIDR differ.
#[test]
fn a_server_with_both_families_upgrades_the_default_range() {
    let mut lab = Lab::one_after_the_other(V1_36, [&[RANGE], &[RANGE, SIX]]);
    let stored = lab.stored("/registry/servicecidrs/kubernetes");
    assert_eq!(stored["spec"]["cidrs"], json!([RANGE, SIX]));
    let both = json!({"ipFamilyPolicy": "RequireDualStack"});
    let made = lab.ask("a2", "POST", &path(""), service("a", both));
    assert_eq!(families(&made), ["IPv4", "IPv6"], "{made:?}");
    let differ = "does not match the controller flag configurations";
    let told = lab.messages.iter().filter(|said| said.contains(differ));
    assert_eq!(told.count(), 1, "{:?}", lab.messages);
    // The ranges themselves stay.
    let mut other = Lab::one_after_the_other(V1_36, [&[RANGE], &["10.1.0.0/29", SIX]]);
    let stored = other.stored("/registry/servicecidrs/kubernetes");
    assert_eq!(stored["spec"]["cidrs"], json!([RANGE]));
    let made = other.ask("a2", "POST", &path(""), service("a", json!({})));
    assert_eq!(families(&made), ["IPv4"], "{made:?}");
}
