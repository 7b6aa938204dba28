//! What clients do in a scenario, and whether there are any to do it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::Checker;
use super::duration::Duration;
use super::path::Path;
use super::tree::Focus::{Key, Value};

/// What the clients do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Workload {
    /// Clients open connections through the endpoints of the `kubernetes` service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect: Option<Connect>,
    /// Clients of etcd read, write, compact, and hold leases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etcd_operations: Option<EtcdOperations>,
}

/// Opening connections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Connect {
    /// How often each client opens one, on average.
    pub every: Duration,
}

/// Operations on etcd.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EtcdOperations {
    /// How often each client of etcd begins one, on average.
    pub every: Duration,
}

impl Checker<'_> {
    pub(super) fn workload(&mut self) {
        let scenario = self.scenario;
        if let Some(connect) = &scenario.workload.connect {
            let message = "clients cannot connect every 0s";
            self.load("connect", connect.every, message);
            if scenario.topology.clients == 0 {
                let help = "add `clients: 2` to `topology`, or remove `connect`";
                let path = Path::of("workload").key("connect");
                self.wrong(path, Key, "there are no clients to connect", help);
            }
        }
        if let Some(operations) = &scenario.workload.etcd_operations {
            let message = "clients of etcd cannot begin an operation every 0s";
            self.load("etcd-operations", operations.every, message);
            if scenario.topology.etcd_clients == 0 {
                let help = "add `etcd-clients: 3` to `topology`, or remove `etcd-operations`";
                let path = Path::of("workload").key("etcd-operations");
                self.wrong(path, Key, "there are no clients of etcd to operate", help);
            }
        }
    }

    fn load(&mut self, kind: &str, every: Duration, message: &str) {
        if every == Duration::ZERO {
            let path = Path::of("workload").key(kind).key("every");
            self.wrong(path, Value, message, "give a duration of more than 0s");
        }
    }
}
