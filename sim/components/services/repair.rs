//! The loops that repair what Services are allocated: every three minutes the bitmap is rebuilt from
//! the Services that there are (`pkg/registry/core/service/ipallocator/controller/repair.go`,
//! `portallocator/controller/repair.go`). `rebuild` is the pure part of a round; here are its reads,
//! its write and its timers.
//!
//! v1.36 has a loop for node ports only: its addresses are
//! objects, which `address_controllers` repairs.

pub(crate) mod rebuild;

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::json::{self, Json};
use wavetank_api::kinds::SERVICES;
use wavetank_api::kinds::service_families::family_of;
use wavetank_api::{Content, Method, Reason, Request};
use wavetank_apiserver::{Config, Hook, HookFuture};
use wavetank_client::EventRecorder;
use wavetank_client::InformerDefect;
use wavetank_client::wait::{Every, Stop, Turn};
use wavetank_engine::{Cell, Cx, Name, Outcome, RoutineFuture, Rx, Signal, Task, Timer, mutant};
use wavetank_version::{Defect, Gate, Listed, Set};

use super::address_controllers::{self, AddressControllers};
use super::allocators::ServiceRanges;
use super::allocators::range_allocation::{RangeAllocation, Snapshot};
use super::{RepairDefect, ServiceDefect, gates};

use rebuild::{InUse, Leaks, Wording, rebuild};

/// `ServiceClusterIPInterval`, `ServiceNodePortInterval`
pub const REPAIR_INTERVAL: Duration = Duration::from_secs(180);
/// `start-service-ip-repair-controllers` gives the first round so long, v1.36.
const FIRST_LIMIT: Duration = Duration::from_secs(60);
/// `retry.DefaultBackoff`: so many tries, 10 ms and five times as much after each, a tenth of jitter.
const TRIES: u32 = 4;
const FIRST_WAIT: Duration = Duration::from_millis(10);
const GROWTH: u32 = 5;
/// Who tries on waits no longer than this.
const LONGEST_WAIT: Duration = Duration::from_millis(1250);
/// v1.36 asks so often for the allocations of ports, for so long: etcd may begin at the same time.
const POLL: Duration = Duration::from_secs(1);
const POLL_FOR: Duration = Duration::from_secs(30);

const HEALTH_CHECK: [&str; 2] = ["spec", "healthCheckNodePort"];

const REPAIR: Name = Name::new("repair-services");
static STOP: Stop = Stop::new("repair-stop");
/// The first round of the loop for node ports is done, v1.36.
static FIRST_DONE: Signal = Signal::new("repair-first-done");

/// The repair loops of one server.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ServiceRepair {
    /// The server that they are a part of.
    pub server: Arc<Config>,
    /// What Services are allocated; without ranges nothing, and there is nothing to repair.
    pub ranges: Option<Arc<ServiceRanges>>,
    /// Their known bugs and fixes.
    pub defects: Set<RepairDefect>,
    /// Those of the allocators.
    pub allocators: Set<ServiceDefect>,
    /// Those of the server's informers.
    pub informers: Set<InformerDefect>,
}

/// What a round has to say, in the words of upstream's log.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RepairNote {
    /// One message.
    pub message: String,
}

/// Which loop.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Loop {
    ClusterIps,
    NodePorts,
}

impl Loop {
    /// Of the n-th allocation.
    const fn leaks(self, at: usize) -> Cell<Leaks> {
        Cell::numbered("service-leaks", self as u32 + 2 * at as u32)
    }

    /// What reports its Events.
    pub(crate) fn recorder(self, server: &Config) -> EventRecorder {
        EventRecorder {
            rest: server.loopback(),
            component: Name::new(match self {
                Loop::ClusterIps => "ipallocator-repair-controller",
                Loop::NodePorts => "portallocator-repair-controller",
            }),
            host: server.address.clone(),
            number: 2 * server.me.index() as u64 + self as u64,
        }
    }
}

/// `retry.DefaultBackoff`: how long who failed waits, and how often.
#[derive(Debug)]
pub(crate) struct DefaultBackoff {
    tries: u32,
    wait: Duration,
}

impl Default for DefaultBackoff {
    fn default() -> DefaultBackoff {
        DefaultBackoff {
            tries: 1,
            wait: FIRST_WAIT,
        }
    }
}

impl DefaultBackoff {
    /// Is the present try the last one?
    pub fn is_over(&self) -> bool {
        self.tries >= TRIES
    }

    /// `Step`, and the sleep.
    pub async fn step(&mut self, rx: Rx) {
        let jitter = rx.choose(11).await as u32;
        rx.sleep(self.wait * (100 + jitter) / 100).await;
        self.wait = (self.wait * GROWTH).min(LONGEST_WAIT);
        self.tries += 1;
    }
}

/// Why a round failed.
enum Failed {
    /// Somebody else has written in between.
    Conflict(String),
    /// Anything else.
    Otherwise(String),
}

impl Failed {
    fn message(self) -> String {
        match self {
            Failed::Conflict(message) | Failed::Otherwise(message) => message,
        }
    }
}

/// A round of a repair of bitmaps is over, and was stored.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RepairRound {
    /// Of ports, or of addresses.
    pub ports: bool,
    /// What it has said of items.
    pub found: Vec<String>,
}

#[track_caller]
fn say(rx: Rx, message: String) {
    rx.note(RepairNote { message });
}

impl Hook for ServiceRepair {
    fn boot(&self, cx: &mut Cx<'_>) {
        if let Some(addresses) = AddressControllers::of(self) {
            addresses.boot(cx);
        }
    }

    fn timer(&self, cx: &mut Cx<'_>, timer: Timer) -> bool {
        AddressControllers::of(self).is_some_and(|addresses| addresses.timer(cx, timer))
    }

    fn post_start(&self, rx: Rx) -> HookFuture {
        let me = self.clone();
        Box::pin(async move { me.start(rx).await })
    }

    fn pre_shutdown(&self, rx: Rx) -> HookFuture {
        Box::pin(async move { ServiceRepair::stop(rx) })
    }

    fn routine(&self, task: &Task) -> Option<RoutineFuture> {
        let (rx, me) = (Rx::new(), self.clone());
        if task.kind() == REPAIR {
            return Some(Box::pin({
                let (which, first) = *task.args::<(Loop, bool)>();
                me.repair(rx, which, first)
            }));
        }
        let mut recorders = [Loop::ClusterIps, Loop::NodePorts]
            .map(|which| which.recorder(&self.server))
            .into_iter();
        let records = recorders.find_map(|recorder| recorder.routine(task));
        records.or_else(|| AddressControllers::of(self)?.routine(task))
    }
}

pub(crate) const REPAIR_FORGETS_HEALTH_CHECK: Defect = Defect::known(
    "repair-forgets-health-check",
    "k/k#54885, PR #64349 (1.11)",
    "the repair loop takes ports for health checks for leaked",
)
.until(gates::REPAIR_COUNTS_HEALTH_CHECKS);

pub(crate) const REPAIR_START_GIVES_UP: Defect = Defect::open(
    "repair-start-gives-up",
    "k/k#130377 (not fixed)",
    "a server ends when its first round of repair meets other writers four times. Off: it tries on",
);

pub(crate) const REPAIR_LISTS_FIRST: Defect = Defect::known(
    "repair-lists-first",
    "k/k#104769, the order that `runOnce` warns of (#8295)",
    "a repair loop lists Services before it reads what is allocated: what is deleted in between is allocated for nobody",
)
.ships(Gate::NEVER);

pub(crate) const FIX_COUNT_ROUNDS: Defect = Defect::fix(
    "fix-count-rounds",
    "FINDINGS.md, 7",
    "a leak is seen once in a round of repair, however often the round is repeated",
);

impl ServiceRepair {
    /// Starts the loops. Until v1.20 each runs once before, and the server exits if that fails: it
    /// cannot allocate without. v1.36 waits for the first good round of the loop.
    pub async fn start(&self, rx: Rx) {
        let release = self.server.release;
        if self.ranges.is_none() {
            return;
        }
        if release.has(gates::IP_ADDRESSES) {
            rx.spawn(Task::new(REPAIR, (Loop::NodePorts, true)));
            if let Some(addresses) = AddressControllers::of(self) {
                addresses.start(rx);
            }
            let both = rx.join(
                rx.wait(FIRST_DONE),
                rx.wait(address_controllers::FIRST_DONE),
            );
            if rx.timeout(FIRST_LIMIT, both).await.is_none() {
                say(
                    rx,
                    "unable to perform initial IP and Port allocation check".to_owned(),
                );
                rx.exit();
            }
            return;
        }
        for (which, what) in [
            (Loop::ClusterIps, "IP allocation"),
            (Loop::NodePorts, "service nodePort"),
        ] {
            if let Err(failed) = self.run_once(rx, which, true).await {
                let why = failed.message();
                say(rx, format!("Unable to perform initial {what} check: {why}"));
                rx.exit();
                return;
            }
        }
        rx.spawn(Task::new(REPAIR, (Loop::ClusterIps, false)));
        rx.spawn(Task::new(REPAIR, (Loop::NodePorts, false)));
    }

    /// Ends the loops after their current round.
    pub fn stop(rx: Rx) {
        STOP.close(rx);
    }

    /// One turn of `RunUntil`, which is a `wait.Until`.
    async fn repair(self, rx: Rx, which: Loop, first: bool) -> Outcome {
        let turn = Every::period(REPAIR_INTERVAL).sliding(rx, &STOP, async {
            match self.run_once(rx, which, first).await {
                Ok(()) => rx.raise(FIRST_DONE),
                Err(failed) => say(rx, failed.message()),
            }
            Turn::Again
        });
        match turn.await {
            Turn::Over => Outcome::Done,
            Turn::Again => Outcome::Become(Task::new(REPAIR, (which, false))),
        }
    }

    /// `RunOnce`: again after a conflict, and each try counts leaks.
    async fn run_once(&self, rx: Rx, which: Loop, first: bool) -> Result<(), Failed> {
        let mut backoff = DefaultBackoff::default();
        loop {
            let gives_up =
                backoff.is_over() && (!first || self.has(RepairDefect::RepairStartGivesUp));
            match self.do_run_once(rx, which).await {
                Err(Failed::Conflict(_))
                    if !gives_up
                        && !mutant!(
                            "repair-gives-up-at-once",
                            "a round of repair that meets another writer is not repeated"
                        ) =>
                {
                    backoff.step(rx).await;
                }
                done => return done,
            }
        }
    }

    fn has(&self, defect: RepairDefect) -> bool {
        self.defects.has(defect)
    }

    /// What a loop looks after: one allocation for each family, or that of the ports.
    fn allocations(&self, which: Loop) -> Vec<RangeAllocation> {
        let Some(ranges) = self.ranges.as_deref() else {
            return Vec::new();
        };
        let server = &self.server;
        match which {
            Loop::ClusterIps => RangeAllocation::of_addresses(server, ranges, self.allocators),
            Loop::NodePorts => vec![RangeAllocation::of_ports(server, ranges, self.allocators)],
        }
    }

    /// What is stored of an allocation. For that of ports v1.36 asks again every second, until 30 s are over
    /// (`PollUntilContextTimeout`): an answer that is under way then is waited for.
    async fn snapshot(
        &self,
        rx: Rx,
        allocation: &RangeAllocation,
        which: Loop,
    ) -> Result<Snapshot, String> {
        if which == Loop::ClusterIps || !self.server.release.has(gates::PORT_REPAIR_POLLS) {
            return allocation.get(rx).await;
        }
        let begun = rx.clock();
        loop {
            let asked = rx.clock();
            match allocation.get(rx).await {
                Ok(snapshot) => return Ok(snapshot),
                Err(why) => say(rx, format!("unable to refresh the port allocations: {why}")),
            }
            let now = rx.clock();
            let pause = POLL.saturating_sub(now.since(asked));
            let left = POLL_FOR.saturating_sub(now.since(begun));
            rx.sleep(pause.min(left)).await;
            if left <= pause {
                return Err("context deadline exceeded".to_owned());
            }
        }
    }

    /// `doRunOnce`, upstream's inner `runOnce` until v1.20: what is stored, then what Services there are, then the writes, family by family in the
    /// order of a Go map, here the default one first.
    async fn do_run_once(&self, rx: Rx, which: Loop) -> Result<(), Failed> {
        let release = self.server.release;
        let allocations = self.allocations(which);
        let wording = match which {
            Loop::ClusterIps => Wording::ClusterIps(release),
            Loop::NodePorts => Wording::NodePorts,
        };
        let what = match which {
            Loop::ClusterIps => ("service IP block", "service IP"),
            Loop::NodePorts => ("port allocations", "port"),
        };
        let unread =
            |why: String| Failed::Otherwise(format!("unable to refresh the {}: {why}", what.0));
        let lists_first = self.defects.contains(RepairDefect::RepairListsFirst);
        let early = match lists_first {
            true => Some(self.services(rx).await.map_err(unread)?),
            false => None,
        };
        let mut snapshots = Vec::new();
        for allocation in &allocations {
            let snapshot = self.snapshot(rx, allocation, which).await;
            snapshots.push(snapshot.map_err(unread)?);
        }
        let services = match early {
            Some(services) => services,
            None => self.services(rx).await.map_err(unread)?,
        };
        let of: fn(&Json) -> Vec<String> = match which {
            Loop::ClusterIps => cluster_ips,
            Loop::NodePorts
                if services.iter().any(has_health_check)
                    && self.has(RepairDefect::RepairForgetsHealthCheck) =>
            {
                ports_only
            }
            Loop::NodePorts => collect_service_node_ports,
        };
        let used = services.iter().flat_map(|service| {
            let in_use = move |item| InUse { service, item };
            of(service).into_iter().map(in_use)
        });
        let used: Vec<InUse<'_>> = used.collect();
        let once = self.has(RepairDefect::FixCountRounds);
        let mut counted = Vec::new();
        let mut found = Vec::new();
        for (at, (allocation, snapshot)) in allocations.iter().zip(&mut snapshots).enumerate() {
            let used = of_allocation(at, &allocations, &used);
            let mut leaks = rx.read(&which.leaks(at));
            let (stored, range) = (snapshot.clone(), allocation.range());
            let (taken, messages) =
                rebuild(&wording, &stored, range, &used, &mut leaks, self.defects);
            if !once {
                rx.update(&which.leaks(at), |own| own.clone_from(&leaks));
            }
            counted.push(leaks);
            for said in messages {
                if let Some(event) = said.event {
                    let about = used[said.about].service;
                    which.recorder(&self.server).eventf(rx, about, event);
                }
                found.push(said.message.clone());
                say(rx, said.message);
            }
            snapshot.range = range.spec.clone();
            snapshot.taken = taken;
        }
        for (allocation, snapshot) in allocations.iter().zip(snapshots) {
            let written = allocation.create_or_update(rx, snapshot).await;
            written.map_err(|status| {
                let why = &status.message;
                match status.is(Reason::Conflict) {
                    true => Failed::Conflict(why.clone()),
                    false => Failed::Otherwise(format!(
                        "unable to persist the updated {} allocations: {why}",
                        what.1
                    )),
                }
            })?;
        }
        if once {
            for (at, leaks) in counted.into_iter().enumerate() {
                rx.update(&which.leaks(at), |own| *own = leaks);
            }
        }
        if found.iter().any(|said| said.ends_with("repairing")) {
            // It makes a difference only if a Service has something that is not allocated.
            RepairDefect::RepairListsFirst.passed(lists_first);
        }
        let ports = which == Loop::NodePorts;
        rx.note(RepairRound { ports, found });
        Ok(())
    }

    async fn services(&self, rx: Rx) -> Result<Vec<Json>, String> {
        let get = Request::new(Method::Get, SERVICES.path("", ""));
        let listed = self.server.loopback().request(rx, get).await;
        match listed.map_err(|error| error.to_string())?.content {
            Content::List(list) => Ok(list.items.iter().map(|item| item.json()).collect()),
            other => unreachable!("a list was asked for: {other:?}"),
        }
    }
}

/// What is in use of one of these allocations: what belongs to none counts to the first. v1.16 takes IPv6 for
/// the second one only if that is it (`selectAllocForIP`), which comes to the same.
fn of_allocation<'a>(
    at: usize,
    allocations: &[RangeAllocation],
    used: &[InUse<'a>],
) -> Vec<InUse<'a>> {
    let second = allocations.get(1).map(RangeAllocation::range);
    let is_second = |of: &InUse<'_>| {
        second.is_some_and(|range| range.is_six() == (family_of(&of.item) == "IPv6"))
    };
    let ours = used.iter().filter(|of| is_second(of) == (at == 1));
    ours.cloned().collect()
}

/// The addresses of a Service, if it has any (`IsServiceIPSet`).
fn cluster_ips(service: &Json) -> Vec<String> {
    let one = json::text(service, &["spec", "clusterIP"]);
    let external = json::text(service, &["spec", "type"]) == "ExternalName";
    if external || matches!(one, "" | "None") {
        return Vec::new();
    }
    match json::list(service, &["spec", "clusterIPs"]) {
        [] => vec![one.to_owned()],
        all => all
            .iter()
            .filter_map(Json::as_str)
            .map(str::to_owned)
            .collect(),
    }
}

/// Without the port for health checks, as it was until 1.10.
fn ports_only(service: &Json) -> Vec<String> {
    let mut service = service.clone();
    json::remove(&mut service, &HEALTH_CHECK);
    collect_service_node_ports(&service)
}

fn has_health_check(service: &Json) -> bool {
    json::number(service, &HEALTH_CHECK).is_some_and(|port| port != 0)
}

/// `collectServiceNodePorts`: one number for two protocols counts once.
fn collect_service_node_ports(service: &Json) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut seen: Vec<(i64, &str)> = Vec::new();
    let mut see = |port: i64, protocol| {
        let again = seen.contains(&(port, protocol));
        if again || seen.iter().all(|(other, _)| *other != port) {
            found.push(port.to_string());
        }
        seen.push((port, protocol));
    };
    for port in json::list(service, &["spec", "ports"]) {
        if mutant!(
            "repair-forgets-ports",
            "the repair loop counts no ports but those for health checks"
        ) {
            continue;
        }
        if let Some(number) = json::number(port, &["nodePort"]).filter(|number| *number != 0) {
            see(number, json::text(port, &["protocol"]));
        }
    }
    let check = json::number(service, &HEALTH_CHECK);
    if let Some(number) = check.filter(|number| *number != 0) {
        see(number, "TCP");
    }
    found
}
