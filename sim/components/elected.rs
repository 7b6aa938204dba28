//! A process of which several replicas run and one leads, as `main` of a component has it
//! (`cmd/kube-controller-manager/app/controllermanager.go`, `controller-runtime/pkg/manager/internal.go`): a replica
//! tries for the lock, exits when it leads no longer, and its node starts it again. Controller managers and operators
//! are such processes. What a leader works on belongs to them; how its workers take items and end is said here.
//!
//! SIGTERM ends a replica at once. One that gives up its lock (`ReleaseOnCancel`) first lets its workers end what they
//! are at, as `LeaderElectionConfig` asks of whoever sets it.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use wavetank_client::leader_election::{Candidate, Election, LEASE_DURATION, Leading, Lock};
use wavetank_client::wait::{Stop, Turn};
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_client::{ElectionDefect, RestClient};
use wavetank_engine::{Cell, Cx, Either, Name, NotState, Outcome, RoutineFuture, Rx, Task, Timer};
use wavetank_version::Set;

/// The first back-off of the kubelet for a container that has ended (`pkg/kubelet/kubelet.go`,
/// `backOffPeriod`); the longer ones are left out.
pub const RESTART_AFTER: Duration = Duration::from_secs(10);

/// `OnStartedLeading`: a task of whoever owns this, with what it leads as ([`Leading`]).
pub const LEAD: Name = Name::new("lead");
/// `OnStoppedLeading`
const STOPPED: Name = Name::new("stopped-leading");
const SHUT_DOWN: Name = Name::new("shut-down");
const BEGIN: Timer = Timer::new(Name::new("begin"), 0);

/// Workers end with what they are at.
pub static DRAIN: Stop = Stop::new("drain");
/// They have.
static DRAINED: Stop = Stop::new("drained");
/// How many workers there are that have not ended.
static WORKERS: Cell<u32> = Cell::new("workers");
/// Was it asked to stop?
static STOPPING: Cell<bool> = Cell::new("stopping");

/// What a process needs to be one of several of which one leads.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Elected {
    name: Arc<str>,
    election: Arc<Election>,
    /// `--leader-elect`; it stays as it is in a world.
    elects: NotState<bool>,
    /// How many lives it had.
    lives: u32,
}

impl Elected {
    /// The replica with this name, which tries for this lock, and gives it up when it stops or does not.
    pub fn new(
        name: &str,
        rest: RestClient,
        defects: Set<ElectionDefect>,
        lock: Lock,
        release_on_cancel: bool,
    ) -> Elected {
        let election = Election {
            rest,
            defects,
            lock,
            release_on_cancel,
            lease_duration: LEASE_DURATION,
            on_started: LEAD,
            on_stopped: STOPPED,
        };
        Elected {
            name: name.into(),
            election: Arc::new(election),
            elects: NotState(true),
            lives: 0,
        }
    }

    /// The same without an election (`--leader-elect=false`): it leads once it has begun.
    #[must_use]
    pub fn unelected(self) -> Elected {
        Elected {
            elects: NotState(false),
            ..self
        }
    }

    /// The same with another lease duration (`--leader-elect-lease-duration`).
    #[must_use]
    pub fn lasting(mut self, lease_duration: Duration) -> Elected {
        Arc::make_mut(&mut self.election).lease_duration = lease_duration;
        self
    }

    /// A life begins, the second and each further one after a while.
    pub fn boot(&self, cx: &mut Cx<'_>) {
        // The name of the host, and something that no other life has.
        let identity = format!("{}_{}", self.name, self.lives + 1);
        self.election.new_leader_elector(cx, identity.into());
        let after = match self.lives {
            0 => Duration::ZERO,
            _ => RESTART_AFTER,
        };
        cx.arm(BEGIN, after);
    }

    /// A timer of the process; false if it is none of these. All replicas do `first` before they try for the lock.
    pub fn timer(&self, cx: &mut Cx<'_>, timer: Timer, first: impl FnOnce(&mut Cx<'_>)) -> bool {
        if timer != BEGIN {
            return self.election.timer(cx, timer);
        }
        first(cx);
        match *self.elects {
            true => self.election.run(cx),
            false => self.election.lead_unelected(cx),
        }
        true
    }

    /// The process is asked to stop.
    pub fn stop(&self, cx: &mut Cx<'_>) {
        let again = std::mem::replace(cx.cell(&STOPPING), true);
        if again || !self.election.release_on_cancel {
            return cx.exit();
        }
        cx.spawn(Task::new(SHUT_DOWN, ()));
    }

    /// A life has ended.
    pub fn crash(&mut self) {
        self.lives += 1;
    }

    /// What the process leads as, if it is the leader.
    pub fn leading(&self, cx: &mut Cx<'_>) -> Leading {
        self.election.leading(cx)
    }

    /// The future of a task; nothing if it is none of these.
    pub fn routine(&self, task: &Task) -> Option<RoutineFuture> {
        let rx = Rx::new();
        if task.kind() == SHUT_DOWN {
            let election = self.election.clone();
            return Some(Box::pin(async move {
                shut_down(rx, &election.candidate(rx)).await
            }));
        }
        if task.kind() == STOPPED {
            return Some(Box::pin(stopped(rx)));
        }
        self.election.routine(task)
    }
}

/// The workers end, then the election.
async fn shut_down(rx: Rx, candidate: &Candidate) -> Outcome {
    DRAIN.close(rx);
    if candidate.leads() {
        let leadership = candidate.leadership();
        rx.select(DRAINED.closed(rx), leadership.closed(rx)).await;
        candidate.stop_leading();
    }
    candidate.cancel();
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

/// So many workers begin.
pub fn workers_begin(rx: Rx, count: u32) {
    rx.update(&WORKERS, |left| *left = count);
    if count == 0 {
        DRAINED.close(rx);
    }
}

/// One of them has ended.
pub fn worker_ended(rx: Rx) {
    let left = rx.update(&WORKERS, |left| {
        *left -= 1;
        *left
    });
    if left == 0 {
        DRAINED.close(rx);
    }
}

/// `processNextWorkItem`: takes an item and syncs it; one that failed comes again after a while. When the leadership
/// ends a request under way is given up, as a context that is cancelled does; it may still be done.
pub async fn process_next_work_item<E, F: Future<Output = Result<(), E>>>(
    rx: Rx,
    leading: &Leading,
    queue: WorkQueue,
    sync: impl FnOnce(Item) -> F,
) -> Turn {
    let done = |item: &Item, synced: Result<(), E>| match synced {
        Ok(()) => queue.forget(rx, item),
        Err(_) => queue.add_rate_limited(rx, item.clone()),
    };
    process_next_work_item_with(rx, leading, queue, sync, done).await
}

/// The same where a controller has its own way with what comes of it.
pub async fn process_next_work_item_with<T, F: Future<Output = T>>(
    rx: Rx,
    leading: &Leading,
    queue: WorkQueue,
    sync: impl FnOnce(Item) -> F,
    done: impl FnOnce(&Item, T),
) -> Turn {
    let leadership = leading.leadership();
    let stopped = rx.select(DRAIN.closed(rx), leadership.closed(rx));
    let item = match rx.select(stopped, queue.get(rx)).await {
        Either::Left(_) => return Turn::Over,
        Either::Right(item) => item,
    };
    let synced = match rx.select(leadership.closed(rx), sync(item.clone())).await {
        Either::Left(()) => return Turn::Over,
        Either::Right(synced) => synced,
    };
    done(&item, synced);
    queue.done(rx, &item);
    match DRAIN.is_closed(rx) {
        true => Turn::Over,
        false => Turn::Again,
    }
}
