//! Which nodes a set's pods should run on (`NodeShouldRunDaemonPod` of `pkg/controller/daemon/daemon_controller.go`). Pure.

use wavetank_api::json::{self, Json};
use wavetank_components::scheduling::{matches_required_node_affinity, tolerates_taint};

use super::util::daemon_pod_tolerations;

/// What becomes of pods of a set on a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Verdict {
    /// Is a pod made there, if there is none?
    pub should_run: bool,
    /// Does a pod that is there stay?
    pub should_continue_running: bool,
}

const NEITHER: Verdict = Verdict {
    should_run: false,
    should_continue_running: false,
};

/// `NodeShouldRunDaemonPod`
pub(super) fn node_should_run_daemon_pod(node: &Json, set: &Json) -> Verdict {
    let template = json::at(set, &["spec", "template"]).unwrap_or(&Json::Null);
    let named = json::text(template, &["spec", "nodeName"]);
    if !(named.is_empty() || named == json::text(node, &["metadata", "name"])) {
        return NEITHER;
    }
    if !matches_required_node_affinity(template, node) {
        return NEITHER;
    }
    let tolerations = daemon_pod_tolerations(template);
    let is_tolerated = |effects: &[&str]| {
        let taints = json::list(node, &["spec", "taints"]).iter();
        let mut those = taints.filter(|taint| effects.contains(&json::text(taint, &["effect"])));
        those.all(|taint| tolerations.iter().any(|own| tolerates_taint(own, taint)))
    };
    Verdict {
        should_run: is_tolerated(&["NoExecute", "NoSchedule"]),
        should_continue_running: is_tolerated(&["NoExecute"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn verdict(spec: Json, node: Json) -> (bool, bool) {
        let set = json!({"spec": {"template": {"spec": spec}}});
        let own = node_should_run_daemon_pod(&node, &set);
        (own.should_run, own.should_continue_running)
    }

    #[test]
    fn taints_keep_pods_away_and_some_end_those_that_run() {
        let tainted = |effect: &str| {
            let taint = json!({"key": "k", "value": "v", "effect": effect});
            json!({"metadata": {"name": "n"}, "spec": {"taints": [taint]}})
        };
        assert_eq!(verdict(json!({}), tainted("NoSchedule")), (false, true));
        assert_eq!(verdict(json!({}), tainted("NoExecute")), (false, false));
        assert_eq!(
            verdict(json!({}), tainted("PreferNoSchedule")),
            (true, true)
        );
        let tolerated = json!({"tolerations": [{"key": "k", "value": "v", "effect": "NoExecute"}]});
        assert_eq!(
            verdict(tolerated.clone(), tainted("NoExecute")),
            (true, true)
        );
        assert_eq!(verdict(tolerated, tainted("NoSchedule")), (false, true));
        let pressure = json!({
            "metadata": {"name": "n"},
            "spec": {"taints": [{"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}]},
        });
        assert_eq!(verdict(json!({}), pressure), (true, true));
    }

    #[test]
    fn a_node_is_selected_by_labels_and_by_its_name() {
        let node = json!({"metadata": {"name": "n2", "labels": {"disk": "ssd", "size": "3"}}});
        let term = |part: &str, own: Json| {
            json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{part: [own]}],
            }}}})
        };
        let of = |spec| verdict(spec, node.clone()).0;
        assert!(of(json!({"nodeSelector": {"disk": "ssd"}})));
        assert!(!of(json!({"nodeSelector": {"disk": "hdd"}})));
        assert!(!of(json!({"nodeName": "n1"})));
        let name = json!({"key": "metadata.name", "operator": "In", "values": ["n1"]});
        assert!(!of(term("matchFields", name)));
        let more = json!({"key": "size", "operator": "Gt", "values": ["2"]});
        assert!(of(term("matchExpressions", more)));
        let none = json!({"key": "disk", "operator": "DoesNotExist"});
        assert!(!of(term("matchExpressions", none)));
    }
}
