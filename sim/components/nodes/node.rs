//! A node: it registers itself (`pkg/kubelet/kubelet_node_status.go`, v1.36.2), and if it has heartbeats renews its Lease and
//! writes its status. It may be lost for a while, or for good: its kubelet then does nothing, and begins anew after that.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value as Json, json};
use wavetank_api::kinds::NODES;
use wavetank_api::{Method, Reason, Request, Stamp};
use wavetank_client::RestClient;
use wavetank_component::Spec;
use wavetank_engine::{
    Caller, Cell, Cx, Name, Outcome, Payload, Process, RoutineFuture, Rx, Task, Timer,
};

use super::notes::{ComesBack, IsLost};
use super::options::Options;
use super::{lease, status};

const REGISTER: Name = Name::new("register-node");
const RENEW: Name = Name::new("renew-node-lease");
const SYNC_STATUS: Name = Name::new("sync-node-status");
const LOSE: Name = Name::new("lose-node");
const UNWELL: Name = Name::new("node-is-unwell");
/// How long it waits before it tries again, at first and at most (`registerWithAPIServer`).
const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(7);
/// How long a request may take.
const LIMIT: Duration = Duration::from_secs(10);
/// The same of a heartbeat: `nodeStatusUpdateFrequency`, as `cmd/kubelet/app/server.go` has it.
pub(super) const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(10);

/// So long a node is lost, in seconds: some come back before anybody notices, some before or while their pods are evicted, and
/// some never.
const LOST_FOR: [Option<u64>; 8] = [
    Some(15),
    Some(40),
    Some(70),
    Some(80),
    Some(100),
    Some(130),
    Some(200),
    None,
];
/// So long it is not ready.
const UNWELL_FOR: [u64; 3] = [8, 30, 70];

/// How often it is lost at this moment: it may be lost again meanwhile.
static LOST: Cell<u32> = Cell::new("node-is-lost");
/// `registrationCompleted`
static IS_REGISTERED: Cell<bool> = Cell::new("node-is-registered");

/// A node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Node {
    pub(super) name: Arc<str>,
    pub(super) rest: RestClient,
    /// Nothing, if it has no heartbeats.
    pub(super) heartbeats: Option<Heartbeats>,
    /// The range of addresses of its pods, if there are any.
    pod_cidr: Option<Arc<str>>,
}

/// What a node that has heartbeats is like.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Heartbeats {
    pub zone: Option<Arc<str>>,
}

/// Is its kubelet gone?
pub(super) fn is_lost(rx: Rx) -> bool {
    rx.read(&LOST) > 0
}

impl Node {
    /// The one of this name, which reaches apiservers so.
    pub(super) fn new(name: &str, rest: RestClient, heartbeats: Option<Heartbeats>) -> Node {
        Node {
            name: name.into(),
            rest,
            heartbeats,
            pod_cidr: None,
        }
    }

    /// That of a kubelet, the node with this number: the kubelet runs it, and its pods have addresses of this range.
    pub fn of_kubelet(
        name: &str,
        rest: &RestClient,
        spec: &Spec,
        number: usize,
        pod_cidr: &str,
    ) -> Node {
        let options: Options = spec.part();
        let heartbeats = options.node_heartbeats.then(|| Heartbeats {
            zone: options.zone(number).map(Into::into),
        });
        Node {
            pod_cidr: Some(pod_cidr.into()),
            ..Node::new(name, rest.clone(), heartbeats)
        }
    }

    /// The name of its Node.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// `registerWithAPIServer`: tries until the Node is there.
    pub(super) async fn register_with_api_server(&self, rx: Rx) {
        if rx.read(&IS_REGISTERED) {
            return;
        }
        let mut step = FIRST;
        loop {
            rx.sleep(step).await;
            step = (step * 2).min(LONGEST);
            if is_lost(rx) {
                return;
            }
            if self.try_register_with_api_server(rx).await {
                break;
            }
        }
        rx.update(&IS_REGISTERED, |own| *own = true);
    }

    /// The same of a node without heartbeats, which does nothing else.
    async fn register(self, rx: Rx) -> Outcome {
        let mut step = FIRST;
        loop {
            rx.sleep(step).await;
            step = (step * 2).min(LONGEST);
            if self.try_register_with_api_server(rx).await {
                return Outcome::Done;
            }
        }
    }

    /// `tryRegisterWithAPIServer`: is it registered? What a kubelet mends of a Node that was there before is the same here.
    async fn try_register_with_api_server(&self, rx: Rx) -> bool {
        let now = Stamp::of(rx.clock()).seconds();
        let post = Request::new(Method::Post, NODES.path("", "")).with(self.initial_node(rx, &now));
        match self.rest.object_within(rx, post, LIMIT).await {
            Ok(_) => true,
            Err(error) => error.is(Reason::AlreadyExists),
        }
    }

    /// `initialNode`
    fn initial_node(&self, rx: Rx, now: &str) -> Json {
        let mut node = json!({
            "apiVersion": NODES.api_version(),
            "kind": NODES.kind,
            "metadata": {"name": *self.name, "labels": {"kubernetes.io/hostname": *self.name}},
            "status": {"conditions": [
                {"type": "Ready", "status": "True", "lastHeartbeatTime": now, "lastTransitionTime": now},
            ]},
        });
        // Kubelets bring their own range, also where a controller gives ranges to nodes.
        if let Some(range) = &self.pod_cidr {
            node["spec"] = json!({"podCIDR": **range, "podCIDRs": [**range]});
        }
        let Some(Heartbeats { zone }) = &self.heartbeats else {
            return node;
        };
        let labels = &mut node["metadata"]["labels"];
        labels["kubernetes.io/os"] = "linux".into();
        labels["kubernetes.io/arch"] = "amd64".into();
        if let Some(zone) = zone {
            labels["topology.kubernetes.io/zone"] = (**zone).into();
        }
        node["status"]["conditions"] = status::set_node_status(&[], status::state(rx), now).into();
        node
    }

    /// Upstream's `syncNodeStatus`, out of turn; nothing of a node that has no heartbeats.
    pub async fn sync_status_now(&self, rx: Rx) {
        if self.heartbeats.is_some() && !is_lost(rx) {
            status::sync_node_status(rx, self).await;
        }
    }

    /// It is lost, for so long or for good. Who is lost twice is back when both are over.
    async fn lose(self, rx: Rx, lasts: Option<Option<u64>>) -> Outcome {
        let lasts = match lasts {
            Some(lasts) => lasts,
            None => LOST_FOR[rx.choose(LOST_FOR.len() as u64).await as usize],
        };
        let first = rx.update(&LOST, |lost| {
            *lost += 1;
            *lost == 1
        });
        if first {
            rx.note(IsLost(self.name.clone()));
        }
        let Some(lasts) = lasts else {
            return Outcome::Done;
        };
        rx.sleep(Duration::from_secs(lasts)).await;
        let left = rx.update(&LOST, |lost| {
            *lost -= 1;
            *lost
        });
        if left == 0 {
            rx.note(ComesBack(self.name.clone()));
            // A kubelet that begins anew knows nothing.
            rx.update(&IS_REGISTERED, |own| *own = false);
            lease::forget(rx);
            status::forget(rx);
        }
        Outcome::Done
    }

    /// It is not ready for a while, and says so.
    async fn be_unwell(self, rx: Rx, lasts: Option<u64>) -> Outcome {
        let lasts = match lasts {
            Some(lasts) => lasts,
            None => UNWELL_FOR[rx.choose(UNWELL_FOR.len() as u64).await as usize],
        };
        status::set_unwell(rx, true);
        rx.sleep(Duration::from_secs(lasts)).await;
        status::set_unwell(rx, false);
        Outcome::Done
    }

    async fn renew(self, rx: Rx) -> Outcome {
        lease::run(rx, &self).await;
        Outcome::Become(Task::new(RENEW, ()))
    }

    async fn sync_status(self, rx: Rx) -> Outcome {
        status::run(rx, &self).await;
        Outcome::Become(Task::new(SYNC_STATUS, ()))
    }
}

/// Is the node with this name lost in this world? `None` where no process is this node.
pub fn node_is_lost(world: &wavetank_engine::World, name: &str) -> Option<bool> {
    let mut all = world.processes();
    let process = all.find(|process| {
        let node = world.process::<Node>(*process);
        node.is_some_and(|node| node.name() == name)
    })?;
    let is_up = world.status(process) == wavetank_engine::Status::Up;
    Some(!is_up || world.cell(process, &LOST) > 0)
}

impl Process for Node {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        match self.heartbeats {
            None => cx.spawn(Task::new(REGISTER, ())),
            Some(_) => {
                cx.spawn(Task::new(SYNC_STATUS, ()));
                cx.spawn(Task::new(RENEW, ()));
            }
        }
    }

    fn request(&mut self, _: &mut Cx<'_>, _: Caller, body: &Payload) {
        unreachable!("nobody asks a node: {body:?}");
    }

    fn timer(&mut self, cx: &mut Cx<'_>, timer: Timer) {
        assert!(status::timer(cx, timer), "an unknown timer: {timer:?}");
    }

    /// `lose`: it is lost for `for` seconds, 0 for good; `unwell`: it is not ready for so long. What is not said is drawn.
    fn command(&mut self, cx: &mut Cx<'_>, what: &str, args: &Json) -> Result<(), String> {
        if self.heartbeats.is_none() {
            return Err("has no heartbeats".to_owned());
        }
        let lasts = args["for"].as_u64();
        match what {
            "lose" => {
                let lasts = lasts.map(|lasts| (lasts > 0).then_some(lasts));
                cx.spawn(Task::new(LOSE, lasts));
            }
            "unwell" => cx.spawn(Task::new(UNWELL, lasts)),
            _ => return Err(format!("knows `lose` and `unwell`, not `{what}`")),
        }
        Ok(())
    }

    fn crash(&mut self) {}

    fn routine(&self, task: &Task) -> RoutineFuture {
        let (own, rx) = (self.clone(), Rx::new());
        let kind = task.kind();
        if kind == RENEW {
            return Box::pin(own.renew(rx));
        }
        if kind == SYNC_STATUS {
            return Box::pin(own.sync_status(rx));
        }
        if kind == LOSE {
            return Box::pin(own.lose(rx, *task.args::<Option<Option<u64>>>()));
        }
        if kind == UNWELL {
            return Box::pin(own.be_unwell(rx, *task.args::<Option<u64>>()));
        }
        Box::pin(own.register(rx))
    }
}
