//! Since when nodes have their taints.

use std::collections::BTreeMap;

use wavetank_api::Json;
use wavetank_api::kinds::NODES;
use wavetank_client::workqueue::Item;
use wavetank_engine::{Instant, Note};

use super::super::controller::identity;
use super::super::tolerations::get_no_execute_taints;
use crate::controller_utils::taints;
use wavetank_components::changes::changes;

/// By node and taint.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct TaintedSince(BTreeMap<(Item, Item), Instant>);

impl TaintedSince {
    /// What a commit changes of it, which is made now.
    pub fn learn(&mut self, note: &Note, now: Instant) {
        for change in changes(note, &NODES) {
            let both = [&change.before, &change.now].into_iter().flatten();
            let name = both.map(|kv| kv.value.name()).next().unwrap_or_default();
            let own = change.now.as_ref().map(|kv| taints(kv.value.json()));
            let own: Vec<Item> = get_no_execute_taints(own.unwrap_or_default())
                .iter()
                .map(identity)
                .collect();
            self.0
                .retain(|(node, taint), _| &**node != name || own.contains(taint));
            for taint in own {
                self.0.entry((name.into(), taint)).or_insert(now);
            }
        }
    }

    /// Since when this node has this taint, where that was seen.
    pub fn get(&self, node: &str, taint: &Json) -> Option<&Instant> {
        self.0.get(&(node.into(), identity(taint)))
    }
}
