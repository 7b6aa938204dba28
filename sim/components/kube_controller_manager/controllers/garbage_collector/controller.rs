//! The collector in a controller manager: its informers, its queues, and which worker does what
//! (`pkg/controller/garbagecollector/garbagecollector.go`, `NewGarbageCollector`, `Run`; `newGarbageCollectorController` in
//! `cmd/kube-controller-manager/app/core.go`). What a worker does with a node is in `attempt`, how informers fill the graph
//! in `monitors`.

use std::collections::BTreeMap;
use std::time::Duration;

use wavetank_api::Resource;
use wavetank_client::RestClient;
use wavetank_client::informer::Lister;
use wavetank_client::leader_election::Leading;
use wavetank_client::wait::{Stop, Turn};
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_engine::{Cell, Message, Name, Rx};
use wavetank_version::Set;

use super::CONTROLLER;
use super::defects::CollectorDefect;
use super::graph::{Graph, Node, NodeId};
use super::graph_builder::{Enqueued, Event, GraphBuilder};
use super::notes::{Forgets, Processed};
use super::uid_cache::ReferenceCache;
use crate::controller::{Controller, ControllerContext, Mapper, Work};
use crate::controller_utils::discovery::reset_again_and_again;
use wavetank_components::elected::{DRAIN, process_next_work_item};

const SCOPE: Name = Name::new(CONTROLLER);
const GRAPH_CHANGES: WorkQueue = WorkQueue::new(SCOPE, "garbage_collector_graph_changes");
pub(super) const ATTEMPT_TO_DELETE: WorkQueue =
    WorkQueue::new(SCOPE, "garbage_collector_attempt_to_delete");
pub(super) const ATTEMPT_TO_ORPHAN: WorkQueue =
    WorkQueue::new(SCOPE, "garbage_collector_attempt_to_orphan");

/// What is known: the graph, and who is not there.
static KNOWN: Cell<Known> = Cell::new("dependency-graph");
/// Events that wait for the graph builder, by their names in its queue.
static EVENTS: Cell<BTreeMap<Item, Event>> = Cell::new("graph-changes");
/// Workers begin.
static PROCEED: Stop = Stop::new("collect-garbage");

/// How long workers wait for monitors before they begin anyway, and how often it is looked whether they have to.
const INITIAL_SYNC_TIMEOUT: Duration = Duration::from_secs(30);
pub(super) const SYNC_POLL: Duration = Duration::from_millis(100);

/// The graph, and the owners that are known not to exist.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Known {
    graph: Graph,
    absent_owners: ReferenceCache,
}

/// The collector.
#[derive(Debug)]
pub(super) struct GarbageCollector {
    pub rest: RestClient,
    pub defects: Set<CollectorDefect>,
    /// The informers that may become monitors.
    pub informers: Vec<(&'static Resource, Lister)>,
    syncs: u32,
}

/// What the worker with this number does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    /// `Run`: waits for monitors, then all others begin.
    Run,
    /// `Sync`
    Sync,
    ResetMapper,
    BuildGraph,
    Delete,
    Orphan,
}

impl GarbageCollector {
    /// Upstream's `NewGarbageCollector`, with an informer of each resource that somebody uses.
    pub fn new(
        cx: &mut ControllerContext,
        resources: impl Iterator<Item = &'static Resource>,
        syncs: u32,
    ) -> GarbageCollector {
        let defects: Set<CollectorDefect> = cx.defects.of();
        let informers = resources.enumerate().map(|(number, resource)| {
            let mut informer = cx.informers.informer_for(resource);
            informer.add_event_handler(super::monitors::handler(number as u32, resource, defects));
            (resource, informer.lister())
        });
        let informers = informers.collect();
        GarbageCollector {
            informers,
            rest: cx.rest.clone(),
            defects,
            syncs,
        }
    }

    fn role(&self, number: u32) -> Role {
        match number {
            0 => Role::Run,
            1 => Role::Sync,
            2 => Role::ResetMapper,
            3 => Role::BuildGraph,
            other if (other - 4).is_multiple_of(2) => Role::Delete,
            _ => Role::Orphan,
        }
    }

    /// A look at a node.
    pub(super) fn node<R: Message + Clone + Eq + std::hash::Hash>(
        &self,
        rx: Rx,
        id: NodeId,
        look: impl FnOnce(&Node) -> R,
    ) -> R {
        rx.look(&KNOWN, |known| look(known.graph.node(id)))
    }

    /// A look at the graph.
    pub(super) fn graph<R: Message + Clone + Eq + std::hash::Hash>(
        &self,
        rx: Rx,
        look: impl FnOnce(&Graph) -> R,
    ) -> R {
        rx.look(&KNOWN, |known| look(&known.graph))
    }

    /// Works on the owners that are known not to exist.
    pub(super) fn absent_owners<R: Message + Clone + Eq + std::hash::Hash>(
        &self,
        rx: Rx,
        work: impl FnOnce(&mut ReferenceCache) -> R,
    ) -> R {
        rx.update(&KNOWN, |known| work(&mut known.absent_owners))
    }

    /// `Run`: all monitors have synced, or it has taken too long.
    async fn run(&self, rx: Rx) -> Turn {
        let synced = async {
            while !self.is_synced(rx) {
                rx.sleep(SYNC_POLL).await;
            }
        };
        let in_time = rx.timeout(INITIAL_SYNC_TIMEOUT, synced);
        rx.select(DRAIN.closed(rx), in_time).await;
        PROCEED.close(rx);
        Turn::Over
    }

    /// `processGraphChanges`
    fn process_graph_changes(&self, rx: Rx, item: &Item) {
        let event = rx.update(&EVENTS, |events| events.remove(item));
        let event = event.expect("what is queued is kept");
        let (enqueued, forgotten) = rx.update(&KNOWN, |known| {
            let mut builder = GraphBuilder {
                graph: &mut known.graph,
                absent_owners: &mut known.absent_owners,
                defects: self.defects,
                enqueued: Vec::new(),
                forgotten: None,
            };
            builder.process_graph_changes(&event);
            (builder.enqueued, builder.forgotten)
        });
        if !event.is_virtual {
            let is_there = event.event_type != super::graph_builder::EventType::Delete;
            rx.note(Processed {
                uid: event.object.identity.uid.clone(),
                owners: is_there.then(|| event.object.owners.clone()),
            });
        }
        if let Some(object) = &forgotten {
            rx.note(Forgets(object.into()));
        }
        for one in enqueued {
            match one {
                Enqueued::Delete(id) => ATTEMPT_TO_DELETE.add(rx, id.item()),
                Enqueued::DeleteLater(id) => ATTEMPT_TO_DELETE.add_rate_limited(rx, id.item()),
                Enqueued::Orphan(id) => ATTEMPT_TO_ORPHAN.add(rx, id.item()),
            }
        }
        let mut queued = ATTEMPT_TO_DELETE.known(rx);
        queued.extend(ATTEMPT_TO_ORPHAN.known(rx));
        rx.update(&KNOWN, |known| {
            known.graph.sweep(|id| queued.contains(&id.item()));
        });
    }
}

/// Upstream's `graphChanges.Add`
pub(super) fn enqueue_change(rx: Rx, event: Event) {
    let item = rx.update(&EVENTS, |events| {
        let mut number = 0_u32;
        let free = loop {
            let name: Item = number.to_string().into();
            if !events.contains_key(&name) {
                break name;
            }
            number += 1;
        };
        events.insert(free.clone(), event);
        free
    });
    GRAPH_CHANGES.add(rx, item);
}

impl Controller for GarbageCollector {
    fn name(&self) -> &'static str {
        CONTROLLER
    }

    fn queues(&self) -> Vec<WorkQueue> {
        vec![GRAPH_CHANGES, ATTEMPT_TO_DELETE, ATTEMPT_TO_ORPHAN]
    }

    fn mapper(&self) -> Mapper {
        Mapper::Reset
    }

    fn workers(&self) -> u32 {
        4 + 2 * self.syncs
    }

    fn work_of<'a>(&'a self, rx: Rx, leading: &'a Leading, number: u32) -> Work<'a> {
        Box::pin(async move {
            match self.role(number) {
                Role::Run => self.run(rx).await,
                Role::Sync => self.sync(rx, leading).await,
                Role::ResetMapper => reset_again_and_again(rx).await,
                Role::BuildGraph => {
                    let process = |item: Item| async move {
                        self.process_graph_changes(rx, &item);
                        Ok::<(), ()>(())
                    };
                    process_next_work_item(rx, leading, GRAPH_CHANGES, process).await
                }
                Role::Delete => {
                    PROCEED.closed(rx).await;
                    let attempt = |item| self.attempt_to_delete_worker(rx, item);
                    process_next_work_item(rx, leading, ATTEMPT_TO_DELETE, attempt).await
                }
                Role::Orphan => {
                    PROCEED.closed(rx).await;
                    let attempt = |item| self.attempt_to_orphan_worker(rx, item);
                    process_next_work_item(rx, leading, ATTEMPT_TO_ORPHAN, attempt).await
                }
            }
        })
    }

    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a> {
        self.work_of(rx, leading, 0)
    }
}
