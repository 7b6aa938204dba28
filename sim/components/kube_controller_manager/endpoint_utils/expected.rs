//! Which pods a Service selects, as etcd shows them: properties work it out anew, and share nothing with the controllers.

use wavetank_api::kinds::PODS;
use wavetank_api::{Json, Object, json};
use wavetank_engine::World;

use wavetank_components::view::ClusterView;

/// The pods that a Service selects, that have an address and are not over; `None` of a Service that selects no pods, or is
/// another's name.
pub fn selected_pods<'a>(world: &'a World, service: &Object) -> Option<Vec<&'a Object>> {
    let spec = &service.json()["spec"];
    let selector = spec["selector"].as_object()?;
    if spec["type"] == "ExternalName" {
        return None;
    }
    let mut pods = ClusterView(world).all(PODS.registry);
    pods.retain(|pod| {
        let labels = &pod.json()["metadata"]["labels"];
        let mut wanted = selector.iter();
        let status = &pod.json()["status"];
        let is_over = status["phase"] == "Succeeded" || status["phase"] == "Failed";
        let has_address = !json::text(status, &["podIP"]).is_empty();
        wanted.all(|(key, value)| labels.get(key) == Some(value))
            && pod.namespace() == service.namespace()
            && has_address
            && !is_over
    });
    Some(pods)
}

/// Does the pod say that it is ready?
pub fn says_ready(pod: &Json) -> bool {
    let mut conditions = json::list(pod, &["status", "conditions"]).iter();
    conditions.any(|own| own["type"] == "Ready" && own["status"] == "True")
}

/// The ports of a Service that a pod has: names, and the numbers that they have there.
pub fn ports_at<'a>(service: &'a Object, pod: &'a Json) -> impl Iterator<Item = (&'a str, i64)> {
    let ports = json::list(service.json(), &["spec", "ports"]).iter();
    ports.filter_map(|port| {
        let number = port_of(pod, &port["targetPort"])?;
        Some((json::text(port, &["name"]), number))
    })
}

/// The port of a pod, by its number or its name.
fn port_of(pod: &Json, target: &Json) -> Option<i64> {
    if target.is_i64() {
        return target.as_i64();
    }
    let containers = json::list(pod, &["spec", "containers"]).iter();
    let mut ports = containers.flat_map(|own| json::list(own, &["ports"]));
    ports.find(|port| port["name"] == *target)?["containerPort"].as_i64()
}
