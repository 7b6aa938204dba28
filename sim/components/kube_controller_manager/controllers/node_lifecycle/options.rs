//! Keys of scenario files: how often nodes are looked at, and how long one may be silent.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wavetank_component::values::Duration as Written;
use wavetank_component::{Mistakes, Part, Section, Spec};

use super::NEEDED;

/// Of `options`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct Options {
    /// How often the node lifecycle controller looks at all nodes (`--node-monitor-period`); without it 5s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_monitor_period: Option<Written>,
    /// How long a node may be silent before the node lifecycle controller takes it for lost (`--node-monitor-grace-period`);
    /// without it 50s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_monitor_grace_period: Option<Written>,
    /// The same of a node that never wrote its status (`--node-startup-grace-period`); without it 60s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_startup_grace_period: Option<Written>,
    /// A zone with more nodes than this goes on tainting them, slowly, when too many are not ready
    /// (`--large-cluster-size-threshold`); without it 50.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub large_cluster_size_threshold: Option<u32>,
}

impl Part for Options {
    const SECTION: Section = Section::Options;
}

/// What they mean.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Periods {
    pub node_monitor_period: Duration,
    pub node_monitor_grace_period: Duration,
    pub node_startup_grace_period: Duration,
    pub large_cluster_threshold: usize,
}

impl Periods {
    /// Those of a scenario.
    pub fn of(spec: &Spec) -> Periods {
        let options: Options = spec.part();
        let given = |own: Option<Written>, seconds| {
            let own = own.map(|own| Duration::from_nanos(own.nanos()));
            own.unwrap_or(Duration::from_secs(seconds))
        };
        Periods {
            node_monitor_period: given(options.node_monitor_period, 5),
            node_monitor_grace_period: given(options.node_monitor_grace_period, 50),
            node_startup_grace_period: given(options.node_startup_grace_period, 60),
            large_cluster_threshold: options.large_cluster_size_threshold.unwrap_or(50) as usize,
        }
    }
}

/// Finds what is wrong with them.
pub(super) fn check(spec: &Spec, mistakes: &mut Mistakes) {
    let options: Options = spec.part();
    if options == Options::default() || (NEEDED.met)(spec) {
        return;
    }
    let given = [
        ("node-monitor-period", options.node_monitor_period.is_some()),
        (
            "node-monitor-grace-period",
            options.node_monitor_grace_period.is_some(),
        ),
        (
            "node-startup-grace-period",
            options.node_startup_grace_period.is_some(),
        ),
        (
            "large-cluster-size-threshold",
            options.large_cluster_size_threshold.is_some(),
        ),
    ];
    for (key, _) in given.into_iter().filter(|(_, given)| *given) {
        let message = format!("`{key}` is for a controller that does not run");
        let help = format!("add {}", NEEDED.add);
        mistakes.key(Section::Options, key, message, help);
    }
}
