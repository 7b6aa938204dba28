//! In which version objects are stored where servers of several releases run at once
//! (`apiserver/pkg/server/storage/resource_encoding_config.go`, `emulatedStorageVersion`): the newest one that the oldest of
//! them knows. Where all are of one release nobody can tell, and objects are stored as their hub has them.

use wavetank_version::{Gate, Version};

use super::{convert_from_hub, convert_to_hub};
use crate::decode::SCHEME;
use crate::gates;
use crate::json::Json;
use crate::kinds::{self, Resource};

/// A kind whose version of today came after the first release that is modelled, and the version before it.
struct Since {
    resource: &'static Resource,
    /// Upstream's `APILifecycleIntroduced` of the version that is the hub.
    introduced: Gate,
    before: &'static str,
    /// The resource that is served in the version before, if there is one. Without, its objects have the fields of the hub.
    served: Option<&'static Resource>,
}

const fn since(resource: &'static Resource, introduced: Gate) -> Since {
    Since {
        resource,
        introduced,
        before: "v1beta1",
        served: None,
    }
}

static KINDS: [Since; 9] = [
    Since {
        before: "v1",
        served: Some(&kinds::OLD_AUTOSCALERS),
        ..since(&kinds::AUTOSCALERS, gates::AUTOSCALERS_V2)
    },
    since(
        &kinds::CERTIFICATE_SIGNING_REQUESTS,
        gates::CERTIFICATE_SIGNING_REQUESTS_V1,
    ),
    since(&kinds::CRON_JOBS, gates::CRON_JOBS_V1),
    since(&kinds::CSI_DRIVERS, gates::CSI_DRIVERS_V1),
    since(&kinds::CSI_NODES, gates::CSI_NODES_V1),
    since(&kinds::ENDPOINT_SLICES, gates::ENDPOINT_SLICES_V1),
    since(&kinds::INGRESSES, gates::INGRESSES_V1),
    since(
        &kinds::POD_DISRUPTION_BUDGETS,
        gates::POD_DISRUPTION_BUDGETS_V1,
    ),
    since(&kinds::RUNTIME_CLASSES, gates::RUNTIME_CLASSES_V1),
];

fn of(resource: &Resource) -> Option<&'static Since> {
    KINDS.iter().find(|kind| kind.resource == resource)
}

/// The resource whose objects are stored under keys like this one, if its version of today came later.
pub fn stored_under(key: &str) -> Option<&'static Resource> {
    let mut resources = KINDS.iter().map(|kind| kind.resource);
    resources.find(|resource| resource.has_key(key))
}

/// Does this release know the version in which the hub of a resource is, and did releases before know another one only?
/// `None`: all releases know it.
pub fn knows_hub(resource: &Resource, release: Version) -> Option<bool> {
    of(resource).map(|kind| release.has(kind.introduced))
}

/// An object as it is stored for servers of `oldest` and of later releases.
#[must_use]
pub fn encode(resource: &Resource, object: &Json, oldest: Version) -> Option<Json> {
    let kind = of(resource).filter(|kind| !oldest.has(kind.introduced))?;
    let mut stored = object.clone();
    if let Some(served) = kind.served {
        stored = convert_from_hub(served, stored);
    }
    stored["apiVersion"] = format!("{}/{}", resource.group, kind.before).into();
    Some(stored)
}

/// What is stored, as its hub has it; `None` if it is that already.
///
/// # Errors
/// This release does not know the version: upstream's `NewNotRegisteredErrForKind`.
pub fn decode(
    resource: &Resource,
    stored: &Json,
    release: Version,
) -> Result<Option<Json>, String> {
    let Some(kind) = of(resource) else {
        return Ok(None);
    };
    if stored["apiVersion"] == resource.api_version() {
        return match release.has(kind.introduced) {
            true => Ok(None),
            false => Err(format!(
                "no kind \"{}\" is registered for version \"{}\" in scheme \"{SCHEME}\"",
                resource.kind,
                resource.api_version()
            )),
        };
    }
    let mut object = stored.clone();
    if let Some(served) = kind.served {
        object = convert_to_hub(served, object);
    }
    object["apiVersion"] = resource.api_version().into();
    Ok(Some(object))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use wavetank_releases::{V1_20, V1_36};

    fn slice() -> Json {
        json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": {"name": "s"}})
    }

    #[test]
    fn what_an_older_server_is_to_read_is_stored_in_a_version_that_it_knows() {
        let slices = &kinds::ENDPOINT_SLICES;
        let stored = encode(slices, &slice(), V1_20).expect("another version");
        assert_eq!(stored["apiVersion"], "discovery.k8s.io/v1beta1");
        assert_eq!(encode(slices, &slice(), V1_36), None);
        for release in [V1_20, V1_36] {
            assert_eq!(decode(slices, &stored, release), Ok(Some(slice())));
        }
        assert_eq!(decode(slices, &slice(), V1_36), Ok(None));
        let refused = decode(slices, &slice(), V1_20).expect_err("it is not known");
        assert_eq!(
            refused,
            "no kind \"EndpointSlice\" is registered for version \"discovery.k8s.io/v1\" in scheme \
             \"k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30\""
        );
        assert_eq!(knows_hub(&kinds::CONFIG_MAPS, V1_20), None);
    }

    #[test]
    fn an_autoscaler_is_stored_with_the_fields_of_its_old_version() {
        let object = json!({
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "h", "namespace": "a"},
            "spec": {
                "scaleTargetRef": {"kind": "Deployment", "name": "d"}, "minReplicas": 1, "maxReplicas": 3,
                "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {
                    "type": "Utilization", "averageUtilization": 60}}}],
            },
            "status": {"desiredReplicas": 0, "currentMetrics": null},
        });
        let stored = encode(&kinds::AUTOSCALERS, &object, V1_20).expect("another version");
        assert_eq!(stored["spec"]["targetCPUUtilizationPercentage"], 60);
        assert_eq!(
            decode(&kinds::AUTOSCALERS, &stored, V1_36),
            Ok(Some(object))
        );
    }
}
