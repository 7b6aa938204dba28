//! Which IP families a Service has (v1.36: `initIPFamilyFields` of
//! `pkg/registry/core/service/storage/alloc.go`). It runs before anything is allocated, also on a dry
//! run, and depends on the families that the cluster is configured for.

use serde_json::json;

use super::service_rules;
use super::services::is_headless;
use crate::addresses;
use crate::json::{self, Json};
use crate::validation::{Bad, ErrorList};

pub(super) const POLICY: [&str; 2] = ["spec", "ipFamilyPolicy"];
pub(super) const FAMILIES: [&str; 2] = ["spec", "ipFamilies"];
pub(super) const IPS: [&str; 2] = ["spec", "clusterIPs"];
pub(super) const SINGLE: &str = "SingleStack";
pub(super) const PREFER: &str = "PreferDualStack";
pub(super) const REQUIRE: &str = "RequireDualStack";

/// The family of an address.
pub fn family_of(ip: &str) -> &'static str {
    match addresses::parse_ip_sloppy(ip) {
        Some(ip) if ip.is_ipv6() => "IPv6",
        _ => "IPv4",
    }
}

pub(super) fn other(family: &str) -> &'static str {
    match family {
        "IPv4" => "IPv6",
        _ => "IPv4",
    }
}

pub(super) fn policy(service: &Json) -> &str {
    json::text(service, &POLICY)
}

pub(super) fn without_selector(service: &Json) -> bool {
    let selector = json::at(service, &["spec", "selector"]).and_then(Json::as_object);
    selector.is_none_or(|selector| selector.is_empty())
}

/// `isMatchingPreferDualStackClusterIPFields`: a Service that prefers two families is not given a
/// second one, and loses none, by an update that does not ask for it.
pub fn is_matching_prefer_dual_stack_cluster_ip_fields(service: &Json, old: &Json) -> bool {
    let kind = |of| json::text(of, &["spec", "type"]).to_owned();
    kind(service) == kind(old)
        && matches!(
            kind(service).as_str(),
            "ClusterIP" | "NodePort" | "LoadBalancer"
        )
        && policy(service) == PREFER
        && matches!(policy(old), "" | PREFER)
        && same(service, old, &IPS)
        && same(service, old, &FAMILIES)
}

fn same(one: &Json, other: &Json, path: &[&str]) -> bool {
    json::list(one, path) == json::list(other, path)
}

pub(super) fn keep_one(service: &mut Json, path: &[&str]) {
    let first = json::list(service, path)[..1].to_vec();
    json::set(service, path, first);
}

pub(super) fn add_family(service: &mut Json, family: &str) {
    let mut families = json::list(service, &FAMILIES).to_vec();
    families.push(family.into());
    json::set(service, &FAMILIES, families);
}

pub(super) fn add_other_family(service: &mut Json) {
    let first = json::list(service, &FAMILIES)[0].as_str();
    let second = other(first.unwrap_or_default());
    add_family(service, second);
}

/// Sets `ipFamilyPolicy` and `ipFamilies` where the client has not; `configured` are the families of
/// the cluster, the default one first.
///
/// # Errors
/// What does not go together, or not with this cluster.
pub fn init(service: &mut Json, old: Option<&Json>, configured: &[&str]) -> Result<(), ErrorList> {
    if json::text(service, &["spec", "type"]) == "ExternalName"
        || old.is_some_and(|old| is_matching_prefer_dual_stack_cluster_ip_fields(service, old))
    {
        return Ok(());
    }
    let selectorless =
        json::text(service, &["spec", "clusterIP"]) == "None" && without_selector(service);
    if policy(service).is_empty() {
        let inferred = match old.map(policy) {
            Some(before) if !before.is_empty() => before.to_owned(),
            _ if selectorless => REQUIRE.to_owned(),
            _ => SINGLE.to_owned(),
        };
        json::set(service, &POLICY, inferred);
    }
    refuse(service_rules::cluster_ips_errors(service))?;
    let single = policy(service) == SINGLE;
    let mut errors = ErrorList::default();
    if let Some(old) = old {
        adapt(service, old, single, &mut errors);
    }
    fit_policy(service, single, &mut errors);
    infer(service, configured, &mut errors);
    refuse(errors)?;
    if selectorless {
        // Its endpoints are whoever's: it may have families that the cluster has not.
        if json::list(service, &FAMILIES).is_empty() {
            json::set(service, &FAMILIES, json!([configured[0]]));
        }
        if json::list(service, &FAMILIES).len() < 2 && !single {
            add_other_family(service);
        }
        return Ok(());
    }
    let mut errors = ErrorList::default();
    if policy(service) == REQUIRE && configured.len() < 2 {
        let detail = "this cluster is not configured for dual-stack services";
        errors.invalid("spec.ipFamilyPolicy", policy(service), detail);
    }
    for (at, family) in json::list(service, &FAMILIES).iter().enumerate() {
        if !configured.iter().any(|has| family == has) {
            let field = format!("spec.ipFamilies[{at}]");
            errors.invalid(field, family, "not configured on this cluster");
        }
    }
    refuse(errors)?;
    if json::list(service, &FAMILIES).is_empty() {
        json::set(service, &FAMILIES, json!([configured[0]]));
    }
    if !single && json::list(service, &FAMILIES).len() == 1 && configured.len() == 2 {
        add_other_family(service);
    }
    Ok(())
}

pub(super) fn refuse(errors: ErrorList) -> Result<(), ErrorList> {
    match errors.is_empty() {
        true => Ok(()),
        false => Err(errors),
    }
}

/// On an update, asking for a single family is enough to lose the second one; losing it takes that.
fn adapt(service: &mut Json, old: &Json, single: bool, errors: &mut ErrorList) {
    if single {
        for path in [IPS, FAMILIES] {
            if same(service, old, &path) && json::list(service, &path).len() > 1 {
                keep_one(service, &path);
            }
        }
        return;
    }
    let reduced = |path| {
        let new = json::list(service, path).len();
        new > 0 && new < json::list(old, path).len()
    };
    for (path, what) in [(&IPS, "cluster IP"), (&FAMILIES, "IP family")] {
        if reduced(path) {
            let detail = format!("must be 'SingleStack' to release the secondary {what}");
            errors.invalid("spec.ipFamilyPolicy", policy(service), detail);
        }
    }
}

fn fit_policy(service: &Json, single: bool, errors: &mut ErrorList) {
    for (path, what) in [(&IPS, "cluster IPs"), (&FAMILIES, "IP families")] {
        if single && json::list(service, path).len() == 2 {
            let detail = format!(
                "must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified"
            );
            errors.invalid("spec.ipFamilyPolicy", policy(service), detail);
        }
    }
}

/// Families of the addresses that came without.
fn infer(service: &mut Json, configured: &[&str], errors: &mut ErrorList) {
    if is_headless(service) {
        return;
    }
    let ips = json::list(service, &IPS).to_vec();
    for (at, ip) in ips.iter().enumerate() {
        if at < json::list(service, &FAMILIES).len() {
            continue;
        }
        let family = family_of(ip.as_str().unwrap_or_default());
        if configured.contains(&family) {
            add_family(service, family);
        } else {
            let bad = Bad::from(&Json::Array(ips.clone()));
            let detail = format!("{family} is not configured on this cluster");
            errors.invalid(format!("spec.clusterIPs[{at}]"), bad, detail);
        }
    }
}

/// `defaultOnReadService`: what a Service lacks that an older release has stored, and what one outside
/// the cluster is not to show.
pub fn default_on_read_service(service: &mut Json, configured: &[&str]) {
    super::services::normalize_cluster_ips(service, None);
    let external = json::text(service, &["spec", "type"]) == "ExternalName";
    if external {
        json::remove(service, &["spec", "internalTrafficPolicy"]);
    }
    if external || !json::list(service, &FAMILIES).is_empty() {
        return;
    }
    let (policy, families) = match is_headless(service) {
        true if without_selector(service) => (REQUIRE, vec![configured[0], other(configured[0])]),
        true => (SINGLE, vec![configured[0]]),
        false => {
            let ips = json::list(service, &IPS).iter().filter_map(Json::as_str);
            let families: Vec<&str> = ips.map(family_of).collect();
            (if families.len() == 2 { REQUIRE } else { SINGLE }, families)
        }
    };
    json::set(service, &POLICY, policy);
    json::set(service, &FAMILIES, families);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(spec: Json) -> Json {
        json!({"metadata": {"name": "s"}, "spec": spec})
    }

    fn after(spec: Json, old: Option<Json>, configured: &[&str]) -> Result<Json, String> {
        let mut service = of(spec);
        let old = old.map(of);
        match init(&mut service, old.as_ref(), configured) {
            Ok(()) => Ok(json!([
                service["spec"]["ipFamilyPolicy"],
                service["spec"]["ipFamilies"]
            ])),
            Err(errors) => Err(errors.to_string()),
        }
    }

    #[test]
    fn families_follow_from_addresses_policy_and_cluster() {
        let plain = json!({"type": "ClusterIP"});
        let one = Ok(json!(["SingleStack", ["IPv4"]]));
        assert_eq!(after(plain, None, &["IPv4", "IPv6"]), one);
        let prefer = json!({"type": "ClusterIP", "ipFamilyPolicy": "PreferDualStack"});
        let both = Ok(json!(["PreferDualStack", ["IPv6", "IPv4"]]));
        assert_eq!(after(prefer.clone(), None, &["IPv6", "IPv4"]), both);
        let one = Ok(json!(["PreferDualStack", ["IPv4"]]));
        assert_eq!(after(prefer, None, &["IPv4"]), one);
        let headless = json!({"type": "ClusterIP", "clusterIP": "None", "clusterIPs": ["None"]});
        let both = Ok(json!(["RequireDualStack", ["IPv4", "IPv6"]]));
        assert_eq!(after(headless, None, &["IPv4"]), both);
        let six = json!({"type": "ClusterIP", "clusterIP": "fd00::1", "clusterIPs": ["fd00::1"]});
        let refused = after(six, None, &["IPv4"]).expect_err("no such family");
        assert!(
            refused.contains("IPv6 is not configured on this cluster"),
            "{refused}"
        );
    }

    #[test]
    fn a_second_family_is_lost_only_on_request() {
        let ips = ["10.0.0.1", "fd00::1"];
        let old = json!({"type": "ClusterIP", "clusterIP": ips[0], "clusterIPs": ips,
                         "ipFamilyPolicy": "RequireDualStack", "ipFamilies": ["IPv4", "IPv6"]});
        let mut asked = old.clone();
        asked["ipFamilyPolicy"] = "SingleStack".into();
        let one = Ok(json!(["SingleStack", ["IPv4"]]));
        assert_eq!(after(asked, Some(old.clone()), &["IPv4", "IPv6"]), one);
        let mut less = old.clone();
        less["clusterIPs"] = json!([ips[0]]);
        let refused = after(less, Some(old), &["IPv4", "IPv6"]).expect_err("not asked for");
        assert!(
            refused.contains("to release the secondary cluster IP"),
            "{refused}"
        );
    }
}
