//! The declarations: kubelets, the runtimes of their nodes, and who makes pods for them.

use std::time::Duration;

use wavetank_api::Resource;
use wavetank_api::kinds::{LEASES, NODES, PODS};
use wavetank_apiserver::DeletionDefect;
use wavetank_client::InformerDefect;
use wavetank_component::{
    Component, Description, Drawn, Given, Hit, Keys, Load, Mistakes, Need, PropertyInfo, Replicas,
    Section, Setup, Spec, Wiring,
};
use wavetank_components::nodes::{self, Node, node_name};
use wavetank_components::users::User;
use wavetank_components::{informers, kube_apiserver};
use wavetank_engine::{FaultKind, Note, World};
use wavetank_version::{List, Listed};

use crate::defects::KubeletDefect;
use crate::kubelet::{self, Kubelet};
use crate::options::{self, Options};
use crate::runtime::{ContainerRuntime, pod_cidr};
use crate::users::UsesPods;
use crate::{notes, properties};

/// The key of the number of kubelets.
pub const NAME: &str = nodes::KUBELETS;
const RUNTIMES: &str = "container-runtimes";
const USERS: &str = "pod-users";

/// Kubelets.
#[derive(Clone, Copy, Debug)]
pub struct Kubelets;

/// The runtimes of their nodes.
#[derive(Clone, Copy, Debug)]
pub struct ContainerRuntimes;

/// Clients that make pods for them.
#[derive(Clone, Copy, Debug)]
pub struct KubeletUsers;

/// What properties of kubelets need.
pub(crate) const NEEDED: Need = Need {
    met: |spec| spec.count(NAME) > 0,
    lacking: "kubelets, and there are none",
    add: "`kubelets: 2` to `topology`",
};

/// What properties of static pods need.
pub(crate) const STATIC_PODS: Need = Need {
    met: |spec| spec.count(NAME) > 0 && has_static_pods(spec),
    lacking: "kubelets with static pods, and there are none",
    add: "`static-pods: true` to `options`, and kubelets",
};

/// What properties of shutdowns need.
pub(crate) const SHUTDOWNS: Need = Need {
    met: |spec| spec.count(NAME) > 0 && !spec.part::<Options>().shutdown().is_empty(),
    lacking: "kubelets that heed shutdowns, and there are none",
    add: "`shutdown-grace-period: 20s` to `options`, and kubelets",
};

/// What properties of evictions need.
pub(crate) const EVICTIONS: Need = Need {
    met: |spec| spec.count(NAME) > 0 && spec.part::<Options>().eviction().is_on(),
    lacking: "kubelets that evict pods, and there are none",
    add: "`eviction-hard-memory: 100` to `options`, and kubelets",
};

fn has_static_pods(spec: &Spec) -> bool {
    spec.part::<Options>().static_pods
}

const USERS_NEEDED: Need = Need {
    met: |spec| spec.count(USERS) > 0,
    lacking: "there is nobody to make pods for kubelets",
    add: "`pod-users: 2` to `topology`",
};

impl Component for Kubelets {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "kubelets, one a node, which run the pods that are bound to it"
    }

    fn replicas(&self) -> Option<Replicas> {
        let about = "The number of kubelets, named l1, l2 and so on, of the nodes n1, n2 and so on, which register themselves. \
                     The container runtimes of these nodes are the processes o1, o2 and so on.";
        Some(Replicas::counted(NAME, "l", about))
    }

    fn keys(&self) -> Vec<Keys> {
        vec![Keys::of::<Options>()]
    }

    fn workload(&self) -> Vec<Load> {
        let about = "Until the storm ends, manifests of static pods appear, change and vanish on the disks of nodes.";
        vec![Load::command("use-manifests", "manifest", about, STATIC_PODS).until_calm()]
    }

    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        kube_apiserver::needed_by(NAME, spec, mistakes);
        if has_static_pods(spec) && spec.count(NAME) == 0 {
            let message = "`static-pods` is for kubelets, and there are none";
            let help = format!("add {}, or remove `static-pods`", NEEDED.add);
            mistakes.key(Section::Options, "static-pods", message, help);
        }
        options::check(spec, spec.count(NAME) > 0, mistakes);
        if spec.count(NAME) > 0 && spec.count(nodes::NAME) > 0 {
            let message = "kubelets register their nodes themselves";
            let help = format!("remove `{}`", nodes::NAME);
            mistakes.key(Section::Topology, NAME, message, help);
        }
    }

    fn uses(&self, spec: &Spec) -> Vec<&'static Resource> {
        match (spec.count(NAME) > 0, nodes::have_heartbeats(spec)) {
            (true, true) => vec![&PODS, &NODES, &LEASES],
            (true, false) => vec![&PODS, &NODES],
            (false, _) => Vec::new(),
        }
    }

    fn build(&self, setup: &Setup, wiring: &mut Wiring) {
        let (Some(rest), Some(release)) = (
            informers::rest(setup, wiring),
            kube_apiserver::newest(setup),
        ) else {
            return;
        };
        let runtimes = wiring.ids(RUNTIMES);
        for (at, name) in wiring.names(NAME).iter().enumerate() {
            let number = at + 1;
            let node =
                Node::of_kubelet(&node_name(number), &rest, setup, number, &pod_cidr(number));
            let informer_defects = setup.set::<InformerDefect>(release);
            let defects = setup.set::<KubeletDefect>(release);
            let given = kubelet::Given {
                has_static_pods: has_static_pods(setup),
                shutdown: setup.part::<Options>().shutdown(),
                eviction: setup.part::<Options>().eviction(),
            };
            let kubelet = Kubelet::new(node, &rest, runtimes[at], informer_defects, defects, given);
            wiring.process(name, kubelet);
        }
    }

    fn hit(&self, _: &Setup, kind: FaultKind, max: u32) -> Option<Hit> {
        (kind != FaultKind::Stop).then_some(Hit::at_most(max))
    }

    fn holds(&self, _: &Spec) -> Vec<(&'static str, String)> {
        vec![(NAME, PODS.qualified())]
    }

    fn defects(&self) -> Vec<List> {
        vec![KubeletDefect::LIST, DeletionDefect::LIST]
    }

    fn defects_of_parts(&self, _: &Spec) -> Vec<List> {
        vec![InformerDefect::LIST]
    }

    fn properties(&self) -> Vec<PropertyInfo> {
        properties::all()
    }

    fn settles(&self, setup: &Setup) -> Duration {
        match setup.count(NAME) {
            0 => Duration::ZERO,
            _ => properties::SETTLES_WITHIN,
        }
    }

    fn describe(&self, _: &World, note: &Note) -> Option<Description> {
        notes::describe(note)
    }
}

impl Component for ContainerRuntimes {
    fn name(&self) -> &'static str {
        RUNTIMES
    }

    fn about(&self) -> &'static str {
        "the container runtimes of nodes that have a kubelet"
    }

    fn count(&self, given: &Given) -> u32 {
        given.count(NAME)
    }

    fn processes(&self, spec: &Spec, drawn: Option<&Drawn>) -> Result<Vec<String>, String> {
        let count = match drawn {
            None => spec.count(NAME),
            Some(drawn) => drawn.count(NAME)?,
        };
        Ok((1..=count).map(|number| format!("o{number}")).collect())
    }

    fn workload(&self) -> Vec<Load> {
        let fail = "Until the storm ends, containers that kubelets run end by themselves.";
        let unwell =
            "Until the storm ends, the probes of containers that kubelets run fail for a while.";
        let reboot = "Until the storm ends, nodes that have a kubelet start anew.";
        let shut_down = "Until the storm ends, machines of nodes that have a kubelet are told to go off for a while, and one in four \
                         does not after all.";
        let grow = "Until the storm ends, containers that kubelets run use more memory.";
        let hog =
            "Until the storm ends, somebody uses memory for a while on nodes that have a kubelet.";
        let prune = "Until the storm ends, somebody removes init containers that have succeeded from nodes.";
        vec![
            Load::command("fail-containers", "fail", fail, NEEDED).until_calm(),
            Load::command("unwell-containers", "unwell", unwell, NEEDED).until_calm(),
            Load::command("reboot-nodes", "reboot", reboot, NEEDED).until_calm(),
            Load::command("prune-containers", "prune", prune, NEEDED).until_calm(),
            Load::command("grow-containers", "grow", grow, EVICTIONS).until_calm(),
            Load::command("hog-nodes", "hog", hog, EVICTIONS).until_calm(),
            Load::command("shut-down-nodes", "shut-down", shut_down, NEEDED).until_calm(),
        ]
    }

    fn uses(&self, _: &Spec) -> Vec<&'static Resource> {
        Vec::new()
    }

    fn build(&self, setup: &Setup, wiring: &mut Wiring) {
        let Some(release) = kube_apiserver::newest(setup) else {
            return;
        };
        let kubelets = wiring.ids(NAME);
        for (at, name) in wiring.names(RUNTIMES).iter().enumerate() {
            let runtime = ContainerRuntime::new(at + 1, kubelets[at], setup.set(release));
            wiring.process(name, runtime);
        }
    }

    fn hit(&self, _: &Setup, kind: FaultKind, max: u32) -> Option<Hit> {
        (kind != FaultKind::Stop).then_some(Hit::at_most(max))
    }
}

impl Component for KubeletUsers {
    fn name(&self) -> &'static str {
        USERS
    }

    fn about(&self) -> &'static str {
        "clients that make pods for kubelets, and delete them"
    }

    fn replicas(&self) -> Option<Replicas> {
        let about = "The number of clients that make pods for kubelets, delete them and make them anew, named pu1, pu2 and so \
                     on.";
        Some(Replicas::counted(USERS, "pu", about).dispensable())
    }

    fn workload(&self) -> Vec<Load> {
        let about = "Until the storm ends, pod users make a pod for a kubelet, delete one, overwrite its status or delete it by \
                     force.";
        vec![Load::command("use-pods", "use", about, USERS_NEEDED).until_calm()]
    }

    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        if spec.count(USERS) > 0 && spec.count(NAME) == 0 {
            let message = "there are no kubelets to run their pods";
            let help = format!("add `{NAME}: 2`, or remove `{USERS}`");
            mistakes.key(Section::Topology, USERS, message, help);
        }
    }

    fn uses(&self, _: &Spec) -> Vec<&'static Resource> {
        Vec::new()
    }

    fn build(&self, setup: &Setup, wiring: &mut Wiring) {
        let Some(rest) = informers::rest(setup, wiring) else {
            return;
        };
        let uses = UsesPods {
            nodes: setup.count(NAME),
            has_static_pods: has_static_pods(setup),
            heed_shutdowns: (SHUTDOWNS.met)(setup),
            evict: (EVICTIONS.met)(setup),
        };
        for name in wiring.names(USERS) {
            wiring.process(name, User::new(rest.clone(), uses.clone()));
        }
    }
}
