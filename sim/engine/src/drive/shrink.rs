//! Makes a failing plan smaller: delta debugging (Zeller and Hildebrandt, 2002) over what was
//! chosen. Every attempt is simulated from the start; what stays is what the violation needs.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::fault::{Action, Fault, FaultKind};
use crate::time::Time;

use super::plan::Plan;

/// How the search goes on; the caller simulates.
pub trait Attempt {
    /// Does this plan still show the violation? Returns when it did.
    fn fails(&mut self, plan: &Plan) -> Option<Time>;
    /// May more attempts be made?
    fn may_go_on(&self) -> bool;
}

/// A plan that is as small as the attempts could make it, and still fails.
///
/// `None` if the plan itself does not fail when it is simulated.
pub fn shrink(plan: &Plan, attempt: &mut dyn Attempt) -> Option<Plan> {
    let failed_at = attempt.fails(plan)?;
    let mut best = plan.clone();
    cut_after(&mut best, failed_at, attempt);
    try_change(&mut best, attempt, |plan| plan.delays.clear());
    try_change(&mut best, attempt, |plan| plan.choices.clear());
    remove_kinds(&mut best, attempt);
    let size = |plan: &Plan| (plan.actions.len(), plan.delays.len(), plan.choices.len());
    loop {
        let before = size(&best);
        while remove_actions(&mut best, attempt) && attempt.may_go_on() {}
        remove_entries(&mut best, attempt, |plan| &mut plan.delays);
        remove_entries(&mut best, attempt, |plan| &mut plan.choices);
        // What was needed for one of them may be superfluous by now.
        if size(&best) == before || !attempt.may_go_on() {
            break;
        }
    }
    calm_sooner(&mut best, attempt);
    for at in 0..best.actions.len() {
        try_change(&mut best, attempt, |plan| plan.actions[at].after = None);
        try_change(&mut best, attempt, |plan| {
            let planned = &mut plan.actions[at];
            planned.at = Time::from_secs(planned.at.nanos() / 1_000_000_000);
        });
    }
    for at in 0..best.actions.len() {
        move_closer(&mut best, at, attempt);
    }
    Some(best)
}

/// Moves this action and all after it closer to the one before, by whole seconds.
fn move_closer(best: &mut Plan, at: usize, attempt: &mut dyn Attempt) {
    let seconds = |time: Time| time.nanos() / 1_000_000_000;
    let gap = |plan: &Plan| {
        let before = at.checked_sub(1).map_or(Time::ZERO, |b| plan.actions[b].at);
        seconds(plan.actions[at].at).saturating_sub(seconds(before))
    };
    let mut step = gap(best);
    while step > 0 && attempt.may_go_on() {
        let moved = try_change(best, attempt, |plan| {
            for planned in &mut plan.actions[at..] {
                let left = planned.at.nanos().saturating_sub(step * 1_000_000_000);
                planned.at = Time::from_nanos(left);
            }
        });
        step = match moved {
            true => step.min(gap(best)),
            false => step / 2,
        };
    }
}

/// What an action is one of: a kind of fault with its end, or what somebody is told. The first start of a process is none.
fn kind(action: &Action, started: &mut BTreeSet<String>) -> Option<String> {
    let fault = match action {
        Action::Command { what, .. } => return Some(what.clone()),
        Action::Fault(fault) => fault,
    };
    let kind = match fault {
        Fault::Start { process } if started.insert(process.clone()) => return None,
        Fault::Start { .. }
        | Fault::Stop { .. }
        | Fault::Crash { .. }
        | Fault::PowerLoss { .. } => FaultKind::Crash.name(),
        Fault::Resume { .. } => FaultKind::Pause.name(),
        Fault::Reschedule { .. } => FaultKind::Deschedule.name(),
        Fault::Partition { .. } | Fault::Heal { .. } => FaultKind::Partition.name(),
        Fault::Unstall { .. } => FaultKind::Stall.name(),
        Fault::Unslow { .. } => FaultKind::SlowLink.name(),
        other => other.kind().map_or("the end of all", FaultKind::name),
    };
    Some(kind.to_owned())
}

/// Removes all actions of one kind at a time, the most frequent first: most kinds have nothing to do with a violation.
fn remove_kinds(best: &mut Plan, attempt: &mut dyn Attempt) {
    let kinds = |plan: &Plan| {
        let mut started = BTreeSet::new();
        let all = plan.actions.iter();
        all.map(|planned| kind(&planned.action, &mut started))
            .collect::<Vec<_>>()
    };
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for kind in kinds(best).into_iter().flatten() {
        *counts.entry(kind).or_default() += 1;
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| Reverse(*count));
    for (superfluous, _) in counts {
        try_change(best, attempt, |plan| {
            let mut own = kinds(plan).into_iter();
            plan.actions
                .retain(|_| own.next().flatten().as_ref() != Some(&superfluous));
        });
    }
}

/// What shows only in calm shows sooner if that begins when all is done.
fn calm_sooner(best: &mut Plan, attempt: &mut dyn Attempt) {
    let last = best.actions.iter().map(|planned| planned.at).max();
    let Some(last) = last else {
        return;
    };
    let sooner = Time::from_secs(last.nanos() / 1_000_000_000 + 1);
    if best.calm.is_some_and(|calm| calm > sooner) {
        try_change(best, attempt, |plan| plan.calm = Some(sooner));
    }
}

/// Nothing after the violation can matter.
fn cut_after(best: &mut Plan, failed_at: Time, attempt: &mut dyn Attempt) {
    try_change(best, attempt, |plan| {
        plan.actions.retain(|planned| planned.at <= failed_at);
    });
}

fn try_change(best: &mut Plan, attempt: &mut dyn Attempt, change: impl FnOnce(&mut Plan)) -> bool {
    if !attempt.may_go_on() {
        return false;
    }
    let mut candidate = best.clone();
    change(&mut candidate);
    if candidate.actions == best.actions
        && candidate.delays == best.delays
        && candidate.choices == best.choices
        && candidate.calm == best.calm
    {
        return false;
    }
    let fails = attempt.fails(&candidate).is_some();
    if fails {
        *best = candidate;
    }
    fails
}

/// Removes halves, quarters, … single actions, and then starts: a piece that has one in it would seldom go. Were there any?
fn remove_actions(best: &mut Plan, attempt: &mut dyn Attempt) -> bool {
    let before = best.actions.len();
    for starts in [false, true] {
        let mut size = match starts {
            false => which(best, starts).len().div_ceil(2),
            true => 1,
        };
        while size > 0 {
            let mut from = 0;
            loop {
                let all = which(best, starts);
                let Some(piece) = all.get(from..(from + size).min(all.len())) else {
                    break;
                };
                if piece.is_empty() {
                    break;
                }
                let removed = try_change(best, attempt, |plan| {
                    let mut at = 0..plan.actions.len();
                    plan.actions
                        .retain(|_| at.next().is_none_or(|at| !piece.contains(&at)));
                });
                if !removed {
                    from += size;
                }
            }
            size /= 2;
        }
    }
    best.actions.len() < before
}

/// Where in a plan the first starts of processes are, or all that is none.
fn which(plan: &Plan, starts: bool) -> Vec<usize> {
    let mut started = BTreeSet::new();
    let all = plan.actions.iter().enumerate();
    let wanted = all.filter(|(_, planned)| kind(&planned.action, &mut started).is_none() == starts);
    wanted.map(|(at, _)| at).collect()
}

/// Lets everything, halves, quarters, … single entries of a part of the plan be as they are by default.
fn remove_entries<K: Ord + Clone, V>(
    best: &mut Plan,
    attempt: &mut dyn Attempt,
    part: impl Fn(&mut Plan) -> &mut BTreeMap<K, V>,
) {
    let mut size = part(best).len();
    while size > 0 {
        let mut from = 0;
        while from < part(best).len() {
            let keys: Vec<K> = part(best).keys().skip(from).take(size).cloned().collect();
            let removed = try_change(best, attempt, |plan| {
                let entries = part(plan);
                for key in &keys {
                    entries.remove(key);
                }
            });
            if !removed {
                from += size;
            }
        }
        size /= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::Planned;
    use super::*;

    /// Fails if somebody opens while a link stalls, and shows it at the end of the calm, or before it.
    struct Opens {
        attempts: u32,
    }

    impl Attempt for Opens {
        fn fails(&mut self, plan: &Plan) -> Option<Time> {
            self.attempts += 1;
            let mut stalls = false;
            let mut opens = false;
            for planned in &plan.actions {
                match &planned.action {
                    Action::Fault(Fault::Stall { .. }) => stalls = true,
                    Action::Fault(Fault::Unstall { .. }) => stalls = false,
                    Action::Command { what, .. } => opens |= stalls && what == "open",
                    Action::Fault(_) => {}
                }
            }
            // It needs this choice in the stall.
            let needed = ("link".to_owned(), 7);
            let shows = opens && plan.choices.contains_key(&needed);
            shows.then_some(plan.calm?)
        }

        fn may_go_on(&self) -> bool {
            true
        }
    }

    fn plan() -> Plan {
        let name = "p1".to_owned();
        let start = Fault::Start {
            process: name.clone(),
        };
        let crash = Fault::Crash {
            process: name.clone(),
        };
        let (from, to) = (name.clone(), "p2".to_owned());
        let stall = Fault::Stall {
            from: from.clone(),
            to: to.clone(),
        };
        let unstall = Fault::Unstall { from, to };
        let command = |what: &str| Action::Command {
            process: name.clone(),
            what: what.to_owned(),
            args: serde_json::Value::Null,
        };
        let mut actions = vec![Action::Fault(start.clone())];
        for _ in 0..20 {
            actions.extend([crash.clone(), start.clone(), stall.clone()].map(Action::Fault));
            actions.extend(["open", "close"].map(command));
            actions.push(Action::Fault(unstall.clone()));
        }
        let times = (1..).map(Time::from_secs);
        let planned = times.zip(actions).map(|(at, action)| Planned {
            at,
            after: None,
            action,
        });
        Plan {
            actions: planned.collect(),
            calm: Some(Time::from_secs(500)),
            delays: BTreeMap::new(),
            choices: (0..64).map(|nth| (("link".to_owned(), nth), 1)).collect(),
        }
    }

    #[test]
    fn what_a_violation_does_not_need_goes_in_few_attempts() {
        let mut opens = Opens { attempts: 0 };
        let small = shrink(&plan(), &mut opens).expect("it fails");
        let left: Vec<String> = small
            .actions
            .iter()
            .map(|planned| format!("{:?}", planned.action))
            .collect();
        assert_eq!(left.len(), 2, "{left:?}");
        assert!(left[0].contains("Stall") && left[1].contains("open"));
        assert_eq!(small.choices.len(), 1);
        assert!(small.calm.is_some_and(|calm| calm <= Time::from_secs(122)));
        assert!(opens.attempts < 60, "{} attempts", opens.attempts);
    }

    #[test]
    fn a_kind_goes_with_its_end_and_not_with_the_first_starts() {
        let mut plan = plan();
        let mut opens = Opens { attempts: 0 };
        remove_kinds(&mut plan, &mut opens);
        let is_start =
            |planned: &&Planned| matches!(&planned.action, Action::Fault(Fault::Start { .. }));
        assert_eq!(plan.actions.iter().filter(is_start).count(), 1);
        let told = format!("{:?}", plan.actions);
        assert!(!told.contains("Crash") && !told.contains("close"));
        assert!(told.contains("Unstall"), "a stall and its end are one kind");
    }
}
