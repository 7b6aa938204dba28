//! What stands in front of the apiservers of a scenario, and who replaces them: a load balancer with health checks,
//! and a rollout; and whether there are apiservers and a workload for that.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::Checker;
use super::choices::Choices;
use super::duration::Duration;
use super::path::Path;
use super::tree::Focus::{Key, Value};

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

/// The load balancer in front of the apiservers, one on the machine of each client, with health checks as HAProxy
/// has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Balancer {
    /// From the end of a check to the next one.
    pub every: Duration,
    /// How long an answer to a check may take.
    pub timeout: Duration,
    /// An apiserver is out after so many failures in a row; new connections go to others.
    #[schemars(range(min = 1))]
    pub fall: u32,
    /// It is in again after so many successes in a row.
    #[schemars(range(min = 1))]
    pub rise: u32,
    /// What becomes of connections to an apiserver that is out.
    #[serde(default)]
    pub existing: Choices<Existing>,
    /// Whether all apiservers advertise the address of the load balancer, and not each its own.
    #[serde(default)]
    pub advertised: Choices<bool>,
}

/// What becomes of connections to an apiserver that is out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Existing {
    /// They stay while they live.
    #[default]
    Keep,
    /// They are cut.
    Cut,
}

impl Checker<'_> {
    pub(super) fn front(&mut self) {
        let (topology, workload) = (&self.scenario.topology, &self.scenario.workload);
        if topology.rollout.is_some() && workload.roll.is_none() {
            let help = "add `roll: {every: 20s}` to `workload`, or remove `rollout`";
            let path = Path::of("topology").key("rollout");
            self.wrong(path, Key, "no step of the rollout is ever taken", help);
        }
        let Some(balancer) = &topology.load_balancer else {
            return;
        };
        let path = Path::of("topology").key("load-balancer");
        if topology.clients == 0 {
            let help = "add `clients: 2` to `topology`, or remove `load-balancer`";
            self.wrong(
                path.clone(),
                Key,
                "there are no clients that have one",
                help,
            );
        }
        let (every, timeout) = (balancer.every, balancer.timeout);
        let some = [
            ("every", every > Duration::ZERO, "more than 0s"),
            ("timeout", timeout > Duration::ZERO, "more than 0s"),
            ("fall", balancer.fall > 0, "at least 1"),
            ("rise", balancer.rise > 0, "at least 1"),
        ];
        for (key, _, least) in some.into_iter().filter(|(_, enough, _)| !enough) {
            let message = format!("health checks with a `{key}` of 0 are not possible");
            self.wrong(
                path.clone().key(key),
                Value,
                message,
                format!("give {least}"),
            );
        }
    }
}
