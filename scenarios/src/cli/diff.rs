//! `wavetank diff`: where two traces part, and what led there.

use std::path::Path;

use wavetank_engine::World;
use wavetank_engine::drive::replay::Fit;
use wavetank_engine::trace::Line;

use crate::catalogue::Catalogue;
use crate::head::Head;
use crate::replay::follow;
use crate::trace_file::Trace;

use super::args::DiffArgs;
use super::exit::{Exit, Problem};
use super::{find, human, print};

/// So many events before the first difference are shown.
const BEFORE: usize = 8;

pub(super) fn diff(catalogue: &dyn Catalogue, args: &DiffArgs) -> Result<Exit, Problem> {
    let (left, right) = (find::trace(&args.left)?, find::trace(&args.right)?);
    let mut text = heads(&left.head, &right.head);
    let at = first_difference(&left, &right);
    if let Some(at) = at {
        text += &events(&left, &right, at);
        text += &worlds(catalogue, args, &left, &right, at);
    }
    let same = text.is_empty();
    if same {
        let events = left.end().events;
        text = format!(
            "the traces are the same: {}\n",
            human::count(events, "event")
        );
    } else if at.is_none() {
        text += "all events are the same\n";
    }
    print(&text)?;
    Ok(match same {
        true => Exit::Clean,
        false => Exit::Violation,
    })
}

/// What differs in the heads, field by field.
fn heads(left: &Head, right: &Head) -> String {
    let (left, right) = (left.to_json(), right.to_json());
    let mut text = String::new();
    let mut paths = Vec::new();
    compare("", &left, &right, &mut paths);
    for (path, left, right) in paths {
        text += &format!("head {path}\n  - {left}\n  + {right}\n");
    }
    text
}

type Difference<'a> = (String, &'a serde_json::Value, &'a serde_json::Value);

fn compare<'a>(
    path: &str,
    left: &'a serde_json::Value,
    right: &'a serde_json::Value,
    found: &mut Vec<Difference<'a>>,
) {
    let (Some(a), Some(b)) = (left.as_object(), right.as_object()) else {
        if left != right {
            found.push((path.to_owned(), left, right));
        }
        return;
    };
    let missing = &serde_json::Value::Null;
    let mut keys: Vec<&String> = a.keys().chain(b.keys()).collect();
    keys.sort();
    keys.dedup();
    for key in keys {
        let path = match path {
            "" => key.clone(),
            path => format!("{path}.{key}"),
        };
        let (a, b) = (a.get(key).unwrap_or(missing), b.get(key).unwrap_or(missing));
        compare(&path, a, b, found);
    }
}

/// The index of the first line that differs.
fn first_difference(left: &Trace, right: &Trace) -> Option<usize> {
    let common = left.lines.iter().zip(&right.lines);
    let same = common.take_while(|(a, b)| a == b).count();
    let shorter = left.lines.len().min(right.lines.len());
    (same < shorter || left.lines.len() != right.lines.len()).then_some(same)
}

fn count_events(lines: &[Line]) -> u64 {
    let events = lines.iter().filter(|line| matches!(line, Line::Event(_)));
    events.count() as u64
}

fn events(left: &Trace, right: &Trace, at: usize) -> String {
    let before = count_events(&left.lines[..at]);
    let mut text = format!(
        "the first difference comes after {}\n",
        human::count(before, "event")
    );
    for line in &left.lines[at.saturating_sub(BEFORE)..at] {
        text += &format!("    {line}\n");
    }
    for (sign, trace) in [('-', left), ('+', right)] {
        let line = trace.lines.get(at);
        let line = line.map_or("(nothing more)".to_owned(), ToString::to_string);
        text += &format!("  {sign} {line}\n");
    }
    text
}

/// What differs between the two worlds there, as far as they can be built and followed.
fn worlds(
    catalogue: &dyn Catalogue,
    args: &DiffArgs,
    left: &Trace,
    right: &Trace,
    at: usize,
) -> String {
    let before = count_events(&left.lines[..at]);
    let one = |path: &Path, trace: &Trace, events: u64| {
        follow_to(catalogue, trace, events)
            .map_err(|why| format!("{} cannot be followed so far: {why}\n", path.display()))
    };
    let both = |events| {
        let left = one(&args.left, left, events)?;
        let right = one(&args.right, right, events)?;
        Ok(parts(&left, &right))
    };
    let compared: Result<(String, u64), String> = both(before).and_then(|parts| {
        // Alike up to there: then the event itself is what differs.
        match parts.is_empty() {
            true => both(before + 1).map(|parts| (parts, before + 1)),
            false => Ok((parts, before)),
        }
    });
    match compared {
        Err(why) => why,
        Ok((parts, events)) if parts.is_empty() => {
            let events = human::count(events, "event");
            format!("stepped again in this build, the worlds are alike after {events}\n")
        }
        Ok((parts, events)) => {
            let events = human::count(events, "event");
            format!("stepped again in this build, after {events} these differ:\n{parts}")
        }
    }
}

fn follow_to(catalogue: &dyn Catalogue, trace: &Trace, events: u64) -> Result<World, String> {
    let case = find::reopen(catalogue, trace)?;
    follow(
        case.as_ref(),
        trace,
        Fit::ByName,
        Some(events),
        &mut |_, _, _| {},
    )
    .map(|followed| followed.world)
    .map_err(|error| error.to_string())
}

/// The parts that differ, one a line.
fn parts(left: &World, right: &World) -> String {
    let (left_parts, right_parts) = (left.parts(), right.parts());
    let mut text = String::new();
    for (sign, parts, others) in [
        ('-', &left_parts, &right_parts),
        ('+', &right_parts, &left_parts),
    ] {
        for (name, digest) in parts {
            match others.iter().find(|(other, _)| other == name) {
                None => text += &format!("  {sign} {name}, only here\n"),
                Some((_, other)) if other != digest && sign == '-' => {
                    text += &format!("    {name}\n");
                }
                Some(_) => {}
            }
        }
    }
    if left.now() != right.now() {
        text += &format!("    the time: {} s and {} s\n", left.now(), right.now());
    }
    text
}
