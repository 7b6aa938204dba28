//! Checks of the cluster: that there can be such a one, and that what a scenario says of
//! apiservers and clients has apiservers and clients to be about.

use super::check::Checker;
use super::cluster::{Options, ReconcilerType};
use super::path::Path;
use super::release::Release;
use super::tree::Focus::{Key, Value};

impl Checker<'_> {
    /// Also says whether such a cluster is possible.
    pub(super) fn topology(&mut self) -> bool {
        let topology = &self.scenario.topology;
        let path = |key| Path::of("topology").key(key);
        let apiservers = topology.apiservers.count();
        let mut wrong = Vec::new();
        if !(1..=9).contains(&topology.etcd) {
            let message = format!(
                "a cluster of {} etcd members is not possible",
                topology.etcd
            );
            wrong.push((
                path("etcd"),
                message,
                "give 1 to 9 of them; best an odd number",
            ));
        }
        if apiservers > 9 {
            let message = format!("a cluster of {apiservers} apiservers is not possible");
            wrong.push((path("apiservers"), message, "give 1 to 9 of them"));
        }
        if apiservers == 0 && topology.etcd_clients == 0 {
            let message = "nobody uses etcd: there are no apiservers and no clients of etcd";
            let help = "give 1 to 9 `apiservers`, or some `etcd-clients`, or both";
            wrong.push((path("apiservers"), message.to_owned(), help));
        }
        let clients = [
            ("clients", topology.clients),
            ("etcd-clients", topology.etcd_clients),
            ("informers", topology.informers),
            ("writers", topology.writers),
            ("service-writers", topology.service_writers),
            ("controller-managers", topology.controller_managers),
        ];
        for (key, count) in clients.into_iter().filter(|(_, count)| *count > 99) {
            let message = format!("{count} {} are too many", key.replace('-', " "));
            wrong.push((path(key), message, "give at most 99 of them"));
        }
        let possible = wrong.is_empty();
        for (path, message, help) in wrong {
            self.wrong(path, Value, message, help);
        }
        possible
    }

    /// Without apiservers there is nothing to say of them.
    pub(super) fn fit(&mut self) {
        let scenario = self.scenario;
        if scenario.topology.apiservers.count() > 0 {
            return;
        }
        if scenario.topology.clients > 0 {
            let message = "there are no apiservers for clients to connect to";
            let help = "add `apiservers: 3`, or remove `clients`; clients of etcd itself are \
                        `etcd-clients`";
            self.wrong(Path::of("topology").key("clients"), Key, message, help);
        }
        let of_apiservers = [
            ("informers", scenario.topology.informers > 0),
            ("writers", scenario.topology.writers > 0),
            ("service-writers", scenario.topology.service_writers > 0),
            (
                "controller-managers",
                scenario.topology.controller_managers > 0,
            ),
            ("watch-cache", scenario.topology.watch_cache),
            ("rollout", scenario.topology.rollout.is_some()),
            ("load-balancer", scenario.topology.load_balancer.is_some()),
        ];
        for (key, _) in of_apiservers.into_iter().filter(|(_, given)| *given) {
            let message = format!("`{key}` needs apiservers, and there are none");
            let help = format!("add `apiservers: 3`, or remove `{key}`");
            self.wrong(Path::of("topology").key(key), Key, message, help);
        }
        if scenario.options != Options::default() {
            let message = "these are options of apiservers, and there are none";
            let help = "remove `options`, or add `apiservers: 3` to `topology`";
            self.wrong(Path::of("options"), Key, message, help);
        }
        if scenario.release != Release::default() {
            let message = "this is the release of apiservers, and there are none";
            let help = "remove `release`; that of etcd is written `etcd: {release: v3.5.21}`";
            self.wrong(Path::of("release"), Key, message, help);
        }
        let faults = &scenario.faults;
        let of_apiservers = [
            ("stop", faults.stop.is_some()),
            ("deschedule", faults.deschedule.is_some()),
        ];
        for (kind, _) in of_apiservers.into_iter().filter(|(_, given)| *given) {
            let message = format!("`{kind}` strikes apiservers, and there are none");
            self.wrong(Path::of("faults").key(kind), Key, message, "remove it");
        }
        let outages = [("crash", &faults.crash), ("power-loss", &faults.power_loss)];
        for (kind, outage) in outages {
            if outage.as_ref().is_some_and(|outage| outage.gone > 0.0) {
                let path = Path::of("faults").key(kind).key("gone");
                let message = "etcd members always come back, and there are no apiservers";
                self.wrong(path, Key, message, "remove `gone`");
            }
        }
    }

    pub(super) fn options(&mut self) {
        let options = &self.scenario.options;
        let of_managers = [
            (
                "leader-elect-resource-lock",
                options.leader_elect_resource_lock.is_some(),
            ),
            (
                "leader-elect-release-on-cancel",
                options.leader_elect_release_on_cancel.is_some(),
            ),
        ];
        let managers = self.scenario.topology.controller_managers > 0;
        for (key, _) in of_managers
            .into_iter()
            .filter(|(_, given)| *given && !managers)
        {
            let message = format!("`{key}` is for controller managers, and there are none");
            let help = format!("add `controller-managers: 3` to `topology`, or remove `{key}`");
            self.wrong(Path::of("options").key(key), Key, message, help);
        }
        let Some(counts) = &options.apiserver_count else {
            return;
        };
        let path = Path::of("options").key("apiserver-count");
        if counts.values().contains(&0) {
            self.wrong(
                path.clone(),
                Value,
                "`apiserver-count` is 0",
                "give at least 1",
            );
        }
        if !options
            .endpoint_reconciler_type
            .values()
            .contains(&ReconcilerType::MasterCount)
        {
            let message =
                "`apiserver-count` has no effect without the reconciler type `master-count`";
            let help = "remove it, or write `endpoint-reconciler-type: master-count`";
            self.wrong(path, Key, message, help);
        }
    }
}
