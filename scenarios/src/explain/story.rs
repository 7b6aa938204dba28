//! Which of the lines that lead to a violation are told, and what each follows from.

use std::collections::{BTreeMap, BTreeSet};

use super::history::{History, Kind};

/// A line of a story.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Step {
    pub event: usize,
    /// Which of what was told of the event.
    pub line: usize,
    /// The steps that it follows from, from 1: those between which nothing is told.
    pub after: Vec<usize>,
}

/// What a line is worth if it is about the object of the violation: it is told as if it were so much nearer.
const DIRECT: u32 = 3;
/// How much farther away are lines that are told only if there is room: the answers to questions, and what somebody is
/// told to do, which leads to more that is told.
const ANSWERS: u32 = 4;
const COMMANDS: u32 = 6;
/// A step names so many others.
const NAMED: usize = 4;

/// The `most` lines of a slice that tell the most: those that are near the violation, and those about its object. The
/// `needed` events are told in any case.
pub(crate) fn steps(
    history: &History,
    slice: &[Option<u32>],
    direct: &BTreeSet<usize>,
    needed: &BTreeSet<usize>,
    most: usize,
) -> Vec<Step> {
    let mut ranked: Vec<(u32, std::cmp::Reverse<usize>, usize)> = Vec::new();
    for (event, happened) in history.events.iter().enumerate() {
        for (line, told) in happened.told.iter().enumerate() {
            let rank = match (slice[event], told.kind) {
                _ if needed.contains(&event) => 0,
                (None, _) => continue,
                (Some(distance), Kind::Note) if direct.contains(&event) => distance / DIRECT,
                (Some(distance), Kind::Note | Kind::Fault) => distance,
                (Some(distance), Kind::Answer) if direct.contains(&event) => {
                    distance / DIRECT + ANSWERS
                }
                (Some(distance), Kind::Answer) => distance + ANSWERS,
                (Some(distance), Kind::Command) => distance + COMMANDS,
            };
            ranked.push((rank, std::cmp::Reverse(event), line));
        }
    }
    ranked.sort_unstable();
    ranked.truncate(most);
    let mut places: Vec<(usize, usize)> = ranked
        .into_iter()
        .map(|(_, event, line)| (event.0, line))
        .collect();
    places.sort_unstable();
    with_causes(history, &places)
}

/// The steps at these places, each with those that it follows from.
fn with_causes(history: &History, places: &[(usize, usize)]) -> Vec<Step> {
    // The first and the last step of each event that is told.
    let mut told: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for (number, (event, _)) in (1..).zip(places) {
        told.entry(*event).or_insert((number, number)).1 = number;
    }
    let mut near: Vec<BTreeSet<usize>> = Vec::with_capacity(history.events.len());
    let mut before_step: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for event in 0..history.events.len() {
        let mut steps = BTreeSet::new();
        for (before, _) in history.causes.before(event) {
            match told.get(&before) {
                Some((_, last)) => drop(steps.insert(*last)),
                None => steps.extend(near[before].iter().copied()),
            }
        }
        let steps = without_implied(steps, &before_step);
        if let Some((first, last)) = told.get(&event) {
            let mut all: BTreeSet<usize> = steps.clone();
            for step in &steps {
                all.extend(before_step.get(step).into_iter().flatten());
            }
            for step in *first..=*last {
                before_step.insert(step, all.clone());
                all.insert(step);
            }
        }
        near.push(steps);
    }
    let mut steps = Vec::new();
    for (number, (event, line)) in (1..).zip(places) {
        let is_first = told[event].0 == number;
        let after: Vec<usize> = match is_first {
            true => near[*event]
                .iter()
                .rev()
                .take(NAMED)
                .rev()
                .copied()
                .collect(),
            false => Vec::new(),
        };
        steps.push(Step {
            event: *event,
            line: *line,
            after,
        });
    }
    steps
}

/// Those that no other of them follows from anyway.
fn without_implied(
    steps: BTreeSet<usize>,
    before: &BTreeMap<usize, BTreeSet<usize>>,
) -> BTreeSet<usize> {
    let mut implied = BTreeSet::new();
    for step in &steps {
        implied.extend(before.get(step).into_iter().flatten().copied());
    }
    steps.difference(&implied).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_names_the_nearest_steps_only() {
        let before = BTreeMap::from([
            (1, BTreeSet::new()),
            (2, BTreeSet::from([1])),
            (3, BTreeSet::new()),
        ]);
        let all = BTreeSet::from([1, 2, 3]);
        assert_eq!(without_implied(all, &before), BTreeSet::from([2, 3]));
    }
}
