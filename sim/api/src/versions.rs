//! Kinds in several versions: each version is a resource of its own, and one of them is the hub. Rules, storage and
//! caches know the hub only; what comes in is converted to it, what goes out from it
//! (`apimachinery/pkg/runtime/converter.go`, and `conversion.go` of each group). The hub is the version that is stored.

pub mod stored;

use crate::decode::typed;
use crate::json::Json;
use crate::kinds::Resource;
use crate::schema;

/// How the objects of a resource become those of its hub, and back.
pub struct Versioned {
    /// The resource in whose version they are stored.
    pub hub: &'static Resource,
    /// From the version of the resource to that of the hub.
    pub to_hub: fn(&mut Json),
    /// Back.
    pub from_hub: fn(&mut Json),
}

/// The resource that stores the objects of this one: its hub, or itself.
pub fn hub_of(resource: &'static Resource) -> &'static Resource {
    let versioned = resource.strategy.versioned();
    versioned.map_or(resource, |versioned| versioned.hub)
}

/// An object of the hub as this resource shows it.
#[must_use]
pub fn convert_from_hub(resource: &Resource, mut object: Json) -> Json {
    let Some(versioned) = resource.strategy.versioned() else {
        return object;
    };
    (versioned.from_hub)(&mut object);
    let mut object = written(resource, object);
    resource.strategy.default(&mut object);
    object
}

/// An object of this resource as its hub has it.
#[must_use]
pub fn convert_to_hub(resource: &Resource, mut object: Json) -> Json {
    let Some(versioned) = resource.strategy.versioned() else {
        return object;
    };
    (versioned.to_hub)(&mut object);
    written(versioned.hub, object)
}

/// The object as the Go type of the resource is written: each field that is always there, and no other.
pub(crate) fn written(resource: &Resource, mut object: Json) -> Json {
    let api_version = resource.api_version();
    if let Some(map) = object.as_object_mut() {
        map.insert("apiVersion".to_owned(), api_version.as_str().into());
        map.insert("kind".to_owned(), resource.kind.into());
    }
    let id = schema::kind(&api_version, resource.kind);
    match id.map(|id| typed::convert(&object, id, None)) {
        Some(Ok(read)) => read.json,
        _ => object,
    }
}

/// Puts what lies in one field into another.
pub(crate) fn rename(object: &mut Json, from: &str, to: &str) {
    if let Some(map) = object.as_object_mut()
        && let Some(value) = map.remove(from)
    {
        map.insert(to.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds;
    use serde_json::json;

    #[test]
    fn an_event_of_the_new_group_is_stored_as_one_of_core() {
        let event = json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event",
            "metadata": {"name": "e", "namespace": "a"},
            "regarding": {"kind": "Pod", "name": "p"}, "note": "n", "reason": "R",
            "eventTime": "2020-01-01T00:00:00.000000Z",
            "reportingController": "c", "reportingInstance": "i",
        });
        let stored = convert_to_hub(&kinds::NEW_EVENTS, event.clone());
        assert_eq!(stored["involvedObject"]["name"], "p");
        assert_eq!(
            (&stored["message"], &stored["apiVersion"]),
            (&json!("n"), &json!("v1"))
        );
        let mut shown = convert_from_hub(&kinds::NEW_EVENTS, stored);
        for added in [
            "deprecatedSource",
            "deprecatedFirstTimestamp",
            "deprecatedLastTimestamp",
        ] {
            assert!(
                shown
                    .as_object_mut()
                    .expect("an object")
                    .remove(added)
                    .is_some()
            );
        }
        assert_eq!(shown, event);
    }

    #[test]
    fn what_the_old_autoscaler_has_no_field_for_is_an_annotation() {
        let stored = json!({
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "h", "namespace": "a"},
            "spec": {
                "scaleTargetRef": {"kind": "Deployment", "name": "d"}, "minReplicas": 1, "maxReplicas": 3,
                "metrics": [
                    {"type": "Resource", "resource": {"name": "cpu", "target": {
                        "type": "Utilization", "averageUtilization": 60}}},
                    {"type": "Pods", "pods": {"metric": {"name": "m"}, "target": {
                        "type": "AverageValue", "averageValue": "10"}}},
                ],
            },
            "status": {"desiredReplicas": 0, "currentMetrics": null},
        });
        let shown = convert_from_hub(&kinds::OLD_AUTOSCALERS, stored.clone());
        assert_eq!(shown["spec"]["targetCPUUtilizationPercentage"], 60);
        assert_eq!(
            shown["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/metrics"],
            r#"[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"10"}}]"#
        );
        let mut back = convert_to_hub(&kinds::OLD_AUTOSCALERS, shown);
        // Whatever is an annotation comes first.
        back["spec"]["metrics"]
            .as_array_mut()
            .expect("metrics")
            .reverse();
        assert_eq!(back, stored);
    }
}
