//! A controller manager (`cmd/kube-controller-manager/app/controllermanager.go`): one of several replicas, of which
//! one leads and runs the controllers. Here that is one, [`tally`].
//!
//! A manager that has lost its leadership exits, and its node starts it again. SIGTERM ends it at once; one that
//! gives up its lock (`ReleaseOnCancel`, in v1.36 `ControllerManagerReleaseLeaderElectionLockOnExit`) first lets its
//! controllers end what they are at, as `LeaderElectionConfig` asks of whoever sets it.

use std::sync::Arc;
use std::time::Duration;

use wavetank_client::ElectionDefect;
use wavetank_client::RestClient;
use wavetank_client::leader_election::{self, Election, LEADERSHIP, LockKind};
use wavetank_client::wait::Stop;
use wavetank_engine::{
    Caller, Cell, Cx, Name, Outcome, Payload, Process, RoutineFuture, Rx, Task, Timer,
};
use wavetank_version::Set;

use crate::tally;

/// The first back-off of the kubelet for a container that has ended (`pkg/kubelet/kubelet.go`,
/// `backOffPeriod`); the longer ones are left out.
pub const RESTART_AFTER: Duration = Duration::from_secs(10);

/// `OnStartedLeading`
pub(crate) const LEAD: Name = Name::new("lead");
/// `OnStoppedLeading`
const STOPPED: Name = Name::new("stopped-leading");
const SHUT_DOWN: Name = Name::new("shut-down");
const BEGIN: Timer = Timer::new(Name::new("begin"), 0);

/// Controllers end with what they are at.
pub(crate) static DRAIN: Stop = Stop::new("drain");
/// They have.
pub(crate) static DRAINED: Stop = Stop::new("drained");
/// Was it asked to stop?
static STOPPING: Cell<bool> = Cell::new("stopping");

/// A controller manager.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ControllerManager {
    name: Arc<str>,
    election: Arc<Election>,
    /// How many lives it had.
    lives: u32,
}

impl ControllerManager {
    /// A manager with this name, that reaches apiservers so and elects with this lock, which it gives up when it
    /// stops, or does not.
    pub fn new(
        name: &str,
        rest: RestClient,
        defects: Set<ElectionDefect>,
        lock: LockKind,
        release_on_cancel: bool,
    ) -> ControllerManager {
        ControllerManager {
            name: name.into(),
            election: Arc::new(Election {
                rest,
                defects,
                lock,
                release_on_cancel,
                on_started: LEAD,
                on_stopped: STOPPED,
            }),
            lives: 0,
        }
    }

    /// What it elects with.
    pub fn election(&self) -> &Election {
        &self.election
    }
}

impl Process for ControllerManager {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        let after = match self.lives {
            0 => Duration::ZERO,
            _ => RESTART_AFTER,
        };
        cx.arm(BEGIN, after);
    }

    fn request(&mut self, _: &mut Cx<'_>, _: Caller, body: &Payload) {
        unreachable!("nobody asks a controller manager: {body:?}");
    }

    fn timer(&mut self, cx: &mut Cx<'_>, timer: Timer) {
        if timer == BEGIN {
            // The name of the host, and something that no other life has.
            let identity = format!("{}_{}", self.name, self.lives + 1);
            self.election.boot(cx, identity.into());
            return;
        }
        let known = self.election.timer(cx, timer);
        assert!(known, "an unknown timer: {timer:?}");
    }

    fn stop(&mut self, cx: &mut Cx<'_>) {
        let again = std::mem::replace(cx.cell(&STOPPING), true);
        if again || !self.election.release_on_cancel {
            return cx.exit();
        }
        cx.spawn(Task::new(SHUT_DOWN, ()));
    }

    fn crash(&mut self) {
        self.lives += 1;
    }

    fn routine(&self, task: &Task) -> RoutineFuture {
        let (rx, election) = (Rx::new(), self.election.clone());
        if let Some(future) = election.routine(task) {
            return future;
        }
        if task.kind() == LEAD {
            return Box::pin(tally::turn(rx, election, *task.args::<u32>()));
        }
        if task.kind() == SHUT_DOWN {
            return Box::pin(shut_down(rx));
        }
        Box::pin(on_stopped_leading(rx))
    }
}

/// The controllers end, then the election.
async fn shut_down(rx: Rx) -> Outcome {
    DRAIN.close(rx);
    if leader_election::leads(rx) {
        rx.select(DRAINED.closed(rx), LEADERSHIP.closed(rx)).await;
        leader_election::stop_leading(rx);
    }
    leader_election::cancel(rx);
    Outcome::Done
}

/// `OnStoppedLeading`: the process ends. Who was asked to stop stays down.
async fn on_stopped_leading(rx: Rx) -> Outcome {
    match rx.read(&STOPPING) {
        true => rx.exit(),
        false => rx.restart(),
    }
    Outcome::Done
}
