//! Zones: which state they are in (`ComputeZoneState`, `handleDisruption`), and the queue of each of nodes that are to be tainted
//! (`scheduler/rate_limited_queue.go`, v1.36.2), whose limiter goes by the state. Pure.

use std::collections::BTreeSet;
use std::time::Duration;

use wavetank_api::json::{self, Json};
use wavetank_client::workqueue::Item;

/// `--unhealthy-zone-threshold`, in percent.
const UNHEALTHY_ZONE_THRESHOLD: usize = 55;
/// `--node-eviction-rate`: 0.1 a second.
pub(super) const EVICTION_LIMITER: Limiter = Some(Duration::from_secs(10));
/// `--secondary-node-eviction-rate`: 0.01 a second.
const SECONDARY_EVICTION_LIMITER: Limiter = Some(Duration::from_secs(100));

/// So long it takes until another node may be tainted; none may where it is nothing (`NewFakeNeverRateLimiter`).
pub(super) type Limiter = Option<Duration>;

/// `ZoneState`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum ZoneState {
    /// `stateInitial`
    Initial,
    /// `stateNormal`
    Normal,
    /// `stateFullDisruption`
    FullDisruption,
    /// `statePartialDisruption`
    PartialDisruption,
}

/// `GetZoneKey`
pub(super) fn get_zone_key(node: &Json) -> Item {
    let label = |key: &str| json::at(node, &["metadata", "labels", key]).and_then(Json::as_str);
    let of = |beta: &str, stable: &str| {
        let found = label(beta).or_else(|| label(stable));
        found.unwrap_or_default().to_owned()
    };
    let zone = of(
        "failure-domain.beta.kubernetes.io/zone",
        "topology.kubernetes.io/zone",
    );
    let region = of(
        "failure-domain.beta.kubernetes.io/region",
        "topology.kubernetes.io/region",
    );
    match region.is_empty() && zone.is_empty() {
        true => "".into(),
        false => format!("{region}:\0:{zone}").into(),
    }
}

/// `ComputeZoneState`, of nodes of which these are ready and the others are not.
pub(super) fn compute_zone_state(ready: &[bool]) -> ZoneState {
    let ready_nodes = ready.iter().filter(|ready| **ready).count();
    let not_ready_nodes = ready.len() - ready_nodes;
    match (ready_nodes, not_ready_nodes) {
        (0, 1..) => ZoneState::FullDisruption,
        (_, 3..) if not_ready_nodes * 100 >= UNHEALTHY_ZONE_THRESHOLD * ready.len() => {
            ZoneState::PartialDisruption
        }
        _ => ZoneState::Normal,
    }
}

/// `ReducedQPSFunc`
fn reduced_qps_func(nodes: usize, large_cluster_threshold: usize) -> Limiter {
    match nodes > large_cluster_threshold {
        true => SECONDARY_EVICTION_LIMITER,
        false => None,
    }
}

/// Upstream's `setLimiterInZone`: the limiter of a zone with so many nodes in this state; nothing where it stays as it is.
pub(super) fn limiter_in_zone(
    nodes: usize,
    state: ZoneState,
    large_cluster_threshold: usize,
) -> Option<Limiter> {
    match state {
        ZoneState::Initial => None,
        // `HealthyQPSFunc`
        ZoneState::Normal | ZoneState::FullDisruption => Some(EVICTION_LIMITER),
        ZoneState::PartialDisruption => Some(reduced_qps_func(nodes, large_cluster_threshold)),
    }
}

/// `RateLimitedTimedQueue`. Upstream orders it by when a node may be tried; here a node that is to be tried again comes last,
/// which is the same as long as no limiter gives two tokens within 50 ms.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct RateLimitedTimedQueue {
    /// The number of its timer.
    pub number: u64,
    pub limiter: Limiter,
    /// Is its token there (`EvictionRateLimiterBurst` is 1)?
    pub is_full: bool,
    queue: Vec<Item>,
    /// Those that may not be added: they are in the queue, or were taken out of it and not removed.
    set: BTreeSet<Item>,
}

impl RateLimitedTimedQueue {
    /// Upstream's `NewRateLimitedTimedQueue`
    pub fn new(number: u64) -> RateLimitedTimedQueue {
        RateLimitedTimedQueue {
            number,
            limiter: EVICTION_LIMITER,
            is_full: true,
            queue: Vec::new(),
            set: BTreeSet::new(),
        }
    }

    /// `Add`: is it new?
    pub fn add(&mut self, node: Item) -> bool {
        let is_new = self.set.insert(node.clone());
        if is_new {
            self.queue.push(node);
        }
        is_new
    }

    /// `Remove`: was it there?
    pub fn remove(&mut self, node: &str) -> bool {
        self.queue.retain(|own| &**own != node);
        self.set.remove(node)
    }

    /// `RemoveFromQueue`
    pub fn remove_from_queue(&mut self, node: &str) {
        self.queue.retain(|own| &**own != node);
    }

    /// It is tried again (`Replace`), unless it was removed meanwhile.
    pub fn replace(&mut self, node: &Item) {
        if let Some(at) = self.queue.iter().position(|own| own == node) {
            let again = self.queue.remove(at);
            self.queue.push(again);
        }
    }

    /// `Head`
    pub fn head(&self) -> Option<Item> {
        self.queue.first().cloned()
    }

    /// May something of it be tried, now or in a while?
    pub fn waits(&self) -> bool {
        !self.queue.is_empty() && self.limiter.is_some()
    }

    /// `TryAccept`: until when the next token comes, if this one was there.
    pub fn try_accept(&mut self) -> Option<Duration> {
        let every = self.limiter?;
        std::mem::take(&mut self.is_full).then_some(every)
    }

    /// `SwapLimiter`: until when the next token comes, if none is there; nothing at all where the limiter is the same.
    pub fn swap_limiter(&mut self, limiter: Limiter) -> Option<Option<Duration>> {
        if self.limiter == limiter {
            return None;
        }
        let was_full = self.limiter.is_some() && self.is_full;
        self.limiter = limiter;
        self.is_full = was_full;
        Some(limiter.filter(|_| !was_full))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_disrupted_if_no_node_or_too_few_are_ready() {
        let state = |ready: usize, not: usize| {
            let all = [vec![true; ready], vec![false; not]].concat();
            compute_zone_state(&all)
        };
        assert_eq!(state(0, 0), ZoneState::Normal);
        assert_eq!(state(0, 1), ZoneState::FullDisruption);
        assert_eq!(state(1, 2), ZoneState::Normal);
        assert_eq!(state(2, 3), ZoneState::PartialDisruption);
        assert_eq!(state(3, 3), ZoneState::Normal);
    }

    #[test]
    fn a_small_zone_that_is_partly_disrupted_gives_no_token() {
        let partial = |nodes| limiter_in_zone(nodes, ZoneState::PartialDisruption, 50);
        assert_eq!(partial(50), Some(None));
        assert_eq!(partial(51), Some(SECONDARY_EVICTION_LIMITER));
        assert_eq!(limiter_in_zone(3, ZoneState::Initial, 50), None);
    }

    #[test]
    fn a_node_that_was_tainted_is_not_added_again_before_it_is_removed() {
        let mut queue = RateLimitedTimedQueue::new(0);
        assert!(queue.add("a".into()) && !queue.add("a".into()));
        queue.remove_from_queue("a");
        assert!(queue.head().is_none() && !queue.add("a".into()));
        assert!(queue.remove("a") && queue.add("a".into()));
    }

    #[test]
    fn a_limiter_that_comes_in_when_no_token_is_there_has_none_either() {
        let mut queue = RateLimitedTimedQueue::new(0);
        assert_eq!(queue.swap_limiter(EVICTION_LIMITER), None);
        assert_eq!(queue.try_accept(), EVICTION_LIMITER);
        assert_eq!(queue.try_accept(), None);
        assert_eq!(queue.swap_limiter(None), Some(None));
        assert_eq!(queue.swap_limiter(EVICTION_LIMITER), Some(EVICTION_LIMITER));
        assert!(!queue.is_full);
    }

    #[test]
    fn the_key_of_a_zone_has_its_region() {
        let node = |labels: Json| serde_json::json!({"metadata": {"labels": labels}});
        let plain = node(serde_json::json!({"topology.kubernetes.io/zone": "za"}));
        assert_eq!(&*get_zone_key(&plain), ":\0:za");
        assert_eq!(&*get_zone_key(&node(Json::Null)), "");
    }
}
