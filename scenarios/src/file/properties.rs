//! Checks of the properties that a scenario names: that there are such, and that its cluster can be
//! held to them.

use std::collections::BTreeSet;

use super::check::Checker;
use super::path::Path;
use super::suggest;
use super::tree::Focus::Value;

impl Checker<'_> {
    /// In an impossible cluster nobody asks what fits.
    pub(super) fn properties(&mut self, possible: bool) {
        let scenario = self.scenario;
        let listed = &scenario.properties;
        let mut seen = BTreeSet::new();
        let mut all_known = true;
        for (index, name) in listed.iter().enumerate() {
            let path = Path::of("properties").item(index);
            all_known &= self.is_property(name, path.clone(), possible);
            if !seen.insert(name) {
                let message = format!("the property `{name}` is listed twice");
                self.wrong(path, Value, message, "remove one");
            }
        }
        let Some(expected) = &scenario.expect else {
            return;
        };
        let path = Path::of("expect");
        // What is wrong with a listed one has been said.
        if listed.contains(expected) {
            return;
        }
        all_known &= self.is_property(expected, path.clone(), possible);
        // A misspelt one may be the one that seems to be missing.
        if all_known && !listed.is_empty() {
            let message = format!("the expected violation of `{expected}` is never looked for");
            self.wrong(path, Value, message, "add it to `properties`");
        }
    }

    fn is_property(&mut self, name: &str, path: Path, possible: bool) -> bool {
        let known = self.known;
        let topology = &self.scenario.topology;
        let (of_control_plane, of_etcd, of_informers, of_services, of_leaders) = (
            known.control_plane.contains(&name),
            known.etcd.contains(&name),
            known.informers.contains(&name),
            known.services.contains(&name),
            known.leaders.contains(&name),
        );
        if !of_control_plane && !of_etcd && !of_informers && !of_services && !of_leaders {
            let all = [
                known.control_plane,
                known.etcd,
                known.informers,
                known.services,
                known.leaders,
            ];
            let all = all.concat();
            let help = suggest::help(name, &all, "the properties are");
            self.wrong(path, Value, format!("unknown property `{name}`"), help);
            return false;
        }
        if possible && of_control_plane && topology.apiservers.count() == 0 {
            let message = format!("`{name}` is about apiservers, and there are none");
            let help = "remove it, or add `apiservers: 3` to `topology`";
            self.wrong(path, Value, message, help);
        } else if possible && of_etcd && topology.etcd_clients == 0 {
            let message = format!("`{name}` is about clients of etcd, and there are none");
            let help = "remove it, or add `etcd-clients: 3` to `topology`";
            self.wrong(path, Value, message, help);
        } else if possible && of_informers && topology.informers == 0 {
            let message = format!("`{name}` is about informers, and there are none");
            let help = "remove it, or add `informers: 2` to `topology`";
            self.wrong(path, Value, message, help);
        } else if possible && of_leaders && topology.controller_managers == 0 {
            let message = format!("`{name}` is about controller managers, and there are none");
            let help = "remove it, or add `controller-managers: 3` to `topology`";
            self.wrong(path, Value, message, help);
        } else if of_services && self.scenario.options.service_cluster_ip_range.is_none() {
            let message = format!("`{name}` is about Services, and there is nothing to give them");
            let help = "remove it, or add `service-cluster-ip-range: 10.0.0.0/24` to `options`";
            self.wrong(path, Value, message, help);
        }
        true
    }
}
