//! How fast messages travel.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wavetank_component::values::{Duration, Range};

use super::faults::probability;

/// How fast messages travel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Network {
    /// The range from which each link's base latency is drawn.
    pub latency: Range<Duration>,
    /// Messages that take longer.
    pub tail: Tail,
}

impl Default for Network {
    fn default() -> Self {
        let latency = Range::new(Duration::from_micros(200), Duration::from_millis(1));
        Self {
            latency,
            tail: Tail::default(),
        }
    }
}

/// Messages that take longer than their link's base latency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Tail {
    /// The probability that a message is one of them.
    #[serde(deserialize_with = "probability")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub chance: f64,
    /// The range from which their latency is drawn.
    pub latency: Range<Duration>,
}

impl Default for Tail {
    fn default() -> Self {
        let latency = Range::new(Duration::from_millis(5), Duration::from_millis(80));
        Self {
            chance: 0.01,
            latency,
        }
    }
}
