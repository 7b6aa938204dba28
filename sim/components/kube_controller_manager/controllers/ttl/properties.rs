//! What kubelets may rely on: the TTL changes only where the size of the cluster asks for that, and once all has been well for a while
//! each node that writes its status has the one of its cluster, and is left alone.

use std::collections::BTreeMap;
use std::time::Duration;

use wavetank_api::Object;
use wavetank_api::kinds::NODES;
use wavetank_component::{Entry, PropertyInfo, Spec};
use wavetank_components::changes::is_of;
use wavetank_components::nodes::node_is_lost;
use wavetank_components::promises::{reaches, violated};
use wavetank_components::view::ClusterView;
use wavetank_engine::{Check, Note, ProcId, Property, World};
use wavetank_etcd::Change;

use super::controller::{
    CONTROLLER, TtlBoundary, annotation, get_int_from_annotation, ttl_boundaries,
};
use super::notes::{CountsNodes, SetsTtl};
use super::{NEEDED, USE, USERS};
use crate::quiet::{Act, IsQuiet, Rest, Subject};
use crate::somebody_runs;

/// A kubelet writes its status 7.5 min after it wrote it last, at the latest, and tries again where it fails.
pub(super) const SETTLES_WITHIN: Duration = Duration::from_secs(11 * 60);

/// Clusters have to grow and shrink, and there have to be kubelets.
const USED: [Entry; 4] = [
    Entry::new("topology", USERS, "1"),
    Entry::new("topology", "nodes", "2"),
    Entry::new("options", "node-heartbeats", "true"),
    Entry::new("workload", USE, "{every: 2s}"),
];

pub(super) fn all() -> Vec<PropertyInfo> {
    let users = |spec: &Spec| spec.count(USERS) > 0;
    vec![
        PropertyInfo::new(
            "ttl-has-hysteresis",
            "the TTL that the controller wants fits the nodes that it has counted, and stays as long as it does",
            NEEDED,
            |_| Box::new(TtlHasHysteresis::default()),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "nodes-have-the-ttl",
            "some time after calm each node that writes its status has a TTL that fits the size of the cluster",
            NEEDED,
            |settled| Box::new(NodesHaveTheTtl::after(settled)),
        )
        .tested_by(&USED),
        PropertyInfo::new(
            "ttl-controller-is-quiet",
            "some time after calm the controller sets the TTL of no node any more, but a few times after a change that comes late",
            NEEDED,
            |settled| Box::new(IsQuiet::after(settled, REST)),
        ),
        reaches(
            "ttl-was-raised",
            "the controller wanted a TTL of more than 0 s",
            NEEDED,
            |_, note| note.body.get().is_some_and(|own: &CountsNodes| own.ttl > 0),
        )
        .fits(users),
    ]
}

/// The sizes for which there is this TTL.
fn sizes(divisor: u32, ttl: i64) -> Option<TtlBoundary> {
    let all = ttl_boundaries(divisor);
    all.into_iter().find(|own| own.ttl_seconds == ttl)
}

fn fits(boundary: &TtlBoundary, count: u32) -> bool {
    (boundary.size_min..=boundary.size_max).contains(&count)
}

/// The TTL that each controller wanted last.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct TtlHasHysteresis {
    wanted: BTreeMap<ProcId, i64>,
}

impl Property for TtlHasHysteresis {
    fn name(&self) -> &'static str {
        "ttl-has-hysteresis"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let is_none = note.body.get::<CountsNodes>().is_none();
        is_none.then_some(Check::Idle)
    }

    fn note(&mut self, _: &World, note: &Note) -> Check {
        let Some(counts) = note.body.get::<CountsNodes>() else {
            return Check::Idle;
        };
        let CountsNodes {
            count,
            ttl,
            divisor,
            ..
        } = counts;
        let before = self.wanted.insert(note.process, *ttl);
        if !sizes(*divisor, *ttl).is_some_and(|own| fits(&own, *count)) {
            let message = format!("the TTL of {count} nodes is {ttl} s");
            return violated("TTL", CONTROLLER, message);
        }
        let Some(before) = before.filter(|before| before != ttl) else {
            return Check::Held;
        };
        if sizes(*divisor, before).is_some_and(|own| fits(&own, *count)) {
            let message =
                format!("the TTL of {count} nodes changes from {before} s, which fits, to {ttl} s");
            return violated("TTL", CONTROLLER, message);
        }
        Check::Held
    }
}

/// By what the sizes of clusters are divided, as controllers say.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct NodesHaveTheTtl {
    after: Duration,
    divisor: u32,
}

impl NodesHaveTheTtl {
    /// The calm has to last so long before they do.
    fn after(after: Duration) -> NodesHaveTheTtl {
        NodesHaveTheTtl { after, divisor: 1 }
    }
}

impl Property for NodesHaveTheTtl {
    fn name(&self) -> &'static str {
        "nodes-have-the-ttl"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let counts = note.body.get::<CountsNodes>();
        let is_known = counts.is_none_or(|own| own.divisor == self.divisor);
        is_known.then_some(Check::Idle)
    }

    fn note(&mut self, _: &World, note: &Note) -> Check {
        if let Some(CountsNodes { divisor, .. }) = note.body.get() {
            self.divisor = *divisor;
        }
        Check::Idle
    }

    fn calm(&mut self, _: &World) -> Option<Duration> {
        Some(self.after)
    }

    fn deadline(&mut self, world: &World) -> Check {
        if !somebody_runs(world, CONTROLLER) {
            return Check::Idle;
        }
        let nodes = ClusterView(world).all(NODES.registry);
        let count = nodes.len() as u32;
        let mut checked = Check::Idle;
        for node in nodes {
            let name = node.name();
            if node_is_lost(world, name) != Some(false) {
                continue;
            }
            let ttl = get_int_from_annotation(node.json());
            let own = ttl.and_then(|ttl| sizes(self.divisor, ttl));
            if !own.is_some_and(|own| fits(&own, count)) {
                let shown = annotation(node.json()).unwrap_or("none");
                let message = format!("the TTL of {name} is {shown}, and there are {count} nodes");
                return violated("node", name, message);
            }
            checked = Check::Held;
        }
        checked
    }
}

/// A node whose TTL has changed, and any node where one is made or deleted.
const ANY: &str = "any";

fn concerns(change: &Change<Object>) -> Vec<Subject> {
    if !is_of(change, &NODES) {
        return Vec::new();
    }
    let (Some(before), Some(now)) = (&change.before, &change.now) else {
        return vec![ANY.into()];
    };
    let is_changed = annotation(before.value.json()) != annotation(now.value.json());
    let own = is_changed.then(|| now.value.name().into());
    own.into_iter().collect()
}

const REST: Rest = Rest {
    property: "ttl-controller-is-quiet",
    controller: CONTROLLER,
    kind: "node",
    acts: |node| format!("the TTL of {node} is set"),
    act: |note| {
        let SetsTtl { node, .. } = note.body.get()?;
        Some(Act {
            on: node.clone(),
            name: node.clone(),
        })
    },
    concerns,
    follows: |_, node, changed| changed.contains(ANY) || changed.contains(node),
};
