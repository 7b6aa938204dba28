//! Which faults a violation needs: the plan is simulated again without each of them.

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};
use wavetank_engine::drive::plan::Plan;
use wavetank_engine::trace::Record;

use super::history::History;
use crate::attribution::Suspect;

/// A fault that struck, and what it has to do with the violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Struck {
    /// At which event, from 0.
    pub event: usize,
    /// In words.
    pub text: String,
    /// Does the violation follow from it, by the order of events?
    pub leads: bool,
    /// Is the violation gone without it? `None`: that was not asked.
    pub needed: Option<bool>,
}

/// The faults of a history; the ends of faults are none.
pub(super) fn struck(history: &History, slice: &[Option<u32>]) -> Vec<Struck> {
    let all = history.events.iter().enumerate();
    let faults = all.filter_map(|(event, happened)| {
        let fault = happened.fault.as_ref()?;
        fault.kind()?;
        Some(Struck {
            event,
            text: fault.to_string(),
            leads: slice[event].is_some(),
            needed: None,
        })
    });
    faults.collect()
}

/// Asks which of them the violation needs, of at most so many: first those from which it follows, the later ones first.
/// The plan has to show the violation. How often was it simulated?
pub(super) fn ask(
    suspect: &Suspect<'_>,
    plan: &Plan,
    history: &History,
    faults: &mut [Struck],
    most: u64,
) -> u64 {
    let actions = actions(history);
    let mut order: Vec<usize> = (0..faults.len()).collect();
    order.sort_by_key(|at| (!faults[*at].leads, std::cmp::Reverse(faults[*at].event)));
    order.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    let is_needed = |at: &usize| {
        let action = actions.binary_search(&faults[*at].event).ok()?;
        let mut without = plan.clone();
        without.actions.remove(action);
        let shown = suspect.shown(&without, Record::default()).is_some();
        Some((*at, !shown))
    };
    let asked: Vec<(usize, bool)> = order.par_iter().filter_map(is_needed).collect();
    for (at, needed) in &asked {
        faults[*at].needed = Some(*needed);
    }
    asked.len() as u64
}

/// Does the violation still come without all of those that are not needed, one by one? `None` if that is not more than one,
/// or the same was asked already.
pub(super) fn goes_without(
    suspect: &Suspect<'_>,
    plan: &Plan,
    history: &History,
    faults: &[Struck],
) -> Option<bool> {
    let actions = actions(history);
    let spared = faults.iter().filter(|fault| fault.needed == Some(false));
    let mut spared: Vec<usize> = spared
        .filter_map(|fault| actions.binary_search(&fault.event).ok())
        .collect();
    if spared.len() < 2 {
        return None;
    }
    spared.sort_unstable();
    let mut without = plan.clone();
    let mut at = 0;
    without.actions.retain(|_| {
        at += 1;
        spared.binary_search(&(at - 1)).is_err()
    });
    Some(suspect.shown(&without, Record::default()).is_some())
}

/// The events that are actions of the plan, in its order.
fn actions(history: &History) -> Vec<usize> {
    let events = history.events.iter().enumerate();
    let actions = events.filter(|(_, happened)| happened.name.starts_with("act "));
    actions.map(|(event, _)| event).collect()
}
