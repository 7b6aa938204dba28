//! Checks of the plan: that its faults strike in time, and strike something.

use serde_json::Value;
use wavetank_component::Finding;
use wavetank_component::file::path::Path;
use wavetank_component::file::suggest;
use wavetank_component::file::tree::Focus::{Key, Value as OnValue};
use wavetank_engine::Fault;

use super::check::Checker;
use super::scenario::{Directed, Scenario, Told};
use super::search::told;

impl Checker<'_> {
    /// In an impossible cluster the names of processes are not looked at: there may be none,
    /// or four thousand million.
    pub(super) fn plan(&mut self, possible: bool) {
        let scenario = self.scenario;
        let processes = self.processes(possible);
        for (index, directed) in scenario.plan.iter().enumerate() {
            let path = Path::of("plan").item(index);
            self.time(directed, path.clone().key("at"));
            let Directed {
                fault,
                hold,
                release,
                tell,
                ..
            } = directed;
            let given = [
                fault.is_some(),
                hold.is_some(),
                release.is_some(),
                tell.is_some(),
            ];
            if given.into_iter().filter(|given| *given).count() != 1 {
                let message =
                    "what is planned is one fault, or one thing to hold, to release or to tell";
                let help = "write for example `fault: {stop: {process: a1}}`";
                self.wrong(path.clone(), OnValue, message, help);
            }
            if let Some(fault) = fault {
                self.fault(fault, path.clone().key("fault"), processes.as_deref());
            }
            if let Some(hold) = hold {
                let path = path.clone().key("hold");
                self.held(&hold.process, &hold.resource, &path, possible);
            }
            if let Some(held) = release {
                let path = path.clone().key("release");
                self.held(&held.process, &held.resource, &path, possible);
            }
            if let Some(told) = tell {
                let path = path.key("tell").key("process");
                self.known_process(&told.process, path, processes.as_deref());
            }
        }
    }

    /// The names of all processes, if there can be such.
    pub(super) fn processes(&self, possible: bool) -> Option<Vec<String>> {
        let all = possible.then(|| self.components.processes(&self.spec, None));
        let all = all?.ok()?.into_iter();
        Some(all.flat_map(|(_, names)| names).collect())
    }

    /// Has the process something of this resource that can be held?
    fn held(&mut self, process: &str, resource: &str, path: &Path, possible: bool) {
        let all = possible.then(|| self.components.processes(&self.spec, None));
        let Some(Ok(all)) = all else { return };
        let can_be_held = |of: &str| -> Vec<String> {
            let holds = self.components.iter().flat_map(|own| own.holds(&self.spec));
            let those = holds.filter(|(component, _)| *component == of);
            those.map(|(_, resource)| resource).collect()
        };
        let of = all
            .iter()
            .find(|(_, names)| names.iter().any(|name| name == process));
        let known = of.map_or_else(Vec::new, |(of, _)| can_be_held(of));
        if known.is_empty() {
            let others = all.iter().filter(|(of, _)| !can_be_held(of).is_empty());
            let others: Vec<&String> = others.flat_map(|(_, names)| names).collect();
            let message =
                format!("`{process}` has neither informers nor watch caches that can be held");
            let help = match others.is_empty() {
                true => "no process of this cluster has some: apiservers have watch caches with `watch-cache: true` in \
                         `topology`; custom resources cannot be held, nor what a server keeps for itself"
                    .to_owned(),
                false => format!("those that have some are: {}", suggest::list(&others)),
            };
            self.wrong(path.clone().key("process"), OnValue, message, help);
        } else if !known.iter().any(|known| known == resource) {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let help = suggest::help(resource, &known, "there are");
            let message = format!("`{process}` has no `{resource}` to be held");
            self.wrong(path.clone().key("resource"), OnValue, message, help);
        }
    }

    fn time(&mut self, directed: &Directed, path: Path) {
        let storm = self.scenario.storm;
        // Where nothing is drawn, what is done goes on in calm.
        if directed.at > storm && self.scenario.scene.is_none() {
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

    pub(super) fn fault(&mut self, fault: &Value, path: Path, processes: Option<&[String]>) {
        let Some((kind, target)) = only_entry(fault) else {
            let message = "a planned fault is one kind with what it strikes";
            let help = match fault.as_str() {
                Some("heal-all") => "write `heal-all: {}`",
                _ => "write for example `stop: {process: a1}`",
            };
            return self.wrong(path, OnValue, message, help);
        };
        if !Fault::NAMES.contains(&kind) {
            let help = suggest::help(kind, &Fault::NAMES, "the kinds are");
            return self.wrong(path.key(kind), Key, format!("unknown fault `{kind}`"), help);
        }
        let path = path.key(kind);
        match serde_json::from_value::<Fault>(fault.clone()) {
            Err(error) => {
                let error = error.to_string();
                let error =
                    error.replace("expected struct variant", "where there must be a mapping");
                let message = format!("this is no `{kind}`: {error}");
                let help = match kind {
                    "heal-all" => "write `heal-all: {}`",
                    _ => "docs/TRACES.md lists the faults with what each needs",
                };
                self.wrong(path, OnValue, message, help);
            }
            Ok(fault) => {
                for name in fault.processes() {
                    let path = find_text(target, name, path.clone()).unwrap_or(path.clone());
                    self.known_process(name, path, processes);
                }
            }
        }
    }

    pub(super) fn known_process(&mut self, name: &str, path: Path, processes: Option<&[String]>) {
        let Some(known) = processes else { return };
        if !known.iter().any(|process| process == name) {
            let help = format!("the processes are: {}", suggest::list(known));
            self.wrong(path, OnValue, format!("there is no process `{name}`"), help);
        }
    }
}

/// What processes are told in the plan, and may be told during a search, for which there is a reason why not.
pub(super) fn misunderstood(
    scenario: &Scenario,
    why: impl Fn(&Told) -> Option<String>,
) -> Vec<Finding> {
    let planned = scenario.plan.iter().enumerate();
    let planned = planned.filter_map(|(index, directed)| {
        let path = Path::of("plan").item(index);
        Some((path, directed.tell.clone()?))
    });
    let faults = scenario.search.iter().flat_map(|search| &search.faults);
    let searched = faults.enumerate().filter_map(|(index, fault)| {
        let path = Path::of("search").key("faults").item(index);
        Some((path, told(fault)?.ok()?))
    });
    let finding = |(path, told): (Path, Told)| {
        Some(Finding {
            path: path.key("tell"),
            focus: OnValue,
            message: why(&told)?,
            help: "docs/SCENARIOS.md lists what each process can be told".into(),
        })
    };
    planned.chain(searched).filter_map(finding).collect()
}

/// Where this text stands.
fn find_text(value: &Value, text: &str, path: Path) -> Option<Path> {
    match value {
        Value::String(found) => (found == text).then_some(path),
        Value::Array(items) => {
            let mut items = items.iter().enumerate();
            items.find_map(|(at, item)| find_text(item, text, path.clone().item(at)))
        }
        Value::Object(entries) => {
            let mut entries = entries.iter();
            entries.find_map(|(key, entry)| find_text(entry, text, path.clone().key(key)))
        }
        _ => None,
    }
}

fn only_entry(fault: &Value) -> Option<(&str, &Value)> {
    let mut entries = fault.as_object()?.iter();
    let (kind, target) = entries.next()?;
    entries.next().is_none().then_some((kind.as_str(), target))
}
