//! An operator who rolls a change out over the apiservers, one after another: the node of one is told to replace
//! it, and the next one's turn comes when it is ready again, or has not been for so long that the operator goes on
//! all the same (`kubeadm upgrade`: `cmd/kubeadm/app/phases/upgrade/staticpods.go`, which would roll back).
//!
//! When a step is taken is up to the workload. After the last of them the first one's turn comes again: what is a
//! new release the first time is a restart with the same one from then on.

use std::time::Duration;

use wavetank_api::{Method, Request, Response};
use wavetank_apiserver::{NODE, NodeAnswer, NodeOrder};
use wavetank_client::HTTPS;
use wavetank_engine::{
    Caller, Cell, Cx, Name, Outcome, Payload, ProcId, Process, RoutineFuture, Rx, Task,
};

const STEP: Name = Name::new("step");
const WAIT: Name = Name::new("wait-until-ready");
/// How long an answer may take.
const LIMIT: Duration = Duration::from_secs(5);
/// Between two looks.
const POLL: Duration = Duration::from_secs(2);
/// `UpgradeManifestTimeout` is 5 min; what is gone for good in a storm should not take all of it.
const LOOKS: u32 = 20;

/// How many steps were taken, and whether one is under way.
static PROGRESS: Cell<Progress> = Cell::new("rollout-progress");

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct Progress {
    steps: u64,
    busy: bool,
}

/// The operator.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RolloutOperator {
    /// The apiservers in the order of the rollout, and what says of each that it is ready.
    pub servers: Vec<(ProcId, &'static str)>,
}

/// A server that is waited for, and how often it was looked at.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Waiting {
    at: usize,
    looks: u32,
}

impl Process for RolloutOperator {
    fn boot(&mut self, _cx: &mut Cx<'_>) {}

    fn request(&mut self, _cx: &mut Cx<'_>, _caller: Caller, body: &Payload) {
        unreachable!("nobody asks an operator: {body:?}");
    }

    fn command(
        &mut self,
        cx: &mut Cx<'_>,
        what: &str,
        _: &serde_json::Value,
    ) -> Result<(), String> {
        if what != "roll" {
            return Err(format!("knows `roll`, not `{what}`"));
        }
        let progress = cx.cell(&PROGRESS);
        if !progress.busy {
            progress.busy = true;
            let at = progress.steps as usize % self.servers.len();
            cx.spawn(Task::new(STEP, at));
        }
        Ok(())
    }

    fn crash(&mut self) {}

    fn routine(&self, task: &Task) -> RoutineFuture {
        let rx = Rx::new();
        if task.kind() == STEP {
            let at = *task.args::<usize>();
            return Box::pin(step(rx, at, self.servers[at].0));
        }
        let waiting = *task.args::<Waiting>();
        let (server, probe) = self.servers[waiting.at];
        Box::pin(wait(rx, waiting, server, probe))
    }
}

/// What a node says to an order, if it is reached.
async fn order(rx: Rx, server: ProcId, order: NodeOrder) -> Option<NodeAnswer> {
    let call = rx.call(&NODE, server, Payload::new(order));
    let answer = rx.timeout(LIMIT, call).await?.ok()?;
    Some(*answer.expect())
}

/// A node that is not reached is tried again with the next step.
async fn step(rx: Rx, at: usize, server: ProcId) -> Outcome {
    match order(rx, server, NodeOrder::Replace).await {
        None => {
            rx.update(&PROGRESS, |progress| progress.busy = false);
            Outcome::Done
        }
        Some(_) => Outcome::Become(Task::new(WAIT, Waiting { at, looks: 0 })),
    }
}

/// One look. What still stops may be healthy, so the node is asked first.
async fn wait(rx: Rx, waiting: Waiting, server: ProcId, probe: &str) -> Outcome {
    rx.sleep(POLL).await;
    let looks = waiting.looks + 1;
    let node = order(rx, server, NodeOrder::Look).await;
    let replaced = node.is_some_and(|answer| !answer.replacing);
    if (replaced && is_ready(rx, server, probe).await) || looks == LOOKS {
        rx.update(&PROGRESS, |progress| {
            progress.busy = false;
            progress.steps += 1;
        });
        return Outcome::Done;
    }
    Outcome::Become(Task::new(WAIT, Waiting { looks, ..waiting }))
}

async fn is_ready(rx: Rx, server: ProcId, probe: &str) -> bool {
    let ask = Payload::new(Request::new(Method::Get, probe));
    let answer = rx.timeout(LIMIT, rx.call(&HTTPS, server, ask));
    let answer = answer.await.and_then(Result::ok);
    answer.is_some_and(|answer| answer.expect::<Response>().code == 200)
}
