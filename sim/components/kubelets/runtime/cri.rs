//! What a kubelet asks of its runtime (`cri-api/pkg/apis/runtime/v1`) and of logind beside it, and what these show. Pure.

use std::sync::Arc;
use std::time::Duration;

use wavetank_engine::{Keepalive, Name, Time, Transport};

/// The UID of a pod.
pub type Uid = Arc<str>;
/// What a sandbox or a container is called by its runtime.
pub type Id = Arc<str>;

/// How a kubelet reaches its runtime: a socket of its node. A real one is never half open; the pings stand for that.
pub static CRI: Transport = Transport {
    name: Name::new("cri"),
    dial_timeout: Duration::from_secs(3),
    keepalive: Some(Keepalive {
        after: Duration::from_secs(10),
        limit: Duration::from_secs(10),
        idle: true,
    }),
    window: None,
};

/// Whose a sandbox or a container is, as its labels say.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PodRef {
    /// The UID of the pod.
    pub uid: Uid,
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
}

/// A sandbox: the network of a pod, in which its containers run.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Sandbox {
    /// Its name.
    pub id: Id,
    /// The order in which sandboxes and containers were made.
    pub number: u64,
    /// Whose it is.
    pub pod: PodRef,
    /// How many sandboxes of the pod there were before.
    pub attempt: u32,
    /// `SANDBOX_READY`, or stopped.
    pub is_ready: bool,
    /// Its address, as long as it is ready.
    pub address: Option<Arc<str>>,
}

/// What a container does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State {
    /// It was made.
    Created,
    /// It runs, since then.
    Running(Time),
    /// It has ended.
    Exited {
        /// When it began.
        started: Time,
        /// When it ended.
        finished: Time,
        /// With which exit code.
        code: i64,
    },
}

/// A container.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Container {
    /// Its name at the runtime.
    pub id: Id,
    /// The order in which sandboxes and containers were made.
    pub number: u64,
    /// Whose it is.
    pub pod: PodRef,
    /// In which sandbox it is.
    pub sandbox: Id,
    /// Its name in the pod.
    pub name: Arc<str>,
    /// What it runs.
    pub image: Arc<str>,
    /// How often a container of this name was started in the pod before.
    pub restarts: i64,
    /// What it does.
    pub state: State,
    /// Do its probes succeed?
    pub is_well: bool,
    /// Has a readiness probe succeeded?
    pub was_probed: bool,
    /// Has a startup probe succeeded?
    pub has_started_up: bool,
    /// How much memory it uses while it runs, in Mi.
    pub memory: i64,
}

impl Container {
    /// Does it run?
    pub fn is_running(&self) -> bool {
        matches!(self.state, State::Running(_))
    }
}

/// What there is of a pod. The newest comes first.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct PodStatus {
    /// Its sandboxes.
    pub sandboxes: Vec<Sandbox>,
    /// Its containers.
    pub containers: Vec<Container>,
}

/// What a probe asks for: `probeType`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ProbeType {
    /// Has it started up?
    Startup,
    /// Is it ready?
    Readiness,
    /// Does it live?
    Liveness,
}

impl ProbeType {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            ProbeType::Startup => "startup",
            ProbeType::Readiness => "readiness",
            ProbeType::Liveness => "liveness",
        }
    }
}

/// How much memory a node has left, and who uses how much, in Mi (`Summary` of `stats/v1alpha1`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Stats {
    /// `AvailableBytes`
    pub available: i64,
    /// `WorkingSetBytes` of containers: of this pod, of this name.
    pub usage: Vec<(Uid, Arc<str>, i64)>,
}

impl Stats {
    /// The containers of a pod that run.
    pub fn of_containers(&self, uid: &str) -> impl Iterator<Item = (&Arc<str>, i64)> {
        let own = self.usage.iter().filter(move |(own, ..)| **own == *uid);
        own.map(|(_, name, usage)| (name, *usage))
    }

    /// All of a pod; none if nothing of it runs.
    pub fn of_pod(&self, uid: &str) -> Option<i64> {
        let all = self.of_containers(uid).map(|(_, usage)| usage);
        all.reduce(|sum, own| sum + own)
    }
}

/// What is asked of a runtime.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Ask {
    /// `ListPodSandbox` and `ListContainers`
    ListPods,
    /// `PodSandboxStatus` and `ContainerStatus` of all that a pod has.
    PodStatus(Uid),
    /// `RunPodSandbox`
    RunPodSandbox(PodRef, u32),
    /// `StopPodSandbox`
    StopPodSandbox(Id),
    /// `RemovePodSandbox`
    RemovePodSandbox(Id),
    /// `PullImage`
    PullImage(Arc<str>),
    /// `CreateContainer`
    CreateContainer {
        /// In this sandbox,
        sandbox: Id,
        /// of this name,
        name: Arc<str>,
        /// image
        image: Arc<str>,
        /// and number of restarts.
        restarts: i64,
    },
    /// `StartContainer`
    StartContainer(Id),
    /// `StopContainer`, with a grace period in seconds.
    StopContainer(Id, i64),
    /// `RemoveContainer`
    RemoveContainer(Id),
    /// What is measured of the node.
    Stats,
    /// `InhibitDelayMaxUSec` of logind
    CurrentInhibitDelay,
    /// The file on the disk that says how long it is to be.
    OverrideInhibitDelay(Duration),
    /// SIGHUP for logind, which reads that file some time later.
    ReloadLogindConf,
    /// `Inhibit` of logind: a stream, which is the lock. Its first part is that it was given.
    InhibitShutdown,
    /// `PrepareForShutdown` of logind: a stream of these signals.
    MonitorShutdown,
    /// `PreparingForShutdown` of logind
    PreparingForShutdown,
    /// A probe of a container: it is no part of the interface, and comes to the container at once.
    Probe(Id, ProbeType),
}

/// What a runtime answers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Answer {
    /// All that there is.
    Pods(Vec<Sandbox>, Vec<Container>),
    /// What there is of a pod.
    Status(PodStatus),
    /// A sandbox or a container of this name was made.
    Made(Id),
    /// What is measured.
    Stats(Stats),
    /// `InhibitDelayMaxUSec`
    Delay(Duration),
    /// `PrepareForShutdown` and `PreparingForShutdown`: the machine is about to go off, or not any more.
    PrepareForShutdown(bool),
    /// It is done, or a probe succeeded.
    Done,
    /// It was not done, for this reason; or a probe failed.
    Failed(&'static str),
}
