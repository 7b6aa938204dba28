//! How a new template is rolled out (`rollingUpdate` of `pkg/controller/daemon/update.go`).

use std::time::Duration;

use wavetank_api::json::Json;
use wavetank_api::{Stamp, Stored};
use wavetank_engine::Rx;

use super::controller::{DaemonSetsController, NodesToDaemonPods, QUEUE, Synced};
use super::defects::DaemonSetDefect;
use super::manage::Changes;
use super::nodes::node_should_run_daemon_pod;
use super::util::{of_spec, surge_count, unavailable_count};
use crate::controller_utils::{SyncError, is_pod_available, is_pod_ready};

/// How many pods there may be more, and fewer, and on how many nodes they are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Counts {
    surge: usize,
    unavailable: usize,
    desired: usize,
}

/// The pods of a node that stay: at most one of each template.
#[derive(Clone, Copy, Debug, Default)]
struct OnNode<'a> {
    new: Option<&'a Stored>,
    old: Option<&'a Stored>,
}

/// `findUpdatedPodsOnNode`; nothing where there are several of one template.
fn find_updated_pods_on_node<'a>(synced: Synced<'_>, pods: &'a [Stored]) -> Option<OnNode<'a>> {
    let mut found = OnNode::default();
    for pod in pods.iter().filter(|pod| !pod.object.is_being_deleted()) {
        let of = match synced.is_updated(pod.object.json()) {
            true => &mut found.new,
            false => &mut found.old,
        };
        if of.replace(pod).is_some() {
            return None;
        }
    }
    Some(found)
}

/// So many of these, from one on that is drawn: upstream has them in the order of a Go map.
async fn some_of<T>(rx: Rx, mut all: Vec<T>, count: usize) -> Vec<T> {
    if count > 0 && count < all.len() {
        let first = rx.choose(all.len() as u64).await as usize;
        all.rotate_left(first);
    }
    all.truncate(count);
    all
}

/// Which of a set's pods are available now.
#[derive(Clone, Copy, Debug)]
struct Availability {
    min_ready: i64,
    now: Option<Stamp>,
}

impl Availability {
    fn has(self, pod: &Stored) -> bool {
        is_pod_available(pod.object.json(), self.min_ready, self.now)
    }
}

impl DaemonSetsController {
    /// `updatedDesiredNodeCounts`
    fn updated_desired_node_counts(synced: Synced<'_>, pods: &mut NodesToDaemonPods) -> Counts {
        let mut desired = 0;
        for node in synced.nodes {
            let node = &node.object;
            if node_should_run_daemon_pod(node.json(), synced.json()).should_run {
                desired += 1;
                pods.entry(node.name().to_owned()).or_default();
            }
        }
        let count = |of: fn(&Json, i64) -> i64| {
            let count = of(synced.json(), i64::try_from(desired).unwrap_or(i64::MAX));
            usize::try_from(count).unwrap_or(0)
        };
        let (surge, unavailable) = (count(surge_count), count(unavailable_count));
        let is_impossible = desired > 0 && surge == 0 && unavailable == 0;
        Counts {
            surge,
            unavailable: if is_impossible { 1 } else { unavailable },
            desired,
        }
    }

    /// `rollingUpdate`
    pub(super) async fn rolling_update(&self, rx: Rx, synced: Synced<'_>) -> Result<(), SyncError> {
        let mut pods = self.get_nodes_to_daemon_pods(rx, synced, false).await?;
        let counts = Self::updated_desired_node_counts(synced, &mut pods);
        let min_ready = of_spec(synced.json(), "minReadySeconds");
        let available = Availability {
            min_ready,
            // Nobody asks for the time where nothing depends on it.
            now: (min_ready > 0).then(|| Stamp::of(rx.clock())),
        };
        let changes = match counts.surge {
            0 => Self::replace(rx, synced, &pods, counts, available).await,
            _ => self.surge(rx, synced, &pods, counts, available).await?,
        };
        self.sync_nodes(rx, synced, &pods, changes).await
    }

    /// Without a surge: pods go, and `manage` makes new ones.
    async fn replace(
        rx: Rx,
        synced: Synced<'_>,
        pods: &NodesToDaemonPods,
        counts: Counts,
        available: Availability,
    ) -> Changes {
        let (mut unavailable, mut allowed, mut candidates) = (0, Vec::new(), Vec::new());
        for pods in pods.values() {
            match find_updated_pods_on_node(synced, pods) {
                // Those that are too many, and those that lack, are left to `manage`.
                None
                | Some(OnNode {
                    new: None,
                    old: None,
                })
                | Some(OnNode {
                    new: Some(_),
                    old: Some(_),
                }) => unavailable += 1,
                Some(OnNode {
                    new: Some(new),
                    old: None,
                }) => {
                    unavailable += usize::from(!available.has(new));
                }
                Some(OnNode {
                    new: None,
                    old: Some(old),
                }) if !available.has(old) => {
                    allowed.push(old.clone());
                    unavailable += 1;
                }
                Some(OnNode {
                    new: None,
                    old: Some(old),
                }) => {
                    if unavailable < counts.unavailable {
                        candidates.push(old.clone());
                    }
                }
            }
        }
        let left = counts.unavailable.saturating_sub(unavailable);
        allowed.extend(some_of(rx, candidates, left).await);
        Changes {
            nodes: Vec::new(),
            pods: allowed,
        }
    }

    /// With a surge: new pods are made beside old ones, and these go once the new ones are available.
    async fn surge(
        &self,
        rx: Rx,
        synced: Synced<'_>,
        pods: &NodesToDaemonPods,
        counts: Counts,
        available: Availability,
    ) -> Result<Changes, SyncError> {
        let mut going = Vec::new();
        let mut sunset = Vec::new();
        let (mut allowed, mut candidates) = (Vec::new(), Vec::new());
        let (mut surging, mut available_pods) = (0, 0);
        let mut awaits = false;
        for (name, pods) in pods {
            let Some(OnNode { new, old }) = find_updated_pods_on_node(synced, pods) else {
                surging += 1;
                continue;
            };
            let first = old.or(new);
            available_pods += usize::from(first.is_some_and(|pod| available.has(pod)));
            let Some(old) = old else {
                continue;
            };
            match new {
                Some(new) if !available.has(new) => {
                    surging += 1;
                    awaits |= is_pod_ready(new.object.json()).is_some();
                }
                Some(_) => going.push(old.clone()),
                None => {
                    let Some(node) = self.nodes.get(rx, name) else {
                        let why = format!("couldn't get node for nodeName \"{name}\"");
                        return Err(SyncError::Worded(why));
                    };
                    let verdict = node_should_run_daemon_pod(node.object.json(), synced.json());
                    match (available.has(old), verdict.should_run) {
                        (false, false) => going.push(old.clone()),
                        (false, true) => allowed.push(name.clone()),
                        (true, false) => sunset.push(old.clone()),
                        (true, true) if surging < counts.surge => candidates.push(name.clone()),
                        (true, true) => {}
                    }
                }
            }
        }
        // Upstream looks again where the status says that a pod is ready and not available. Of two pods of a node it counts the old one.
        if awaits && self.defects.has(DaemonSetDefect::FixSurgesLookAgain) {
            let after = Duration::from_secs(available.min_ready.unsigned_abs() + 1);
            QUEUE.add_after(rx, synced.key.clone(), after);
        }
        // A node that the set leaves keeps its pod until there is one more elsewhere.
        let deletable = available_pods.saturating_sub(counts.desired);
        let sunset = some_of(rx, sunset, deletable).await;
        let key = |pod: &Stored| format!("{}/{}", pod.object.namespace(), pod.object.name());
        going.extend(
            sunset
                .into_iter()
                .filter(|pod| self.pods.get(rx, &key(pod)).is_some()),
        );
        let left = counts.surge.saturating_sub(surging);
        allowed.extend(some_of(rx, candidates, left).await);
        Ok(Changes {
            nodes: allowed,
            pods: going,
        })
    }
}
