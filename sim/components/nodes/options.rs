//! Keys of scenario files: whether nodes go on telling that they live, and how many zones they are in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wavetank_component::{Part, Section};

fn is_false(own: &bool) -> bool {
    !own
}

/// Of `options`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Options {
    /// Whether nodes renew a Lease and write their status, as kubelets do. Without it a node registers itself and is silent
    /// after that.
    #[serde(skip_serializing_if = "is_false")]
    pub node_heartbeats: bool,
    /// How many zones nodes with heartbeats are in, in turn; without it they are in none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_zones: Option<u32>,
}

impl Part for Options {
    const SECTION: Section = Section::Options;
}

impl Options {
    /// The zone of the node with this number, from 1 on.
    pub(super) fn zone(&self, number: usize) -> Option<String> {
        let zones = self.node_zones.filter(|zones| *zones > 0)? as usize;
        Some(format!("z{}", (number - 1) % zones + 1))
    }
}
