//! How large a search is, how far it goes and what would help, in words.

use wavetank_models::{Estimate, Reduction};

use crate::case::Case;
use crate::search::Search;

use super::super::human;

/// What would put these to the test, where that is known.
pub(super) fn help(case: &dyn Case, untested: &[String]) -> String {
    let known = untested
        .iter()
        .filter_map(|name| Some(format!("; `{name}`: {}", case.would_test(name)?)));
    known.collect()
}

pub(super) fn list(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

/// From so many steps to recovery for each state on they are what takes the time.
pub(super) const MUCH_HEALING: u64 = 20;

/// How large a search is, by random probes.
pub(super) fn size(estimate: &Estimate, reached: u64) -> String {
    match estimate.known {
        ..1_000 => format!("at most about {} in all", human::thousands(estimate.states)),
        _ => {
            let states = estimate.states.max(reached);
            let percent = 100.0 * reached as f64 / states.max(1) as f64;
            let states = human::thousands(states);
            format!("roughly {states} in all ({percent:.0} % known)")
        }
    }
}

/// What makes a search large, and what would make it smaller.
pub(super) fn narrow(estimate: &Estimate) -> String {
    let Estimate {
        faults,
        deviations,
        choices,
        ..
    } = *estimate;
    let all = (faults + deviations + choices).max(1);
    let kinds = [
        (faults, "faults: name fewer of them, or give `at-most`"),
        (deviations, "deviations: give fewer, or `late-by`"),
        (choices, "choices: give a smaller `widest-choice`"),
    ];
    let most = kinds.into_iter().max_by_key(|(count, _)| *count);
    let (count, what) = most.expect("there are three");
    let percent = 100 * count / all;
    format!(
        "{percent} % of all alternatives are {what}; a later `from` or a shorter storm helps, too"
    )
}

/// How far the search goes, in words: a verdict says no more than this.
pub(super) fn bounds(
    case: &dyn Case,
    search: &Search,
    reduction: &Reduction,
    is_scope: bool,
) -> String {
    let bounds = &search.model.bounds;
    let count = |n: u32, what: &str| human::count(n.into(), what);
    let all = bounds.faults.len() as u32;
    let faults = match bounds.at_most {
        Some(most) if most < all => format!("{most} of {}", count(all, "fault")),
        _ => count(all, "fault"),
    };
    let late = match bounds.late_by {
        Some(late) if bounds.deviations > 0 => format!(" by at most {late:?}"),
        _ => String::new(),
    };
    let choices = match bounds.widest_choice {
        Some(..=1) => ", of each choice the last answer".to_owned(),
        Some(widest) => format!(", of choices among more than {widest} the last answer"),
        None => String::new(),
    };
    // Faults may strike from the last event before `from` on: there the world stands.
    let begin = search.model.start.now();
    let from = is_scope.then(|| case.scope()).flatten();
    let from = match from.map(|scope| scope.from).filter(|from| *from != begin) {
        Some(from) => format!(" (the last event before {:.3} s)", from.secs_f64()),
        None => String::new(),
    };
    let recovery = match search.calm {
        None => String::new(),
        Some(calm) => format!(
            ", and none from any state on within {calm:?} of calm after that (fair: what is due happens, in the \
             order of time)"
        ),
    };
    let reduced = match reduction.exact {
        true => "",
        false => ", orders instead of times (an empirical verdict: the full search decides)",
    };
    format!(
        "{faults}, {}{late}{choices}, {:.3} s{from} to {:.3} s of virtual time{recovery}{reduced}",
        count(bounds.deviations, "deviation"),
        begin.secs_f64(),
        bounds.horizon.secs_f64(),
    )
}
