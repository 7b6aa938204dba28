//! A plan without some of its actions, in which what is chosen later keeps its meaning: occurrences are counted by name, and
//! one fewer of a name would otherwise give each later event the choices of the one before it.

use std::collections::BTreeMap;
use std::ops::Range;

use wavetank_engine::Action;
use wavetank_engine::drive::plan::{Occurrence, Plan};
use wavetank_engine::trace::{Line, TraceWhat};

use crate::trace_file::Trace;

/// A plan without these of its actions. The trace is what the plan came to.
pub(super) fn without(plan: &Plan, trace: &Trace, actions: Range<usize>) -> Plan {
    let mut left = plan.clone();
    let places = places(plan, trace, &actions);
    for index in actions.clone().rev() {
        if let (Some(seen), Action::Command { process, .. }) =
            (places.get(&index), &plan.actions[index].action)
        {
            let is_own = |name: &str| {
                let mut words = name.split(' ').skip(1);
                let who = words.next().and_then(|word| word.split_once('.'));
                who.is_some_and(|(who, _)| who == process)
            };
            left.choices = one_fewer(left.choices, seen, &is_own);
            left.delays = one_fewer(left.delays, seen, &is_own);
        }
    }
    left.actions.drain(actions);
    left
}

/// How many events of each name came before each of these actions; nothing for one that did not happen.
fn places(
    plan: &Plan,
    trace: &Trace,
    actions: &Range<usize>,
) -> BTreeMap<usize, BTreeMap<String, u32>> {
    let mut places = BTreeMap::new();
    let mut happened = vec![false; plan.actions.len()];
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for line in &trace.lines {
        let Line::Event(event) = line else { continue };
        match &event.what {
            TraceWhat::Act(action) => {
                let mut all = plan.actions.iter().zip(&happened);
                let mine = all.position(|(planned, done)| !done && planned.action == *action);
                if let Some(index) = mine {
                    happened[index] = true;
                    if actions.contains(&index) {
                        places.insert(index, seen.clone());
                    }
                }
            }
            TraceWhat::Choice(name, _) | TraceWhat::Pending(name) => {
                *seen.entry(name.clone()).or_default() += 1;
            }
            TraceWhat::Calm => {}
        }
    }
    places
}

/// The next event of each of these names does not come: those after it are one earlier.
fn one_fewer<V>(
    entries: BTreeMap<Occurrence, V>,
    seen: &BTreeMap<String, u32>,
    is_own: &dyn Fn(&str) -> bool,
) -> BTreeMap<Occurrence, V> {
    let left = entries.into_iter().filter_map(|((name, nth), value)| {
        let next = seen.get(&name).copied().unwrap_or_default();
        match is_own(&name) && nth >= next {
            true if nth == next => None,
            true => Some(((name, nth - 1), value)),
            false => Some(((name, nth), value)),
        }
    });
    left.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value as Json;
    use wavetank_engine::Time;
    use wavetank_engine::drive::plan::Planned;
    use wavetank_engine::trace::TraceEvent;

    use super::*;
    use crate::head::Head;

    #[test]
    fn later_choices_are_those_of_later_events() {
        let act = |process: &str| Action::Command {
            process: process.to_owned(),
            what: "use".to_owned(),
            args: Json::Null,
        };
        let name = |process: &str| format!("choose {process}.1/use#0.0 of 9");
        let acts = ["s1", "s2", "s1", "s1"];
        let mut lines = Vec::new();
        for (process, value) in acts.iter().zip(0..) {
            for what in [
                TraceWhat::Act(act(process)),
                TraceWhat::Choice(name(process), value),
            ] {
                lines.push(Line::Event(TraceEvent {
                    at: Time::ZERO,
                    what,
                    delays: Vec::new(),
                }));
            }
        }
        let plan = Plan::from_trace(lines.iter());
        assert_eq!(plan.actions.len(), acts.len());
        let head = Head {
            case: String::new(),
            identity: Json::Null,
            options: Json::Null,
            seed: 0,
            build: String::new(),
            shrunk: false,
        };
        let trace = Trace { head, lines };
        let left = without(&plan, &trace, 2..3);
        let of = |process: &str, nth| left.choices.get(&(name(process), nth)).copied();
        assert_eq!(
            [of("s1", 0), of("s1", 1), of("s1", 2)],
            [Some(0), Some(3), None]
        );
        assert_eq!(of("s2", 0), Some(1));
        let told = |planned: &Planned| planned.action.clone();
        let told: Vec<Action> = left.actions.iter().map(told).collect();
        assert_eq!(told, [act("s1"), act("s2"), act("s1")]);
    }
}
