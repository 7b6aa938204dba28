//! A trace as one page for a browser: all events with what each follows from, and, of a violation, its explanation. The
//! page itself is in `page/` beside `src`; here is what it shows, as JSON that it carries.
//!
//! There may be tens of thousands of events. So what every event has stands in columns, what few have in lists with
//! the number of the event, and numbers are differences to the one before. Events are numbered from 0 here; the page
//! shows them from 1, as `replay --until` counts.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use wavetank_engine::Fault;
use wavetank_engine::drive::causes::Because;

use super::history::{History, Kind, OUTSIDE};
use super::{Chances, Explanation, Whole};
use crate::replay::in_words;
use crate::trace_file::Trace;

const HTML: &str = include_str!("../../page/trace.html");
const STYLE: &str = include_str!("../../page/page.css");
const TEXTS: &str = include_str!("../../page/texts.js");
const RUN: &str = include_str!("../../page/run.js");
const CANVAS: &str = include_str!("../../page/canvas.js");
const OVERVIEW: &str = include_str!("../../page/overview.js");
const DIAGRAM: &str = include_str!("../../page/diagram.js");
const SCRIPT: &str = include_str!("../../page/trace.js");

/// All that the page shows of a run, but for what was written.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Shown<'a> {
    case: &'a str,
    seed: u64,
    shrunk: bool,
    build: &'a str,
    options: &'a serde_json::Value,
    violation: Option<String>,
    blame: Option<String>,
    /// Lanes.
    processes: &'a [&'a str],
    /// Nanoseconds since the event before,
    at: Vec<u64>,
    /// the lane,
    on: Vec<usize>,
    /// the name,
    names: Vec<&'a str>,
    /// and what it follows from: over how many events, and by which of `kinds`; in turn.
    because: Vec<Vec<usize>>,
    kinds: Vec<String>,
    told: Vec<ShownTold<'a>>,
    /// What requests ask for, and where events without words happen.
    asked: Vec<(usize, &'a str)>,
    ran: Vec<(usize, &'a str)>,
    /// The events from which the violation follows, and over how many others.
    slice: Vec<(usize, u32)>,
    steps: Vec<ShownStep<'a>>,
    faults: Vec<ShownFault<'a>>,
    curve: Option<Curve>,
    fixed: Option<ShownFixed<'a>>,
}

#[derive(Serialize)]
struct ShownTold<'a> {
    event: usize,
    who: &'a str,
    text: &'a str,
    kind: &'static str,
    #[serde(rename = "in", skip_serializing_if = "Option::is_none")]
    place: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<&'a str>,
}

#[derive(Serialize)]
struct ShownStep<'a> {
    event: usize,
    line: usize,
    after: &'a [usize],
}

#[derive(Serialize)]
struct ShownFault<'a> {
    event: usize,
    end: Option<usize>,
    /// Does it last if nothing ends it?
    lasts: bool,
    text: &'a str,
    /// The lanes that it strikes.
    on: Vec<usize>,
    needed: Option<bool>,
    leads: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Curve {
    /// After so many events: how many of the futures violate.
    points: Vec<(usize, u64)>,
    futures: u64,
    /// The number of events before and after.
    lost: Option<(usize, usize)>,
}

#[derive(Serialize)]
struct ShownFixed<'a> {
    flipped: &'a [String],
    ends: &'a str,
    event: Option<usize>,
    here: Option<&'a str>,
    fixed: Option<&'a str>,
}

/// A key that was written.
#[derive(Serialize)]
struct ShownChange<'a> {
    event: usize,
    /// Which of the keys.
    key: usize,
    revision: u64,
    /// The object, as JSON in a text: read when it is looked at.
    now: Option<&'a str>,
}

#[derive(Serialize)]
struct Written<'a> {
    keys: Vec<&'a str>,
    changes: Vec<ShownChange<'a>>,
}

/// What a page is made of.
struct Page<'a> {
    trace: &'a Trace,
    history: &'a History,
    explanation: Option<&'a Explanation>,
    chances: Option<&'a Chances>,
}

impl Whole {
    /// The page of a trace without a violation.
    pub fn page(&self, trace: &Trace) -> String {
        let page = Page {
            trace,
            history: &self.history,
            explanation: None,
            chances: None,
        };
        page.html()
    }
}

impl Explanation {
    /// The page of the trace that was explained; with the curve of its futures, if they were simulated.
    pub fn page(&self, trace: &Trace, chances: Option<&Chances>) -> String {
        let page = Page {
            trace,
            history: &self.history,
            explanation: Some(self),
            chances,
        };
        page.html()
    }
}

impl Page<'_> {
    fn html(&self) -> String {
        let lanes = lanes(self.history);
        let title = match self.explanation {
            Some(explained) => {
                format!("{}: {}", self.trace.head.case, explained.violation.property)
            }
            None => self.trace.head.case.clone(),
        };
        filled(
            HTML,
            &[
                ("title", &escaped(&title)),
                ("style", STYLE),
                ("shown", &embedded(&self.shown(&lanes))),
                ("written", &embedded(&self.written())),
                (
                    "script",
                    &[TEXTS, CANVAS, RUN, OVERVIEW, DIAGRAM, SCRIPT].concat(),
                ),
            ],
        )
    }

    fn shown<'a>(&'a self, lanes: &'a [&'a str]) -> Shown<'a> {
        let (head, history, explained) = (&self.trace.head, self.history, self.explanation);
        let lane = |host: &str| lanes.iter().position(|lane| *lane == host).unwrap_or(0);
        let events = history.events.iter();
        let mut last = 0;
        let at = events.clone().map(|event| {
            let now = event.at.nanos();
            now - std::mem::replace(&mut last, now)
        });
        let (because, kinds) = because(history);
        let numbered = || history.events.iter().enumerate();
        let asked = numbered().filter_map(|(at, event)| Some((at, event.asked.as_deref()?)));
        let silent = numbered().filter(|(_, event)| event.told.is_empty());
        let ran = silent.filter_map(|(at, event)| Some((at, event.ran.first()?.place.as_str())));
        let steps = explained.map_or(&[][..], |explained| &explained.steps);
        Shown {
            case: &head.case,
            seed: head.seed,
            shrunk: head.shrunk,
            build: &head.build,
            options: &head.options,
            violation: explained.map(|explained| in_words(&explained.violation)),
            blame: explained.map(|explained| explained.blame.to_string()),
            processes: lanes,
            at: at.collect(),
            on: events.clone().map(|event| lane(event.host())).collect(),
            names: events.map(|event| event.name.as_str()).collect(),
            because,
            kinds,
            told: told(history),
            asked: asked.collect(),
            ran: ran.collect(),
            slice: explained.map_or(Vec::new(), |explained| explained.sliced().collect()),
            steps: steps
                .iter()
                .map(|step| ShownStep {
                    event: step.event,
                    line: step.line,
                    after: &step.after,
                })
                .collect(),
            faults: self.faults(&lane),
            curve: self.chances.map(curve),
            fixed: explained.and_then(fixed),
        }
    }

    fn faults(&self, lane: &dyn Fn(&str) -> usize) -> Vec<ShownFault<'_>> {
        let lasting = self.history.lasting().into_iter();
        let shown = lasting.map(|lasting| {
            let struck = self.explanation.into_iter().flat_map(|own| &own.faults);
            let struck = struck.into_iter().find(|own| own.event == lasting.event);
            let fault = self.history.events[lasting.event].fault.as_ref();
            let on = fault
                .into_iter()
                .flat_map(|fault| fault.processes())
                .map(lane);
            ShownFault {
                event: lasting.event,
                end: lasting.end,
                lasts: fault.is_some_and(lasts),
                text: lasting.text,
                on: on.collect(),
                needed: struck.and_then(|struck| struck.needed),
                leads: struck.is_some_and(|struck| struck.leads),
            }
        });
        shown.collect()
    }

    fn written(&self) -> Written<'_> {
        let changes = &self.history.changes;
        let keys: BTreeSet<&str> = changes.iter().map(|change| change.key.as_str()).collect();
        let numbers: BTreeMap<&str, usize> = keys.iter().copied().zip(0..).collect();
        let changes = changes.iter().map(|change| ShownChange {
            event: change.event,
            key: numbers[change.key.as_str()],
            revision: change.revision,
            now: change.now.as_deref(),
        });
        Written {
            changes: changes.collect(),
            keys: keys.into_iter().collect(),
        }
    }
}

/// Others are over at once.
fn lasts(fault: &Fault) -> bool {
    !matches!(
        fault,
        Fault::Reset { .. }
            | Fault::HalfOpen { .. }
            | Fault::LoseAnswer { .. }
            | Fault::Delay { .. }
            | Fault::ClockJump { .. }
    )
}

/// Who something happens at, what comes from outside first.
fn lanes(history: &History) -> Vec<&str> {
    let events = history.events.iter();
    let targets = events.clone().filter_map(|event| event.process.as_deref());
    let hosts: BTreeSet<&str> = events.map(|event| event.host()).chain(targets).collect();
    let processes = hosts.into_iter().filter(|host| *host != OUTSIDE);
    std::iter::once(OUTSIDE).chain(processes).collect()
}

fn because(history: &History) -> (Vec<Vec<usize>>, Vec<String>) {
    let mut kinds: Vec<Because> = Vec::new();
    let mut all = Vec::with_capacity(history.events.len());
    for event in 0..history.events.len() {
        let mut own = Vec::new();
        for (before, because) in history.causes.before(event) {
            let known = kinds.iter().position(|kind| *kind == because);
            let kind = known.unwrap_or_else(|| {
                kinds.push(because);
                kinds.len() - 1
            });
            own.extend([event - before, kind]);
        }
        all.push(own);
    }
    (all, kinds.iter().map(ToString::to_string).collect())
}

fn told(history: &History) -> Vec<ShownTold<'_>> {
    let events = history.events.iter().enumerate();
    let told = events.flat_map(|(event, happened)| {
        happened.told.iter().map(move |told| ShownTold {
            event,
            who: &told.who,
            text: &told.text,
            kind: match told.kind {
                Kind::Note => "note",
                Kind::Answer => "answer",
                Kind::Command => "command",
                Kind::Fault => "fault",
            },
            place: told.place.as_deref(),
            function: told.function,
            line: told.line.as_deref(),
        })
    });
    told.collect()
}

fn curve(chances: &Chances) -> Curve {
    let points = chances.points.iter();
    let (before, after) = chances.lost;
    Curve {
        points: points.map(|point| (point.events, point.violated)).collect(),
        futures: chances.points.first().map_or(0, |point| point.futures),
        lost: (before.percent() < after.percent()).then_some((before.events, after.events)),
    }
}

fn fixed(explanation: &Explanation) -> Option<ShownFixed<'_>> {
    let fixed = explanation.fixed.as_ref()?;
    let parts = fixed.parts.as_ref();
    Some(ShownFixed {
        flipped: &fixed.flipped,
        ends: &fixed.ends,
        event: parts.map(|parts| parts.event),
        here: parts.map(|parts| parts.here.as_str()),
        fixed: parts.map(|parts| parts.fixed.as_str()),
    })
}

/// A template with `{{name}}` filled in, each once and in this order: what is filled in is not looked through.
pub(crate) fn filled(template: &str, parts: &[(&str, &str)]) -> String {
    let (mut text, mut rest) = (String::new(), template);
    for (name, part) in parts {
        let (before, after) = rest
            .split_once(&format!("{{{{{name}}}}}"))
            .expect("the template names its parts in order");
        text += before;
        text += part;
        rest = after;
    }
    text + rest
}

/// JSON that may stand in an element `script`: nothing in it ends that.
pub(crate) fn embedded(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value).expect("strings and numbers");
    json.replace('<', "\\u003c")
}

/// A text that may stand in an element.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filled_in_is_not_looked_through() {
        let parts = [("a", "{{b}} "), ("b", "2")];
        assert_eq!(filled("<{{a}}{{b}}>", &parts), "<{{b}} 2>");
    }

    #[test]
    fn no_text_ends_its_element() {
        assert_eq!(embedded(&"</script>"), r#""\u003c/script>""#);
        assert_eq!(escaped("<a&b"), "&lt;a&amp;b");
    }
}
