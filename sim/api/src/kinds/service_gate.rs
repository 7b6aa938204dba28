//! Two families behind the alpha gate `IPv6DualStack`, which is on where a server has ranges of both: one
//! family a Service in v1.16 (`ipFamily`), one or both in v1.20 (`tryDefaultValidateServiceClusterIPFields`
//! of `pkg/registry/core/service/storage/rest.go`). v1.36 is in `service_families`.

use serde_json::json;

use super::service_families::{
    FAMILIES, IPS, POLICY, PREFER, REQUIRE, SINGLE, add_family, add_other_family, family_of,
    keep_one, other, policy, refuse, without_selector,
};
use super::services::is_headless;
use crate::gates;
use crate::json::{self, Json};
use crate::strategy::Context;
use crate::validation::{Bad, ErrorList};

/// The family of a Service of v1.16.
const FAMILY: [&str; 2] = ["spec", "ipFamily"];

fn is_external(service: &Json) -> bool {
    json::text(service, &["spec", "type"]) == "ExternalName"
}

/// `SetDefaults_Service`, as far as it depends on the gate.
pub(super) fn default(cx: &Context, service: &mut Json) {
    if !cx.dual_stack || is_external(service) {
        return;
    }
    if !cx.release.has(gates::CLUSTER_IPS) {
        let ip = json::text(service, &["spec", "clusterIP"]).to_owned();
        let has = !json::text(service, &FAMILY).is_empty();
        if !has && !matches!(ip.as_str(), "" | "None") {
            json::set(service, &FAMILY, family_of(&ip));
        }
    } else if cx.release.has(gates::FAMILIES_BEFORE_HOOKS) {
        let two = |path| json::list(service, path).len() == 2;
        if policy(service).is_empty() && (two(&IPS) || two(&FAMILIES)) {
            json::set(service, &POLICY, REQUIRE);
        }
        if policy(service) == REQUIRE && json::list(service, &FAMILIES).len() == 1 {
            add_other_family(service);
        }
    }
}

/// `trimFieldsForDualStackDowngrade`: asking for a single family is enough to lose the second one.
pub(super) fn trim_fields_for_dual_stack_downgrade(cx: &Context, service: &mut Json, old: &Json) {
    let gate = cx.release.has(gates::FAMILIES_BEFORE_HOOKS) && cx.dual_stack;
    if gate && matches!(policy(old), REQUIRE | PREFER) && policy(service) == SINGLE {
        for path in [IPS, FAMILIES] {
            if json::list(service, &path).len() > 1 {
                keep_one(service, &path);
            }
        }
    }
}

/// `tryDefaultValidateServiceClusterIPFields`, v1.20: after the rules of the kind, also on a dry run;
/// `configured` are the families of the cluster, the default one first.
///
/// # Errors
/// What does not go together, or not with this cluster.
pub fn init(service: &mut Json, configured: &[&str]) -> Result<(), ErrorList> {
    if is_external(service) {
        return Ok(());
    }
    let mut errors = ErrorList::default();
    for (path, what) in [(&IPS, "clusterIPs"), (&FAMILIES, "ipFamilies")] {
        if policy(service) == SINGLE && json::list(service, path).len() == 2 {
            let detail = format!(
                "must be RequireDualStack or PreferDualStack when multiple '{what}' are specified"
            );
            errors.invalid("spec.ipFamilyPolicy", SINGLE, detail);
        }
    }
    refuse(errors)?;
    if !is_headless(service) {
        infer(service, configured)?;
    }
    let selectorless = is_headless(service) && without_selector(service);
    if selectorless {
        if policy(service).is_empty() {
            json::set(service, &POLICY, REQUIRE);
        }
    } else {
        fits_cluster(service, configured)?;
        if policy(service).is_empty() {
            json::set(service, &POLICY, SINGLE);
        }
    }
    if json::list(service, &FAMILIES).is_empty() {
        json::set(service, &FAMILIES, json!([configured[0]]));
    }
    let wants_two = match policy(service) {
        REQUIRE => selectorless || configured.len() == 2,
        PREFER => configured.len() == 2,
        _ => false,
    };
    if wants_two && json::list(service, &FAMILIES).len() == 1 {
        add_other_family(service);
    }
    Ok(())
}

/// Families of the addresses that came without.
fn infer(service: &mut Json, configured: &[&str]) -> Result<(), ErrorList> {
    let ips = json::list(service, &IPS).to_vec();
    for (at, ip) in ips.iter().enumerate() {
        if at < json::list(service, &FAMILIES).len() {
            continue;
        }
        let family = family_of(ip.as_str().unwrap_or_default());
        if !configured.contains(&family) {
            let mut errors = ErrorList::default();
            let bad = Bad::from(&Json::Array(ips.clone()));
            let detail =
                format!("may not use {family} on a cluster which is not configured for it");
            errors.invalid(format!("spec.clusterIPs[{at}]"), bad, detail);
            return Err(errors);
        }
        add_family(service, family);
    }
    Ok(())
}

fn fits_cluster(service: &Json, configured: &[&str]) -> Result<(), ErrorList> {
    let mut errors = ErrorList::default();
    if policy(service) == REQUIRE && configured.len() < 2 {
        let detail = "Cluster is not configured for dual stack services";
        errors.invalid("spec.ipFamilyPolicy", REQUIRE, detail);
    }
    let ips = json::list(service, &IPS).to_vec();
    for (at, family) in json::list(service, &FAMILIES).iter().enumerate() {
        if !configured.iter().any(|has| family == has) {
            let family = family.as_str().unwrap_or_default();
            let bad = Bad::from(&Json::Array(ips.clone()));
            let detail = format!("ipfamily {family} is not configured on cluster");
            errors.invalid(format!("spec.ipFamilies[{at}]"), bad, detail);
        }
    }
    refuse(errors)
}

/// `defaultOnReadService`, v1.20: what a Service lacks that was stored without the gate.
pub fn default_on_read_service(service: &mut Json, configured: &[&str]) {
    super::services::normalize_cluster_ips(service, None);
    if !json::list(service, &FAMILIES).is_empty() {
        return;
    }
    let first = configured[0];
    let (policy, families) = match is_headless(service) {
        true if without_selector(service) => (PREFER, vec![first, other(first)]),
        true if configured.len() == 2 => (PREFER, configured.to_vec()),
        true => (SINGLE, vec![first]),
        false => {
            let ips = json::list(service, &IPS).iter().filter_map(Json::as_str);
            let families: Vec<&str> = ips.map(family_of).collect();
            match families.len() {
                0 => return,
                2 => (REQUIRE, families),
                _ => (SINGLE, families),
            }
        }
    };
    json::set(service, &POLICY, policy);
    json::set(service, &FAMILIES, families);
}

/// What is wrong with the family of a Service of v1.16.
pub(super) fn family_errors(service: &Json, errors: &mut ErrorList) {
    const FIELD: &str = "spec.ipFamily";
    let family = json::text(service, &FAMILY);
    let ip = json::text(service, &["spec", "clusterIP"]);
    if !matches!(family, "" | "IPv4" | "IPv6") {
        errors.not_supported(FIELD, family, &["IPv4", "IPv6"]);
    } else if !family.is_empty() && !matches!(ip, "" | "None") && family_of(ip) != family {
        errors.invalid(FIELD, family, "does not match IPFamily of the clusterIP");
    }
}

/// A family stays once there is one, v1.16.
pub(super) fn family_unchanged(service: &Json, old: &Json, errors: &mut ErrorList) {
    let (now, before) = (json::text(service, &FAMILY), json::text(old, &FAMILY));
    if !before.is_empty() && now != before {
        errors.invalid("spec.ipFamily", now, crate::metadata::IMMUTABLE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(spec: Json) -> Result<Json, String> {
        let mut service = json!({"metadata": {"name": "s"}, "spec": spec});
        match init(&mut service, &["IPv4", "IPv6"]) {
            Ok(()) => Ok(json!([
                service["spec"]["ipFamilyPolicy"],
                service["spec"]["ipFamilies"]
            ])),
            Err(errors) => Err(errors.to_string()),
        }
    }

    #[test]
    fn families_of_v1_20_follow_from_addresses_policy_and_cluster() {
        let two = |first: &str, second: &str, policy: &str| Ok(json!([policy, [first, second]]));
        assert_eq!(
            after(json!({"type": "ClusterIP"})),
            Ok(json!(["SingleStack", ["IPv4"]]))
        );
        let prefer = json!({"type": "ClusterIP", "ipFamilyPolicy": "PreferDualStack"});
        assert_eq!(after(prefer), two("IPv4", "IPv6", "PreferDualStack"));
        let six = json!({"type": "ClusterIP", "clusterIP": "fd00::1", "clusterIPs": ["fd00::1"],
                         "ipFamilyPolicy": "RequireDualStack"});
        assert_eq!(after(six), two("IPv6", "IPv4", "RequireDualStack"));
        let headless = json!({"type": "ClusterIP", "clusterIP": "None", "clusterIPs": ["None"]});
        assert_eq!(after(headless), two("IPv4", "IPv6", "RequireDualStack"));
        let refused = json!({"type": "ClusterIP", "ipFamilyPolicy": "SingleStack",
                             "ipFamilies": ["IPv4", "IPv6"]});
        let why = after(refused).expect_err("two are not one");
        assert!(
            why.contains("when multiple 'ipFamilies' are specified"),
            "{why}"
        );
    }
}
