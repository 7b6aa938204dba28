//! Makes a failing plan smaller: delta debugging (Zeller and Hildebrandt, 2002) over what was
//! chosen. Every attempt is simulated from the start; what stays is what the violation needs.

use std::collections::BTreeMap;

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
    loop {
        let before = best.actions.len();
        remove_actions(&mut best, attempt);
        if best.actions.len() == before || !attempt.may_go_on() {
            break;
        }
    }
    remove_entries(&mut best, attempt, |plan| &mut plan.delays);
    remove_entries(&mut best, attempt, |plan| &mut plan.choices);
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
    {
        return false;
    }
    let fails = attempt.fails(&candidate).is_some();
    if fails {
        *best = candidate;
    }
    fails
}

/// Removes halves, quarters, … single actions.
fn remove_actions(best: &mut Plan, attempt: &mut dyn Attempt) {
    let mut size = best.actions.len().div_ceil(2);
    while size > 0 {
        let mut from = 0;
        while from < best.actions.len() {
            let to = (from + size).min(best.actions.len());
            let removed = try_change(best, attempt, |plan| {
                plan.actions.drain(from..to);
            });
            if !removed {
                from = to;
            }
        }
        size /= 2;
    }
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
