//! How far `wavetank check` goes: what makes a scenario a *scope*.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wavetank_cluster::Components;
use wavetank_component::file::path::Path;
use wavetank_component::file::suggest;
use wavetank_component::file::tree::Focus::{self, Key as OnKey, Value as OnValue};
use wavetank_component::values::Duration;

use super::check::Checker;
use super::scenario::{Told, faults_of_one_kind};

/// More would not fit the bits of a state.
const MOST_FAULTS: usize = 64;

/// Every order of events is searched, within these bounds and until the storm ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Search {
    /// When the search begins; until then everything goes its undisturbed way.
    pub from: Duration,
    /// Faults and ends of faults that may strike after any event, each once, in any order: their
    /// kinds, and what they strike, as in traces (docs/TRACES.md). What a process may be told at any
    /// moment stands here as well, as `tell: {process, what, with}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "faults_of_one_kind")]
    pub faults: Vec<Value>,
    /// At most so many of them strike on one path; if not given, all may.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most: Option<u32>,
    /// How often on one path an event may come before others that are due earlier.
    #[serde(default)]
    pub deviations: u32,
    /// By how much those are late at most; if not given, by any time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_by: Option<Duration>,
    /// A choice among at most so many is made in every way, a wider one is always the last.
    #[serde(default = "sixteen")]
    pub widest_choice: u64,
    /// Is it checked that every state recovers once faults have ended, within the calm?
    #[serde(default)]
    pub recovers: bool,
    /// Of recovery: whoever is down stays down, instead of being started when faults end.
    #[serde(default)]
    pub stay_down: bool,
    /// What this scope is for: defects that it finds, and fixes without which it finds something, each on its
    /// own in a world that is fixed otherwise. `wavetank check --fixed --each` makes sure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "defects")]
    pub shows: Vec<String>,
    /// Others of which it passes the place and that it cannot find, each with the reason. `--each` makes sure
    /// of them as well.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "reasons")]
    pub cannot_show: BTreeMap<String, String>,
}

/// `format` says which names there are.
pub(super) fn defects(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "items": {"$ref": "#/$defs/Defect"}})
}

fn reasons(_: &mut SchemaGenerator) -> Schema {
    let names = json_schema!({"$ref": "#/$defs/Defect"});
    json_schema!({"type": "object", "propertyNames": names, "additionalProperties": {"type": "string"}})
}

/// The names of all defects and fixes.
pub(super) fn defect_names(components: &Components) -> Vec<&'static str> {
    let all = components.defects().into_iter();
    all.map(|(_, _, defect)| defect.name).collect()
}

/// What is told, if that is what stands among the faults.
pub fn told(fault: &Value) -> Option<Result<Told, serde_json::Error>> {
    let told = fault.as_object()?.get("tell")?;
    Some(Told::deserialize(told))
}

fn sixteen() -> u64 {
    16
}

impl Checker<'_> {
    pub(super) fn known_defect(&mut self, name: &str, path: Path, focus: Focus) {
        let known = defect_names(self.components);
        if !known.contains(&name) {
            let message = format!("there is no defect or fix `{name}`");
            let help = suggest::help(name, &known, "there are");
            self.wrong(path, focus, message, help);
        }
    }

    /// The bounds of the search.
    pub(super) fn search(&mut self, possible: bool) {
        let scenario = self.scenario;
        let Some(search) = &scenario.search else {
            return;
        };
        let (root, storm) = (Path::of("search"), scenario.storm);
        if search.from >= storm {
            let message = format!(
                "the search begins at {}, but the storm ends at {storm}",
                search.from
            );
            let help = "the search ends with the storm: begin earlier, or let it last longer";
            self.wrong(root.clone().key("from"), OnValue, message, help);
        }
        let count = search.faults.len();
        if count > MOST_FAULTS {
            let message = format!("{count} faults are too many to search through");
            let help = format!("list at most {MOST_FAULTS}");
            self.wrong(root.clone().key("faults"), OnValue, message, help);
        }
        if let Some(most) = search.at_most.filter(|most| *most as usize > count) {
            let message = format!("of {count} faults {most} cannot strike");
            let help = format!("give at most {count}, or leave the key out");
            self.wrong(root.clone().key("at-most"), OnValue, message, help);
        }
        if search.late_by.is_some() && search.deviations == 0 {
            let message = "nothing is late without deviations";
            let help = "add `deviations: 1`, or remove it";
            self.wrong(root.clone().key("late-by"), OnValue, message, help);
        }
        if search.late_by.is_some_and(|late| late.nanos() == 0) {
            let message = "what is late by nothing is not late";
            let help = "give a duration, for example `10ms`, or leave the key out: then it may be late by any time";
            self.wrong(root.clone().key("late-by"), OnValue, message, help);
        }
        if search.widest_choice == 0 {
            let message = "no choice is among none";
            let help = "with 1 each choice is the last answer; without the key a choice among at most 16 is made in every way";
            self.wrong(root.clone().key("widest-choice"), OnValue, message, help);
        }
        if search.stay_down && !search.recovers {
            let message = "nobody is started where no recovery is looked at";
            let help = "add `recovers: true`, or remove it";
            self.wrong(root.clone().key("stay-down"), OnValue, message, help);
        }
        for (index, name) in search.shows.iter().enumerate() {
            self.known_defect(name, root.clone().key("shows").item(index), OnValue);
        }
        for (name, why) in &search.cannot_show {
            let path = root.clone().key("cannot-show").key(name);
            if search.shows.contains(name) {
                let message = format!("`{name}` is among what the scope shows");
                let help = "name it in one of the two lists";
                self.wrong(path.clone(), OnKey, message, help);
            }
            if why.trim().is_empty() {
                let help = "say in a few words what the scope lacks";
                self.wrong(path.clone(), OnValue, "there is no reason", help);
            }
            self.known_defect(name, path, OnKey);
        }
        let processes = self.processes(possible);
        for (index, fault) in search.faults.iter().enumerate() {
            let path = root.clone().key("faults").item(index);
            match told(fault) {
                None => self.fault(fault, path, processes.as_deref()),
                Some(Ok(told)) => {
                    let path = path.key("tell").key("process");
                    self.known_process(&told.process, path, processes.as_deref());
                }
                Some(Err(error)) => {
                    let message = format!("this is nothing to tell: {error}");
                    let help = "write for example `tell: {process: s1, what: use}`";
                    self.wrong(path, OnValue, message, help);
                }
            }
        }
    }
}
