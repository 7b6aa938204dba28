//! A whole trace as Chrome's trace events in JSON, which Perfetto shows.
//!
//! A process of the world is one there, and a routine is a thread of it; what happens in callbacks has a thread of its
//! own. Events are short slices, frames arrows between them, routines and faults that last are spans, and the violation
//! is an instant. What comes from outside is a process, too.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};
use wavetank_engine::drive::causes::Because;

use super::history::History;
use super::lasting::Lasting;

/// An event is shown so long, in microseconds, if nothing follows on its thread before.
const SHOWN: f64 = 1.0;
/// The thread of what happens in no routine.
const CALLBACKS: &str = "callbacks";

/// The thread of an event, and when it is, in microseconds.
struct Place {
    pid: usize,
    tid: usize,
    ts: f64,
}

/// The whole trace; `violation` in words.
pub(super) fn perfetto(history: &History, violation: Option<&str>) -> String {
    let threads = Threads::of(history);
    let places: Vec<Place> = (0..history.events.len())
        .map(|event| threads.place(history, event))
        .collect();
    let mut events = threads.named();
    events.extend(slices(history, &places));
    events.extend(arrows(history, &places));
    events.extend(routines(history, &threads));
    events.extend(faults(history, &places));
    if let (Some(violation), Some(place)) = (violation, places.last()) {
        let name = format!("violation of {violation}");
        events.push(json!({
            "ph": "i", "s": "g", "name": name, "cat": "violation",
            "pid": place.pid, "tid": place.tid, "ts": place.ts,
        }));
    }
    let lines: Vec<String> = events.iter().map(Json::to_string).collect();
    let lines = lines.join(",\n");
    format!("{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{lines}\n]}}\n")
}

/// The numbers of processes and threads.
struct Threads {
    processes: Vec<String>,
    threads: BTreeMap<(String, String), usize>,
}

impl Threads {
    fn of(history: &History) -> Threads {
        let hosts = history.events.iter().map(|event| event.host().to_owned());
        let processes: BTreeSet<String> = hosts.collect();
        let mut all: BTreeSet<(String, String)> = BTreeSet::new();
        for event in &history.events {
            all.insert((event.host().to_owned(), CALLBACKS.to_owned()));
            let ran = event.ran.iter();
            all.extend(ran.map(|ran| (ran.process.clone(), ran.routine.clone())));
        }
        let mut threads = BTreeMap::new();
        for process in &processes {
            let own = all.iter().filter(|(of, _)| of == process);
            let callbacks = (process.clone(), CALLBACKS.to_owned());
            let rest = own.filter(|thread| **thread != callbacks).cloned();
            let own = std::iter::once(callbacks.clone()).chain(rest);
            threads.extend((1..).zip(own).map(|(tid, thread)| (thread, tid)));
        }
        Threads {
            processes: processes.into_iter().collect(),
            threads,
        }
    }

    fn pid(&self, process: &str) -> usize {
        let known = self.processes.iter();
        known.take_while(|known| *known != process).count() + 1
    }

    fn tid(&self, process: &str, routine: &str) -> usize {
        let thread = (process.to_owned(), routine.to_owned());
        self.threads.get(&thread).copied().unwrap_or(1)
    }

    fn place(&self, history: &History, event: usize) -> Place {
        let happened = &history.events[event];
        let host = happened.host();
        let ran = happened.ran.iter().find(|ran| ran.process == host);
        let thread = ran.map_or(CALLBACKS, |ran| ran.routine.as_str());
        Place {
            pid: self.pid(host),
            tid: self.tid(host, thread),
            ts: micros(history, event),
        }
    }

    /// What they are called.
    fn named(&self) -> Vec<Json> {
        let meta = |pid: usize, tid: usize, what: &str, name: &str| json!({"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}});
        let processes = self.processes.iter();
        let processes = processes.map(|name| meta(self.pid(name), 0, "process_name", name));
        let threads = self
            .threads
            .iter()
            .map(|((process, routine), tid)| meta(self.pid(process), *tid, "thread_name", routine));
        processes.chain(threads).collect()
    }
}

fn micros(history: &History, event: usize) -> f64 {
    history.events[event].at.nanos() as f64 / 1_000.0
}

fn slices(history: &History, places: &[Place]) -> Vec<Json> {
    // From the end: when the next event is on each thread that comes later.
    let mut next: BTreeMap<(usize, usize), (f64, f64)> = BTreeMap::new();
    let mut slices = Vec::new();
    for (event, place) in places.iter().enumerate().rev() {
        let thread = (place.pid, place.tid);
        let shown = match next.get(&thread) {
            Some((at, shown)) if *at == place.ts => *shown,
            Some((at, _)) => SHOWN.min(at - place.ts),
            None => SHOWN,
        };
        next.insert(thread, (place.ts, shown));
        let happened = &history.events[event];
        let told: Vec<&str> = happened
            .told
            .iter()
            .map(|told| told.text.as_str())
            .collect();
        let mut args = json!({"event": event + 1, "name": happened.name});
        if !told.is_empty() {
            args["told"] = json!(told);
        }
        if let Some(asked) = &happened.asked {
            args["asks"] = json!(asked);
        }
        slices.push(json!({
            "ph": "X", "name": history.label(event), "cat": "event", "args": args,
            "pid": place.pid, "tid": place.tid, "ts": place.ts, "dur": shown,
        }));
    }
    slices.reverse();
    slices
}

/// An arrow for each frame.
fn arrows(history: &History, places: &[Place]) -> Vec<Json> {
    let mut arrows = Vec::new();
    for (event, to) in places.iter().enumerate() {
        let before = history.causes.before(event).into_iter();
        for (sender, _) in before.filter(|(_, because)| *because == Because::Message) {
            let from = &places[sender];
            let name = history.events[event].name.split(' ').next();
            let arrow = |ph: &str, place: &Place| {
                json!({
                    "ph": ph, "id": event + 1, "name": name, "cat": "message",
                    "pid": place.pid, "tid": place.tid, "ts": place.ts,
                })
            };
            let mut end = arrow("f", to);
            end["bp"] = "e".into();
            arrows.extend([arrow("s", from), end]);
        }
    }
    arrows
}

/// The two ends of a span.
fn span(cat: &str, id: usize, name: &str, (pid, tid): (usize, usize), ts: [f64; 2]) -> [Json; 2] {
    let end = |ph: &str, ts: f64| {
        json!({
            "ph": ph, "cat": cat, "id": format!("{cat}-{id}"), "name": name,
            "pid": pid, "tid": tid, "ts": ts,
        })
    };
    [end("b", ts[0]), end("e", ts[1])]
}

/// A span for each routine, from when it first ran to when it last did.
fn routines(history: &History, threads: &Threads) -> Vec<Json> {
    let mut spans: Vec<(&str, &str, &str, usize, usize)> = Vec::new();
    let mut open: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (event, happened) in history.events.iter().enumerate() {
        for ran in &happened.ran {
            let key = (ran.process.as_str(), ran.routine.as_str());
            match open.get(&key) {
                Some(at) if !ran.begins => spans[*at].4 = event,
                _ => {
                    open.insert(key, spans.len());
                    spans.push((key.0, key.1, &ran.place, event, event));
                }
            }
        }
    }
    let spans = spans.into_iter().enumerate();
    let spans = spans.flat_map(|(id, (process, routine, place, from, to))| {
        let thread = (threads.pid(process), threads.tid(process, routine));
        let ts = [micros(history, from), micros(history, to)];
        span("routine", id, place, thread, ts)
    });
    spans.collect()
}

/// A span for each fault, until what ends it; where nothing does, of no length.
fn faults(history: &History, places: &[Place]) -> Vec<Json> {
    let mut spans = Vec::new();
    for Lasting { event, end, text } in history.lasting() {
        let place = &places[event];
        let end = end.map_or(place.ts, |end| places[end].ts);
        let thread = (place.pid, place.tid);
        spans.extend(span("fault", event, text, thread, [place.ts, end]));
    }
    spans
}
