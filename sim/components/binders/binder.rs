//! One who binds pods: it lists them and the nodes, and binds those that wait. Which of the nodes that fit is drawn.

use std::time::Duration;

use serde_json::{Value as Json, json};
use wavetank_api::kinds::{NODES, PODS};
use wavetank_api::{Method, Request, Resource, Stored, json};
use wavetank_client::RestClient;
use wavetank_engine::{Caller, Cx, Name, Outcome, Payload, Process, RoutineFuture, Rx, Task};

use crate::scheduling::{matches_required_node_affinity, tolerates_taint};

const BIND: Name = Name::new("bind-pods");
/// How long a request may take.
const LIMIT: Duration = Duration::from_secs(10);

/// A binder of pods.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Binder {
    rest: RestClient,
}

/// Has it no node yet, and is one to be found?
fn waits(pod: &Stored) -> bool {
    let json = pod.object.json();
    let is_over = ["Succeeded", "Failed"].contains(&json::text(json, &["status", "phase"]));
    json::text(json, &["spec", "nodeName"]).is_empty() && !is_over && !pod.object.is_being_deleted()
}

/// Does a pod fit on a node (the plugins NodeUnschedulable, TaintToleration and NodeAffinity of kube-scheduler)?
fn fits(pod: &Json, node: &Json) -> bool {
    let cordoned = json!({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"});
    let is_cordoned = node["spec"]["unschedulable"] == true;
    let own = json::list(node, &["spec", "taints"]).iter();
    let taints = own.chain(is_cordoned.then_some(&cordoned));
    let mut hard = taints.filter(|taint| {
        let effect = json::text(taint, &["effect"]);
        ["NoSchedule", "NoExecute"].contains(&effect)
    });
    let tolerations = json::list(pod, &["spec", "tolerations"]);
    hard.all(|taint| tolerations.iter().any(|own| tolerates_taint(own, taint)))
        && matches_required_node_affinity(pod, node)
}

impl Binder {
    pub fn new(rest: RestClient) -> Binder {
        Binder { rest }
    }

    async fn list(&self, rx: Rx, of: &Resource) -> Vec<Stored> {
        let list = Request::new(Method::Get, of.path("", ""));
        let listed = rx.timeout(LIMIT, self.rest.list(rx, list)).await;
        let listed = listed.and_then(Result::ok);
        listed.map_or(Vec::new(), |list| list.items)
    }

    async fn bind(self, rx: Rx) -> Outcome {
        let mut pods = self.list(rx, &PODS).await;
        pods.retain(waits);
        if pods.is_empty() {
            return Outcome::Done;
        }
        let mut nodes = self.list(rx, &NODES).await;
        nodes.retain(|node| !node.object.is_being_deleted());
        for pod in &pods {
            let fitting = nodes.iter();
            let fitting = fitting.filter(|node| fits(pod.object.json(), node.object.json()));
            let fitting: Vec<&Stored> = fitting.collect();
            let node = match fitting.len() as u64 {
                0 => continue,
                1 => fitting[0],
                several => fitting[rx.choose(several).await as usize],
            };
            let binding = json!({
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": pod.object.name(), "uid": pod.object.uid()},
                "target": {"kind": "Node", "name": node.object.name()},
            });
            let path = PODS.path(pod.object.namespace(), pod.object.name());
            let post = Request::new(Method::Post, format!("{path}/binding"));
            // What becomes of it shows in etcd.
            let _ = rx
                .timeout(LIMIT, self.rest.request(rx, post.with(binding)))
                .await;
        }
        Outcome::Done
    }
}

impl Process for Binder {
    fn boot(&mut self, _: &mut Cx<'_>) {}

    fn request(&mut self, _: &mut Cx<'_>, _: Caller, body: &Payload) {
        unreachable!("nobody asks a client: {body:?}");
    }

    /// `bind`: binds all pods that wait for a node.
    fn command(&mut self, cx: &mut Cx<'_>, what: &str, _: &Json) -> Result<(), String> {
        if what != "bind" {
            return Err(format!("knows `bind`, not `{what}`"));
        }
        cx.spawn(Task::new(BIND, ()));
        Ok(())
    }

    fn crash(&mut self) {}

    fn routine(&self, _: &Task) -> RoutineFuture {
        Box::pin(self.clone().bind(Rx::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taints_labels_and_names_say_where_a_pod_fits() {
        let node = |spec: Json| json!({"metadata": {"name": "n1", "labels": {"disk": "ssd"}}, "spec": spec});
        let pod = |spec: Json| json!({ "spec": spec });
        let free = node(json!({}));
        assert!(fits(&pod(json!({})), &free));
        assert!(!fits(&pod(json!({"nodeSelector": {"disk": "hdd"}})), &free));
        let cordoned = node(json!({"unschedulable": true}));
        assert!(!fits(&pod(json!({})), &cordoned));
        let daemon = json!({"tolerations": [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]});
        assert!(fits(&pod(daemon), &cordoned));
        let tainted = |effect| node(json!({"taints": [{"key": "k", "effect": effect}]}));
        assert!(!fits(&pod(json!({})), &tainted("NoSchedule")));
        assert!(!fits(&pod(json!({})), &tainted("NoExecute")));
        assert!(fits(&pod(json!({})), &tainted("PreferNoSchedule")));
    }
}
