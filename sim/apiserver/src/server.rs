//! The life of a kube-apiserver (`apiserver/pkg/server/genericapiserver.go`): its listener, its
//! hooks, readiness and shutdown, in the order of each release.

mod config;
mod shutdown;

use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::{Request, Resource};
use wavetank_engine::{
    Caller, Cell, Cx, Name, Outcome, Payload, Process, RoutineFuture, Rx, Task, Timer,
};
use wavetank_version::Version;

use crate::aggregator;
use crate::apiextensions::{self, CustomPath};
use crate::cacher::{self, Cacher};
use crate::endpoints::{self, Route, Watching, namespace_lifecycle};
use crate::node::{NodeAnswer, NodeOrder};
use crate::quota;
use crate::registry::{RestStorage, UIDS, Uids};

pub use config::{
    Admission, AuditLog, Audited, Config, ManagedFields, MinCompatibility, NOBODY_USES,
};
use shutdown::{FIRST_HOOK, shutdown};
pub(crate) use shutdown::{InFlight, LISTENER_CLOSES_BEFORE_REMOVAL, hooks_are_done, is_stopping};

const SERVE: Name = Name::new("serve");
pub(crate) const WATCH: Name = Name::new("watch");
const CUSTOM_WATCH: Name = Name::new("custom-watch");
const POST_START: Name = Name::new("post-start");
const SHUTDOWN: Name = Name::new("shutdown");

/// A shutdown has begun.
pub static STOP_BEGUN: Cell<bool> = Cell::new("stop-begun");
/// How many PostStart hooks are done.
pub static HOOKS_DONE: Cell<u64> = Cell::new("hooks-done");
/// Its node starts another one when it has ended.
static REPLACED: Cell<bool> = Cell::new("replaced");

/// A part of a hook's work.
pub type HookFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A PostStart and PreShutdown hook, for example the bootstrap controller. It is configuration:
/// what it remembers is in cells and signals.
pub trait Hook: Clone + Eq + Hash + fmt::Debug + Send + Sync + 'static {
    /// What begins with the process, before anything else: informers.
    fn boot(&self, _cx: &mut Cx<'_>) {}
    /// A timer of the process; false if it is none of its own.
    fn timer(&self, _cx: &mut Cx<'_>, _timer: Timer) -> bool {
        false
    }
    /// `/readyz` waits for its end.
    fn post_start(&self, rx: Rx) -> HookFuture;
    /// The shutdown waits for its end.
    fn pre_shutdown(&self, rx: Rx) -> HookFuture;
    /// How long the shutdown has to wait for it, at most: upstream's bootstrap controller gives up after 20 s.
    fn shutdown_limit(&self) -> Duration {
        FIRST_HOOK
    }
    /// The storage of a resource to which it adds something (`RESTStorageProvider`), for the time of one request.
    fn rest_storage(
        &self,
        _rx: Rx,
        _server: &Config,
        _resource: &Resource,
    ) -> Option<Arc<dyn RestStorage>> {
        None
    }
    /// Does a handler go on when the time of its request is over, to give back what such a storage took?
    fn gives_back(&self) -> bool {
        false
    }
    /// A routine of its own, if the kind is one of its own.
    fn routine(&self, task: &Task) -> Option<RoutineFuture>;
}

/// A note of a server's life.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ServerNote {
    /// Asked to stop.
    Stopping,
    /// Asked to stop once more while it stops: it exits in no orderly way.
    SecondSignal,
    /// Takes no more connections.
    ListenerClosed,
    /// Its PreShutdown hooks take longer than any of them may.
    ShutdownOverdue,
    /// About to exit in an orderly way.
    Exiting,
    /// Has taken the place of another one on its node, and is of this release.
    Replaced(Version),
}

/// Arguments of the routine that serves a request.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Serve {
    pub caller: Caller,
    /// A [`Request`].
    pub request: Payload,
    /// Where it goes.
    pub route: Route,
}

/// Arguments of the routine that looks what serves a watch of a custom resource: the caller, the [`Request`], and what
/// its path names.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct CustomWatch(Caller, Payload, CustomPath);

/// A kube-apiserver with these hooks.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ApiServer<H> {
    config: Arc<Config>,
    hooks: Arc<[H]>,
    listening: bool,
    /// How often it has started: with it uids stay unique.
    lives: u16,
    /// What the next manifest of its node says, if that is something else.
    upgrade: Option<(Arc<Config>, Arc<[H]>)>,
    /// Does its node have that manifest, and its next life is of it?
    replacing: bool,
}

impl<H: Hook> ApiServer<H> {
    /// A server that has not started.
    pub fn new(config: Config, hooks: Vec<H>) -> ApiServer<H> {
        ApiServer {
            config: Arc::new(config.with_its_kinds()),
            hooks: hooks.into(),
            listening: false,
            lives: 0,
            upgrade: None,
            replacing: false,
        }
    }

    /// The same, whose node replaces it by one with this configuration and these hooks when it is told to.
    pub fn upgraded_to(self, config: Config, hooks: Vec<H>) -> ApiServer<H> {
        ApiServer {
            upgrade: Some((Arc::new(config.with_its_kinds()), hooks.into())),
            ..self
        }
    }

    /// What its node is told.
    fn ordered(&mut self, cx: &mut Cx<'_>, caller: Caller, order: NodeOrder) {
        if order == NodeOrder::Replace {
            self.replacing = true;
            *cx.cell(&REPLACED) = true;
            if !*cx.cell(&STOP_BEGUN) {
                self.stop(cx);
            }
        }
        let replacing = self.replacing;
        cx.reply(caller, NodeAnswer { replacing });
    }

    /// What never changes in it.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Its hooks.
    pub fn hooks(&self) -> &[H] {
        &self.hooks
    }
}

impl<H: Hook> Process for ApiServer<H> {
    /// `NonBlockingRun`: the listener opens, then the PostStart hooks run, each by itself.
    fn boot(&mut self, cx: &mut Cx<'_>) {
        self.listening = true;
        self.lives += 1;
        if std::mem::take(&mut self.replacing) {
            if let Some((config, hooks)) = self.upgrade.take() {
                (self.config, self.hooks) = (config, hooks);
            }
            cx.note(ServerNote::Replaced(self.config.release));
        }
        *cx.cell(&UIDS) = Uids {
            life: self.lives,
            count: 0,
        };
        if let Some(caches) = self.config.caches() {
            for resource in self.config.kinds.cached() {
                Cacher::new(caches, resource).start(cx);
            }
            if let Some(every) = self.config.compaction {
                cacher::start_compactor(cx, caches, &self.config.kinds, every);
            }
        }
        namespace_lifecycle::boot(&self.config, cx);
        quota::boot(&self.config, cx);
        apiextensions::boot(&self.config, cx);
        aggregator::boot(&self.config, cx);
        for hook in &*self.hooks {
            hook.boot(cx);
        }
        for hook in 0..self.hooks.len() {
            cx.spawn(Task::new(POST_START, hook));
        }
    }

    fn timer(&mut self, cx: &mut Cx<'_>, timer: Timer) {
        let own = namespace_lifecycle::timer(&self.config, cx, timer)
            || quota::timer(&self.config, cx, timer)
            || apiextensions::timer(&self.config, cx, timer)
            || aggregator::timer(&self.config, cx, timer);
        let known = own || self.hooks.iter().any(|hook| hook.timer(cx, timer));
        assert!(known, "an unknown timer: {timer:?}");
    }

    fn request(&mut self, cx: &mut Cx<'_>, caller: Caller, body: &Payload) {
        if let Some(order) = body.get::<NodeOrder>() {
            return self.ordered(cx, caller, *order);
        }
        let request = body.clone();
        let task = match endpoints::route(request.expect::<Request>(), &self.config.kinds) {
            Route::Api(api) if api.watch => {
                let watching = Watching {
                    caller,
                    api,
                    request,
                    open: None,
                    form: Default::default(),
                };
                Task::new(WATCH, watching)
            }
            Route::Custom(path) if path.watch => {
                Task::new(CUSTOM_WATCH, CustomWatch(caller, request, path))
            }
            route => {
                let serve = Serve {
                    caller,
                    request,
                    route,
                };
                Task::new(SERVE, serve)
            }
        };
        cx.serve(caller, task);
    }

    fn stop(&mut self, cx: &mut Cx<'_>) {
        // /readyz fails from now on.
        if std::mem::replace(cx.cell(&STOP_BEGUN), true) {
            // `SetupSignalContext` (`apiserver/pkg/server/signal.go`): the second signal exits at
            // once.
            cx.note(ServerNote::SecondSignal);
            cx.exit();
        } else {
            cx.note(ServerNote::Stopping);
            cx.spawn(Task::new(SHUTDOWN, self.hooks.len()));
        }
    }

    /// `hold {resource, revision?, seconds?}`, `release {resource}`, `lag` and `rebuild` of watch caches; `hold` (also for `seconds`) and
    /// `release` with `informer: true` of the server's informer of namespaces.
    fn command(
        &mut self,
        cx: &mut Cx<'_>,
        what: &str,
        args: &serde_json::Value,
    ) -> Result<(), String> {
        if let Some(told) = namespace_lifecycle::command(&self.config, cx, what, args) {
            return told;
        }
        let caches = self.config.caches();
        let caches = caches.ok_or("has no watch caches")?;
        let told = cacher::command(cx, caches, &self.config.kinds, what, args);
        told.unwrap_or_else(|| {
            Err(format!(
                "knows `hold`, `release`, `lag` and `rebuild`, not `{what}`"
            ))
        })
    }

    fn accepting(&self) -> bool {
        self.listening
    }

    fn crash(&mut self) {
        self.listening = false;
    }

    fn routine(&self, task: &Task) -> RoutineFuture {
        let rx = Rx::new();
        if task.kind() == SERVE {
            return Box::pin(endpoints::serve(
                rx,
                self.config.clone(),
                self.hooks.clone(),
                task.args::<Serve>().clone(),
            ));
        }
        if task.kind() == WATCH {
            let watching = task.args::<Watching>().clone();
            return Box::pin(endpoints::watch(
                rx,
                self.config.clone(),
                self.hooks.clone(),
                watching,
            ));
        }
        if task.kind() == CUSTOM_WATCH {
            let CustomWatch(caller, request, path) = task.args::<CustomWatch>().clone();
            let config = self.config.clone();
            return Box::pin(apiextensions::watch(rx, config, caller, request, path));
        }
        if task.kind() == POST_START {
            return Box::pin(post_start(rx, self.hooks[*task.args::<usize>()].clone()));
        }
        if task.kind() == SHUTDOWN {
            return Box::pin(shutdown(rx, self.config.clone(), self.hooks.clone()));
        }
        let parts = endpoints::routine(task).or_else(|| cacher::routine(task));
        let parts = parts.or_else(|| namespace_lifecycle::routine(&self.config, task));
        let parts = parts.or_else(|| quota::routine(&self.config, task));
        let parts = parts.or_else(|| apiextensions::routine(&self.config, task));
        let parts = parts.or_else(|| aggregator::routine(&self.config, task));
        if let Some(routine) = parts.or_else(|| wavetank_etcd::client::routine(task)) {
            return routine;
        }
        let own = self.hooks.iter().find_map(|hook| hook.routine(task));
        own.unwrap_or_else(|| panic!("an apiserver has no routine `{}`", task.kind()))
    }
}

async fn post_start<H: Hook>(rx: Rx, hook: H) -> Outcome {
    hook.post_start(rx).await;
    rx.update(&HOOKS_DONE, |done| *done += 1);
    Outcome::Done
}
