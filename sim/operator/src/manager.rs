//! The process around a reconciler (`controller-runtime/pkg/manager`, `pkg/internal/controller`): informers run in all
//! replicas, the reconciler in the one that leads. One key is reconciled at a time; one that fails comes back later.
//! How it elects, begins and ends is said in `wavetank_components::elected`, for it and for controller managers.

use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;
use wavetank_client::informer::{HandlerSpec, InformerSpec, Informers, Notice};
use wavetank_client::leader_election::{Leading, Lock, LockKind};
use wavetank_client::wait::Turn;
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_client::{EventRecorder, Failure, RestClient};
use wavetank_components::elected::{
    Elected, LEAD, process_next_work_item, worker_ended, workers_begin,
};
use wavetank_components::sieve;
use wavetank_engine::{
    Caller, Cx, Name, NotState, Outcome, Payload, Process, RoutineFuture, Rx, Task, Timer,
};
use wavetank_version::Selection;

use crate::context::Context;
use crate::watch::Watch;

/// `WaitForCacheSync` looks so often.
const SYNC_POLL: Duration = Duration::from_millis(100);

/// A look whether the caches are filled.
const SYNC: Name = Name::new("sync-caches");
const RECONCILE: Name = Name::new("reconcile");

/// What makes the cluster as an object says (`reconcile.Reconciler`). It is configuration: what it remembers is in the
/// cluster.
pub trait Reconciler: Clone + Eq + Hash + fmt::Debug + Send + Sync + 'static {
    /// The name of the controller, in kebab-case: also that of its lock (`LeaderElectionID`).
    const NAME: &'static str;
    /// What its replicas are called in scenario files: the key of their number in `topology`.
    const REPLICAS: &'static str;
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
    elected: Elected,
    reconciler: Arc<R>,
    informers: Arc<Informers>,
    recorder: EventRecorder,
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
                on: NotState(Arc::new(enqueue::<R>)),
                ..HandlerSpec::new("enqueue")
            }],
            ..InformerSpec::of(watch.resource)
        };
        let lock = Lock {
            name: scope,
            kind: LockKind::of(rest.release),
        };
        Manager {
            elected: Elected::new(name, rest.clone(), selection.of(), lock, false),
            reconciler: Arc::new(reconciler),
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
        }
    }

    fn context(&self, rx: Rx) -> Context {
        Context {
            rx,
            rest: self.informers.rest.clone(),
            scope: self.informers.scope,
            watches: R::WATCHES,
            recorder: Some(self.recorder.clone()),
        }
    }
}

impl<R: Reconciler> Process for Manager<R> {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        self.elected.boot(cx);
    }

    fn request(&mut self, _: &mut Cx<'_>, _: Caller, body: &Payload) {
        unreachable!("nobody asks an operator: {body:?}");
    }

    fn timer(&mut self, cx: &mut Cx<'_>, timer: Timer) {
        let first = |cx: &mut Cx<'_>| {
            queue::<R>().make(cx);
            self.informers.boot(cx);
        };
        let known = self.elected.timer(cx, timer, first)
            || self.informers.timer(cx, timer)
            || WorkQueue::timer(cx, timer);
        assert!(known, "an unknown timer: {timer:?}");
    }

    fn stop(&mut self, cx: &mut Cx<'_>) {
        self.elected.stop(cx);
    }

    /// Sieve's patterns, and what its informers know: `hold` and `release`.
    fn command(&mut self, cx: &mut Cx<'_>, what: &str, args: &Json) -> Result<(), String> {
        let Some(strike) = sieve::strike(what) else {
            return self.informers.command(cx, what, args);
        };
        cx.spawn(strike);
        Ok(())
    }

    fn crash(&mut self) {
        self.elected.crash();
    }

    fn routine(&self, task: &Task) -> RoutineFuture {
        let rx = Rx::new();
        let ours = self.elected.routine(task);
        let ours = ours.or_else(|| self.informers.routine(task));
        let ours = ours.or_else(|| self.recorder.routine(task));
        let ours = ours.or_else(|| sieve::routine(task, &self.informers));
        if let Some(future) = ours.or_else(|| WorkQueue::routine(task)) {
            return future;
        }
        let leading = task.args::<Leading>().clone();
        if task.kind() == LEAD {
            return Box::pin(lead(rx, leading));
        }
        if task.kind() == SYNC {
            return Box::pin(sync(rx, self.informers.scope, leading));
        }
        assert!(task.kind() == RECONCILE, "no routine `{}`", task.kind());
        Box::pin(turn(self.context(rx), self.reconciler.clone(), leading))
    }
}

/// Upstream's `OnStartedLeading`: one worker.
async fn lead(rx: Rx, leading: Leading) -> Outcome {
    workers_begin(rx, 1);
    Outcome::Become(Task::new(SYNC, leading))
}

/// Once the caches are filled, it reconciles.
async fn sync(rx: Rx, scope: Name, leading: Leading) -> Outcome {
    if Informers::have_synced(rx, scope) {
        return Outcome::Become(Task::new(RECONCILE, leading));
    }
    rx.sleep(SYNC_POLL).await;
    Outcome::Become(Task::new(SYNC, leading))
}

/// One turn of the worker.
async fn turn<R: Reconciler>(cx: Context, reconciler: Arc<R>, leading: Leading) -> Outcome {
    let (rx, reconciler, context) = (cx.rx, &reconciler, &cx);
    let reconcile = |key: Item| async move { reconciler.reconcile(context, &key).await };
    let turn = process_next_work_item(rx, &leading, queue::<R>(), reconcile).await;
    if turn == Turn::Again && !leading.leadership().is_closed(rx) {
        return Outcome::Become(Task::new(RECONCILE, leading));
    }
    worker_ended(rx);
    Outcome::Done
}
