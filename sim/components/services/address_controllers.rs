//! The controllers of cluster addresses that are objects, v1.36, and the informers of the server's own that they and the
//! allocators read: which ones there are and what they queue. `repair_ip` repairs IPAddresses, `default_range` keeps the
//! ServiceCIDR of the server's flags.

mod default_range;
pub(crate) mod repair_ip;

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use wavetank_api::kinds::{IP_ADDRESSES, SERVICE_CIDRS, SERVICES};
use wavetank_api::{Json, Method, Reason, Request, Stored};
use wavetank_apiserver::Config;
use wavetank_client::InformerDefect;
use wavetank_client::informer::{
    HandlerSpec, INFORMERS, InformerSpec, Informers, Lister, Notice, Resync,
};
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_client::{EventType, Failure, LoadBalancer, Policy, Report, RestClient, Servers};
use wavetank_engine::{
    Cx, Name, NotState, Outcome, ProcId, RoutineFuture, Rx, Signal, Task, Timer, World,
};
use wavetank_etcd::Revision;
use wavetank_version::{Defect, Set};

use super::allocators::ServiceRanges;
use super::allocators::meta_allocator::MetaAllocator;
use super::repair::{Loop, REPAIR_INTERVAL, RepairNote, ServiceRepair};
use super::{RepairDefect, gates};

/// The resync of the server's informers.
const RESYNC: Duration = Duration::from_secs(600);
/// How often a cache or an object is looked for.
const POLL: Duration = Duration::from_millis(100);
/// `workers`
const WORKERS: u32 = 5;
/// `maxRetries`
const RETRIES: u32 = 15;

const RANGE: Name = Name::new("keep-default-range");
const FIRST: Name = Name::new("repair-addresses-first");
const WORK: Name = Name::new("repair-addresses");

/// What is logged when the first round has failed for good: the server's start will be given up.
pub(crate) const GIVES_UP: &str = "Shutting down ipallocator-repair-controller";

/// The first round over all Services and IPAddresses is done.
pub(crate) static FIRST_DONE: Signal = Signal::new("repair-addresses-first-done");

pub(crate) const SCOPE: Name = Name::new("service-addresses");
const SERVICE_QUEUE: WorkQueue = WorkQueue::new(SCOPE, "services");
const ADDRESS_QUEUE: WorkQueue = WorkQueue::new(SCOPE, "addresses");

/// What the informers hold, in their order. Allocators and controllers share them.
pub(crate) const SERVICE_LISTER: Lister = Lister::of(SCOPE, 0);
pub(crate) const IP_ADDRESS_LISTER: Lister = Lister::of(SCOPE, 1);
pub(crate) const SERVICE_CIDR_LISTER: Lister = Lister::of(SCOPE, 2);

/// The controllers of one server.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct AddressControllers {
    pub server: Arc<Config>,
    ranges: Arc<ServiceRanges>,
    defects: Set<RepairDefect>,
    /// Those of the server's informers.
    informers: Set<InformerDefect>,
}

#[track_caller]
fn say(rx: Rx, message: String) {
    rx.note(RepairNote { message });
}

/// The revision up to which the informer of IPAddresses of a server shows what is stored; 0 if it has none.
pub(crate) fn shown_addresses(world: &World, server: ProcId) -> Revision {
    let all = world.cell(server, &INFORMERS);
    let mut own = all.iter().filter(|informer| informer.id.scope == SCOPE);
    own.nth(1).map_or(0, |informer| informer.indexer.revision())
}

fn have_synced(rx: Rx) -> bool {
    Informers::have_synced(rx, SCOPE)
}

pub(crate) const FIX_DELETE_WHAT_WAS_SEEN: Defect = Defect::fix(
    "fix-delete-what-was-seen",
    "FINDINGS.md, 12",
    "the repair deletes the IPAddress that its cache shows, and not one that has its name by now",
)
.fits_only(gates::IP_ADDRESSES);

impl AddressControllers {
    /// Those of a server, if it has any.
    pub fn of(repair: &ServiceRepair) -> Option<AddressControllers> {
        let server = &repair.server;
        let has = server.release.has(gates::IP_ADDRESSES);
        let ranges = repair.ranges.clone().filter(|_| has)?;
        Some(AddressControllers {
            server: server.clone(),
            ranges,
            defects: repair.defects,
            informers: repair.informers,
        })
    }

    fn informers(&self) -> Arc<Informers> {
        let queued = |resource, on: fn(Rx, u32, &Notice)| InformerSpec {
            resync: Some(RESYNC),
            handlers: vec![HandlerSpec {
                resync: Resync::Every(REPAIR_INTERVAL),
                on: NotState(Arc::new(on)),
                ..HandlerSpec::new("queue")
            }],
            ..InformerSpec::of(resource)
        };
        Arc::new(Informers {
            scope: SCOPE,
            rest: RestClient::new(
                self.server.release,
                Servers::Balanced(LoadBalancer {
                    servers: vec![self.server.me],
                    policy: Policy::Fixed,
                    window: None,
                }),
            ),
            defects: self.informers,
            specs: vec![
                queued(&SERVICES, |rx, _, notice| {
                    SERVICE_QUEUE.add(rx, notice.key())
                }),
                queued(&IP_ADDRESSES, |rx, _, notice| {
                    ADDRESS_QUEUE.add(rx, notice.key())
                }),
                InformerSpec {
                    resync: Some(RESYNC),
                    handlers: self
                        .allocators()
                        .into_iter()
                        .map(MetaAllocator::handler)
                        .collect(),
                    ..InformerSpec::of(&SERVICE_CIDRS)
                },
            ],
        })
    }

    pub fn boot(&self, cx: &mut Cx<'_>) {
        SERVICE_QUEUE.make(cx);
        ADDRESS_QUEUE.make(cx);
        for allocators in self.allocators() {
            allocators.boot(cx);
        }
        self.informers().boot(cx);
    }

    fn allocators(&self) -> Vec<MetaAllocator> {
        MetaAllocator::all(&self.ranges)
    }

    pub fn timer(&self, cx: &mut Cx<'_>, timer: Timer) -> bool {
        WorkQueue::timer(cx, timer) || self.informers().timer(cx, timer)
    }

    /// Starts the controllers.
    pub fn start(&self, rx: Rx) {
        rx.spawn(Task::new(RANGE, false));
        rx.spawn(Task::new(FIRST, ()));
    }

    pub fn routine(&self, task: &Task) -> Option<RoutineFuture> {
        let (rx, me) = (Rx::new(), self.clone());
        if task.kind() == RANGE {
            return Some(Box::pin(me.keep_default_range(rx, *task.args())));
        }
        if task.kind() == FIRST {
            return Some(Box::pin(me.run_until(rx)));
        }
        if task.kind() == WORK {
            return Some(Box::pin(me.work(rx, *task.args())));
        }
        let queued = WorkQueue::routine(task).or_else(|| MetaAllocator::routine(task));
        queued.or_else(|| self.informers().routine(task))
    }

    async fn keep_default_range(self, rx: Rx, succeeded: bool) -> Outcome {
        let (wait, succeeded) = match have_synced(rx) {
            true => self.sync_default_range(rx, succeeded).await,
            false => (POLL, false),
        };
        rx.sleep(wait).await;
        Outcome::Become(Task::new(RANGE, succeeded))
    }

    /// `RunUntil`: once the caches are synced and the default ServiceCIDR is there, everything is gone
    /// over once; then there are only workers. An error ends it, and with it the server's start.
    async fn run_until(self, rx: Rx) -> Outcome {
        if !have_synced(rx) || SERVICE_CIDR_LISTER.get(rx, default_range::NAME).is_none() {
            rx.sleep(POLL).await;
            return Outcome::Become(Task::new(FIRST, ()));
        }
        if let Err(failed) = self.run_once(rx).await {
            say(rx, failed.to_string());
            say(rx, GIVES_UP.to_owned());
            return Outcome::Done;
        }
        rx.raise(FIRST_DONE);
        for _ in 0..WORKERS {
            for queue in [ADDRESS_QUEUE, SERVICE_QUEUE] {
                rx.spawn(Task::new(WORK, queue));
            }
        }
        Outcome::Done
    }

    /// One item of a worker (`processNextWorkIp`, `processNextWorkSvc`).
    async fn work(self, rx: Rx, queue: WorkQueue) -> Outcome {
        let item: Item = queue.get(rx).await;
        let done = match queue == SERVICE_QUEUE {
            true => self.sync_service(rx, &item).await,
            false => self.sync_ip_address(rx, &item).await,
        };
        match done {
            Ok(()) => queue.forget(rx, &item),
            Err(_) if queue.num_requeues(rx, &item) < RETRIES => {
                queue.add_rate_limited(rx, item.clone());
            }
            Err(failed) => {
                queue.forget(rx, &item);
                say(rx, failed.to_string());
            }
        }
        queue.done(rx, &item);
        Outcome::Become(Task::new(WORK, queue))
    }

    /// What is said of an object, to its users too.
    fn report(&self, rx: Rx, about: &Json, reason: &'static str, note: String) {
        let action = match (reason, wavetank_api::json::text(about, &["kind"])) {
            ("ClusterIPNotValid", _) => "ClusterIPValidation",
            (_, "IPAddress") => "IPAddressAllocation",
            _ => "ClusterIPAllocation",
        };
        let report = Report {
            event_type: EventType::Warning,
            reason,
            action,
            note,
        };
        Loop::ClusterIps
            .recorder(&self.server)
            .eventf(rx, about, report);
    }

    async fn create_address(&self, rx: Rx, address: Json) -> Result<(), Failure> {
        let post = Request::new(Method::Post, IP_ADDRESSES.path("", "")).with(address);
        self.server.loopback().request(rx, post).await.map(|_| ())
    }

    /// Deletes an IPAddress that the cache shows; upstream whatever has its name by now. What is gone
    /// already is no error.
    async fn delete_address(&self, rx: Rx, seen: &Stored) -> Result<(), Failure> {
        let path = IP_ADDRESSES.path("", seen.object.name());
        let mut delete = Request::new(Method::Delete, path);
        if self.defects.has(RepairDefect::FixDeleteWhatWasSeen) {
            delete = delete.with(json!({
                "kind": "DeleteOptions",
                "apiVersion": "v1",
                "preconditions": {"uid": seen.object.uid()},
            }));
        }
        match self.server.loopback().request(rx, delete).await {
            Err(error) if !error.is(Reason::NotFound) && !error.is(Reason::Conflict) => Err(error),
            _ => Ok(()),
        }
    }
}
