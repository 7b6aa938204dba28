//! What the searches of the control plane have in common.

use stateright::{Checker, Model, Path};
use wavetank_cluster::Topology;
use wavetank_cluster::properties::Name;
use wavetank_engine::drive::plan::{FromPlan, Plan, Planned};
use wavetank_engine::drive::{Ending, Limits, Run};
use wavetank_engine::trace::Record;
use wavetank_engine::{Action, Fault, LinkSpec, Time, World};
use wavetank_models::{Move, Node};

/// Everything is started, and goes on without any trouble until `until`.
pub fn undisturbed(topology: &Topology, property: Name, until: Time) -> World {
    let start = |process| Planned {
        at: Time::ZERO,
        after: None,
        action: Action::Fault(Fault::Start { process }),
    };
    let plan = Plan {
        actions: topology.names().into_iter().map(start).collect(),
        ..Plan::default()
    };
    let world = topology.world(&[property.into()], LinkSpec::default());
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
