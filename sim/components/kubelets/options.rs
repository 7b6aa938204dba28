//! Keys of scenario files: whether there are static pods.

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
    /// Whether kubelets run static pods: manifests on the disks of their nodes, which `use-manifests` changes.
    #[serde(skip_serializing_if = "is_false")]
    pub static_pods: bool,
}

impl Part for Options {
    const SECTION: Section = Section::Options;
}
