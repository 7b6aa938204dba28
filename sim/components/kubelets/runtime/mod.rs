//! The container runtime of a node: a process of its own, so that what it runs outlives the kubelet. What it keeps survives a
//! crash of it, too, as containers survive that of containerd; it goes with the node, when that starts anew (`reboot`). `cri`
//! is what is asked of it. Images say what becomes of containers: a task ends by itself, some others do not heed SIGTERM.

pub mod cri;
mod faults;
mod machine;
mod memory;
mod serve;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;
use wavetank_components::pod_runners::{FAILING_TASK, NEVER_READY, TASK};
use wavetank_engine::{
    Caller, Condition, Cx, Name, Outcome, Payload, ProcId, Process, RoutineFuture, Rx, Task, Timer,
};
use wavetank_version::Set;

use crate::defects::KubeletDefect;
use crate::notes::{Exits, MakesSandbox, Prunes, Starts};
use cri::{Answer, Ask, Container, Id, PodRef, PodStatus, ProbeType, Sandbox, State};
use faults::{be_unwell, drawn, fail, prune};
use machine::Machine;
use serve::{run_out, serve, terminate};

/// Containers of this image do not heed SIGTERM.
pub const STUBBORN: &str = "image:stubborn";
/// The probes of containers of this image fail until they have run for a while.
pub const SLOW: &str = "image:slow";
/// Containers of this image heed SIGTERM, and succeed.
pub const POLITE: &str = "image:polite";
/// What an init container runs: it succeeds soon; or only when it is started again.
pub const INIT: &str = "init:ok";
/// The other one of these.
pub const FLAKY_INIT: &str = "init:flaky";

const SERVE: Name = Name::new("serve-cri");
const TERM: Name = Name::new("terminate-container");
const RUN_OUT: Name = Name::new("container-runs-out");
const FAIL: Name = Name::new("fail-container");
const UNWELL: Name = Name::new("container-is-unwell");
const REBOOT: Name = Name::new("reboot-node");
const PRUNE: Name = Name::new("prune-containers");
const CHANGED: Condition = Condition::new("containers-changed", 0);

/// How long a slow one starts up.
const STARTS_UP: Duration = Duration::from_secs(25);
/// How long tasks run.
const TASK_RUNS: Duration = Duration::from_secs(8);
const INIT_RUNS: Duration = Duration::from_secs(2);
/// How long it takes to make a sandbox, to pull an image, and to end after SIGTERM: one is drawn.
const SANDBOX_TAKES: [u64; 4] = [50, 100, 400, 2_500];
const PULL_TAKES: [u64; 4] = [20, 20, 600, 4_000];
const TERM_TAKES: [u64; 4] = [30, 200, 1_500, 6_000];
/// How long a node is down that starts anew, and how long a container is not well, in seconds.
const UNWELL_FOR: [u64; 3] = [4, 20, 40];
/// The exit codes of SIGTERM, SIGKILL, a container that fails, and one whose node went down.
pub(crate) const TERMINATED: i64 = 143;
const KILLED: i64 = 137;
const CODES: [i64; 3] = [1, 0, 42];
const NODE_WENT_DOWN: i64 = 255;

/// A runtime.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ContainerRuntime {
    /// The number of its node, which is that of its range of addresses, too.
    pub node: usize,
    pub(crate) kubelet: ProcId,
    /// All sandboxes that were not removed.
    pub sandboxes: Vec<Sandbox>,
    /// All containers that were not removed.
    pub containers: Vec<Container>,
    made: u64,
    last_address: u8,
    machine: Machine,
    /// How much memory somebody uses who is no container, in Mi.
    hogged: i64,
    defects: Set<KubeletDefect>,
}

/// The range of addresses of the node with this number, as its `podCIDR`.
pub fn pod_cidr(node: usize) -> String {
    format!("10.64.{node}.0/24")
}

impl ContainerRuntime {
    pub(crate) fn new(node: usize, kubelet: ProcId, defects: Set<KubeletDefect>) -> Self {
        ContainerRuntime {
            node,
            kubelet,
            sandboxes: Vec::new(),
            containers: Vec::new(),
            made: 0,
            last_address: 1,
            machine: Machine::NEW,
            hogged: 0,
            defects,
        }
    }

    fn next_id(&mut self, kind: &str) -> (Id, u64) {
        self.made += 1;
        (format!("{kind}{}", self.made).into(), self.made)
    }

    /// The next address of the node's range that no sandbox has, as the plugin `host-local` gives them out: on from the last one.
    fn next_address(&mut self) -> Arc<str> {
        loop {
            self.last_address = match self.last_address {
                254 => 2,
                last => last + 1,
            };
            let address: Arc<str> = format!("10.64.{}.{}", self.node, self.last_address).into();
            let mut all = self.sandboxes.iter();
            let is_taken = all.any(|own| own.address.as_ref() == Some(&address));
            if !is_taken || self.defects.has(KubeletDefect::AddressesAreForgotten) {
                return address;
            }
        }
    }

    fn run_pod_sandbox(&mut self, pod: PodRef, attempt: u32) -> Answer {
        let mut all = self.sandboxes.iter();
        let reserved = all.any(|own| own.pod.uid == pod.uid && own.attempt == attempt);
        if reserved {
            return Answer::Failed("the name of the sandbox is reserved");
        }
        let address = Some(self.next_address());
        let (id, number) = self.next_id("s");
        self.sandboxes.push(Sandbox {
            id: id.clone(),
            number,
            pod,
            attempt,
            is_ready: true,
            address,
        });
        Answer::Made(id)
    }

    /// It stops all that runs in it, by force.
    fn stop_pod_sandbox(&mut self, id: &Id, now: wavetank_engine::Time) -> Vec<Container> {
        if let Some(own) = self.sandboxes.iter_mut().find(|own| own.id == *id) {
            own.is_ready = false;
            own.address = None;
        }
        let inside = self.containers.iter().filter(|own| own.sandbox == *id);
        let inside: Vec<Id> = inside.map(|own| own.id.clone()).collect();
        let ended = inside.iter().filter_map(|id| self.end(id, KILLED, now));
        ended.collect()
    }

    fn create_container(&mut self, ask: &Ask) -> Answer {
        let Ask::CreateContainer {
            sandbox,
            name,
            image,
            restarts,
        } = ask
        else {
            unreachable!("{ask:?}");
        };
        let Some(own) = self.sandboxes.iter().find(|own| own.id == *sandbox) else {
            return Answer::Failed("no such sandbox");
        };
        let pod = own.pod.clone();
        let mut all = self.containers.iter();
        let is_it = |own: &Container| own.name == *name && own.restarts == *restarts;
        if all.any(|own| own.pod.uid == pod.uid && is_it(own)) {
            return Answer::Failed("the name of the container is reserved");
        }
        let (id, number) = self.next_id("c");
        self.containers.push(Container {
            id: id.clone(),
            number,
            pod,
            sandbox: sandbox.clone(),
            name: name.clone(),
            image: image.clone(),
            restarts: *restarts,
            state: State::Created,
            is_well: true,
            was_probed: false,
            has_started_up: false,
            memory: memory::MODEST,
        });
        Answer::Made(id)
    }

    fn start(&mut self, id: &Id, now: wavetank_engine::Time) -> Option<Container> {
        let is_ready = |own: &Container, all: &[Sandbox]| {
            all.iter()
                .any(|sandbox| sandbox.id == own.sandbox && sandbox.is_ready)
        };
        let sandboxes = &self.sandboxes;
        let own = self.containers.iter_mut().find(|own| own.id == *id)?;
        if own.state != State::Created || !is_ready(own, sandboxes) {
            return None;
        }
        own.state = State::Running(now);
        Some(own.clone())
    }

    /// It ends with this exit code; none if it does not run.
    fn end(&mut self, id: &Id, code: i64, finished: wavetank_engine::Time) -> Option<Container> {
        let own = self.containers.iter_mut().find(|own| own.id == *id)?;
        let State::Running(started) = own.state else {
            return None;
        };
        own.state = State::Exited {
            started,
            finished,
            code,
        };
        Some(own.clone())
    }

    /// Does a probe of this container succeed?
    fn probe(&mut self, id: &Id, kind: ProbeType, now: wavetank_engine::Time) -> bool {
        let Some(own) = self.containers.iter_mut().find(|own| own.id == *id) else {
            return false;
        };
        let State::Running(begun) = own.state else {
            return false;
        };
        let is_up = *own.image != *SLOW || begun + STARTS_UP <= now;
        let succeeds = is_up && own.is_well && *own.image != *NEVER_READY;
        own.was_probed |= succeeds && kind == ProbeType::Readiness;
        own.has_started_up |= succeeds && kind == ProbeType::Startup;
        succeeds
    }

    fn status(&self, uid: &str) -> PodStatus {
        let mut status = PodStatus {
            sandboxes: self
                .sandboxes
                .iter()
                .filter(|own| *own.pod.uid == *uid)
                .cloned()
                .collect(),
            containers: self
                .containers
                .iter()
                .filter(|own| *own.pod.uid == *uid)
                .cloned()
                .collect(),
        };
        status
            .sandboxes
            .sort_by_key(|own| std::cmp::Reverse(own.number));
        status
            .containers
            .sort_by_key(|own| std::cmp::Reverse(own.number));
        status
    }

    fn running(&self) -> Vec<Id> {
        let running = self.containers.iter().filter(|own| own.is_running());
        running.map(|own| own.id.clone()).collect()
    }

    /// How long a task runs and what its exit code is; none of what runs for ever.
    fn ends_with(own: &Container) -> Option<(Duration, i64)> {
        match &*own.image {
            TASK => Some((TASK_RUNS, 0)),
            FAILING_TASK => Some((TASK_RUNS, 1)),
            INIT => Some((INIT_RUNS, 0)),
            FLAKY_INIT => Some((INIT_RUNS, i64::from(own.restarts == 0))),
            _ => None,
        }
    }

    /// Removes init containers that have succeeded, as somebody does who cleans up a node by hand.
    fn prune(&mut self) -> Vec<Container> {
        let is_over = |own: &Container| {
            let is_init = [INIT, FLAKY_INIT].contains(&&*own.image);
            is_init && matches!(own.state, State::Exited { code: 0, .. })
        };
        let gone = self.containers.iter().filter(|own| is_over(own));
        let gone = gone.cloned().collect();
        self.containers.retain(|own| !is_over(own));
        gone
    }
}

impl Process for ContainerRuntime {
    /// Tasks run on while nobody looks. Containers that were not well are: what would have ended that is gone.
    fn boot(&mut self, cx: &mut Cx<'_>) {
        for own in &mut self.containers {
            own.is_well = true;
        }
        self.hogged = 0;
        for own in self.containers.iter().filter(|own| own.is_running()) {
            if let Some((runs, _)) = ContainerRuntime::ends_with(own) {
                cx.arm(Timer::new(RUN_OUT, own.number), runs);
            }
        }
        if self.defects.has(KubeletDefect::AddressesAreForgotten) {
            self.last_address = 1;
        }
        if let Some(task) = machine::begins(&self.machine) {
            cx.spawn(task);
        }
    }

    fn request(&mut self, cx: &mut Cx<'_>, caller: Caller, body: &Payload) {
        let ask = body.expect::<Ask>().clone();
        cx.serve(caller, Task::new(SERVE, (caller, ask)));
    }

    fn timer(&mut self, cx: &mut Cx<'_>, timer: Timer) {
        cx.spawn(Task::new(RUN_OUT, timer.arg));
    }

    /// `fail`: a container ends; `unwell`: the probes of one fail for a while; `reboot`: the node starts anew; `prune`:
    /// init containers that have succeeded are removed; `grow`: a container uses more memory; `hog`: somebody else does for a
    /// while; `shut-down`: it goes off for a while, if that is not cancelled.
    fn command(&mut self, cx: &mut Cx<'_>, what: &str, args: &Json) -> Result<(), String> {
        let task = match what {
            "grow" => {
                cx.spawn(Task::new(memory::GROW, args["memory"].as_i64()));
                return Ok(());
            }
            "hog" => {
                cx.spawn(Task::new(memory::HOG, args["memory"].as_i64()));
                return Ok(());
            }
            "shut-down" => {
                let cancelled = args["cancelled-after"].as_u64();
                cx.spawn(Task::new(machine::SHUT_DOWN, cancelled));
                return Ok(());
            }
            "fail" => FAIL,
            "unwell" => UNWELL,
            "reboot" => REBOOT,
            "prune" => PRUNE,
            _ => {
                let known = "`fail`, `unwell`, `reboot`, `prune`, `grow`, `hog` and `shut-down`";
                return Err(format!("knows {known}, not `{what}`"));
            }
        };
        cx.spawn(Task::new(task, ()));
        Ok(())
    }

    /// Containers survive, as those of containerd do.
    fn crash(&mut self) {}

    fn routine(&self, task: &Task) -> RoutineFuture {
        let (rx, kind) = (Rx::new(), task.kind());
        if kind == SERVE {
            let (caller, ask) = task.args::<(Caller, Ask)>().clone();
            return Box::pin(serve(rx, caller, ask));
        }
        if kind == TERM {
            return Box::pin(terminate(rx, task.args::<Id>().clone()));
        }
        if kind == RUN_OUT {
            return Box::pin(run_out(rx, *task.args::<u64>()));
        }
        if kind == machine::SHUT_DOWN {
            return Box::pin(machine::shut_down(rx, *task.args::<Option<u64>>()));
        }
        if kind == memory::GROW {
            let asked = *task.args::<Option<i64>>();
            return Box::pin(async move { memory::grow(rx, drawn(rx).await, asked).await });
        }
        if kind == memory::HOG {
            return Box::pin(memory::hog(rx, *task.args::<Option<i64>>()));
        }
        if kind == machine::GO_OFF {
            return Box::pin(machine::goes_off(rx));
        }
        if kind == machine::STAY_OFF {
            return Box::pin(machine::stay_off(rx, self.kubelet));
        }
        if kind == machine::START_ANEW {
            return Box::pin(machine::start_anew(rx, self.kubelet));
        }
        if kind == machine::RELOAD {
            return Box::pin(machine::reload(rx));
        }
        if kind == FAIL {
            return Box::pin(fail(rx));
        }
        if kind == UNWELL {
            return Box::pin(be_unwell(rx));
        }
        if kind == PRUNE {
            return Box::pin(prune(rx));
        }
        Box::pin(machine::reboot(rx))
    }
}
