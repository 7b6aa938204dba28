//! What stands in front of the apiservers of a scenario, and who replaces them: a load balancer with health checks,
//! and a rollout; and whether there are apiservers and a workload for that.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::Checker;
use super::choices::Choices;
use super::path::Path;
use super::tree::Focus::Key;

/// Who rolls a release out over the apiservers: a process named r1. The apiservers begin with another release than
/// their own, and have their own when they were replaced.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rollout {
    /// The release that the apiservers begin with.
    pub from: Choices<BeforeRollout>,
}

/// What apiservers are before a rollout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BeforeRollout {
    /// Of the release before their own (of v1.16, the oldest, if that is their own): an upgrade.
    #[default]
    Previous,
    /// Of their own release: a rolling restart.
    Same,
}

impl Checker<'_> {
    pub(super) fn front(&mut self) {
        let (topology, workload) = (&self.scenario.topology, &self.scenario.workload);
        if topology.rollout.is_some() && workload.roll.is_none() {
            let help = "add `roll: {every: 20s}` to `workload`, or remove `rollout`";
            let path = Path::of("topology").key("rollout");
            self.wrong(path, Key, "no step of the rollout is ever taken", help);
        }
    }
}
