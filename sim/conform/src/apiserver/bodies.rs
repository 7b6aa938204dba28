//! The objects of drawn requests, kind by kind. Names and values are few, so that requests meet.

use serde_json::{Value as Json, json};

use super::dice::Dice;

/// A kind that is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Kind {
    /// Where its group is served.
    root: &'static str,
    plural: &'static str,
    pub kind: &'static str,
    api_version: &'static str,
    /// Has it the subresource `status`?
    pub status: bool,
    /// Has it the subresource `scale`?
    pub scale: bool,
}

const fn core(plural: &'static str, kind: &'static str, status: bool) -> Kind {
    Kind {
        root: "/api/v1",
        plural,
        kind,
        api_version: "v1",
        status,
        scale: false,
    }
}

pub(crate) const CONFIG_MAP: Kind = core("configmaps", "ConfigMap", false);
pub(crate) const SERVICE: Kind = core("services", "Service", true);
pub(crate) const POD: Kind = core("pods", "Pod", true);
const SECRET: Kind = core("secrets", "Secret", false);
const SERVICE_ACCOUNT: Kind = core("serviceaccounts", "ServiceAccount", false);
const ENDPOINTS: Kind = core("endpoints", "Endpoints", false);
pub(crate) const DEPLOYMENT: Kind = Kind {
    root: "/apis/apps/v1",
    plural: "deployments",
    kind: "Deployment",
    api_version: "apps/v1",
    status: true,
    scale: true,
};
const LEASE: Kind = Kind {
    root: "/apis/coordination.k8s.io/v1",
    plural: "leases",
    kind: "Lease",
    api_version: "coordination.k8s.io/v1",
    status: false,
    scale: false,
};
const BUDGET: Kind = Kind {
    root: "/apis/policy/v1",
    plural: "poddisruptionbudgets",
    kind: "PodDisruptionBudget",
    api_version: "policy/v1",
    status: true,
    scale: false,
};
pub(crate) const WIDGET: Kind = Kind {
    root: "/apis/{run}.example/v1",
    plural: "widgets",
    kind: "Widget",
    api_version: "{run}.example/v1",
    status: true,
    scale: true,
};

/// The kinds of a sequence, those that are asked for more often more often.
pub(crate) const KINDS: [Kind; 14] = [
    CONFIG_MAP,
    CONFIG_MAP,
    SERVICE,
    SERVICE,
    SERVICE,
    POD,
    POD,
    DEPLOYMENT,
    DEPLOYMENT,
    SECRET,
    SERVICE_ACCOUNT,
    ENDPOINTS,
    LEASE,
    BUDGET,
];

/// Finalizers.
pub(crate) const FINALIZERS: [&str; 2] = ["example.com/f", "example.com/g"];

impl Kind {
    /// Its collection in a namespace.
    pub fn collection(&self, namespace: &str) -> String {
        format!("{}/namespaces/{namespace}/{}", self.root, self.plural)
    }

    /// Its collection in all namespaces.
    pub fn everywhere(&self) -> String {
        format!("{}/{}", self.root, self.plural)
    }

    /// An object with this name, and the rest of it.
    pub fn object(&self, name: &str, rest: Json) -> Json {
        let mut object = rest;
        object["apiVersion"] = self.api_version.into();
        object["kind"] = self.kind.into();
        object["metadata"]["name"] = name.into();
        object
    }

    /// What a new object of it says beside its name.
    pub fn draw(&self, dice: &mut Dice, tiny: bool) -> Json {
        let mut rest = match self.kind {
            "Service" => service(dice, tiny),
            "Pod" => pod(dice),
            "Deployment" => json!({"spec": {
                "replicas": dice.below(4), "selector": {"matchLabels": {"app": "x"}}, "template": template(dice),
            }}),
            "Secret" => json!({"data": {"k": *dice.pick(&["MQ==", "Mg==", ""])}}),
            "ServiceAccount" => json!({"automountServiceAccountToken": dice.percent(50)}),
            "Endpoints" => json!({"subsets": [{
                "addresses": [{"ip": *dice.pick(&["192.0.2.1", "192.0.2.2"])}], "ports": [{"port": 80}],
            }]}),
            "Lease" => {
                json!({"spec": {"holderIdentity": *dice.pick(&["p", "q"]), "leaseDurationSeconds": 15}})
            }
            "PodDisruptionBudget" => json!({"spec": {
                "minAvailable": dice.below(3), "selector": {"matchLabels": {"app": "x"}},
            }}),
            "Widget" => {
                json!({"spec": {"replicas": dice.below(4), "size": *dice.pick(&["s", "m", "l"])}})
            }
            _ => json!({"data": {"k": dice.below(4).to_string()}}),
        };
        if dice.percent(10) && matches!(self.kind, "ConfigMap" | "Secret") {
            rest["immutable"] = dice.percent(70).into();
        }
        if dice.percent(40) {
            rest["metadata"]["labels"] = json!({"l": *dice.pick(&["p", "q"])});
        }
        if dice.percent(15) {
            rest["metadata"]["finalizers"] = finalizers(dice);
        }
        rest
    }

    /// A part of the object that a client would change, as a merge patch.
    pub fn change(&self, dice: &mut Dice, tiny: bool) -> Json {
        match dice.below(5) {
            0 => return json!({"metadata": {"labels": {"l": *dice.pick(&["p", "q", "r"])}}}),
            1 => return json!({"metadata": {"finalizers": finalizers(dice)}}),
            _ => {}
        }
        match self.kind {
            "Service" => service_change(dice, tiny),
            "Pod" => match dice.below(4) {
                0 => json!({"spec": {"activeDeadlineSeconds": *dice.pick(&[5, 50])}}),
                1 => json!({"spec": {"nodeName": "n3"}}),
                2 => json!({"spec": {"terminationGracePeriodSeconds": 1}}),
                _ => json!({"metadata": {"annotations": {"a": dice.below(3).to_string()}}}),
            },
            "Deployment" => match dice.below(4) {
                0 => json!({"spec": {"replicas": *dice.pick(&[-1, 0, 1, 2, 5])}}),
                1 => json!({"spec": {"paused": dice.percent(50)}}),
                2 => json!({"spec": {"selector": {"matchLabels": {"app": "y"}}}}),
                _ => {
                    json!({"spec": {"template": {"metadata": {"annotations": {"a": dice.below(3).to_string()}}}}})
                }
            },
            "Secret" => json!({"data": {"k": *dice.pick(&["Mw==", "no base64!"])}}),
            "ServiceAccount" => json!({"imagePullSecrets": [{"name": *dice.pick(&["s", "t"])}]}),
            "Endpoints" => json!({"subsets": *dice.pick(&[Some([0; 0]), None])}),
            "Lease" => {
                json!({"spec": {"holderIdentity": *dice.pick(&["p", "q", ""]), "leaseTransitions": dice.below(3)}})
            }
            "PodDisruptionBudget" => match dice.below(2) {
                0 => json!({"spec": {"minAvailable": dice.below(4)}}),
                _ => json!({"spec": {"minAvailable": null, "maxUnavailable": "30%"}}),
            },
            "Widget" => match dice.below(4) {
                0 => json!({"spec": {"replicas": *dice.pick(&[-1, 0, 3])}}),
                1 => json!({"spec": {"size": *dice.pick(&["s", "xl"])}}),
                2 => json!({"spec": {"unknown": dice.below(3)}}),
                _ => json!({"spec": {"note": *dice.pick(&["n", "m"])}}),
            },
            _ => {
                json!({"data": {*dice.pick(&["k", "j"]): *dice.pick(&[Some("1"), Some("2"), None])}})
            }
        }
    }

    /// What a controller would write to `status`.
    pub fn status(&self, dice: &mut Dice) -> Json {
        match self.kind {
            "Pod" => json!({"status": {"phase": *dice.pick(&["Running", "Succeeded", "Failed"])}}),
            "Service" => json!({"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}}}),
            "PodDisruptionBudget" => json!({"status": {
                "disruptionsAllowed": dice.below(2), "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1,
                "observedGeneration": dice.below(3),
            }}),
            _ => json!({"status": {"replicas": dice.below(3)}}),
        }
    }
}

fn finalizers(dice: &mut Dice) -> Json {
    let [one, two] = FINALIZERS;
    match dice.below(4) {
        0 => json!([]),
        1 => json!([one]),
        2 => json!([two]),
        _ => json!([one, two]),
    }
}

fn template(dice: &mut Dice) -> Json {
    let image = format!("registry.example/app:{}", dice.below(3));
    json!({"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": image}]}})
}

fn pod(dice: &mut Dice) -> Json {
    let mut pod = template(dice);
    if dice.percent(50) {
        pod["spec"]["nodeName"] = (*dice.pick(&["n1", "n2"])).into();
    }
    if dice.percent(20) {
        pod["spec"]["terminationGracePeriodSeconds"] = (*dice.pick(&[0, 1800])).into();
    }
    pod
}

/// Addresses that requests name: those at the ends of the range, and such as are in the part of it that nobody is given
/// by chance. A tiny range has no such part.
fn address(dice: &mut Dice, tiny: bool) -> &'static str {
    const EDGES: [&str; 6] = [
        "10.96.0.0",
        "10.96.0.1",
        "10.97.0.1",
        "fd00::1",
        "bogus",
        "None",
    ];
    const FREE: [&str; 5] = [
        "10.96.0.2",
        "10.96.0.3",
        "10.96.0.4",
        "10.96.0.5",
        "10.96.0.255",
    ];
    match tiny || dice.percent(15) {
        true => dice.pick::<&str>(&EDGES),
        false => dice.pick::<&str>(&FREE),
    }
}

fn port(dice: &mut Dice, tiny: bool) -> i64 {
    match tiny || dice.percent(20) {
        true => *dice.pick(&[0, 80, 29_999, 30_100 + 32_768]),
        false => *dice.pick(&[30_000, 30_001, 30_002]),
    }
}

fn service(dice: &mut Dice, tiny: bool) -> Json {
    let mut spec = json!({"ports": [{"port": *dice.pick(&[80, 81])}]});
    let kind = *dice.pick(&[
        "ClusterIP",
        "ClusterIP",
        "NodePort",
        "NodePort",
        "LoadBalancer",
        "ExternalName",
        "None",
    ]);
    if kind == "None" {
        spec["clusterIP"] = "None".into();
        return json!({"spec": spec});
    }
    spec["type"] = kind.into();
    if kind == "ExternalName" {
        spec["externalName"] = "x.example".into();
        return json!({"spec": spec});
    }
    if dice.percent(if tiny { 10 } else { 40 }) {
        spec["clusterIP"] = address(dice, tiny).into();
    }
    if kind != "ClusterIP" && dice.percent(if tiny { 10 } else { 40 }) {
        spec["ports"][0]["nodePort"] = port(dice, tiny).into();
    }
    if dice.percent(15) {
        spec["ports"] = json!([
            {"name": "t", "port": 53, "protocol": "TCP"}, {"name": "u", "port": 53, "protocol": "UDP"},
        ]);
    }
    if kind == "LoadBalancer" && dice.percent(30) {
        spec["externalTrafficPolicy"] = "Local".into();
    }
    if kind == "LoadBalancer" && dice.percent(30) {
        spec["allocateLoadBalancerNodePorts"] = false.into();
    }
    json!({"spec": spec})
}

fn service_change(dice: &mut Dice, tiny: bool) -> Json {
    match dice.below(8) {
        0 => json!({"spec": {"ports": [{"port": *dice.pick(&[80, 81, 82])}]}}),
        1 | 2 => json!({"spec": {"type": *dice.pick(&["ClusterIP", "NodePort", "LoadBalancer"])}}),
        3 => json!({"spec": {"type": "ExternalName", "externalName": "y.example"}}),
        4 => {
            json!({"spec": {"type": "ExternalName", "externalName": "y.example", "clusterIP": null, "clusterIPs": null}})
        }
        5 => {
            let address = address(dice, tiny);
            json!({"spec": {"clusterIP": address, "clusterIPs": [address]}})
        }
        6 => json!({"spec": {"externalTrafficPolicy": *dice.pick(&["Local", "Cluster"])}}),
        _ => json!({"spec": {"sessionAffinity": *dice.pick(&["ClientIP", "None"])}}),
    }
}

/// A definition of [`WIDGET`].
pub(crate) fn definition() -> Json {
    let spec = json!({"type": "object", "properties": {
        "replicas": {"type": "integer", "minimum": 0},
        "size": {"type": "string", "enum": ["s", "m", "l"], "default": "s"},
        "note": {"type": "string", "maxLength": 4},
    }});
    let status = json!({"type": "object", "properties": {"replicas": {"type": "integer"}}});
    let schema = json!({"type": "object", "properties": {"spec": spec, "status": status}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.{run}.example"},
        "spec": {
            "group": "{run}.example",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema},
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
                },
                "additionalPrinterColumns": [{"name": "Size", "type": "string", "jsonPath": ".spec.size"}],
            }],
        },
    })
}
