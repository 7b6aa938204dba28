//! What types cannot say: numbers that are possible, and parts that fit together.

use std::collections::BTreeSet;

use super::Known;
use super::cluster::ReconcilerType;
use super::duration::Duration;
use super::path::Path;
use super::scenario::Scenario;
use super::suggest;
use super::tree::Focus::{self, Key, Value};

/// Longer than any start-up, and short enough to write a scenario of.
const SHORTEST_CALM: Duration = Duration::from_secs(1);

/// Something that makes no sense, and where.
pub(super) struct Finding {
    pub path: Path,
    pub focus: Focus,
    pub message: String,
    pub help: String,
}

/// A scenario being checked, and what was found.
pub(super) struct Checker<'a> {
    pub scenario: &'a Scenario,
    known: &'a Known<'a>,
    found: Vec<Finding>,
}

/// All that makes no sense in a scenario.
pub(super) fn check(scenario: &Scenario, stem: Option<&str>, known: &Known) -> Vec<Finding> {
    let mut checker = Checker {
        scenario,
        known,
        found: Vec::new(),
    };
    checker.title(stem);
    let possible = checker.topology();
    checker.options();
    checker.workload();
    checker.phases();
    checker.faults();
    checker.plan(possible);
    checker.properties();
    checker.found
}

impl Checker<'_> {
    pub(super) fn wrong(
        &mut self,
        path: Path,
        focus: Focus,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let (message, help) = (message.into(), help.into());
        self.found.push(Finding {
            path,
            focus,
            message,
            help,
        });
    }

    fn title(&mut self, stem: Option<&str>) {
        let name = &self.scenario.name;
        if !is_kebab_case(name) {
            let help =
                "use small letters, digits and single hyphens, for example `kubernetes-endpoints`";
            self.wrong(
                Path::of("name"),
                Value,
                format!("the name `{name}` is not in kebab-case"),
                help,
            );
        } else if let Some(stem) = stem.filter(|stem| stem != name) {
            let message = format!("the name `{name}` differs from the file's");
            self.wrong(
                Path::of("name"),
                Value,
                message,
                format!("write `{stem}`, or rename the file"),
            );
        }
        if self.scenario.about.trim().is_empty() {
            self.wrong(
                Path::of("about"),
                Value,
                "`about` says nothing",
                "say what the scenario is about",
            );
        }
    }

    /// Also says whether such a cluster is possible.
    fn topology(&mut self) -> bool {
        let before = self.found.len();
        let topology = &self.scenario.topology;
        let path = |key| Path::of("topology").key(key);
        if topology.etcd != 1 {
            let message = format!(
                "a cluster of {} etcd members is not possible yet",
                topology.etcd
            );
            self.wrong(
                path("etcd"),
                Value,
                message,
                "only 1 member is possible for now",
            );
        }
        let apiservers = topology.apiservers.count();
        if !(1..=9).contains(&apiservers) {
            let message = format!("a cluster of {apiservers} apiservers is not possible");
            self.wrong(path("apiservers"), Value, message, "give 1 to 9 of them");
        }
        if topology.clients > 99 {
            let message = format!("{} clients are too many", topology.clients);
            self.wrong(path("clients"), Value, message, "give at most 99 of them");
        }
        self.found.len() == before
    }

    fn options(&mut self) {
        let options = &self.scenario.options;
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

    fn workload(&mut self) {
        let Some(connect) = &self.scenario.workload.connect else {
            return;
        };
        let path = Path::of("workload").key("connect");
        if connect.every == Duration::ZERO {
            let help = "give a duration of more than 0s";
            self.wrong(
                path.clone().key("every"),
                Value,
                "clients cannot connect every 0s",
                help,
            );
        }
        if self.scenario.topology.clients == 0 {
            let help = "add `clients: 2` to `topology`, or remove `connect`";
            self.wrong(path, Key, "there are no clients to connect", help);
        }
    }

    fn phases(&mut self) {
        let calm = self.scenario.calm;
        if calm < SHORTEST_CALM {
            let message = format!("a calm of {calm} is too short to recover in");
            self.wrong(
                Path::of("calm"),
                Value,
                message,
                format!("give at least {SHORTEST_CALM}"),
            );
        }
    }

    fn faults(&mut self) {
        let faults = &self.scenario.faults;
        let path = |kind| Path::of("faults").key(kind);
        for (kind, max) in faults.budgets() {
            if max > 0 && self.scenario.storm == Duration::ZERO {
                let help = "give the storm some time, or remove the fault";
                self.wrong(
                    path(kind),
                    Key,
                    format!("`{kind}` cannot strike in a storm of 0s"),
                    help,
                );
            }
        }
        if faults
            .slow_link
            .as_ref()
            .is_some_and(|link| link.factor.low == 0)
        {
            let help = "give factors of at least 1";
            self.wrong(
                path("slow-link").key("factor"),
                Value,
                "a factor of 0 makes no link slow",
                help,
            );
        }
        if let Some(rate) = faults
            .clock_rate
            .as_ref()
            .filter(|rate| !(1..1_000_000).contains(&rate.ppm))
        {
            let message = format!("a clock cannot be off by {} parts in a million", rate.ppm);
            self.wrong(
                path("clock-rate").key("ppm"),
                Value,
                message,
                "give 1 to 999999",
            );
        }
    }

    fn properties(&mut self) {
        let scenario = self.scenario;
        let listed = &scenario.properties;
        let mut seen = BTreeSet::new();
        let mut all_known = true;
        for (index, name) in listed.iter().enumerate() {
            let path = Path::of("properties").item(index);
            all_known &= self.is_property(name, path.clone());
            if !seen.insert(name) {
                let message = format!("the property `{name}` is listed twice");
                self.wrong(path, Value, message, "remove one");
            }
        }
        let Some(expected) = &scenario.expect else {
            return;
        };
        let path = Path::of("expect");
        all_known &= self.is_property(expected, path.clone());
        // A misspelt one may be the one that seems to be missing.
        if all_known && !listed.is_empty() && !listed.contains(expected) {
            let message = format!("the expected violation of `{expected}` is never looked for");
            self.wrong(path, Value, message, "add it to `properties`");
        }
    }

    fn is_property(&mut self, name: &str, path: Path) -> bool {
        let known = self.known.properties;
        let is_known = known.contains(&name);
        if !is_known {
            let help = suggest::help(name, known, "the properties are");
            self.wrong(path, Value, format!("unknown property `{name}`"), help);
        }
        is_known
    }
}

fn is_kebab_case(name: &str) -> bool {
    let word = |word: &str| {
        !word.is_empty()
            && word
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.split('-').all(word)
}
