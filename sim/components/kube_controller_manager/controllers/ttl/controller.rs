//! The algorithm (`pkg/controller/ttl/ttl_controller.go`): handlers count nodes, and a node that is made or changed gets the TTL of
//! clusters of that size. Others get it when they change next, as kubelets write their status every few minutes.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use wavetank_api::kinds::NODES;
use wavetank_api::{Method, Request, json};
use wavetank_client::informer::{HandlerSpec, Lister, Notice};
use wavetank_client::leader_election::Leading;
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_client::{Failure, RestClient};
use wavetank_components::elected::process_next_work_item;
use wavetank_engine::{Cell, Name, NotState, Rx};
use wavetank_version::Set;

use super::defects::TtlDefect;
use super::notes::{CountsNodes, SetsTtl};
use crate::controller::{Controller, ControllerContext, Work};

/// Its name in `--controllers`.
pub(super) const CONTROLLER: &str = "ttl-controller";
/// `ObjectTTLAnnotationKey`
pub(super) const OBJECT_TTL_ANNOTATION_KEY: &str = "node.alpha.kubernetes.io/ttl";
/// The second argument of `Run`.
const WORKERS: u32 = 5;
const STRATEGIC_MERGE_PATCH: &str = "application/strategic-merge-patch+json";

const QUEUE: WorkQueue = WorkQueue::new(Name::new(CONTROLLER), "ttlcontroller");

/// `ttlBoundary`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct TtlBoundary {
    pub size_min: u32,
    pub size_max: u32,
    pub ttl_seconds: i64,
}

const fn boundary(size_min: u32, size_max: u32, ttl_seconds: i64) -> TtlBoundary {
    TtlBoundary {
        size_min,
        size_max,
        ttl_seconds,
    }
}

/// `ttlBoundaries`
const TTL_BOUNDARIES: [TtlBoundary; 5] = [
    boundary(0, 100, 0),
    boundary(90, 500, 15),
    boundary(450, 1000, 30),
    boundary(900, 2000, 60),
    boundary(1800, i32::MAX as u32, 300),
];

/// The same of clusters that are smaller by this factor.
pub(super) fn ttl_boundaries(divisor: u32) -> [TtlBoundary; 5] {
    TTL_BOUNDARIES.map(|own| TtlBoundary {
        size_min: own.size_min / divisor,
        size_max: own.size_max / divisor,
        ..own
    })
}

/// `nodeCount`, `desiredTTLSeconds`, `boundaryStep`
static STATE: Cell<State> = Cell::new("ttl-controller");

/// What the controller has counted.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct State {
    node_count: u32,
    desired_ttl_seconds: i64,
    boundary_step: usize,
}

/// What handlers count by.
#[derive(Clone, Copy, Debug)]
struct Counter {
    boundaries: [TtlBoundary; 5],
    divisor: u32,
    defects: Set<TtlDefect>,
}

impl State {
    fn step(&mut self, step: usize, boundaries: &[TtlBoundary; 5]) {
        self.boundary_step = step;
        self.desired_ttl_seconds = boundaries[step].ttl_seconds;
    }
}

impl Counter {
    /// Upstream's `addNode`, `updateNode`, `deleteNode`
    fn node_changed(self, rx: Rx, notice: &Notice) {
        match notice {
            Notice::Added { .. } => self.count(rx, State::add_node, notice),
            Notice::Updated { .. } if self.defects.has(TtlDefect::OnlyNewNodes) => return,
            Notice::Updated { .. } => {}
            Notice::Deleted(gone) => {
                let is_ignored = self.defects.has(TtlDefect::UnseenDeletionsAreNotCounted);
                if !(gone.unseen && is_ignored) {
                    self.count(rx, State::delete_node, notice);
                }
                // It is not there any more.
                return;
            }
        }
        QUEUE.add(rx, notice.key());
    }

    fn count(self, rx: Rx, change: fn(&mut State, Counter), notice: &Notice) {
        let state = rx.update(&STATE, |state| {
            change(state, self);
            state.clone()
        });
        rx.note(CountsNodes {
            node: notice.key(),
            count: state.node_count,
            ttl: state.desired_ttl_seconds,
            divisor: self.divisor,
        });
    }
}

impl State {
    fn add_node(&mut self, by: Counter) {
        self.node_count += 1;
        if self.node_count > by.boundaries[self.boundary_step].size_max {
            self.step(self.boundary_step + 1, &by.boundaries);
        }
    }

    fn delete_node(&mut self, by: Counter) {
        self.node_count -= 1;
        let is_small = match by.defects.has(TtlDefect::NoHysteresis) {
            true => {
                let below = self.boundary_step.checked_sub(1);
                below.is_some_and(|below| self.node_count <= by.boundaries[below].size_max)
            }
            false => self.node_count < by.boundaries[self.boundary_step].size_min,
        };
        if is_small {
            self.step(self.boundary_step - 1, &by.boundaries);
        }
    }
}

/// The text of the annotation, if there is one.
pub(super) fn annotation(node: &Json) -> Option<&str> {
    let path = ["metadata", "annotations", OBJECT_TTL_ANNOTATION_KEY];
    json::at(node, &path)?.as_str()
}

/// `getIntFromAnnotation`
pub(super) fn get_int_from_annotation(node: &Json) -> Option<i64> {
    annotation(node)?.parse().ok()
}

/// The controller.
#[derive(Debug)]
struct TtlController {
    rest: RestClient,
    defects: Set<TtlDefect>,
    nodes: Lister,
}

impl TtlController {
    /// Upstream's `NewTTLController`
    fn new(cx: &mut ControllerContext, divisor: u32) -> TtlController {
        let defects: Set<TtlDefect> = cx.defects.of();
        let counter = Counter {
            boundaries: ttl_boundaries(divisor),
            divisor,
            defects,
        };
        let mut nodes = cx.informers.informer_for(&NODES);
        nodes.add_event_handler(HandlerSpec {
            on: NotState(Arc::new(move |rx, _, notice| {
                counter.node_changed(rx, notice)
            })),
            ..HandlerSpec::new("ttl")
        });
        TtlController {
            rest: cx.rest.clone(),
            defects,
            nodes: nodes.lister(),
        }
    }

    /// `updateNodeIfNeeded`
    async fn update_node_if_needed(&self, rx: Rx, key: Item) -> Result<(), Failure> {
        let Some(node) = self.nodes.get(rx, &key) else {
            return Ok(());
        };
        let desired = rx.read(&STATE).desired_ttl_seconds;
        let node = node.object.json();
        let is_garbled = annotation(node).is_some() && get_int_from_annotation(node).is_none();
        if get_int_from_annotation(node) == Some(desired)
            || is_garbled && self.defects.has(TtlDefect::GarbledStays)
        {
            return Ok(());
        }
        self.patch_node_with_annotation(rx, &key, desired).await
    }

    /// `patchNodeWithAnnotation`
    async fn patch_node_with_annotation(
        &self,
        rx: Rx,
        node: &Item,
        value: i64,
    ) -> Result<(), Failure> {
        rx.note(SetsTtl {
            node: node.clone(),
            ttl: value,
        });
        let annotations = json!({OBJECT_TTL_ANNOTATION_KEY: value.to_string()});
        let patch = json!({"metadata": {"annotations": annotations}});
        let mut patch = Request::new(Method::Patch, NODES.path("", node)).with(patch);
        patch.content_type = Some(STRATEGIC_MERGE_PATCH.into());
        self.rest.request(rx, patch).await.map(drop)
    }
}

impl Controller for TtlController {
    fn name(&self) -> &'static str {
        CONTROLLER
    }

    fn queues(&self) -> Vec<WorkQueue> {
        vec![QUEUE]
    }

    fn workers(&self) -> u32 {
        WORKERS
    }

    /// Upstream waits for the cache, and not until its handler has counted all that is there.
    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a> {
        Box::pin(async move {
            self.nodes.wait_for_cache_sync(rx).await;
            let sync = |key| self.update_node_if_needed(rx, key);
            process_next_work_item(rx, leading, QUEUE, sync).await
        })
    }
}

/// For the descriptor.
pub(super) fn new(cx: &mut ControllerContext, divisor: u32) -> Arc<dyn Controller> {
    Arc::new(TtlController::new(cx, divisor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_has_to_shrink_by_more_than_a_node_before_its_ttl_does() {
        let counter = Counter {
            boundaries: ttl_boundaries(25),
            divisor: 25,
            defects: Set::NONE,
        };
        let mut state = State::default();
        let mut seen = Vec::new();
        for change in "+++++--++---".chars() {
            match change {
                '+' => state.add_node(counter),
                _ => state.delete_node(counter),
            }
            seen.push(state.desired_ttl_seconds);
        }
        assert_eq!(seen, [0, 0, 0, 0, 15, 15, 15, 15, 15, 15, 15, 0]);
    }
}
