//! Livelock: a violation that comes back for ever. Where a trace ends, the world goes on in the default
//! order, without any fault; if what happens then repeats itself, violation by violation, it is shown as a
//! *livelock cycle*: the trace leads into the cycle, the cycle never ends.
//!
//! Worlds cannot be compared for this, since revisions only grow. Compared is what was told at each
//! violation, revisions aside, with its process and the time since the last one; a cycle has to come
//! several times in a row.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use wavetank_engine::trace::FoundViolation;
use wavetank_engine::{Check, Report, Time, World};

use crate::case::Case;
use crate::quiet::quietly;
use crate::replay::{follow, needs_copies};
use crate::trace_file::Trace;

/// So often a cycle has to come.
const TIMES: usize = 4;
/// Cycles of more violations are not looked for.
const LONGEST: usize = 12;
/// The world goes on for so much virtual time.
const GOES_ON: Duration = Duration::from_secs(1_800);

/// A cycle without an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LivelockCycle {
    /// How long it takes.
    pub period: Duration,
    /// What happens in it.
    pub steps: Vec<String>,
}

impl fmt::Display for LivelockCycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.period.as_secs_f64();
        write!(
            f,
            "for ever, every {seconds:.3} s: {}",
            self.steps.join("; ")
        )
    }
}

/// A violation that has come back.
#[derive(Clone, Debug)]
struct Again {
    at: Time,
    told: String,
}

/// The cycle in which the violation of a trace comes back for ever, if it does.
pub fn of(case: &dyn Case, trace: &Trace) -> Option<LivelockCycle> {
    needs_copies(case).ok()?;
    let violation = trace.end().violation.clone()?;
    quietly(|| {
        let followed = follow(case, trace, trace.head.fit(), None, &mut |_, _, _| {}).ok()?;
        cycle(&go_on(case, followed.world, &violation))
    })
}

/// When the violation comes back.
fn go_on(case: &dyn Case, mut world: World, violation: &FoundViolation) -> Vec<Again> {
    let until = world.now() + GOES_ON;
    let mut again = Vec::new();
    while again.len() < LONGEST * TIMES
        && let Some(entry) = world.next_entry().copied()
        && entry.at <= until
    {
        let event = entry.usual();
        let at = entry.at.max(world.now());
        let applied = catch_unwind(AssertUnwindSafe(|| {
            world.apply(at, event, &mut |sent| sent.nominal)
        }));
        let Ok(Ok(report)) = applied else { break };
        if is_violated(&world, &report, violation) {
            again.push(Again {
                at: world.now(),
                told: told(case, &world, &report),
            });
        }
        World::recycle(report);
    }
    again
}

fn is_violated(world: &World, report: &Report, violation: &FoundViolation) -> bool {
    report.checks.iter().any(|(index, check)| {
        let property = world.properties().nth((*index).into());
        matches!(check, Check::Violated(_))
            && property.is_some_and(|property| property.name() == violation.property)
    })
}

/// What an event told, without revisions.
fn told(case: &dyn Case, world: &World, report: &Report) -> String {
    let notes = report.notes.iter();
    let told = notes.filter_map(|note| {
        let told = case.describer().describe(world, note)?;
        Some(format!("{}: {}", world.name(note.process), told.text))
    });
    let told: Vec<String> = told.collect();
    without_revisions(&told.join(", "))
}

/// `revision 17: a := b` as `a := b`.
fn without_revisions(text: &str) -> String {
    let mut parts = text.split("revision ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        text + rest.trim_start_matches(": ")
    })
}

/// The shortest cycle at the end.
fn cycle(again: &[Again]) -> Option<LivelockCycle> {
    let repeats = |length: usize| {
        let last = again.len().checked_sub(length * TIMES)?;
        let period = again[last + length].at.since(again[last].at);
        let same = (last + length..again.len()).all(|at| {
            let (here, before) = (&again[at], &again[at - length]);
            here.told == before.told && here.at.since(before.at) == period
        });
        let steps = again[last..last + length].iter();
        same.then(|| LivelockCycle {
            period,
            steps: steps.map(|step| step.told.clone()).collect(),
        })
    };
    (1..=LONGEST).find_map(repeats)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(steps: &[(u64, &str)]) -> Vec<Again> {
        let again = steps.iter().map(|(at, told)| Again {
            at: Time::from_secs(*at),
            told: (*told).to_owned(),
        });
        again.collect()
    }

    #[test]
    fn a_cycle_comes_several_times_at_the_end() {
        let mut steps = vec![(0, "x")];
        for turn in 0..4 {
            steps.extend([(10 * turn + 3, "a"), (10 * turn + 7, "b")]);
        }
        let found = cycle(&again(&steps)).expect("it is one");
        assert_eq!(found.period, Duration::from_secs(10));
        assert_eq!(found.steps, ["a", "b"]);
        assert_eq!(found.to_string(), "for ever, every 10.000 s: a; b");
        assert_eq!(
            cycle(&again(&steps[1..8])),
            None,
            "it has to come four times"
        );
        steps[5].0 += 1;
        assert_eq!(cycle(&again(&steps)), None, "in the same time");
        steps[5].0 -= 1;
        steps[5].1 = "c";
        assert_eq!(cycle(&again(&steps)), None, "and the same way");
    }

    #[test]
    fn revisions_are_left_out() {
        let told = "etcd: revision 12: /a := b (by a1), etcd: revision 13: deletes /c";
        assert_eq!(
            without_revisions(told),
            "etcd: /a := b (by a1), etcd: deletes /c"
        );
    }
}
