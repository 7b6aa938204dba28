//! The allocators of cluster addresses that a server has, v1.36 (`MetaAllocator` of
//! `pkg/registry/core/service/ipallocator/cidrallocator.go`): one a range, kept in step with the ServiceCIDRs of the
//! server's informer by a queue and one worker. What an allocator does is in `addresses`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::json::{self, Json};
use wavetank_client::informer::{HandlerSpec, Lister, Notice};
use wavetank_client::workqueue::WorkQueue;
use wavetank_engine::{
    Cell, Cx, Lock, LockGuard, Name, NotState, Outcome, RoutineFuture, Rx, Task,
};
use wavetank_version::Version;

use super::item_range::{ItemRange, ServiceRanges};
use crate::services::address_controllers::{self, IP_ADDRESS_LISTER, SERVICE_CIDR_LISTER};

/// `WaitForCacheSync` looks so often.
const SYNC_POLL: Duration = Duration::from_millis(100);

const RUN: Name = Name::new("run-allocators");
const WORK: Name = Name::new("sync-allocators");
const DELETE: Name = Name::new("delete-allocators");

/// The allocators of one family.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum MetaAllocator {
    IPv4,
    IPv6,
}

/// One of them, with the ServiceCIDRs that name its range (`item`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Allocator {
    pub range: ItemRange,
    pub ready: bool,
    service_cidrs: BTreeSet<Arc<str>>,
}

impl MetaAllocator {
    /// Those of a server with these ranges, the one of the default family first.
    pub fn all(ranges: &ServiceRanges) -> Vec<MetaAllocator> {
        let families = ranges.families().into_iter();
        families.map(MetaAllocator::of).collect()
    }

    pub fn of(family: &str) -> MetaAllocator {
        match family {
            "IPv6" => MetaAllocator::IPv6,
            _ => MetaAllocator::IPv4,
        }
    }

    /// Guards them (`MetaAllocator.mu`).
    pub(super) async fn lock(self, rx: Rx) -> LockGuard {
        rx.lock(match self {
            MetaAllocator::IPv4 => Lock::new("service-allocators-ipv4"),
            MetaAllocator::IPv6 => Lock::new("service-allocators-ipv6"),
        })
        .await
    }

    fn allocators(self) -> Cell<Vec<Allocator>> {
        Cell::numbered("service-allocators", self as u32)
    }

    fn queue(self) -> WorkQueue {
        let scope = address_controllers::SCOPE;
        match self {
            MetaAllocator::IPv4 => WorkQueue::new(scope, "allocators-ipv4"),
            MetaAllocator::IPv6 => WorkQueue::new(scope, "allocators-ipv6"),
        }
    }

    /// What it hears of ServiceCIDRs (`newMetaAllocator`): a deletion is not queued, since the object is gone by then.
    pub fn handler(self) -> HandlerSpec {
        let on = move |rx: Rx, _: u32, notice: &Notice| match notice {
            Notice::Added { .. } | Notice::Updated { .. } => self.queue().add(rx, notice.key()),
            Notice::Deleted(gone) => {
                if let Some(last) = &gone.last {
                    let specs = cidrs(last.object.json()).map(Arc::from).collect();
                    rx.spawn(Task::new(DELETE, Deletion(self, gone.key.clone(), specs)));
                }
            }
        };
        HandlerSpec {
            on: NotState(Arc::new(on)),
            ..HandlerSpec::new(match self {
                MetaAllocator::IPv4 => "allocators-ipv4",
                MetaAllocator::IPv6 => "allocators-ipv6",
            })
        }
    }

    /// Begins with the process, as upstream's `NewMetaAllocator`.
    pub fn boot(self, cx: &mut Cx<'_>) {
        self.queue().make(cx);
        cx.spawn(Task::new(RUN, self));
    }

    /// The future of a task, if it is one of these.
    pub fn routine(task: &Task) -> Option<RoutineFuture> {
        let (rx, kind) = (Rx::new(), task.kind());
        if kind == RUN {
            return Some(Box::pin(task.args::<MetaAllocator>().run(rx)));
        }
        if kind == WORK {
            return Some(Box::pin(task.args::<MetaAllocator>().process_next_item(rx)));
        }
        if kind == DELETE {
            let Deletion(allocators, name, specs) = task.args::<Deletion>().clone();
            return Some(Box::pin(allocators.delete_service_cidr(rx, name, specs)));
        }
        None
    }

    /// `run`: work begins once the caches are filled.
    async fn run(self, rx: Rx) -> Outcome {
        let synced = |lister: Lister| lister.has_synced(rx);
        if synced(SERVICE_CIDR_LISTER) && synced(IP_ADDRESS_LISTER) {
            return Outcome::Become(Task::new(WORK, self));
        }
        rx.sleep(SYNC_POLL).await;
        Outcome::Become(Task::new(RUN, self))
    }

    /// `processNextItem`. The listers never fail, so no item comes back.
    async fn process_next_item(self, rx: Rx) -> Outcome {
        let queue = self.queue();
        let item = queue.get(rx).await;
        self.sync_allocators(rx).await;
        queue.forget(rx, &item);
        queue.done(rx, &item);
        Outcome::Become(Task::new(WORK, self))
    }

    /// `syncAllocators`: of all ServiceCIDRs, in the order of their names; upstream's lister has none.
    async fn sync_allocators(self, rx: Rx) {
        let _lock = self.lock(rx).await;
        let all = SERVICE_CIDR_LISTER.list(rx);
        rx.update(&self.allocators(), |allocators| {
            for service_cidr in &all {
                let ready =
                    is_ready(service_cidr.object.json()) && !service_cidr.object.is_being_deleted();
                let name: Arc<str> = service_cidr.object.name().into();
                for spec in cidrs(service_cidr.object.json()) {
                    self.sync_allocator(allocators, &name, spec, ready);
                }
            }
        });
    }

    fn sync_allocator(
        self,
        allocators: &mut Vec<Allocator>,
        service_cidr: &Arc<str>,
        spec: &str,
        ready: bool,
    ) {
        let Some(range) = self.own(spec) else {
            return;
        };
        let Some(known) = allocators.iter_mut().find(|known| known.range == range) else {
            let service_cidrs = BTreeSet::from([service_cidr.clone()]);
            allocators.push(Allocator {
                range,
                ready,
                service_cidrs,
            });
            return;
        };
        known.service_cidrs.insert(service_cidr.clone());
        if ready {
            known.ready = true;
        } else if known.service_cidrs.len() == 1 {
            known.ready = false;
        }
    }

    /// `deleteServiceCIDR`
    async fn delete_service_cidr(
        self,
        rx: Rx,
        service_cidr: Arc<str>,
        specs: Vec<Arc<str>>,
    ) -> Outcome {
        let _lock = self.lock(rx).await;
        rx.update(&self.allocators(), |allocators| {
            for range in specs.iter().filter_map(|spec| self.own(spec)) {
                if let Some(known) = allocators.iter_mut().find(|known| known.range == range) {
                    known.service_cidrs.remove(&service_cidr);
                }
            }
            allocators.retain(|known| !known.service_cidrs.is_empty());
        });
        Outcome::Done
    }

    /// A range, if it is of this family.
    fn own(self, spec: &str) -> Option<ItemRange> {
        let range = ItemRange::of_addresses(spec, Version::LATEST)?;
        Some(range).filter(|range| range.is_six() == (self == MetaAllocator::IPv6))
    }

    /// The allocators as they are.
    pub(super) fn look(self, rx: Rx) -> Vec<Allocator> {
        rx.look(&self.allocators(), Vec::clone)
    }
}

/// A ServiceCIDR that is gone, and its ranges.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Deletion(MetaAllocator, Arc<str>, Vec<Arc<str>>);

fn cidrs(service_cidr: &Json) -> impl Iterator<Item = &str> {
    let specs = json::list(service_cidr, &["spec", "cidrs"]).iter();
    specs.filter_map(Json::as_str)
}

/// `isReady`: without a condition it is.
fn is_ready(service_cidr: &Json) -> bool {
    let conditions = json::list(service_cidr, &["status", "conditions"]);
    let ready = conditions
        .iter()
        .find(|c| json::text(c, &["type"]) == "Ready");
    ready.is_none_or(|ready| json::text(ready, &["status"]) == "True")
}
