//! Traces: a run, written down. One event a line; the format is described in `docs/TRACES.md`.
//!
//! A line says when an event happened, what it was by name, and how long each frame takes that it
//! sent. So a trace replays without the generator that made it. Files, folders and compression are
//! not here: this module reads and writes text.

use std::fmt;
use std::io::{self, BufRead, Write};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::fault::{Action, FaultKind};
use crate::name::{EventName, Kind, ProcId};
use crate::time::Time;

/// The version of the format that this build writes and reads.
pub const VERSION: u32 = 1;
const MAGIC: &str = "wavetank-trace";

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct End {
    /// Events applied.
    pub events: u64,
    /// The violation, if there was one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub violation: Option<FoundViolation>,
}

/// A violation, as it stands at the end of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FoundViolation {
    /// The property.
    pub property: String,
    /// The kind of object.
    pub kind: String,
    /// The object.
    pub object: String,
    /// What was wrong, for people.
    pub message: String,
}

impl FoundViolation {
    /// The kind of object of what no run shows by itself, but only beside another one.
    pub const DIFFERENCE: &str = "difference";

    /// Same property, same kind of object: what shrinking preserves.
    pub fn is_like(&self, other: &FoundViolation) -> bool {
        self.property == other.property && self.kind == other.kind
    }
}

/// One line after the head.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// An event.
    Event(TraceEvent),
    /// The world's digest after so many events.
    Digest {
        /// Events applied before it.
        events: u64,
        /// The digest, from scratch.
        digest: u64,
    },
    /// The last line.
    End(End),
}

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceEvent {
    /// When.
    pub at: Time,
    /// What.
    pub what: TraceWhat,
    /// How long each frame takes that it sent, in nanoseconds.
    pub delays: Vec<u64>,
}

/// What an event was.
#[derive(Clone, Debug, PartialEq)]
pub enum TraceWhat {
    /// A pending entry, by name.
    Pending(String),
    /// A choice, by name, and what was chosen.
    Choice(String, u64),
    /// An action from outside.
    Act(Action),
    /// The end of the storm.
    Calm,
}

impl fmt::Display for TraceWhat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceWhat::Pending(name) => f.write_str(name),
            TraceWhat::Choice(name, value) => write!(f, "{name} = {value}"),
            TraceWhat::Act(action) => {
                let json = serde_json::to_string(action).map_err(|_| fmt::Error)?;
                write!(f, "act {json}")
            }
            TraceWhat::Calm => f.write_str("calm"),
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Line::Event(event) => {
                write!(f, "{} {}", event.at, event.what)?;
                if !event.delays.is_empty() {
                    f.write_str(" ~")?;
                    event.delays.iter().try_for_each(|d| write!(f, " {d}"))?;
                }
                Ok(())
            }
            Line::Digest { events, digest } => write!(f, "# {events} {digest:016x}"),
            Line::End(end) => {
                let json = serde_json::to_string(end).map_err(|_| fmt::Error)?;
                write!(f, "end {json}")
            }
        }
    }
}

/// Why a text is not a trace.
#[derive(Debug, Error)]
pub enum TraceError {
    /// It could not be read.
    #[error("cannot be read: {0}")]
    Io(io::Error),
    /// It does not begin as a trace does.
    #[error("not a trace: the first line should be `{MAGIC} {VERSION}`")]
    NotATrace,
    /// Another version wrote it.
    #[error("written in version {0} of the format; this build reads version {VERSION}")]
    Version(u32),
    /// A line does not parse.
    #[error("line {number}: {message}")]
    Line {
        /// Its number, from 1.
        number: u64,
        /// What would be right.
        message: String,
    },
    /// It stops before its end.
    #[error("cut off after line {lines}: the last line should begin with `end`")]
    CutOff {
        /// Lines that were read.
        lines: u64,
    },
}

/// Reads a trace line by line.
#[derive(Debug)]
pub struct Reader<R> {
    lines: io::Lines<R>,
    number: u64,
    head: serde_json::Value,
    ended: bool,
}

impl<R: BufRead> Reader<R> {
    /// Reads the head.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn new(input: R) -> Result<Reader<R>, TraceError> {
        let mut reader = Reader {
            lines: input.lines(),
            number: 0,
            head: serde_json::Value::Null,
            ended: false,
        };
        let first = match reader.raw() {
            Err(TraceError::Io(e)) if e.kind() == io::ErrorKind::InvalidData => None,
            other => other?,
        };
        let version = first
            .as_deref()
            .and_then(|line| line.strip_prefix(MAGIC))
            .and_then(|rest| rest.trim().parse().ok())
            .ok_or(TraceError::NotATrace)?;
        if version != VERSION {
            return Err(TraceError::Version(version));
        }
        let head = reader.raw()?.ok_or(TraceError::CutOff { lines: 1 })?;
        reader.head = head
            .strip_prefix("head ")
            .and_then(|json| serde_json::from_str(json).ok())
            .ok_or_else(|| reader.bad("should be `head` and a JSON object".to_owned()))?;
        Ok(reader)
    }

    /// The head.
    pub fn head(&self) -> &serde_json::Value {
        &self.head
    }

    /// The number of the last line that was read.
    pub fn line_number(&self) -> u64 {
        self.number
    }

    fn raw(&mut self) -> Result<Option<String>, TraceError> {
        let line = self.lines.next().transpose().map_err(TraceError::Io)?;
        self.number += u64::from(line.is_some());
        Ok(line)
    }

    fn bad(&self, message: String) -> TraceError {
        TraceError::Line {
            number: self.number,
            message,
        }
    }

    /// The next line; `None` after the end.
    ///
    /// # Errors
    /// [`TraceError`]; [`TraceError::CutOff`] if the text stops before its `end`.
    pub fn next_line(&mut self) -> Result<Option<Line>, TraceError> {
        if self.ended {
            return Ok(None);
        }
        let Some(text) = self.raw()? else {
            return Err(TraceError::CutOff { lines: self.number });
        };
        let line = parse(&text).map_err(|message| self.bad(message))?;
        self.ended = matches!(line, Line::End(_));
        Ok(Some(line))
    }

    /// All lines that are left.
    ///
    /// # Errors
    /// As [`Reader::next_line`].
    pub fn rest(&mut self) -> Result<Vec<Line>, TraceError> {
        std::iter::from_fn(|| self.next_line().transpose()).collect()
    }
}

fn parse(text: &str) -> Result<Line, String> {
    if let Some(json) = text.strip_prefix("end ") {
        return serde_json::from_str(json)
            .map(Line::End)
            .map_err(|e| format!("the end does not parse: {e}"));
    }
    if let Some(rest) = text.strip_prefix("# ") {
        return rest
            .split_once(' ')
            .and_then(|(events, digest)| {
                Some(Line::Digest {
                    events: events.parse().ok()?,
                    digest: u64::from_str_radix(digest, 16).ok()?,
                })
            })
            .ok_or_else(|| "should be `# EVENTS DIGEST`".to_owned());
    }
    let (at, rest) = text
        .split_once(' ')
        .ok_or_else(|| format!("`{text}` should be a time in seconds and an event"))?;
    let at: Time = at.parse()?;
    let (what, delays) = match rest.rsplit_once(" ~") {
        Some((what, delays)) if delays.bytes().all(|b| b == b' ' || b.is_ascii_digit()) => {
            let delays: Result<Vec<u64>, _> = delays.split_whitespace().map(str::parse).collect();
            (what, delays.map_err(|e| format!("a delay: {e}"))?)
        }
        _ => (rest, Vec::new()),
    };
    let what = if what == "calm" {
        TraceWhat::Calm
    } else if let Some(json) = what.strip_prefix("act ") {
        TraceWhat::Act(serde_json::from_str(json).map_err(|e| format!("the action: {e}"))?)
    } else if let Some((name, value)) = what.split_once(" = ") {
        let value = value.parse().map_err(|e| format!("the choice: {e}"))?;
        TraceWhat::Choice(name.to_owned(), value)
    } else {
        TraceWhat::Pending(what.to_owned())
    };
    Ok(Line::Event(TraceEvent { at, what, delays }))
}

/// The compact form in which a run is recorded while it happens.
#[derive(Clone, Debug, Default)]
pub struct Record {
    pub(crate) events: Vec<Recorded>,
    pub(crate) delays: Vec<u64>,
    pub(crate) actions: Vec<Action>,
    pub(crate) digests: Vec<(u64, u64)>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Recorded {
    pub at: Time,
    pub name: EventName,
    /// Where its delays end in the record's list.
    pub delays_end: u32,
}

impl Record {
    /// Forgets everything and keeps the memory.
    pub fn clear(&mut self) {
        self.events.clear();
        self.delays.clear();
        self.actions.clear();
        self.digests.clear();
    }

    /// Events recorded.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Nothing recorded?
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    pub(crate) fn event(&mut self, at: Time, name: EventName, delays: &[u64]) {
        self.delays.extend_from_slice(delays);
        self.events.push(Recorded {
            at,
            name,
            delays_end: self.delays.len() as u32,
        });
    }

    pub(crate) fn action(&mut self, at: Time, action: Action, delays: &[u64]) {
        let index = self.actions.len() as u32;
        self.actions.push(action);
        self.event(at, EventName(Kind::Act { index }), delays);
    }

    /// What happened, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = EventName> + '_ {
        self.events.iter().map(|event| event.name)
    }

    /// The name of what an action does; `None` if it is not a fault.
    pub(crate) fn kind_of_action(&self, index: u32) -> Option<&'static str> {
        match self.actions.get(index as usize)? {
            Action::Fault(fault) => fault.kind().map(FaultKind::name),
            _ => None,
        }
    }

    pub(crate) fn digest(&mut self, digest: u64) {
        self.digests.push((self.events.len() as u64, digest));
    }

    /// The lines of the trace, in order. `name` gives the processes' names.
    pub fn lines<'a>(
        &'a self,
        name: &'a dyn Fn(ProcId) -> String,
        end: End,
    ) -> impl Iterator<Item = Line> + 'a {
        let mut digests = self.digests.iter().peekable();
        let mut from = 0;
        self.events
            .iter()
            .enumerate()
            .flat_map(move |(index, event)| {
                let delays = &self.delays[from..event.delays_end as usize];
                from = event.delays_end as usize;
                let events = index as u64 + 1;
                let digest = digests.next_if(|(at, _)| *at == events);
                [
                    Some(Line::Event(TraceEvent {
                        at: event.at,
                        what: self.what(event.name, name),
                        delays: delays.to_vec(),
                    })),
                    digest.map(|(events, digest)| Line::Digest {
                        events: *events,
                        digest: *digest,
                    }),
                ]
                .into_iter()
                .flatten()
            })
            .chain(std::iter::once(Line::End(end)))
    }

    fn what(&self, event: EventName, name: &dyn Fn(ProcId) -> String) -> TraceWhat {
        match event.0 {
            Kind::Act { index } => TraceWhat::Act(self.actions[index as usize].clone()),
            Kind::Calm => TraceWhat::Calm,
            kind => {
                let mut text = String::new();
                event.render(name, &mut text);
                match kind {
                    Kind::Choose { value, .. } => TraceWhat::Choice(text, value),
                    _ => TraceWhat::Pending(text),
                }
            }
        }
    }
}

/// Writes a whole trace.
///
/// # Errors
/// Those of the output.
pub fn write(
    out: &mut dyn Write,
    head: &serde_json::Value,
    lines: impl Iterator<Item = Line>,
) -> io::Result<()> {
    writeln!(out, "{MAGIC} {VERSION}")?;
    writeln!(out, "head {head}")?;
    for line in lines {
        writeln!(out, "{line}")?;
    }
    out.flush()
}
