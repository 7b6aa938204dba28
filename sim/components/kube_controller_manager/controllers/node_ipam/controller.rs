//! The algorithm (`pkg/controller/nodeipam/ipam/range_allocator.go`): a node that has no range of addresses is given the next one
//! of each family, and a node that is gone gives its own back. Which are taken is known to this process alone: it lists all nodes
//! before informers start (`listNodes` of `cidr_allocator.go`), and what it learns later comes from its informer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value as Json, json};
use wavetank_api::kinds::NODES;
use wavetank_api::{Method, Object, Request, json};
use wavetank_client::informer::{HandlerSpec, Lister, Notice};
use wavetank_client::leader_election::Leading;
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_client::{Failure, RestClient};
use wavetank_components::elected::process_next_work_item;
use wavetank_engine::{Cell, Name, NotState, Rx};
use wavetank_version::Set;

use super::cidr_set::{Cidr, CidrSet};
use super::defects::NodeIpamDefect;
use super::notes::{Assigns, Books, Did};
use crate::controller::{Constructed, Controller, ControllerContext, Work};

/// Its name in `--controllers`.
pub(super) const CONTROLLER: &str = "node-ipam-controller";
/// What its service account is called.
pub(super) const ACCOUNT: &str = "node-controller";
/// `cidrUpdateWorkers`
const WORKERS: u32 = 30;
/// `cidrUpdateRetries`
const UPDATE_RETRIES: usize = 3;
/// `nodePollInterval`
const POLL_INTERVAL: Duration = Duration::from_secs(10);
/// `apiserverStartupGracePeriod` is 60 of them.
const POLLS: usize = 60;
/// With the fix: longer than a request may be under way.
const REQUESTS_END: Duration = Duration::from_secs(60);
const STRATEGIC_MERGE_PATCH: &str = "application/strategic-merge-patch+json";

const QUEUE: WorkQueue = WorkQueue::new(Name::new(CONTROLLER), "cidrallocator_node");

/// `cidrSets`
static CIDR_SETS: Cell<Vec<CidrSet>> = Cell::new("cidr-sets");
/// With a fix: the ranges that the node of a UID is to have, and that it is not seen with yet. With a defect: those with which its
/// assignment is tried again.
static RESERVED: Cell<BTreeMap<String, Arc<[Cidr]>>> = Cell::new("reserved-ranges");

/// Why a node is tried again later.
enum Refused {
    /// `ErrCIDRRangeNoCIDRsRemaining`
    NoneLeft,
    /// A range of a family, or of a cluster, that there is not.
    Foreign,
    Patch,
}

/// `rangeAllocator`
#[derive(Clone, Debug)]
struct RangeAllocator {
    rest: RestClient,
    defects: Set<NodeIpamDefect>,
    nodes: Lister,
    /// None of them is taken.
    empty: Arc<[CidrSet]>,
}

/// `node.Spec.PodCIDRs`; nothing of a text that is no range.
pub(super) fn pod_cidrs(node: &Json) -> Vec<Option<Cidr>> {
    let all = json::list(node, &["spec", "podCIDRs"]).iter();
    all.map(|cidr| Cidr::parse(cidr.as_str().unwrap_or_default()))
        .collect()
}

/// Those that are ranges.
fn ranges(node: &Json) -> Arc<[Cidr]> {
    pod_cidrs(node).into_iter().flatten().collect()
}

/// Does each of these have its place in a set, and is it done there?
fn each(
    sets: &mut [CidrSet],
    cidrs: &[Option<Cidr>],
    book: fn(&mut CidrSet, Cidr) -> bool,
) -> bool {
    cidrs
        .iter()
        .enumerate()
        .all(|(at, cidr)| match (sets.get_mut(at), cidr) {
            (Some(set), Some(cidr)) => book(set, *cidr),
            _ => false,
        })
}

/// It says what it did. Ranges run out if fewer were found than there are families.
fn tell(rx: Rx, node: &Item, did: Did, cidrs: Arc<[Cidr]>) {
    let sets = rx.read(&CIDR_SETS);
    let used: Arc<[Cidr]> = sets.iter().flat_map(CidrSet::used).collect();
    rx.note(Books {
        node: node.clone(),
        did,
        is_full: sets.iter().any(CidrSet::is_full),
        ran_out: did == Did::Allocates && cidrs.len() < sets.len(),
        cidrs,
        used,
    });
}

/// These are free again.
fn release(rx: Rx, node: &Item, cidrs: &[Option<Cidr>]) {
    rx.update(&CIDR_SETS, |sets| each(sets, cidrs, CidrSet::release));
    tell(
        rx,
        node,
        Did::Releases,
        cidrs.iter().flatten().copied().collect(),
    );
}

fn all_of(cidrs: &[Cidr]) -> Vec<Option<Cidr>> {
    cidrs.iter().copied().map(Some).collect()
}

impl RangeAllocator {
    /// Upstream's `NewCIDRRangeAllocator`; what it is told of nodes is occupied in `construct`.
    fn new(cx: &mut ControllerContext, empty: Arc<[CidrSet]>) -> RangeAllocator {
        let mut nodes = cx.informers.informer_for(&NODES);
        let allocator = RangeAllocator {
            rest: cx.rest.clone(),
            defects: cx.defects.of(),
            nodes: nodes.lister(),
            empty,
        };
        let own = allocator.clone();
        nodes.add_event_handler(HandlerSpec {
            on: NotState(Arc::new(move |rx, _, notice| own.node_changed(rx, notice))),
            ..HandlerSpec::new("cidrs")
        });
        allocator
    }

    fn has(&self, defect: NodeIpamDefect) -> bool {
        self.defects.has(defect)
    }

    /// Upstream's `AddFunc`, `UpdateFunc`, `DeleteFunc`
    fn node_changed(&self, rx: Rx, notice: &Notice) {
        match notice {
            Notice::Added { .. } => QUEUE.add(rx, notice.key()),
            Notice::Updated { old, new } => {
                // What went unseen, and was made anew, is an update.
                let is_another = old.object.uid() != new.object.uid();
                if is_another && self.has(NodeIpamDefect::FixReleaseUnseen) {
                    self.release_cidr(rx, &notice.key(), &old.object);
                }
                QUEUE.add(rx, notice.key());
            }
            Notice::Deleted(gone) => {
                let is_ignored = self.has(NodeIpamDefect::UnseenDeletionsLeak);
                if let Some(last) = gone.last.as_ref().filter(|_| !(gone.unseen && is_ignored)) {
                    self.release_cidr(rx, &notice.key(), &last.object);
                }
            }
        }
    }

    /// `ReleaseCIDR`
    fn release_cidr(&self, rx: Rx, key: &Item, node: &Object) {
        let own = pod_cidrs(node.json());
        let reserved = rx.update(&RESERVED, |all| all.remove(node.uid()));
        let own = match reserved {
            Some(reserved) if own.is_empty() && self.remembers() => all_of(&reserved),
            _ => own,
        };
        if !own.is_empty() {
            release(rx, key, &own);
        }
    }

    /// With the fix: does a range stay that of its node when its assignment failed? Mistakes in what is done then come before.
    fn keeps_reserved(&self) -> bool {
        self.has(NodeIpamDefect::FixKeepReserved)
            && !self.has(NodeIpamDefect::FailedLeaks)
            && !self.has(NodeIpamDefect::ReleasedIsTriedAgain)
    }

    /// With one of the fixes: are ranges those of a node before it is seen with them?
    fn remembers(&self) -> bool {
        self.keeps_reserved() || self.has(NodeIpamDefect::FixReleaseUnseen)
    }

    /// `listNodes`: all nodes, as often as it takes in ten minutes.
    async fn list_nodes(&self, rx: Rx) -> Option<Vec<Object>> {
        for polls in 0..POLLS {
            if polls > 0 {
                rx.sleep(POLL_INTERVAL).await;
            }
            let get = Request::new(Method::Get, NODES.path("", ""));
            if let Ok(list) = self.rest.list(rx, get).await {
                return Some(list.items.into_iter().map(|node| node.object).collect());
            }
        }
        None
    }

    /// What the constructor does (upstream's `New`): knows which ranges are taken, or cannot.
    async fn construct(&self, rx: Rx) -> bool {
        rx.update(&CIDR_SETS, |sets| *sets = self.empty.to_vec());
        if self.has(NodeIpamDefect::FixWaitOutRequests) {
            rx.sleep(REQUESTS_END).await;
        }
        let listed = match self.has(NodeIpamDefect::NotListedFirst) {
            true => Some(Vec::new()),
            false => self.list_nodes(rx).await,
        };
        let Some(nodes) = listed else {
            return false;
        };
        let mut are_inside = true;
        for node in nodes {
            are_inside &= self.occupy_cidrs(rx, &node.name().into(), &node).is_ok();
        }
        tell(rx, &CONTROLLER.into(), Did::Begins, [].into());
        are_inside
    }

    /// `occupyCIDRs`
    fn occupy_cidrs(&self, rx: Rx, key: &Item, node: &Object) -> Result<(), Refused> {
        let cidrs = pod_cidrs(node.json());
        if cidrs.is_empty() {
            return Ok(());
        }
        // It is seen with its range: another that was to be its own is free again.
        let reserved = rx.update(&RESERVED, |all| all.remove(node.uid()));
        let other = reserved.filter(|own| **own != *ranges(node.json()) && self.remembers());
        if let Some(other) = other {
            release(rx, key, &all_of(&other));
        }
        let are_inside = rx.update(&CIDR_SETS, |sets| each(sets, &cidrs, CidrSet::occupy));
        tell(rx, key, Did::Occupies, ranges(node.json()));
        match are_inside {
            true => Ok(()),
            false => Err(Refused::Foreign),
        }
    }

    /// `syncNode`
    async fn sync_node(&self, rx: Rx, key: Item) -> Result<(), Refused> {
        let Some(node) = self.nodes.get(rx, &key) else {
            return Ok(());
        };
        if node.object.is_being_deleted() {
            if self.has(NodeIpamDefect::ReleasedWhileDeleted) {
                self.release_cidr(rx, &key, &node.object);
            }
            return Ok(());
        }
        match self.allocate_or_occupy_cidr(rx, &key, &node.object).await {
            Err(_) if self.has(NodeIpamDefect::NotTriedAgain) => Ok(()),
            done => done,
        }
    }

    /// `AllocateOrOccupyCIDR`
    async fn allocate_or_occupy_cidr(
        &self,
        rx: Rx,
        key: &Item,
        node: &Object,
    ) -> Result<(), Refused> {
        if !pod_cidrs(node.json()).is_empty() {
            return self.occupy_cidrs(rx, key, node);
        }
        let is_reserved = self.keeps_reserved() || self.has(NodeIpamDefect::ReleasedIsTriedAgain);
        let reserved = rx
            .read(&RESERVED)
            .get(node.uid())
            .filter(|_| is_reserved)
            .cloned();
        let cidrs = match reserved {
            Some(reserved) => reserved,
            None => self.allocate(rx, key)?,
        };
        if self.keeps_reserved() {
            rx.update(&RESERVED, |all| {
                all.insert(node.uid().to_owned(), cidrs.clone())
            });
        }
        self.update_cidrs_allocation(rx, key, node, cidrs).await
    }

    /// The next range of each family. Where one has none left, upstream keeps what it took of those before it.
    fn allocate(&self, rx: Rx, key: &Item) -> Result<Arc<[Cidr]>, Refused> {
        let taken: Vec<Option<Cidr>> = rx.update(&CIDR_SETS, |sets| {
            let mut taken = Vec::new();
            for set in sets.iter_mut() {
                let next = set.allocate_next();
                taken.push(next);
                if next.is_none() {
                    break;
                }
            }
            taken
        });
        let cidrs: Arc<[Cidr]> = taken.iter().flatten().copied().collect();
        tell(rx, key, Did::Allocates, cidrs.clone());
        if cidrs.len() == taken.len() {
            return Ok(cidrs);
        }
        if !cidrs.is_empty() && self.has(NodeIpamDefect::FixReleaseFirstFamily) {
            release(rx, key, &all_of(&cidrs));
        }
        Err(Refused::NoneLeft)
    }

    /// `updateCIDRsAllocation`. The look at the cache comes at once after the one of `syncNode`, and shows the same node.
    async fn update_cidrs_allocation(
        &self,
        rx: Rx,
        key: &Item,
        node: &Object,
        cidrs: Arc<[Cidr]>,
    ) -> Result<(), Refused> {
        for _ in 0..UPDATE_RETRIES {
            if self.patch_node_cidrs(rx, key, node, &cidrs).await.is_ok() {
                rx.update(&RESERVED, |all| {
                    match self.has(NodeIpamDefect::FixReleaseUnseen) {
                        true => all.insert(node.uid().to_owned(), cidrs),
                        false => all.remove(node.uid()),
                    }
                });
                return Ok(());
            }
        }
        self.assignment_failed(rx, key, node, &cidrs);
        Err(Refused::Patch)
    }

    /// What is done about a range that could not be assigned. Upstream means to keep it if the request may have been done, and asks
    /// for that with `IsServerTimeout`, of an error that `PatchNodeCIDRs` has wrapped as text: it is never one.
    fn assignment_failed(&self, rx: Rx, key: &Item, node: &Object, cidrs: &Arc<[Cidr]>) {
        if self.keeps_reserved() || self.has(NodeIpamDefect::FailedLeaks) {
            return;
        }
        if self.has(NodeIpamDefect::ReleasedIsTriedAgain) {
            rx.update(&RESERVED, |all| {
                all.insert(node.uid().to_owned(), cidrs.clone())
            });
        }
        release(rx, key, &all_of(cidrs));
    }

    /// `PatchNodeCIDRs`
    async fn patch_node_cidrs(
        &self,
        rx: Rx,
        key: &Item,
        node: &Object,
        cidrs: &Arc<[Cidr]>,
    ) -> Result<(), Failure> {
        rx.note(Assigns {
            node: key.clone(),
            cidrs: cidrs.clone(),
        });
        let texts: Vec<String> = cidrs.iter().map(Cidr::to_string).collect();
        let mut patch = json!({"spec": {"podCIDR": texts[0], "podCIDRs": texts}});
        if self.keeps_reserved() {
            patch["metadata"]["uid"] = node.uid().into();
        }
        let mut patch = Request::new(Method::Patch, NODES.path("", key)).with(patch);
        patch.content_type = Some(STRATEGIC_MERGE_PATCH.into());
        self.rest.request(rx, patch).await.map(drop)
    }
}

impl Controller for RangeAllocator {
    fn name(&self) -> &'static str {
        CONTROLLER
    }

    fn queues(&self) -> Vec<WorkQueue> {
        vec![QUEUE]
    }

    fn workers(&self) -> u32 {
        WORKERS
    }

    fn construct(&self, rx: Rx) -> Option<Constructed<'_>> {
        Some(Box::pin(self.construct(rx)))
    }

    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a> {
        Box::pin(async move {
            self.nodes.wait_for_cache_sync(rx).await;
            let sync = |key| self.sync_node(rx, key);
            process_next_work_item(rx, leading, QUEUE, sync).await
        })
    }
}

/// For the descriptor.
pub(super) fn new(cx: &mut ControllerContext, empty: Vec<CidrSet>) -> Arc<dyn Controller> {
    Arc::new(RangeAllocator::new(cx, empty.into()))
}
