//! An explanation for other programs: the slice as a graph of Graphviz, and as JSON Lines.

use std::fmt::Write as _;

use serde::Serialize;

use super::Explanation;

/// An event of the slice, as a line of JSON.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct JsonEvent<'a> {
    /// Its number in the trace, from 1, as `replay --until` counts.
    event: usize,
    seconds: f64,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    process: Option<&'a str>,
    /// Over how many events it leads to the violation.
    distance: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    told: Vec<JsonTold<'a>>,
    because: Vec<JsonCause>,
}

#[derive(Serialize)]
struct JsonTold<'a> {
    who: &'a str,
    text: &'a str,
    #[serde(rename = "in", skip_serializing_if = "Option::is_none")]
    place: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function: Option<&'static str>,
    /// The line of the sources that tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<&'a str>,
    /// The number of the step in the story.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<usize>,
}

#[derive(Serialize)]
struct JsonCause {
    event: usize,
    by: String,
}

impl Explanation {
    /// The events that lead to the violation, one a line.
    ///
    /// # Panics
    /// Never: all of it can be JSON.
    pub fn json_lines(&self) -> String {
        let mut text = String::new();
        for (event, distance) in self.sliced() {
            let line = serde_json::to_string(&self.json_event(event, distance));
            text += &line.expect("nothing but strings and numbers");
            text.push('\n');
        }
        text
    }

    fn json_event(&self, event: usize, distance: u32) -> JsonEvent<'_> {
        let happened = &self.history.events[event];
        let told = happened
            .told
            .iter()
            .enumerate()
            .map(|(line, told)| JsonTold {
                who: &told.who,
                text: &told.text,
                place: told.place.as_deref(),
                function: told.function,
                line: told.line.as_deref(),
                step: self.step(event, line),
            });
        let before = self.history.causes.before(event).into_iter();
        JsonEvent {
            event: event + 1,
            seconds: happened.at.secs_f64(),
            name: &happened.name,
            process: happened.process.as_deref(),
            distance,
            told: told.collect(),
            because: before
                .map(|(before, because)| JsonCause {
                    event: before + 1,
                    by: because.to_string(),
                })
                .collect(),
        }
    }

    /// The events that lead to the violation, as a graph in the language of Graphviz: a cluster a process, the steps
    /// of the story with their numbers, needed faults in red.
    ///
    /// # Panics
    /// Never: it is written to memory.
    pub fn dot(&self) -> String {
        let mut processes: Vec<Option<&str>> = self
            .sliced()
            .map(|(event, _)| self.history.events[event].process.as_deref())
            .collect();
        processes.sort_unstable();
        processes.dedup();
        let mut text =
            "digraph causes {\n  rankdir=TB;\n  node [shape=box, fontsize=10];\n".to_owned();
        for (number, process) in processes.into_iter().enumerate() {
            writeln!(text, "  subgraph cluster_{number} {{").expect("to memory");
            let label = quoted(process.unwrap_or("world"));
            writeln!(text, "    label={label};").expect("to memory");
            for (event, _) in self.sliced() {
                if self.history.events[event].process.as_deref() == process {
                    writeln!(text, "    {}", self.dot_node(event)).expect("to memory");
                }
            }
            text += "  }\n";
        }
        for (event, _) in self.sliced() {
            for (before, because) in self.history.causes.before(event) {
                writeln!(
                    text,
                    "  e{} -> e{} [label={because}];",
                    before + 1,
                    event + 1
                )
                .expect("to memory");
            }
        }
        text + "}\n"
    }

    fn dot_node(&self, event: usize) -> String {
        let happened = &self.history.events[event];
        let lines = 0..happened.told.len();
        let steps: Vec<String> = lines
            .filter_map(|line| self.step(event, line))
            .map(|step| step.to_string())
            .collect();
        let number = match steps.is_empty() {
            true => String::new(),
            false => format!("{}: ", steps.join(", ")),
        };
        let at = happened.at.secs_f64();
        let label = quoted(&format!(
            "{number}{} ({at:.6} s)",
            self.history.label(event)
        ));
        let style = match (self.is_needed(event), steps.is_empty()) {
            (true, _) => ", color=red, penwidth=2",
            (false, false) => ", penwidth=2",
            (false, true) => ", color=gray",
        };
        format!("e{} [label={label}{style}];", event + 1)
    }
}

/// A text in the language of Graphviz.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", escaped.replace('\n', "\\n"))
}
