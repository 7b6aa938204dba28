//! What a scenario says that begins in the middle: with what is stored, and with every choice from there on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wavetank_component::file::path::Path;
use wavetank_component::file::suggest;
use wavetank_component::file::tree::Focus::Value as OnValue;
use wavetank_component::values::Duration;

use super::check::Checker;
use super::faults::Faults;
use super::search::defects;

/// Where a scenario begins that does not begin with an empty cluster, and what is chosen in it: nothing is drawn. What is
/// stored stands in `etcd`, as `content`. All processes start over that content at `begin`, and until `from` everything
/// goes its undisturbed way, but for what `plan` has before: nobody is told of that opening.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Scene {
    /// When processes start over what is stored: the members of etcd at once, all others two seconds later.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub begin: Duration,
    /// When the run begins.
    pub from: Duration,
    /// Processes that do not start by themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub down: Vec<String>,
    /// The defects and fixes with which it shows what it shows, as the flags of the command.
    #[serde(default, skip_serializing_if = "Switches::is_default")]
    pub switches: Switches,
    /// What a seed decides in a scenario, as it stands in the head of a trace; what is not given is as usual.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub options: Map<String, Value>,
    /// Answers to choices inside of algorithms; others are as usual.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Answered>,
    /// How long frames take; others take their usual time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latencies: Vec<Taken>,
}

/// Defects and fixes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Switches {
    /// All defects off and all fixes on, to begin with.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fixed: bool,
    /// Turned on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "defects")]
    pub defect: Vec<String>,
    /// Turned off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "defects")]
    pub without: Vec<String>,
}

/// An event, by the name that it has in traces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Occurrence {
    /// Its name (docs/TRACES.md).
    pub event: String,
    /// The how-many-th of this name since the run began, from 0.
    #[serde(default, skip_serializing_if = "is_first")]
    pub nth: u32,
}

/// The answer to a choice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Answered {
    /// The choice, by the name that it has in traces: `choose PROCESS/ROUTINE.OP of DOMAIN`.
    pub event: String,
    /// The how-many-th of this name since the run began, from 0.
    #[serde(default, skip_serializing_if = "is_first")]
    pub nth: u32,
    /// The answer.
    pub answer: u64,
}

/// How long the frames of an event take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Taken {
    /// The event, by the name that it has in traces.
    pub event: String,
    /// The how-many-th of this name since the run began, from 0.
    #[serde(default, skip_serializing_if = "is_first")]
    pub nth: u32,
    /// How long each frame takes that it sends, in order.
    pub take: Vec<Duration>,
}

fn is_zero(duration: &Duration) -> bool {
    *duration == Duration::ZERO
}

fn is_first(nth: &u32) -> bool {
    *nth == 0
}

impl Switches {
    fn is_default(&self) -> bool {
        *self == Switches::default()
    }
}

impl Checker<'_> {
    /// Where it begins, and what is chosen.
    pub(super) fn scene(&mut self, possible: bool) {
        let scenario = self.scenario;
        let anchored = scenario.plan.iter().enumerate();
        let anchored = anchored.filter_map(|(n, d)| Some((n, d.after.as_ref()?)));
        let Some(scene) = &scenario.scene else {
            for (index, _) in anchored {
                let path = Path::of("plan").item(index).key("after");
                let message = "events are waited for in scenes only";
                self.wrong(
                    path,
                    OnValue,
                    message,
                    "remove `after`: it strikes at its time",
                );
            }
            return;
        };
        let root = Path::of("scene");
        let processes = self.processes(possible);
        let processes = processes.as_deref();
        self.scene_times(&root);
        for (index, name) in scene.down.iter().enumerate() {
            self.known_process(name, root.clone().key("down").item(index), processes);
        }
        let switches = [
            ("defect", &scene.switches.defect),
            ("without", &scene.switches.without),
        ];
        for (key, names) in switches {
            for (index, name) in names.iter().enumerate() {
                let path = root.clone().key("switches").key(key).item(index);
                self.known_defect(name, path, OnValue);
            }
        }
        for (index, after) in anchored {
            let path = Path::of("plan").item(index).key("after").key("event");
            self.event(&after.event, path, processes);
        }
        for (index, taken) in scene.latencies.iter().enumerate() {
            let path = root.clone().key("latencies").item(index).key("event");
            self.event(&taken.event, path, processes);
        }
        for (index, answered) in scene.choices.iter().enumerate() {
            let path = root.clone().key("choices").item(index);
            self.answered(answered, &path, processes);
        }
        if scenario.faults != Faults::default() {
            let help = "remove `faults`, or the `scene`; faults of a scene stand in `plan`";
            let message = "nothing is drawn in a scene";
            self.wrong(Path::of("faults"), OnValue, message, help);
        }
    }

    fn scene_times(&mut self, root: &Path) {
        let Some(scene) = &self.scenario.scene else {
            return;
        };
        let storm = self.scenario.storm;
        if scene.from <= scene.begin {
            let message = format!("the run begins at {}, before anybody starts", scene.from);
            let help = format!("processes start at {}: begin later", scene.begin);
            self.wrong(root.clone().key("from"), OnValue, message, help);
        }
        if scene.from > storm {
            let message = format!("the run begins at {}, after the storm", scene.from);
            let help = format!("the storm ends at {storm}: begin earlier, or let it last longer");
            self.wrong(root.clone().key("from"), OnValue, message, help);
        }
        for (index, planned) in self.scenario.plan.iter().enumerate() {
            if planned.at < scene.begin {
                let message = format!("this is at {}, before the scene begins", planned.at);
                let help = format!("processes start at {}: choose a later time", scene.begin);
                let path = Path::of("plan").item(index).key("at");
                self.wrong(path, OnValue, message, help);
            }
        }
    }

    fn answered(&mut self, answered: &Answered, path: &Path, processes: Option<&[String]>) {
        let path = path.clone().key("event");
        let among = answered.event.rsplit_once(" of ");
        let among = among.and_then(|(_, domain)| domain.parse::<u64>().ok());
        let (true, Some(among)) = (answered.event.starts_with("choose "), among) else {
            let message = format!("`{}` is no choice", answered.event);
            let help = "write it as a trace does, for example `choose s1.1/ask#0.0 of 2`";
            return self.wrong(path, OnValue, message, help);
        };
        self.event(&answered.event, path.clone(), processes);
        if answered.answer >= among {
            let message = format!("the answer {} is none of {among}", answered.answer);
            let help = format!("answers are 0 to {}", among.saturating_sub(1));
            self.wrong(path, OnValue, message, help);
        }
    }

    /// Does an event that is called so have a process that there is?
    fn event(&mut self, name: &str, path: Path, processes: Option<&[String]>) {
        let mut words = name.split(' ');
        let kind = words.next().unwrap_or_default();
        if !KINDS.contains(&kind) {
            let help = suggest::help(kind, &KINDS, "events begin with");
            let message = format!("`{name}` is no name of an event");
            return self.wrong(path, OnValue, message, help);
        }
        let process = words.next().and_then(|word| word.split('.').next());
        if let Some(process) = process.filter(|_| !OF_NOBODY.contains(&kind)) {
            self.known_process(process, path, processes);
        }
    }
}

/// What the names of events begin with.
const KINDS: [&str; 27] = [
    "request",
    "answer",
    "push",
    "part",
    "window",
    "cancel",
    "open",
    "accept",
    "refuse",
    "close",
    "go-away",
    "ping",
    "pong",
    "cast",
    "keepalive",
    "dial-timeout",
    "timer",
    "sleep",
    "grant",
    "recv",
    "send",
    "wake",
    "deadline",
    "choose",
    "property-deadline",
    "act",
    "calm",
];
/// Those that no process has.
const OF_NOBODY: [&str; 3] = ["property-deadline", "act", "calm"];
