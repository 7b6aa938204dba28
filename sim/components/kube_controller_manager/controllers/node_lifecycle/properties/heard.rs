//! Which nodes are not taken for lost, and when none is tainted.

use std::collections::BTreeMap;

use wavetank_api::json;
use wavetank_api::kinds::LEASES;
use wavetank_client::workqueue::Item;
use wavetank_components::nodes::LEASE_NAMESPACE;
use wavetank_engine::{Check, Instant, Note, ProcId, Property, Time, World};
use wavetank_etcd::KeyValue;

use super::super::notes::{AsksForLease, HasLooked, MarksUnknown, Taints, Why};
use wavetank_api::Object;
use wavetank_components::changes::all_changes;
use wavetank_components::promises::violated;

/// A clock may run so much faster than it should, in parts of a hundred.
const TOLERANCE: u32 = 10;

/// When the newest renewal of each node's Lease was stored; and the same as it was when a controller asked for it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct RenewingNodesAreNotLost {
    heard: BTreeMap<Item, Instant>,
    asked: BTreeMap<(ProcId, Item), Instant>,
}

/// The nodes whose Leases are renewed in a commit. Their status has times, too, but nobody can overlook these: a node is marked
/// by an update of the version that was seen.
fn heartbeats(note: &Note) -> Vec<Item> {
    let leases = format!("{}/{LEASE_NAMESPACE}/", LEASES.registry);
    let beats = all_changes(note).iter().filter_map(|change| {
        let now = change.now.as_ref()?;
        let time =
            |kv: &KeyValue<Object>| json::text(kv.value.json(), &["spec", "renewTime"]).to_owned();
        let is_new = change.before.as_ref().map(time) != Some(time(now));
        (change.key.starts_with(&*leases) && is_new).then(|| now.value.name().into())
    });
    beats.collect()
}

impl Property for RenewingNodesAreNotLost {
    fn name(&self) -> &'static str {
        "renewing-nodes-are-not-lost"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let concerns = note.body.get::<AsksForLease>().is_some()
            || note.body.get::<MarksUnknown>().is_some()
            || !heartbeats(note).is_empty();
        (!concerns).then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let now = Instant(world.now());
        for node in heartbeats(note) {
            self.heard.insert(node, now);
        }
        let newest = |node: &Item| self.heard.get(node).copied();
        if let Some(AsksForLease(node)) = note.body.get()
            && let Some(heard) = newest(node)
        {
            self.asked.insert((note.process, node.clone()), heard);
        }
        let Some(MarksUnknown { node, grace }) = note.body.get() else {
            return Check::Idle;
        };
        let asked = self.asked.remove(&(note.process, node.clone()));
        let heard = asked.or(newest(node)).map_or(Time::ZERO, |own| own.0);
        let silent = world.now().since(heard);
        match silent >= *grace * (100 - TOLERANCE) / 100 {
            true => Check::Held,
            false => {
                let ago = silent.as_millis();
                let message = format!(
                    "the node {node} is taken for lost, and its Lease was renewed {ago} ms ago"
                );
                violated("node", node, message)
            }
        }
    }
}

/// The controllers that saw no node that is ready when they looked last, each life of them for itself.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct NoEvictionInFullDisruption {
    disrupted: BTreeMap<(ProcId, u32), bool>,
}

impl Property for NoEvictionInFullDisruption {
    fn name(&self) -> &'static str {
        "no-eviction-in-full-disruption"
    }

    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        let life = (note.process, world.incarnation(note.process));
        if let Some(HasLooked {
            all_fully_disrupted,
        }) = note.body.get()
        {
            let known = self.disrupted.get(&life) == Some(all_fully_disrupted);
            return known.then_some(Check::Idle);
        }
        let Some(Taints { node, why }) = note.body.get() else {
            return Some(Check::Idle);
        };
        if *why != Why::Queue {
            return Some(Check::Idle);
        }
        let is_disrupted = self.disrupted.get(&life).copied().unwrap_or_default();
        Some(match is_disrupted {
            false => Check::Held,
            true => {
                let message =
                    format!("the node {node} is tainted although not a single node is ready");
                violated("node", node, message)
            }
        })
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(HasLooked {
            all_fully_disrupted,
        }) = note.body.get()
        {
            let life = (note.process, world.incarnation(note.process));
            self.disrupted.insert(life, *all_fully_disrupted);
        }
        self.glance(world, note).unwrap_or(Check::Idle)
    }
}
