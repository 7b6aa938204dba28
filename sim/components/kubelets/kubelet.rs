//! The kubelet of a node (`pkg/kubelet/kubelet.go`, v1.36.2): a process that is told of its pods by an informer, has a worker for
//! each of them, and asks the runtime of its node, which outlives it. Its node registers itself and has heartbeats as nodes
//! without a kubelet have.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;
use wavetank_api::Object;
use wavetank_api::kinds::PODS;
use wavetank_client::informer::{HandlerSpec, Informers, Lister, SharedInformerFactory};
use wavetank_client::{InformerDefect, RestClient};
use wavetank_components::nodes::Node;
use wavetank_engine::{
    Caller, Cx, Name, NotState, Outcome, Payload, ProcId, Process, RoutineFuture, Rx, Task, Timer,
};
use wavetank_version::Set;

use crate::config_file::Disk;
use crate::defects::KubeletDefect;
use crate::eviction::{self, Config};
use crate::manifests::Order;
use crate::nodeshutdown::Period;
use crate::runtime::cri::{Answer, Ask, CRI, Uid};
use crate::{
    config, config_file, gc, manifests, mirror_pods, nodeshutdown, pleg, prober, status_manager,
    sync_loop, workers,
};

const SCOPE: Name = Name::new("kubelet");
const RESTART: Name = Name::new("restart-kubelet");
const BEGIN: Name = Name::new("begin-kubelet");
/// `runtimeRequestTimeout`
const RUNTIME_REQUEST_TIMEOUT: Duration = Duration::from_secs(120);
/// `timeoutSeconds` of probes that do not say it.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);

/// What its machine does with a kubelet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Power {
    /// It starts anew.
    Reboot,
    /// It goes off.
    Off,
    /// It comes up again.
    On,
}

/// A kubelet.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Kubelet {
    pub(crate) node: Node,
    pub(crate) rest: RestClient,
    pub(crate) runtime: ProcId,
    informers: Arc<Informers>,
    pub(crate) pods: Lister,
    pub(crate) defects: Set<KubeletDefect>,
    /// `staticPodPath`: are there manifests on its disk?
    pub(crate) has_static_pods: bool,
    pub(crate) disk: Disk,
    /// `shutdownGracePeriodByPodPriority`, or what the other two options mean; empty where it does not heed shutdowns.
    pub(crate) shutdown: Arc<[Period]>,
    /// `evictionHard` and what belongs to it.
    pub(crate) eviction: Config,
    /// Its machine is off, and so is it.
    is_off: bool,
}

/// What options say of a kubelet.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub has_static_pods: bool,
    pub shutdown: Vec<Period>,
    pub eviction: Config,
}

impl Kubelet {
    pub(crate) fn new(
        node: Node,
        rest: &RestClient,
        runtime: ProcId,
        informer_defects: Set<InformerDefect>,
        defects: Set<KubeletDefect>,
        given: Given,
    ) -> Kubelet {
        let rest = rest.named("kubelet");
        let mut factory = SharedInformerFactory::new(SCOPE, rest.clone(), informer_defects);
        let mut informer = factory.informer_for(&PODS);
        informer.add_event_handler(HandlerSpec {
            on: NotState(Arc::new(|rx, _, _| config::changed(rx))),
            ..HandlerSpec::new("pod-config")
        });
        let pods = informer.lister();
        Kubelet {
            node,
            rest,
            runtime,
            informers: factory.done(),
            pods,
            defects,
            has_static_pods: given.has_static_pods,
            disk: Disk::default(),
            shutdown: given.shutdown.into(),
            eviction: given.eviction,
            is_off: false,
        }
    }

    /// The static pods that the manifests on its disk mean.
    pub(crate) fn static_pods(&self) -> impl Iterator<Item = Object> {
        let all = self.disk.iter();
        all.map(|(file, own)| config_file::apply_defaults(own, self.node_name(), file))
    }

    /// The name of its node.
    pub fn node_name(&self) -> &str {
        self.node.name()
    }

    /// Asks the runtime. Why it did not do something is logged, and no more.
    pub(crate) async fn ask_runtime(&self, rx: Rx, ask: Ask) -> Result<Answer, ()> {
        let limit = match ask {
            Ask::Probe(..) => PROBE_TIMEOUT,
            Ask::StopContainer(_, grace) => {
                RUNTIME_REQUEST_TIMEOUT + Duration::from_secs(grace.unsigned_abs())
            }
            _ => RUNTIME_REQUEST_TIMEOUT,
        };
        let call = rx.call(&CRI, self.runtime, Payload::new(ask));
        let answer = rx
            .timeout(limit, call)
            .await
            .and_then(Result::ok)
            .ok_or(())?;
        match answer.expect::<Answer>() {
            Answer::Failed(_) => Err(()),
            answer => Ok(answer.clone()),
        }
    }
}

impl Process for Kubelet {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        if self.is_off {
            return;
        }
        Process::boot(&mut self.node, cx);
        self.informers.boot(cx);
        cx.spawn(Task::new(BEGIN, ()));
        sync_loop::start(cx);
        status_manager::start(cx);
        config::start(cx);
        pleg::start(cx);
        cx.spawn(Task::new(gc::COLLECT, ()));
        if self.has_static_pods {
            config_file::start(cx);
            cx.spawn(Task::new(mirror_pods::REGISTER, ()));
        }
        if self.eviction.is_on() {
            cx.spawn(Task::new(eviction::MANAGE, true));
        }
        if !self.shutdown.is_empty() {
            cx.spawn(Task::new(nodeshutdown::WATCH, true));
        }
    }

    fn request(&mut self, cx: &mut Cx<'_>, caller: Caller, body: &Payload) {
        self.is_off = *body.expect::<Power>() == Power::Off;
        cx.reply(caller, ());
        cx.spawn(Task::new(RESTART, ()));
    }

    fn timer(&mut self, cx: &mut Cx<'_>, timer: Timer) {
        let known = workers::timer(cx, timer)
            || sync_loop::timer(cx, timer)
            || pleg::timer(cx, timer)
            || status_manager::timer(cx, timer)
            || config_file::timer(cx, timer)
            || self.informers.timer(cx, timer);
        if !known {
            Process::timer(&mut self.node, cx, timer);
        }
    }

    /// `hold` and `release` of its informer; `manifest`: a file of its disk is written or removed.
    fn command(&mut self, cx: &mut Cx<'_>, what: &str, args: &Json) -> Result<(), String> {
        match what {
            "hold" | "release" if self.is_off => Ok(()),
            "hold" | "release" => self.informers.command(cx, what, args),
            "manifest" if self.has_static_pods => {
                let order = Order::new(args)?;
                cx.spawn(Task::new(manifests::CHANGE, order));
                Ok(())
            }
            "manifest" => Err("`static-pods` is not set".to_owned()),
            _ => {
                let known = "`hold`, `release` and `manifest`";
                Err(format!("knows {known}, not `{what}`"))
            }
        }
    }

    fn crash(&mut self) {}

    fn routine(&self, task: &Task) -> RoutineFuture {
        let (own, rx, kind) = (Arc::new(self.clone()), Rx::new(), task.kind());
        if let Some(future) = self.informers.routine(task) {
            return future;
        }
        if kind == workers::WORKER {
            let (uid, worker) = task.args::<(Uid, u64)>().clone();
            return Box::pin(workers::pod_worker_loop(own, rx, uid, worker));
        }
        if kind == sync_loop::LOOP {
            return Box::pin(sync_loop::sync_loop_iteration(own, rx));
        }
        if kind == status_manager::SYNC {
            return Box::pin(status_manager::run(own, rx));
        }
        if kind == pleg::RELIST {
            return Box::pin(pleg::worker_loop_iteration(own, rx));
        }
        if kind == config::MERGE {
            return Box::pin(config::run(own, rx, *task.args::<bool>()));
        }
        if kind == config_file::SOURCE {
            return Box::pin(config_file::run(own, rx, *task.args::<bool>()));
        }
        if kind == mirror_pods::REGISTER {
            return Box::pin(own.fast_static_pods_registration(rx));
        }
        if kind == manifests::CHANGE {
            return Box::pin(manifests::run(rx, task.args::<Order>().clone()));
        }
        if kind == gc::COLLECT {
            return Box::pin(gc::run(own, rx));
        }
        if kind == prober::PROBE {
            let task = task.args::<prober::Task>().clone();
            return Box::pin(prober::run(own, rx, task));
        }
        if kind == eviction::MANAGE {
            return Box::pin(eviction::run(own, rx, *task.args::<bool>()));
        }
        if kind == nodeshutdown::WATCH {
            return Box::pin(nodeshutdown::run(own, rx, *task.args::<bool>()));
        }
        if kind == nodeshutdown::SYNC_NODE_STATUS {
            return Box::pin(async move {
                own.node.sync_status_now(rx).await;
                Outcome::Done
            });
        }
        if kind == BEGIN {
            return Box::pin(async move {
                prober::begin(rx);
                Outcome::Done
            });
        }
        if kind == RESTART {
            return Box::pin(async move {
                rx.restart();
                Outcome::Done
            });
        }
        Process::routine(&self.node, task)
    }
}
