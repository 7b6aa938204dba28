//! The life of a kube-apiserver (`apiserver/pkg/server/genericapiserver.go`): its listener, its
//! hooks, readiness and shutdown, in the order of each release.

use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::kinds::{API_SERVICES, Kinds};
use wavetank_api::{Request, Resource, Response};
use wavetank_client::{RestClient, Servers};
use wavetank_engine::{
    Caller, Cell, Cx, Name, Outcome, Payload, ProcId, Process, RoutineFuture, Rx, Task, Timer,
};
use wavetank_etcd::{Connections, Endpoints};
use wavetank_version::{Defect, EtcdVersion, Version};

use crate::Defects;
use crate::ServerDefect;
use crate::aggregator;
use crate::apiextensions::{self, CustomPath, CustomResources};
use crate::cacher::{self, Cacher};
use crate::endpoints::{self, Route, Watching, namespace_lifecycle};
use crate::gates;
use crate::node::{NodeAnswer, NodeOrder};
use crate::registry::{RestStorage, UIDS, Uids};

/// `http.Server.Shutdown` and the wait for requests in flight (`ShutdownTimeout`).
const DRAIN_LIMIT: Duration = Duration::from_secs(60);
/// PreShutdown hooks bound themselves; so much more is overdue.
const HOOKS_GRACE: Duration = Duration::from_secs(5);
/// How long the first of them may take, where there are several.
const FIRST_HOOK: Duration = Duration::from_secs(20);
/// How often a drain looks: upstream's `Shutdown` polls too (`net/http` `shutdownPollInterval`).
const DRAIN_POLL: Duration = Duration::from_millis(500);

const SERVE: Name = Name::new("serve");
pub(crate) const WATCH: Name = Name::new("watch");
const CUSTOM_WATCH: Name = Name::new("custom-watch");
const POST_START: Name = Name::new("post-start");
const SHUTDOWN: Name = Name::new("shutdown");

/// A shutdown has begun.
pub static STOP_BEGUN: Cell<bool> = Cell::new("stop-begun");
/// How many PostStart hooks are done.
pub static HOOKS_DONE: Cell<u64> = Cell::new("hooks-done");
static REQUESTS: Cell<u64> = Cell::new("requests-in-flight");
static WATCHES: Cell<u64> = Cell::new("watches-in-flight");
/// Its node starts another one when it has ended.
static REPLACED: Cell<bool> = Cell::new("replaced");

/// What never changes in the life of a server.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Config {
    /// Its release.
    pub release: Version,
    /// Its known bugs and fixes.
    pub defects: Defects,
    /// Itself.
    pub me: ProcId,
    /// The etcd it stores in (`--etcd-servers`).
    pub etcd: Endpoints,
    /// Has each client that it makes of etcd a connection of its own, as upstream's have?
    pub etcd_connections: Connections,
    /// `--etcd-servers-overrides` for Events: theirs, if it is another one.
    pub events_etcd: Option<ProcId>,
    /// `--advertise-address`
    pub address: Arc<str>,
    /// `--shutdown-delay-duration`
    pub shutdown_delay: Duration,
    /// How many PostStart hooks `/readyz` waits for.
    pub hooks: u64,
    /// `--watch-cache`, over an etcd of this release; `None` without.
    pub watch_cache: Option<EtcdVersion>,
    /// `--etcd-compaction-interval`; `None` is 0: it does not compact.
    pub compaction: Option<Duration>,
    /// Its number among the servers: goes into uids.
    pub number: u32,
    /// The kinds that it serves, and has watch caches of.
    pub kinds: Kinds,
    /// Is the admission plugin `NamespaceLifecycle` on, with its informer, and are webhooks and policies that wait for that?
    pub namespace_lifecycle: bool,
    /// Does it keep `metadata.managedFields`, and serve apply?
    pub managed_fields: ManagedFields,
    /// Does it serve definitions of custom resources, and what they define?
    pub custom_resources: CustomResources,
    /// Which admission plugins are on beside those that need no other objects.
    pub admission: Admission,
    /// `--audit-log-path`
    pub audit: AuditLog,
}

/// Does a server tell what it was asked and has answered? Only who compares its clients with real ones wants that.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AuditLog {
    /// It does not.
    #[default]
    Off,
    /// It tells of all requests that are no watches, each before it is answered ([`Audited`]).
    On,
}

/// By hand: a server without it has the hash that it had before there was one.
impl Hash for AuditLog {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        if *self == AuditLog::On {
            state.write_u8(1);
        }
    }
}

/// A request that was served (the stage `ResponseComplete` of `apiserver/pkg/audit`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Audited {
    /// Did the server ask itself?
    pub by_itself: bool,
    /// What was asked.
    pub request: Request,
    /// What was answered.
    pub response: Response,
}

/// Admission plugins that look at other objects. Real servers have them on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Admission {
    /// `Priority` with its classes, and `TaintNodesByCondition`.
    pub defaults: bool,
    /// `ServiceAccount`
    pub service_accounts: bool,
    /// Is there a ValidatingAdmissionPolicy that concerns all objects and refuses none?
    pub policies: bool,
}

/// By hand: a server that has none of them on has the hash that it had before there were any.
impl Hash for Admission {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        if *self != Admission::default() {
            (self.defaults, self.service_accounts).hash(state);
            if self.policies {
                state.write_u8(1);
            }
        }
    }
}

/// Are `metadata.managedFields` kept, and is server-side apply served? A server that does neither is not asked for it by
/// its hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ManagedFields {
    /// Objects say nothing of who wrote them.
    #[default]
    Unkept,
    /// As every real server does.
    Kept,
}

/// By hand: a server that keeps none has the hash that it had before it could.
impl Hash for ManagedFields {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        if *self == ManagedFields::Kept {
            state.write_u8(1);
        }
    }
}

impl Config {
    /// Does it keep `metadata.managedFields`?
    pub(crate) fn keeps_managed_fields(&self) -> bool {
        self.managed_fields == ManagedFields::Kept && self.release.has(gates::MANAGED_FIELDS)
    }

    /// Does it serve custom resources? Then how many servers it believes there are.
    pub(crate) fn serves_custom_resources(&self) -> Option<u32> {
        match self.custom_resources {
            CustomResources::Served {
                apiserver_count, ..
            } => Some(apiserver_count).filter(|_| self.release.has(gates::CUSTOM_RESOURCES)),
            CustomResources::Unserved => None,
        }
    }

    /// Does it keep APIServices of what it serves?
    pub(crate) fn aggregates(&self) -> bool {
        let asked = matches!(
            self.custom_resources,
            CustomResources::Served {
                aggregated: true,
                ..
            }
        );
        asked && self.serves_custom_resources().is_some()
    }

    /// With the kind by which users make others, if it serves that, and with that of the aggregator.
    fn with_its_kinds(self) -> Config {
        let served = self.serves_custom_resources().is_some();
        let aggregates = self.aggregates();
        let mut kinds = self.kinds;
        if served {
            kinds = kinds.with_definitions();
        }
        if aggregates {
            kinds = kinds.with_used(&API_SERVICES);
        }
        Config { kinds, ..self }
    }

    /// Its watch caches.
    pub(crate) fn caches(&self) -> Option<cacher::Config> {
        let etcd = self.watch_cache?;
        Some(cacher::Config {
            release: self.release,
            defects: self.defects.cache,
            etcd: self.etcd(),
            progress: cacher::supports_progress(etcd),
        })
    }

    /// The watch cache of a resource.
    ///
    /// # Panics
    /// If nobody said that it is used: without its watch cache the answer could be another one.
    pub fn cacher(&self, rx: Rx, resource: &'static Resource) -> Option<Cacher> {
        let caches = self.caches()?;
        assert!(
            self.kinds.uses(resource),
            "`{}` is asked for, but no component of the scenario says that it uses it (`Component::uses`; `uses` of an operator or of actors)",
            resource.qualified()
        );
        let is_cached = self.kinds.caches(resource);
        is_cached.then(|| Cacher::serving(rx, caches, resource))
    }

    /// Its loopback client.
    pub fn loopback(&self) -> RestClient {
        RestClient::new(self.release, Servers::Loopback(self.me))
    }
}

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

pub(crate) const LISTENER_CLOSES_BEFORE_REMOVAL: Defect = Defect::known(
    "listener-closes-before-removal",
    "PR #108033 (1.24)",
    "the listener closes while RemoveEndpoints still needs the loopback client",
)
.until(gates::LISTENER_CLOSES_LAST)
.shows_with("endpoint-reconciler-type", &["lease", "master-count"])
.shows_with("shutdown-delay", &["0s"]);

/// `Run` (v1.16, v1.20), `RunWithContext` (v1.36).
async fn shutdown<H: Hook>(rx: Rx, config: Arc<Config>, hooks: Arc<[H]>) -> Outcome {
    let delay = rx.sleep(config.shutdown_delay);
    let limits = hooks.iter().map(Hook::shutdown_limit);
    let limit = limits.sum::<Duration>() + HOOKS_GRACE;
    let hooks = watch_over(rx, limit, run_pre_shutdown_hooks(rx, hooks.to_vec()));
    if config
        .defects
        .server
        .has(ServerDefect::ListenerClosesBeforeRemoval)
    {
        // As soon as the delay is over, whatever the hooks are doing.
        let close = async {
            delay.await;
            close_listener::<H>(rx);
        };
        rx.join(close, hooks).await;
    } else {
        // After both.
        rx.join(delay, hooks).await;
        close_listener::<H>(rx);
    }
    drain(rx, config.release).await;
    rx.note(ServerNote::Exiting);
    match rx.read(&REPLACED) {
        true => rx.restart(),
        false => rx.exit(),
    }
    Outcome::Done
}

/// Tells when the hooks are overdue, and waits on. The process may stand still until the limit has passed, and
/// their own deadlines with it: they get some seconds more, of which a pause takes one, and those that come after the
/// first one all that they may take.
async fn watch_over(rx: Rx, limit: Duration, hooks: impl Future<Output = ()>) {
    let mut hooks = std::pin::pin!(hooks);
    let more = limit.saturating_sub(FIRST_HOOK).as_secs() as usize;
    let looks = std::iter::repeat_n(Duration::from_secs(1), more);
    for limit in std::iter::once(limit).chain(looks) {
        if rx.timeout(limit, hooks.as_mut()).await.is_some() {
            return;
        }
    }
    rx.note(ServerNote::ShutdownOverdue);
    hooks.await;
}

/// `RunPreShutdownHooks`: one after another, in the order of a Go map.
async fn run_pre_shutdown_hooks<H: Hook>(rx: Rx, mut hooks: Vec<H>) {
    while !hooks.is_empty() {
        let next = match hooks.len() {
            1 => 0,
            n => rx.choose(n as u64).await as usize,
        };
        hooks.remove(next).pre_shutdown(rx).await;
    }
}

/// `http.Server.Shutdown`: the listener closes, then HTTP/2 clients get GOAWAY.
fn close_listener<H: Hook>(rx: Rx) {
    rx.process(|server: &mut ApiServer<H>| server.listening = false);
    rx.go_away();
    rx.note(ServerNote::ListenerClosed);
}

/// Requests in flight get up to 60 s. v1.16 does not wait for `Shutdown`, so open watches do not
/// hold it; in v1.20 and v1.36 they do.
async fn drain(rx: Rx, release: Version) {
    let drained = async {
        loop {
            let watches = match release.has(gates::SHUTDOWN_WAITS_FOR_WATCHES) {
                true => rx.read(&WATCHES),
                false => 0,
            };
            if rx.read(&REQUESTS) + watches == 0 {
                return;
            }
            rx.sleep(DRAIN_POLL).await;
        }
    };
    rx.timeout(DRAIN_LIMIT, drained).await;
}

/// What is in flight.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum InFlight {
    Request,
    Watch,
    /// A watch of the server's own informers: `RunPostStartHooks` gave them a context that ends when the
    /// listener closes, so no drain waits for it.
    OwnWatch,
}

impl InFlight {
    /// A watch that `caller` opened on the server that `config` is of.
    pub fn watch(config: &Config, caller: Caller) -> InFlight {
        match caller.process() == config.me {
            true => InFlight::OwnWatch,
            false => InFlight::Watch,
        }
    }

    fn counter(self) -> Option<&'static Cell<u64>> {
        match self {
            InFlight::Request => Some(&REQUESTS),
            InFlight::Watch => Some(&WATCHES),
            InFlight::OwnWatch => None,
        }
    }

    pub fn begin(self, rx: Rx) {
        if let Some(counter) = self.counter() {
            rx.update(counter, |n| *n += 1);
        }
    }

    pub fn end(self, rx: Rx) {
        if let Some(counter) = self.counter() {
            rx.update(counter, |n| *n -= 1);
        }
    }
}

pub(crate) fn is_stopping(rx: Rx) -> bool {
    rx.read(&STOP_BEGUN)
}

pub(crate) fn hooks_are_done(rx: Rx, config: &Config) -> bool {
    rx.read(&HOOKS_DONE) >= config.hooks
}
