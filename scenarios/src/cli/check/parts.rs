//! What a machine leaves that has searched its part of a scope, and what the parts come to.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use wavetank_models::Sketch;

use crate::case::Case;
use crate::sweep::{EXTENSION, Shard};
use crate::trace_file::write_at;

use super::super::args::CheckArgs;
use super::super::checked::{Checked, Coverage, Figures, Shards, Verdict};
use super::super::exit::Problem;
use super::{because, promised};

/// The version of the file.
const VERSION: u32 = 1;

/// What a shard of a search leaves.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::cli) struct CheckedPart {
    version: u32,
    shard: Shard,
    /// What it has searched and found; its trace is in the folder of the file.
    pub(in crate::cli) searched: Checked,
    /// Some of the fingerprints of its states.
    sketch: Vec<u64>,
}

/// Writes down what a shard has searched, and what it says by itself: nothing, unless it has found something.
pub(super) fn leave(
    checked: &mut Checked,
    shard: Shard,
    sketch: Sketch,
    args: &CheckArgs,
) -> Result<(), Problem> {
    let part = CheckedPart {
        version: VERSION,
        shard,
        searched: checked.clone(),
        sketch: sketch.digests().collect(),
    };
    let stem = format!(
        "{}-shard-{}-of-{}",
        checked.case,
        shard.number(),
        shard.of()
    );
    let path = args.out.join(format!("{stem}.{EXTENSION}"));
    let mut bytes = serde_json::to_vec(&part).expect("it is JSON");
    bytes.push(b'\n');
    write_at(&path, &bytes).map_err(|error| {
        let path = path.display();
        Problem::new(format!(
            "cannot write what the shard has searched into `{path}`: {error}"
        ))
    })?;
    if checked.found.is_none() && is_complete(checked.verdict) {
        checked.verdict = Verdict::Incomplete;
        checked.because = Some(format!(
            "this was shard {} of {}: `wavetank merge {}` tells of all of them together",
            shard.number(),
            shard.of(),
            args.out.display()
        ));
    }
    Ok(())
}

/// Has all been searched that was to be?
fn is_complete(verdict: Verdict) -> bool {
    !matches!(verdict, Verdict::Incomplete | Verdict::Interrupted)
}

/// Is this what a shard of a search leaves, and not one of a sweep?
pub(in crate::cli) fn is_one(file: &serde_json::Value) -> bool {
    file.get("searched").is_some()
}

/// Reads one.
///
/// # Errors
/// Why this file is none.
pub(in crate::cli) fn read(path: &Path, file: serde_json::Value) -> Result<CheckedPart, Problem> {
    let part: CheckedPart = serde_json::from_value(file).map_err(|error| {
        let path = path.display();
        Problem::new(format!("{path} is not what a shard leaves: {error}"))
    })?;
    match part.version {
        VERSION => Ok(part),
        other => Err(Problem::new(format!(
            "{} has version {other}; this build reads version {VERSION}",
            path.display()
        ))),
    }
}

/// The parts of one scope put together, each with the file that it was read from. One that was searched several times counts
/// once.
///
/// # Errors
/// If they are not of one search.
pub(in crate::cli) fn merge(
    case: &dyn Case,
    parts: Vec<(PathBuf, CheckedPart)>,
) -> Result<Checked, Problem> {
    let mut shards: BTreeMap<Shard, (PathBuf, CheckedPart)> = BTreeMap::new();
    let (first_path, first) = parts.first().cloned().expect("there is one");
    for (path, part) in parts {
        let (a, b) = (&first.searched, &part.searched);
        if (&a.bounds, &a.build) != (&b.bounds, &b.build) || first.shard.of() != part.shard.of() {
            return Err(Problem::new(format!(
                "{} and {} are not of one search: bounds, build or number of shards are not the same",
                first_path.display(),
                path.display()
            )));
        }
        let before = shards.get(&part.shard);
        let is_better = before.is_none_or(|(_, before)| !is_complete(before.searched.verdict));
        if is_better {
            shards.insert(part.shard, (path, part));
        }
    }
    let of = first.shard.of();
    let numbers = (1..=of).filter_map(|number| Shard::new(number, of).ok());
    let absent = numbers.filter(|shard| !shards.contains_key(shard));
    let mut missing: Vec<String> = absent
        .map(|shard| format!("shard {} of {of} is missing", shard.number()))
        .collect();
    let mut sketch = Sketch::default();
    let mut all: Vec<Checked> = Vec::new();
    for (shard, (path, part)) in shards {
        sketch.merge(&Sketch::from_digests(part.sketch));
        let mut searched = part.searched;
        if !is_complete(searched.verdict) {
            let why = searched.because.as_deref().unwrap_or("it was interrupted");
            missing.push(format!(
                "shard {} of {of} did not end: {why}",
                shard.number()
            ));
        }
        if let Some(found) = &mut searched.found {
            let name = Path::new(&found.trace).file_name().unwrap_or_default();
            let there = path.parent().unwrap_or(Path::new("")).join(name);
            found.trace = there.display().to_string();
        }
        all.push(searched);
    }
    Ok(together(case, all, of, &sketch, &missing))
}

fn together(
    case: &dyn Case,
    all: Vec<Checked>,
    of: u64,
    sketch: &Sketch,
    missing: &[String],
) -> Checked {
    let coverage = covered(all.iter().map(|one| &one.coverage));
    let (states, exact) = sketch.count();
    let searched = all.iter().map(|one| one.figures.states).sum();
    let figures = figures(states, all.iter().map(|one| &one.figures));
    let found = all.iter().position(|one| one.found.is_some());
    let (verdict, why) = match found {
        Some(at) => (all[at].verdict, None),
        None if !missing.is_empty() => (Verdict::Incomplete, Some(missing.join("; "))),
        None => {
            let verdict = match case.expects() {
                Some(_) => Verdict::NotFound,
                None => promised(Verdict::Clean, &coverage),
            };
            (verdict, because(verdict, case, &coverage))
        }
    };
    let mut all = all.into_iter();
    let first = all.nth(found.unwrap_or(0)).expect("there is one");
    Checked {
        verdict,
        because: why,
        figures,
        coverage,
        shards: Some(Shards {
            of,
            searched,
            exact,
        }),
        ..first
    }
}

/// As long as the slowest, and as much as all.
fn figures<'a>(states: u64, all: impl Iterator<Item = &'a Figures>) -> Figures {
    let mut sum = Figures {
        states,
        ..Figures::default()
    };
    let (mut bytes, mut searched) = (0.0, 0);
    for one in all {
        sum.passed += one.passed;
        sum.generated += one.generated;
        sum.recovery_steps += one.recovery_steps;
        sum.longest_path = sum.longest_path.max(one.longest_path);
        sum.seconds = sum.seconds.max(one.seconds);
        bytes += one.bytes_per_state * one.states as f64;
        searched += one.states;
    }
    let per = |amount: u64| match sum.seconds > 0.0 {
        true => amount as f64 / sum.seconds,
        false => 0.0,
    };
    Figures {
        states_per_second: per(states),
        generated_per_second: per(sum.generated),
        bytes_per_state: bytes / searched.max(1) as f64,
        ..sum
    }
}

/// What any of them has reached; what was not is what none has.
fn covered<'a>(all: impl Iterator<Item = &'a Coverage> + Clone) -> Coverage {
    let any = |of: fn(&Coverage) -> &Vec<String>| -> Vec<String> {
        let names: BTreeSet<&String> = all.clone().flat_map(of).collect();
        names.into_iter().cloned().collect()
    };
    let mut events: BTreeMap<String, u64> = BTreeMap::new();
    for (kind, times) in all.clone().flat_map(|one| &one.events) {
        *events.entry(kind.clone()).or_default() += times;
    }
    let without = |names: Vec<String>, reached: &[String]| -> Vec<String> {
        let left = names.into_iter().filter(|name| !reached.contains(name));
        left.collect()
    };
    let (faults, planned, sometimes) = (
        any(|one| &one.faults),
        any(|one| &one.planned),
        any(|one| &one.sometimes),
    );
    let reached = [
        ("fault", &faults),
        ("planned", &planned),
        ("sometimes", &sometimes),
    ];
    let reached: Vec<String> = reached
        .iter()
        .flat_map(|(what, names)| names.iter().map(move |name| format!("{what}: {name}")))
        .collect();
    let (tested, places) = (any(|one| &one.tested), any(|one| &one.places));
    let reasons = all.clone().flat_map(|one| one.cannot_show.clone());
    Coverage {
        untested: without(any(|one| &one.untested), &tested),
        missed: without(any(|one| &one.missed), &reached),
        missed_places: without(any(|one| &one.missed_places), &places),
        cannot_show: reasons.collect(),
        unshown: any(|one| &one.unshown),
        events: events.into_iter().collect(),
        deviations: all.clone().map(|one| one.deviations).sum(),
        // Of what properties remembered it is only known how much it was: at least as much as for any of them.
        remembered: all.map(|one| one.remembered).max().unwrap_or(0),
        faults,
        planned,
        tested,
        sometimes,
        places,
    }
}
