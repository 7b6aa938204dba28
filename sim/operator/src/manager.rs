//! The process around a reconciler (`controller-runtime/pkg/manager`, `pkg/internal/controller`): informers run in all
//! replicas, the reconciler in the one that leads. One key is reconciled at a time; one that fails comes back later.
//! A manager that has lost its leadership exits, and its node starts it again.

use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;
use wavetank_client::informer::{HandlerSpec, Hold, HoldAt, InformerSpec, Informers, Notice};
use wavetank_client::leader_election::{Election, LEADERSHIP, LockKind};
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_client::{EventRecorder, Failure, RestClient};
use wavetank_engine::{
    Caller, Cx, Either, Name, Outcome, Payload, Process, RoutineFuture, Rx, Task, Timer,
};
use wavetank_version::Selection;

use crate::context::Context;
use crate::watch::Watch;

/// The first back-off of the kubelet for a container that has ended.
const RESTART_AFTER: Duration = Duration::from_secs(10);
/// `WaitForCacheSync` looks so often.
const SYNC_POLL: Duration = Duration::from_millis(100);

const LEAD: Name = Name::new("lead");
const STOPPED: Name = Name::new("stopped-leading");
const RECONCILE: Name = Name::new("reconcile");
const BEGIN: Timer = Timer::new(Name::new("begin"), 0);

/// What makes the cluster as an object says (`reconcile.Reconciler`). It is configuration: what it remembers is in the
/// cluster.
pub trait Reconciler: Clone + Eq + Hash + fmt::Debug + Send + Sync + 'static {
    /// The name of the controller, in kebab-case.
    const NAME: &'static str;
    /// What is watched, each resource once.
    const WATCHES: &'static [Watch];

    /// Makes the cluster as the object with this key says, `namespace/name`. After an error it is called again later.
    fn reconcile(
        &self,
        cx: &Context,
        key: &str,
    ) -> impl Future<Output = Result<(), Failure>> + Send;
}

/// A replica of an operator.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Manager<R> {
    name: Arc<str>,
    reconciler: Arc<R>,
    election: Arc<Election>,
    informers: Arc<Informers>,
    recorder: EventRecorder,
    /// How many lives it had.
    lives: u32,
}

fn queue<R: Reconciler>() -> WorkQueue {
    WorkQueue::new(Name::new(R::NAME), "reconcile")
}

/// Upstream's `EnqueueRequestForObject`, `EnqueueRequestsFromMapFunc`
fn enqueue<R: Reconciler>(rx: Rx, at: u32, notice: &Notice) {
    let watch = &R::WATCHES[at as usize];
    let objects = match notice {
        Notice::Added { new, .. } => [Some(&new.object), None],
        Notice::Updated { old, new } => [Some(&old.object), Some(&new.object)],
        Notice::Deleted(gone) => [gone.last.as_ref().map(|last| &last.object), None],
    };
    let mut keys: Vec<Item> = objects
        .into_iter()
        .flatten()
        .filter_map(|object| watch.key(object))
        .collect();
    keys.dedup();
    for key in keys {
        queue::<R>().add(rx, key);
    }
}

impl<R: Reconciler> Manager<R> {
    /// The replica with this name and number, that reaches apiservers so. The selection has what is on in its client.
    pub fn new(
        name: &str,
        number: u64,
        rest: RestClient,
        selection: &Selection,
        reconciler: R,
    ) -> Manager<R> {
        let scope = Name::new(R::NAME);
        let spec = |watch: &Watch| InformerSpec {
            handlers: vec![HandlerSpec {
                on: enqueue::<R>,
                ..HandlerSpec::new("enqueue")
            }],
            ..InformerSpec::of(watch.resource)
        };
        Manager {
            name: name.into(),
            reconciler: Arc::new(reconciler),
            election: Arc::new(Election {
                rest: rest.clone(),
                defects: selection.of(),
                lock: LockKind::of(rest.release),
                release_on_cancel: false,
                on_started: LEAD,
                on_stopped: STOPPED,
            }),
            recorder: EventRecorder {
                rest: rest.clone(),
                component: scope,
                host: name.into(),
                number,
            },
            informers: Arc::new(Informers {
                scope,
                rest,
                defects: selection.of(),
                specs: R::WATCHES.iter().map(spec).collect(),
            }),
            lives: 0,
        }
    }

    fn context(&self, rx: Rx) -> Context {
        Context {
            rx,
            rest: self.election.rest.clone(),
            scope: self.informers.scope,
            watches: R::WATCHES,
            recorder: Some(self.recorder.clone()),
        }
    }
}

impl<R: Reconciler> Process for Manager<R> {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        let after = match self.lives {
            0 => Duration::ZERO,
            _ => RESTART_AFTER,
        };
        cx.arm(BEGIN, after);
    }

    fn request(&mut self, _: &mut Cx<'_>, _: Caller, body: &Payload) {
        unreachable!("nobody asks an operator: {body:?}");
    }

    fn timer(&mut self, cx: &mut Cx<'_>, timer: Timer) {
        if timer == BEGIN {
            queue::<R>().make(cx);
            self.informers.boot(cx);
            // The name of the host, and something that no other life has.
            let identity = format!("{}_{}", self.name, self.lives + 1);
            return self.election.boot(cx, identity.into());
        }
        let known = self.election.timer(cx, timer)
            || self.informers.timer(cx, timer)
            || WorkQueue::timer(cx, timer);
        assert!(known, "an unknown timer: {timer:?}");
    }

    fn stop(&mut self, cx: &mut Cx<'_>) {
        cx.exit();
    }

    /// `hold {resource, revision?, watch?}`: its informer takes nothing (newer than `revision`) out of its queue, or off
    /// its watch. `release {resource}`.
    fn command(&mut self, cx: &mut Cx<'_>, what: &str, args: &Json) -> Result<(), String> {
        let hold = match what {
            "hold" => Some(Hold {
                at: args["revision"].as_u64(),
                place: match args["watch"].as_bool() {
                    Some(true) => HoldAt::Watch,
                    _ => HoldAt::Queue,
                },
            }),
            "release" => None,
            other => return Err(format!("knows `hold` and `release`, not `{other}`")),
        };
        let resource = args["resource"].as_str().unwrap_or_default();
        let at = self.informers.of_resource(resource);
        let at = at.ok_or_else(|| format!("has no informer of `{resource}`"))?;
        if is_running(cx) {
            self.informers.hold(cx, at, hold);
        }
        Ok(())
    }

    fn crash(&mut self) {
        self.lives += 1;
    }

    fn routine(&self, task: &Task) -> RoutineFuture {
        let rx = Rx::new();
        let ours = self.election.routine(task);
        let ours = ours.or_else(|| self.informers.routine(task));
        let ours = ours.or_else(|| self.recorder.routine(task));
        if let Some(future) = ours.or_else(|| WorkQueue::routine(task)) {
            return future;
        }
        if task.kind() == LEAD {
            return Box::pin(lead(rx, self.informers.scope));
        }
        if task.kind() == RECONCILE {
            return Box::pin(turn(self.context(rx), self.reconciler.clone()));
        }
        assert!(task.kind() == STOPPED, "no routine `{}`", task.kind());
        Box::pin(async move {
            rx.restart();
            Outcome::Done
        })
    }
}

/// Have its informers begun? A process that is started again waits before that.
fn is_running(cx: &mut Cx<'_>) -> bool {
    !cx.cell(&wavetank_client::informer::INFORMERS).is_empty()
}

/// Upstream's `OnStartedLeading`: once the caches are filled, reconciles.
async fn lead(rx: Rx, scope: Name) -> Outcome {
    if Informers::have_synced(rx, scope) {
        return Outcome::Become(Task::new(RECONCILE, ()));
    }
    rx.sleep(SYNC_POLL).await;
    Outcome::Become(Task::new(LEAD, 0_u32))
}

/// Upstream's `processNextWorkItem`. When the leadership ends, what is under way is given up; what was asked for may still be done.
async fn turn<R: Reconciler>(cx: Context, reconciler: Arc<R>) -> Outcome {
    let (rx, queue) = (cx.rx, queue::<R>());
    let work = async {
        let key = queue.get(rx).await;
        match reconciler.reconcile(&cx, &key).await {
            Ok(()) => queue.forget(rx, &key),
            Err(_) => queue.add_rate_limited(rx, key.clone()),
        }
        queue.done(rx, &key);
    };
    match rx.select(LEADERSHIP.closed(rx), work).await {
        Either::Left(()) => Outcome::Done,
        Either::Right(()) => Outcome::Become(Task::new(RECONCILE, ())),
    }
}
