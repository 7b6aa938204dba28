//! What clients do in a scenario, and whether there are any to do it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::Checker;
use super::choices::Choices;
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
    /// Until the storm ends, writers make, update and delete objects through apiservers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<Often>,
    /// Writers read at revisions that they know of, through any apiserver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<Often>,
    /// Until the storm ends, clients make, change and delete Services through any apiserver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub services: Option<Often>,
    /// Clients make Services and delete them at once, also when the storm is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probe_services: Option<Often>,
    /// Until the storm ends, the load balancer moves clients with informers to another apiserver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub move_informers: Option<Often>,
    /// Until the storm ends, watch caches of apiservers take nothing from etcd for a while.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lag_caches: Option<Often>,
    /// Until the storm ends, watch caches make way for new ones, as those of a custom resource do when its
    /// definition changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebuild_caches: Option<Often>,
    /// Until the storm ends, whoever rolls a release out takes the next step when the last one is done: an
    /// apiserver is stopped gracefully, and its node starts it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roll: Option<Often>,
}

/// How often something is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Often {
    /// On average, by or to each process.
    pub every: Duration,
}

/// Opening connections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Connect {
    /// How often each client opens one, on average.
    pub every: Duration,
    /// Whether it keeps its connection until that breaks, and uses it again; without it none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<Choices<bool>>,
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

    pub(super) fn watching(&mut self) {
        let (workload, topology) = (&self.scenario.workload, &self.scenario.topology);
        let no_cache = !topology.watch_cache;
        let loads = [
            (
                "write",
                &workload.write,
                topology.writers == 0,
                "there are no writers",
                "add `writers: 2` to `topology`, or remove `write`",
            ),
            (
                "read",
                &workload.read,
                topology.writers == 0,
                "there are no writers",
                "add `writers: 2` to `topology`, or remove `read`",
            ),
            (
                "services",
                &workload.services,
                topology.service_writers == 0,
                "nobody makes Services",
                "add `service-writers: 4` to `topology`, or remove `services`",
            ),
            (
                "probe-services",
                &workload.probe_services,
                topology.service_writers == 0,
                "nobody makes Services",
                "add `service-writers: 4` to `topology`, or remove `probe-services`",
            ),
            (
                "move-informers",
                &workload.move_informers,
                topology.informers == 0,
                "there are no informers to move",
                "add `informers: 2` to `topology`, or remove `move-informers`",
            ),
            (
                "lag-caches",
                &workload.lag_caches,
                no_cache,
                "there are no watch caches to lag",
                "add `watch-cache: true` to `topology`, or remove `lag-caches`",
            ),
            (
                "rebuild-caches",
                &workload.rebuild_caches,
                no_cache,
                "there are no watch caches to rebuild",
                "add `watch-cache: true` to `topology`, or remove `rebuild-caches`",
            ),
            (
                "roll",
                &workload.roll,
                topology.rollout.is_none(),
                "there is nobody to roll anything out",
                "add `rollout: {from: previous}` to `topology`, or remove `roll`",
            ),
        ];
        for (kind, load, nobody, message, help) in loads {
            let Some(load) = load else { continue };
            self.load(kind, load.every, "nothing can be done every 0s");
            if nobody {
                self.wrong(Path::of("workload").key(kind), Key, message, help);
            }
        }
        if no_cache && self.scenario.options.etcd_compaction_interval.is_some() {
            let message = "apiservers without watch caches do not compact etcd";
            let help = "add `watch-cache: true` to `topology`, or remove it";
            let path = Path::of("options").key("etcd-compaction-interval");
            self.wrong(path, Key, message, help);
        }
    }

    fn load(&mut self, kind: &str, every: Duration, message: &str) {
        if every == Duration::ZERO {
            let path = Path::of("workload").key(kind).key("every");
            self.wrong(path, Value, message, "give a duration of more than 0s");
        }
    }
}
