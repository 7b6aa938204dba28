//! Checks of the plan: that its faults strike in time, and strike something.

use serde_json::Value;

use super::check::Checker;
use super::faults::Faults;
use super::path::Path;
use super::scenario::Directed;
use super::suggest;
use super::tree::Focus::{Key, Value as OnValue};

/// Keys of a fault under which every text names a process.
const NAMING: [&str; 5] = ["process", "processes", "from", "to", "groups"];

impl Checker<'_> {
    /// In an impossible cluster the names of processes are not looked at: there may be none,
    /// or four thousand million.
    pub(super) fn plan(&mut self, possible: bool) {
        let scenario = self.scenario;
        let processes = possible.then(|| scenario.topology.processes());
        for (index, directed) in scenario.plan.iter().enumerate() {
            let path = Path::of("plan").item(index);
            self.time(directed, path.clone().key("at"));
            self.fault(&directed.fault, path.key("fault"), processes.as_deref());
        }
    }

    fn time(&mut self, directed: &Directed, path: Path) {
        let storm = self.scenario.storm;
        if directed.at > storm {
            let message = format!(
                "this fault strikes at {}, after the storm has ended",
                directed.at
            );
            self.wrong(
                path,
                OnValue,
                message,
                format!("the storm lasts {storm}: choose an earlier time"),
            );
        }
    }

    fn fault(&mut self, fault: &Value, path: Path, processes: Option<&[String]>) {
        let Some((kind, target)) = only_entry(fault) else {
            let message = "a planned fault is one kind with what it strikes";
            return self.wrong(
                path,
                OnValue,
                message,
                "write for example `stop: {process: a1}`",
            );
        };
        if !Faults::KINDS.contains(&kind) {
            let help = suggest::help(kind, Faults::KINDS, "the kinds are");
            return self.wrong(path.key(kind), Key, format!("unknown fault `{kind}`"), help);
        }
        if let Some(processes) = processes {
            self.names(target, path.key(kind), processes);
        }
    }

    /// Looks for names of processes anywhere in a fault.
    fn names(&mut self, value: &Value, path: Path, processes: &[String]) {
        for (key, value) in value.as_object().into_iter().flatten() {
            let path = path.clone().key(key);
            if NAMING.contains(&key.as_str()) {
                self.all_names(value, path, processes);
            } else {
                self.names(value, path, processes);
            }
        }
    }

    fn all_names(&mut self, value: &Value, path: Path, processes: &[String]) {
        if let Value::Array(items) = value {
            for (index, item) in items.iter().enumerate() {
                self.all_names(item, path.clone().item(index), processes);
            }
            return;
        }
        let name = value
            .as_str()
            .map_or_else(|| value.to_string(), String::from);
        if !processes.contains(&name) {
            let known: Vec<&str> = processes.iter().map(String::as_str).collect();
            let help = format!("the processes are: {}", suggest::list(&known));
            self.wrong(path, OnValue, format!("there is no process `{name}`"), help);
        }
    }
}

fn only_entry(fault: &Value) -> Option<(&str, &Value)> {
    let mut entries = fault.as_object()?.iter();
    let (kind, target) = entries.next()?;
    entries.next().is_none().then_some((kind.as_str(), target))
}
