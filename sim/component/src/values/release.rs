//! A Kubernetes release, as scenario files name it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A Kubernetes release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Release {
    /// Kubernetes v1.16.
    #[serde(rename = "v1.16")]
    V1_16,
    /// Kubernetes v1.20.
    #[serde(rename = "v1.20")]
    V1_20,
    /// Kubernetes v1.36.
    #[default]
    #[serde(rename = "v1.36")]
    V1_36,
}

impl From<Release> for wavetank_release::Release {
    fn from(release: Release) -> wavetank_release::Release {
        match release {
            Release::V1_16 => wavetank_release::Release::V1_16,
            Release::V1_20 => wavetank_release::Release::V1_20,
            Release::V1_36 => wavetank_release::Release::V1_36,
        }
    }
}
