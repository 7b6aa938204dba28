//! Scopes of the control plane, searched by stateright and by the project: what they have in common.

mod control_plane;
mod explore;
mod held_up;

use std::time::Duration;

use stateright::{Checker, Model, Path};
use wavetank_components::kube_apiserver::bootstrap::Reconciler;
use wavetank_engine::drive::plan::{FromPlan, Plan, Planned};
use wavetank_engine::drive::{Ending, Limits, Run};
use wavetank_engine::trace::Record;
use wavetank_engine::{Action, Fault, Time, World};
use wavetank_models::{Bounds, Move, Node, WorldModel};
use wavetank_releases::{Release, V1_20};
use wavetank_version::{Selection, Set};

use crate::common::topology::{Apiserver, EtcdCluster, Topology};

/// Two apiservers of v1.20 with these defects, over one etcd.
fn two_apiservers(defects: Selection) -> Topology {
    let apiserver = Apiserver {
        release: V1_20,
        defects,
    };
    Topology {
        etcd: EtcdCluster::single(Release::of(V1_20).etcd, Set::NONE),
        etcd_clients: 0,
        watching: Default::default(),
        services: None,
        service_writers: 0,
        apiservers: vec![apiserver.clone(), apiserver],
        clients: 0,
        reconciler: Reconciler::Lease,
        apiserver_count: 2,
        shutdown_delay: Duration::ZERO,
    }
}

/// What the removal of an address and a round, one after the other, take less than.
pub const WINDOW: Duration = Duration::from_millis(25);

/// Two apiservers with these defects, each of which may be stopped within a window that begins
/// about `from`.
pub fn stoppable(defects: Selection, from: Time, deviations: u32) -> WorldModel {
    let topology = two_apiservers(defects);
    let start = undisturbed(&topology, "stopped-address-is-removed", from);
    let stop = |process| Action::Fault(Fault::Stop { process });
    WorldModel {
        bounds: Bounds {
            horizon: start.now() + WINDOW,
            faults: topology.apiserver_names().into_iter().map(stop).collect(),
            deviations,
            ..Bounds::default()
        },
        start,
    }
}

/// Everything is started, and goes on without any trouble until `until`.
pub fn undisturbed(topology: &Topology, property: &str, until: Time) -> World {
    let start = |process| Planned {
        at: Time::ZERO,
        after: None,
        action: Action::Fault(Fault::Start { process }),
    };
    let plan = Plan {
        actions: topology.names().into_iter().map(start).collect(),
        ..Plan::default()
    };
    let property = topology.components().property(property).cloned();
    let world = topology.world(&[property.expect("there is such")]);
    let choices = FromPlan::new(&plan);
    let outcome = Run::new(world, choices, Limits::until(until), Record::default()).finish();
    assert_eq!(outcome.ending, Ending::Clean);
    outcome.world
}

/// The counterexample, if there is one; without one everything within the bounds was visited.
pub fn search<M>(model: M) -> (impl Checker<M>, Option<Path<Node, Move>>)
where
    M: Model<State = Node, Action = Move> + Send + Sync + 'static,
{
    let checker = model.checker().spawn_dfs().join();
    assert!(checker.is_done());
    println!(
        "{} states, {} steps, {} of them in a row",
        checker.unique_state_count(),
        checker.state_count(),
        checker.max_depth() - 1
    );
    let found = checker.discovery("guarantees hold");
    (checker, found)
}
