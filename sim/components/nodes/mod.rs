//! Nodes of a scenario until there are kubelets: each registers itself, and is ready. With heartbeats it renews a Lease and
//! writes its status, as a kubelet does, and it may be lost. `node` is the process, `lease` and `status` are its heartbeats,
//! `options` says which nodes have them, `notes` is what they say.

mod lease;
mod node;
mod notes;
mod options;
mod status;

use wavetank_api::Resource;
use wavetank_api::kinds::{LEASES, NODES};
use wavetank_component::{
    Component, Description, Hit, Keys, Load, Mistakes, Need, Replicas, Section, Setup, Spec, Wiring,
};
use wavetank_engine::{FaultKind, Note, World};

use crate::{informers, kube_apiserver};
use options::Options;

pub use lease::NAMESPACE as LEASE_NAMESPACE;
pub use node::{Node, node_is_lost};
pub use notes::{ComesBack, IsLost};
pub use status::{is_shutting_down, set_pressures, set_shutting_down};

/// No cluster here has more of them, or of kubelets.
pub const MOST: u32 = 500;
/// The key of their number.
pub const NAME: &str = "nodes";
/// The key of the number of kubelets, whose nodes have heartbeats as well.
pub const KUBELETS: &str = "kubelets";

/// Nodes that register themselves.
#[derive(Clone, Copy, Debug)]
pub struct Nodes;

/// The name of the Node that the process with this number registers, from 1 on.
pub fn node_name(number: usize) -> String {
    format!("n{number}")
}

/// Do nodes of this scenario have heartbeats?
pub fn have_heartbeats(spec: &Spec) -> bool {
    register(spec) && spec.part::<Options>().node_heartbeats
}

/// Are there nodes, or kubelets, which register theirs?
pub fn register(spec: &Spec) -> bool {
    spec.count(NAME) > 0 || spec.count(KUBELETS) > 0
}

const NEEDED: Need = Need {
    met: |spec| spec.count(NAME) > 0 && have_heartbeats(spec),
    lacking: "there are no nodes that have heartbeats",
    add: "`nodes: 3` to `topology`, and `node-heartbeats: true` to `options`",
};

impl Component for Nodes {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "nodes that register themselves, as kubelets do"
    }

    fn replicas(&self) -> Option<Replicas> {
        let about = "The number of nodes that register themselves, as n1, n2 and so on; their processes are h1, h2 and so \
                     on.";
        Some(
            Replicas::counted(NAME, "h", about)
                .at_most(MOST)
                .dispensable(),
        )
    }

    fn keys(&self) -> Vec<Keys> {
        vec![Keys::of::<Options>()]
    }

    fn workload(&self) -> Vec<Load> {
        let lose = "Until the storm ends, nodes are lost for a while, and some for good.";
        let unwell = "Until the storm ends, nodes are not ready for a while, and say so.";
        vec![
            Load::command("lose-nodes", "lose", lose, NEEDED).until_calm(),
            Load::command("unwell-nodes", "unwell", unwell, NEEDED).until_calm(),
        ]
    }

    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        kube_apiserver::needed_by(NAME, spec, mistakes);
        let options: Options = spec.part();
        let given = [
            (
                "node-heartbeats",
                options.node_heartbeats && !register(spec),
            ),
            (
                "node-zones",
                options.node_zones.is_some() && !have_heartbeats(spec),
            ),
        ];
        for (key, _) in given.into_iter().filter(|(_, given)| *given) {
            let message = format!("`{key}` is for nodes that have heartbeats, and there are none");
            let help = format!("add {}, or remove `{key}`", NEEDED.add);
            mistakes.key(Section::Options, key, message, help);
        }
    }

    fn uses(&self, spec: &Spec) -> Vec<&'static Resource> {
        match (spec.count(NAME) > 0, have_heartbeats(spec)) {
            (true, true) => vec![&NODES, &LEASES],
            (true, false) => vec![&NODES],
            (false, _) => Vec::new(),
        }
    }

    fn build(&self, setup: &Setup, wiring: &mut Wiring) {
        let Some(rest) = informers::rest(setup, wiring) else {
            return;
        };
        let options: Options = setup.part();
        for (at, name) in wiring.names(NAME).iter().enumerate() {
            let heartbeats = options.node_heartbeats.then(|| node::Heartbeats {
                zone: options.zone(at + 1).map(Into::into),
            });
            let node = Node::new(&node_name(at + 1), rest.clone(), heartbeats);
            wiring.process(name, node);
        }
    }

    /// Those that have heartbeats crash, in the last turn; others are only struck as all processes are.
    fn hit(&self, setup: &Setup, kind: FaultKind, max: u32) -> Option<Hit> {
        let crashes = matches!(kind, FaultKind::Crash | FaultKind::PowerLoss);
        (crashes && have_heartbeats(setup)).then_some(Hit::at_most(max))
    }

    fn describe(&self, _: &World, note: &Note) -> Option<Description> {
        notes::describe(note)
    }
}
