//! A controller manager (`cmd/kube-controller-manager/app/controllermanager.go`): one of several replicas, of which
//! one leads and runs the controllers. They share informers, and each has queues and workers of its own; which
//! controllers there are is said in `controllers`.
//!
//! How it elects, begins and ends is in [`elected`](wavetank_components::elected); that it gives up its lock is in v1.36
//! `ControllerManagerReleaseLeaderElectionLockOnExit`.

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::Json;
use wavetank_client::informer::{Informers, SharedInformerFactory};
use wavetank_client::leader_election::{Leading, Lock, LockKind};
use wavetank_client::wait::Turn;
use wavetank_client::workqueue::WorkQueue;
use wavetank_client::{ElectionDefect, InformerDefect, RestClient};
use wavetank_component::Setup;
use wavetank_engine::{
    Caller, Cx, Name, NotState, Outcome, Payload, Process, RoutineFuture, Rx, Status, Task, Timer,
    World,
};
use wavetank_version::{Selection, Set};

use super::NAME;
use super::controller::{Controller, ControllerContext, ControllerDescriptor, Mapper};
use super::resets_mapper::ResetsMapper;
use wavetank_components::custom_resources;
use wavetank_components::elected::{Elected, LEAD, worker_ended, workers_begin};
use wavetank_components::sieve;

/// The name of its lock (`--leader-elect-resource-name`), and of its informers.
pub const LOCK: Name = Name::new(NAME);
/// The users that controllers are begin so (`MakeUsername`).
pub const SERVICE_ACCOUNTS: &str = "system:serviceaccount:kube-system:";
/// A turn of a worker of a controller.
const WORK: Name = Name::new("work");
/// `InformerFactory.Start`, in a leader.
const START: Timer = Timer::new(Name::new("start-informers"), 0);

/// What a leader runs. It stays as it is in a world, and which controllers there are is said by their names.
#[derive(PartialEq, Eq, Hash, Debug)]
struct Controllers {
    informers: Arc<Informers>,
    names: Vec<&'static str>,
    running: NotState<Vec<Arc<dyn Controller>>>,
}

impl Controllers {
    /// Are there informers or queues, which begin when the process leads?
    fn share_something(&self) -> bool {
        let mut all = self.running.iter();
        !self.informers.specs.is_empty() || all.any(|controller| !controller.queues().is_empty())
    }

    /// A timer of the process; false if it is that of no controller.
    fn timer(&self, cx: &mut Cx<'_>, timer: Timer) -> bool {
        let mut all = self.running.iter();
        all.any(|controller| controller.timer(cx, timer))
    }
}

/// A controller manager.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ControllerManager {
    elected: Elected,
    controllers: Arc<Controllers>,
}

/// A worker of a controller: a turn of it is a task.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Worker {
    /// The controller.
    of: usize,
    /// Which of its workers.
    number: u32,
    leading: Leading,
}

impl ControllerManager {
    /// A manager with this name, which elects with a lock of this kind, and gives it up when it stops or does not. A leader
    /// runs these controllers, in this context.
    pub fn new(
        name: &str,
        setup: &Setup,
        mut context: ControllerContext,
        controllers: &[Arc<dyn ControllerDescriptor>],
        defects: Set<ElectionDefect>,
        kind: LockKind,
        release_on_cancel: bool,
    ) -> ControllerManager {
        let rest = context.rest.clone();
        // The one that makes tokens for the others is built first (`BuildControllers`).
        let (first, others): (Vec<_>, Vec<_>) = controllers
            .iter()
            .partition(|controller| controller.requires_special_handling());
        let running = first.into_iter().chain(others);
        let running = running.flat_map(|controller| {
            context.rest = rest.named(user_agent(&rest, &**controller));
            let own = controller.new_controller(setup, &mut context);
            let beside = own.beside();
            std::iter::once(own).chain(beside)
        });
        let mut running: Vec<_> = running.collect();
        let uses = |how| running.iter().any(|own| own.mapper() == how);
        // Without custom resources it would be made the same again.
        if uses(Mapper::Asked) && !uses(Mapper::Reset) && custom_resources::are_served(setup) {
            running.push(Arc::new(ResetsMapper));
        }
        let lock = Lock { name: LOCK, kind };
        ControllerManager {
            elected: Elected::new(name, rest, defects, lock, release_on_cancel),
            controllers: Arc::new(Controllers {
                informers: context.informers.done(),
                names: running.iter().map(|controller| controller.name()).collect(),
                running: NotState(running),
            }),
        }
    }

    /// The same with another lease duration (`--leader-elect-lease-duration`).
    #[must_use]
    pub fn lasting(self, lease_duration: Duration) -> ControllerManager {
        let elected = self.elected.lasting(lease_duration);
        ControllerManager { elected, ..self }
    }

    /// The same without an election (`--leader-elect=false`).
    #[must_use]
    pub fn unelected(self) -> ControllerManager {
        let elected = self.elected.unelected();
        ControllerManager { elected, ..self }
    }

    /// Does it run the controller of this name when it leads?
    pub fn runs(&self, controller: &str) -> bool {
        self.controllers.names.contains(&controller)
    }

    /// All workers of its controllers, each as a task.
    fn workers(&self, leading: &Leading) -> Vec<Task> {
        let all = self.controllers.running.iter().enumerate();
        let workers = all.flat_map(|(of, controller)| {
            let worker = move |number| Worker {
                of,
                number,
                leading: leading.clone(),
            };
            (0..controller.workers()).map(worker)
        });
        workers.map(|worker| Task::new(WORK, worker)).collect()
    }

    /// `StartControllers`. If there are informers, or queues, workers begin once these do.
    async fn start_controllers(self, rx: Rx, leading: Leading) -> Outcome {
        for controller in &*self.controllers.running {
            if let Some(constructed) = controller.construct(rx)
                && !constructed.await
            {
                rx.restart();
                return Outcome::Done;
            }
        }
        let mut workers = self.workers(&leading);
        workers_begin(rx, workers.len() as u32);
        if self.controllers.share_something() {
            rx.arm(START, Duration::ZERO);
            return Outcome::Done;
        }
        if workers.is_empty() {
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
        let turn = controller.work_of(rx, &worker.leading, worker.number).await;
        if turn == Turn::Again && !worker.leading.leadership().is_closed(rx) {
            return Outcome::Become(Task::new(WORK, worker));
        }
        worker_ended(rx);
        Outcome::Done
    }

    /// Upstream's `InformerFactory.Start`, and what waits for it.
    fn start_informers(&self, cx: &mut Cx<'_>) {
        let Controllers {
            running, informers, ..
        } = &*self.controllers;
        for queue in running.iter().flat_map(|controller| controller.queues()) {
            queue.make(cx);
        }
        informers.boot(cx);
        let leading = self.elected.leading(cx);
        for worker in self.workers(&leading) {
            cx.spawn(worker);
        }
    }
}

/// Is there a controller manager that is up, and runs the controller of this name when it leads?
pub(crate) fn somebody_runs(world: &World, controller: &str) -> bool {
    let mut all = world.processes();
    all.any(|process| {
        let manager = world.process::<ControllerManager>(process);
        let runs = manager.is_some_and(|manager| manager.runs(controller));
        runs && world.status(process) == Status::Up
    })
}

/// What the client of a controller calls itself (`DynamicControllerClientBuilder`, or `SimpleControllerClientBuilder` of the one that
/// works as the manager itself).
fn user_agent(rest: &RestClient, controller: &dyn ControllerDescriptor) -> String {
    let (release, account) = (rest.release, controller.service_account());
    if controller.requires_special_handling() {
        return format!("{NAME}/{release}/{account}");
    }
    format!("{NAME}/{release}/{SERVICE_ACCOUNTS}{account}")
}

/// What controllers of a process are made of: they share informers.
pub fn controller_context(rest: RestClient, defects: Selection) -> ControllerContext {
    let of_informers: Set<InformerDefect> = defects.of();
    ControllerContext {
        informers: SharedInformerFactory::new(LOCK, rest.clone(), of_informers),
        rest,
        defects,
        metrics_server: None,
    }
}

impl Process for ControllerManager {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        self.elected.boot(cx);
    }

    fn request(&mut self, _: &mut Cx<'_>, _: Caller, body: &Payload) {
        unreachable!("nobody asks a controller manager: {body:?}");
    }

    fn timer(&mut self, cx: &mut Cx<'_>, timer: Timer) {
        if timer == START {
            return self.start_informers(cx);
        }
        let known = self.elected.timer(cx, timer, |_| {})
            || WorkQueue::timer(cx, timer)
            || self.controllers.informers.timer(cx, timer)
            || self.controllers.timer(cx, timer);
        assert!(known, "an unknown timer: {timer:?}");
    }

    fn stop(&mut self, cx: &mut Cx<'_>) {
        self.elected.stop(cx);
    }

    /// Sieve's patterns, and what its informers know: `hold` and `release`.
    fn command(&mut self, cx: &mut Cx<'_>, what: &str, args: &Json) -> Result<(), String> {
        let Some(strike) = sieve::strike(what) else {
            return self.controllers.informers.command(cx, what, args);
        };
        cx.spawn(strike);
        Ok(())
    }

    fn crash(&mut self) {
        self.elected.crash();
    }

    fn routine(&self, task: &Task) -> RoutineFuture {
        let rx = Rx::new();
        let own = self.clone();
        if task.kind() == LEAD {
            return Box::pin(own.start_controllers(rx, task.args::<Leading>().clone()));
        }
        if task.kind() == WORK {
            return Box::pin(own.work(rx, task.args::<Worker>().clone()));
        }
        let of_election = self.elected.routine(task);
        let of_queues = of_election.or_else(|| WorkQueue::routine(task));
        let of_sieve = of_queues.or_else(|| sieve::routine(task, &self.controllers.informers));
        let future = of_sieve.or_else(|| self.controllers.informers.routine(task));
        future.unwrap_or_else(|| panic!("no routine `{}`", task.kind()))
    }
}
