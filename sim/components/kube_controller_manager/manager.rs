//! A controller manager (`cmd/kube-controller-manager/app/controllermanager.go`): one of several replicas, of which
//! one leads and runs the controllers. They share informers, and each has queues and workers of its own; which
//! controllers there are is said in `controllers`.
//!
//! A manager that has lost its leadership exits, and its node starts it again. SIGTERM ends it at once; one that
//! gives up its lock (`ReleaseOnCancel`, in v1.36 `ControllerManagerReleaseLeaderElectionLockOnExit`) first lets its
//! controllers end what they are at, as `LeaderElectionConfig` asks of whoever sets it.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use wavetank_client::informer::{Informers, SharedInformerFactory};
use wavetank_client::leader_election::{self, ELECTOR, Election, LEADERSHIP, LockKind};
use wavetank_client::wait::{Stop, Turn};
use wavetank_client::workqueue::WorkQueue;
use wavetank_client::{ElectionDefect, InformerDefect, RestClient};
use wavetank_component::Setup;
use wavetank_engine::{
    Caller, Cell, Cx, Name, Outcome, Payload, Process, RoutineFuture, Rx, Task, Timer,
};
use wavetank_version::{Selection, Set};

use super::controller::{Controller, ControllerContext, ControllerDescriptor, Leading};

/// The first back-off of the kubelet for a container that has ended (`pkg/kubelet/kubelet.go`,
/// `backOffPeriod`); the longer ones are left out.
pub const RESTART_AFTER: Duration = Duration::from_secs(10);

/// The name of the informers of a manager.
const INFORMERS: Name = Name::new("kube-controller-manager");
/// `OnStartedLeading`
const LEAD: Name = Name::new("lead");
/// A turn of a worker of a controller.
const WORK: Name = Name::new("work");
/// `OnStoppedLeading`
const STOPPED: Name = Name::new("stopped-leading");
const SHUT_DOWN: Name = Name::new("shut-down");
const BEGIN: Timer = Timer::new(Name::new("begin"), 0);
/// `InformerFactory.Start`, in a leader.
const START: Name = Name::new("start-informers");

/// Controllers end with what they are at.
pub(super) static DRAIN: Stop = Stop::new("drain");
/// They have.
static DRAINED: Stop = Stop::new("drained");
/// How many workers there are that have not ended.
static WORKERS: Cell<u32> = Cell::new("workers");
/// Was it asked to stop?
static STOPPING: Cell<bool> = Cell::new("stopping");

/// What a leader runs.
#[derive(Debug)]
struct Controllers {
    running: Vec<Arc<dyn Controller>>,
    informers: Arc<Informers>,
}

/// Which they are stays as it is in a world: the names say it.
impl Controllers {
    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.running.iter().map(|controller| controller.name())
    }

    /// Are there informers or queues, which begin when the process leads?
    fn share_something(&self) -> bool {
        let mut all = self.running.iter();
        !self.informers.specs.is_empty() || all.any(|controller| !controller.queues().is_empty())
    }
}

impl PartialEq for Controllers {
    fn eq(&self, other: &Controllers) -> bool {
        self.informers == other.informers && self.names().eq(other.names())
    }
}
impl Eq for Controllers {}
impl Hash for Controllers {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.informers.hash(state);
        self.names().for_each(|name| name.hash(state));
    }
}

/// A controller manager.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ControllerManager {
    name: Arc<str>,
    election: Arc<Election>,
    controllers: Arc<Controllers>,
    /// How many lives it had.
    lives: u32,
}

/// A worker of a controller: a turn of it is a task.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Worker {
    /// The controller.
    of: usize,
    leading: Leading,
}

impl ControllerManager {
    /// A manager with this name, which elects with this lock, and gives it up when it stops or does not. A leader
    /// runs these controllers, in this context.
    pub fn new(
        name: &str,
        setup: &Setup,
        mut context: ControllerContext,
        controllers: &[Arc<dyn ControllerDescriptor>],
        defects: Set<ElectionDefect>,
        lock: LockKind,
        release_on_cancel: bool,
    ) -> ControllerManager {
        let running = controllers.iter();
        let running = running.map(|controller| controller.new_controller(setup, &mut context));
        let running = running.collect();
        ControllerManager {
            name: name.into(),
            election: Arc::new(Election {
                rest: context.rest,
                defects,
                lock,
                release_on_cancel,
                on_started: LEAD,
                on_stopped: STOPPED,
            }),
            controllers: Arc::new(Controllers {
                running,
                informers: context.informers.done(),
            }),
            lives: 0,
        }
    }

    /// What it elects with.
    pub fn election(&self) -> &Election {
        &self.election
    }

    /// All workers of its controllers, each as a task.
    fn workers(&self, leading: &Leading) -> Vec<Task> {
        let all = self.controllers.running.iter().enumerate();
        let workers = all.flat_map(|(of, controller)| {
            let leading = leading.clone();
            let worker = Worker { of, leading };
            std::iter::repeat_n(worker, controller.workers() as usize)
        });
        workers.map(|worker| Task::new(WORK, worker)).collect()
    }

    /// `StartControllers`. If there are informers, or queues, workers begin once these do.
    async fn start_controllers(self, rx: Rx, transitions: u32) -> Outcome {
        let identity = rx.look(&ELECTOR, |elector| elector.identity.clone());
        let leading = Leading {
            identity,
            transitions,
        };
        let mut workers = self.workers(&leading);
        let count = workers.len() as u32;
        rx.update(&WORKERS, |left| *left = count);
        if self.controllers.share_something() {
            rx.arm(Timer::new(START, transitions.into()), Duration::ZERO);
            return Outcome::Done;
        }
        if workers.is_empty() {
            DRAINED.close(rx);
            return Outcome::Done;
        }
        // This routine is the first of them.
        let first = workers.remove(0).args::<Worker>().clone();
        for worker in workers {
            rx.spawn(worker);
        }
        self.work(rx, first).await
    }

    /// One turn of a worker.
    async fn work(self, rx: Rx, worker: Worker) -> Outcome {
        let controller = &self.controllers.running[worker.of];
        let turn = controller.work(rx, &worker.leading).await;
        if turn == Turn::Again && !LEADERSHIP.is_closed(rx) {
            return Outcome::Become(Task::new(WORK, worker));
        }
        let left = rx.update(&WORKERS, |left| {
            *left -= 1;
            *left
        });
        if left == 0 {
            DRAINED.close(rx);
        }
        Outcome::Done
    }

    /// Upstream's `InformerFactory.Start`, and what waits for it.
    fn start_informers(&self, cx: &mut Cx<'_>, transitions: u32) {
        let Controllers { running, informers } = &*self.controllers;
        for queue in running.iter().flat_map(|controller| controller.queues()) {
            queue.make(cx);
        }
        informers.boot(cx);
        let identity = cx.cell(&ELECTOR).identity.clone();
        for worker in self.workers(&Leading {
            identity,
            transitions,
        }) {
            cx.spawn(worker);
        }
    }
}

/// What controllers of a process are made of: they share informers.
pub fn controller_context(rest: RestClient, defects: Selection) -> ControllerContext {
    let of_informers: Set<InformerDefect> = defects.of();
    ControllerContext {
        informers: SharedInformerFactory::new(INFORMERS, rest.clone(), of_informers),
        rest,
        defects,
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
        if timer.tag == START {
            let transitions = u32::try_from(timer.arg).expect("it was armed so");
            return self.start_informers(cx, transitions);
        }
        let known = self.election.timer(cx, timer)
            || WorkQueue::timer(cx, timer)
            || self.controllers.informers.timer(cx, timer);
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
        let rx = Rx::new();
        let own = self.clone();
        if task.kind() == LEAD {
            return Box::pin(own.start_controllers(rx, *task.args::<u32>()));
        }
        if task.kind() == WORK {
            return Box::pin(own.work(rx, task.args::<Worker>().clone()));
        }
        if task.kind() == SHUT_DOWN {
            return Box::pin(shut_down(rx));
        }
        if task.kind() == STOPPED {
            return Box::pin(stopped(rx));
        }
        let of_election = self.election.routine(task);
        let of_queues = of_election.or_else(|| WorkQueue::routine(task));
        let future = of_queues.or_else(|| self.controllers.informers.routine(task));
        future.unwrap_or_else(|| panic!("no routine `{}`", task.kind()))
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

/// Upstream's `OnStoppedLeading`: the process ends. Who was asked to stop stays down.
async fn stopped(rx: Rx) -> Outcome {
    match rx.read(&STOPPING) {
        true => rx.exit(),
        false => rx.restart(),
    }
    Outcome::Done
}
