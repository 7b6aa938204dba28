//! What is wrong with the address of a Service while it has one only, until v1.19
//! (`ValidateService`, `ValidateServiceUpdate`).

use super::service_gate;
use crate::json::{self, Json};
use crate::metadata;
use crate::validation::ErrorList;

const FIELD: &str = "spec.clusterIP";

fn text<'a>(service: &'a Json, field: &str) -> &'a str {
    json::text(service, &["spec", field])
}

/// What its type asks of it.
pub(super) fn of_type(service: &Json, errors: &mut ErrorList) {
    let ip = text(service, "clusterIP");
    match text(service, "type") {
        kind @ ("LoadBalancer" | "NodePort") if ip == "None" => {
            let detail = format!("may not be set to 'None' for {kind} services");
            errors.invalid(FIELD, ip, detail);
        }
        "ExternalName" if !ip.is_empty() => {
            errors.forbidden(FIELD, "must be empty for ExternalName services");
        }
        _ => {}
    }
}

/// Whether it is one.
pub(super) fn itself(service: &Json, errors: &mut ErrorList) {
    let ip = text(service, "clusterIP");
    if !matches!(ip, "" | "None") && crate::addresses::parse_ip_sloppy(ip).is_none() {
        let detail = "must be empty, 'None', or a valid IP address";
        errors.invalid(FIELD, ip, detail);
    }
    service_gate::family_errors(service, errors);
}

/// It stays as long as the Service has one at all.
pub(super) fn unchanged(service: &Json, old: &Json, errors: &mut ErrorList) {
    let external = |of| text(of, "type") == "ExternalName";
    let before = text(old, "clusterIP");
    let now = text(service, "clusterIP");
    if !external(service) && !external(old) && !before.is_empty() && before != now {
        errors.invalid(FIELD, now, metadata::IMMUTABLE);
    }
    service_gate::family_unchanged(service, old, errors);
}
