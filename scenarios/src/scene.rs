//! Scenes: of the trace of a violation a scenario is made that begins shortly before it, with what is stored then, and says
//! all that is chosen from there on.
//!
//! `cut` takes a trace at one of its moments and cuts off what was before, `stage` simulates what is left of it, `smaller`
//! leaves out what the violation does not need, `yaml` writes it down.
//!
//! What a scene carries is what is stored, which processes run, and the faults that last. What processes remember is not
//! carried: routines are programs in the midst of their work, and cannot be written down. All processes start anew over
//! the content, as far as that is what they find then, and what properties know they learn from it. So a scene begins
//! where no routine that matters had begun.

mod cut;
mod smaller;
mod stage;
mod without;
mod yaml;

use rayon::prelude::*;
use wavetank_component::BeginsAs;
use wavetank_engine::Time;
use wavetank_engine::drive::plan::{Plan, Planned};

use crate::attribution::{Attribution, Suspect};
use crate::case::{Case, Options};
use crate::explain;
use crate::head::Head;
use crate::shrink::Effort;
use crate::stopwatch::Stopwatch;
use crate::trace_file::Trace;

use stage::{Shown, Stage};

pub use yaml::to_yaml;

/// A trace is taken at so many of its moments at most.
const MOST_MOMENTS: usize = 36;
/// So many neighbours of a plan are tried where it does not show the violation itself. All of a batch are simulated, so
/// that their number does not depend on the number of cores.
const NEIGHBOURS: u64 = 24;
const BATCH: u64 = 8;
/// What is small already costs little.
const MANY: u64 = 64;
/// A scene is cut again, as long as that makes it smaller, but not for ever.
const MOST_CUTS: u32 = 4;

/// A scenario that begins in the middle, as it is made.
#[derive(Clone, Debug)]
pub struct Draft {
    /// Its name.
    pub name: String,
    /// What it is about.
    pub about: String,
    /// The property that it violates.
    pub property: String,
    /// When processes start.
    pub begin: Time,
    /// When the run begins.
    pub from: Time,
    /// When the storm ends.
    pub storm: Time,
    /// When the violation comes.
    pub violated: Time,
    /// Processes that do not start by themselves.
    pub down: Vec<String>,
    /// What a seed would decide.
    pub options: Options,
    /// The defects and fixes that stay as the case of the trace has them; if not given, all do. Others are fixed.
    pub switches: Option<Vec<String>>,
    /// What components begin with.
    pub content: Vec<BeginsAs>,
    /// What is planned before the run begins.
    pub before: Vec<Planned>,
    /// What is chosen from there on.
    pub plan: Plan,
}

impl Draft {
    /// So many parts of a content.
    pub fn parts(&self) -> usize {
        self.content.iter().map(|own| own.parts.len()).sum()
    }
}

/// A scene that was found.
#[allow(missing_debug_implementations, reason = "a case has none")]
pub struct Scene {
    /// The case, as it stands in the file.
    pub case: Box<dyn Case>,
    /// The file.
    pub text: String,
    /// Its trace.
    pub trace: Trace,
    /// What it is to be blamed on.
    pub attribution: Attribution,
    /// How much there is to it.
    pub size: Size,
    /// Simulations that it took.
    pub attempts: u64,
    /// Was all tried? Else the effort was over before.
    pub is_whole: bool,
}

/// How much there is to a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Events from where the run begins to the violation.
    pub events: u64,
    /// Those of them from which the violation follows.
    pub leading: u64,
    /// What is planned, in the opening and after it.
    pub actions: u64,
    /// Answers that are not the usual ones.
    pub choices: u64,
    /// Frames that take another time than usual.
    pub latencies: u64,
    /// Objects that are stored.
    pub content: u64,
    /// Processes.
    pub processes: u64,
}

/// What is looked for, and how long yet.
struct Search<'a> {
    /// The case of the trace.
    base: &'a dyn Case,
    trace: &'a Trace,
    reason: Attribution,
    effort: Effort,
    clock: Stopwatch,
    attempts: u64,
    smallest: u64,
}

/// A draft that shows the violation, as far as it was followed.
struct Found {
    draft: Draft,
    trace: Trace,
    events: u64,
}

/// Makes a scene of a trace; `None` if its plan, simulated again, does not show its violation.
///
/// # Errors
/// Why this case cannot begin in the middle, or that the effort was over too soon.
pub fn find(
    case: &dyn Case,
    trace: &Trace,
    name: &str,
    effort: Effort,
) -> Result<Option<Scene>, String> {
    if case.apart().is_some() {
        return Err("a scene needs copies of a world, and hosted programs have none".to_owned());
    }
    let violation = trace.end().violation.as_ref();
    let violation = violation.ok_or("the trace holds no violation")?;
    let suspect = Suspect {
        case,
        options: &trace.head.options,
        violation,
    };
    let plan = Plan::from_trace(trace.lines.iter());
    if suspect.shown(&plan, Default::default()).is_none() {
        return Ok(None);
    }
    let mut search = Search {
        base: case,
        trace,
        reason: suspect.blame(&plan),
        effort,
        clock: Stopwatch::start(),
        attempts: 0,
        smallest: trace.end().events,
    };
    let Some(mut best) = search.first(name)? else {
        return match search.may_go_on() {
            true => Ok(None),
            false => Err("it ended before a first scene was found".to_owned()),
        };
    };
    for _ in 0..MOST_CUTS {
        let before = best.events;
        search.shrink(&mut best, BATCH);
        search.cut_again(&mut best)?;
        if best.events >= before || !search.may_go_on() {
            break;
        }
    }
    search.shrink_gaps(&mut best);
    search.shrink_storm(&mut best);
    search.shrink(&mut best, NEIGHBOURS);
    search.open_later(&mut best);
    search.shrink_plan(&mut best, 0);
    search.forget_switches(&mut best);
    search.finish(best).map(Some)
}

impl Search<'_> {
    fn may_go_on(&self) -> bool {
        let stop = self.effort.stop;
        let is_stopped = stop.is_some_and(|stop| stop.load(std::sync::atomic::Ordering::Relaxed));
        self.attempts < self.effort.attempts
            && !self.clock.is_over(self.effort.time_box)
            && !is_stopped
    }

    fn count(&mut self, attempts: u64) {
        self.attempts += attempts;
        if let Some(watch) = self.effort.watch {
            watch(self.attempts, self.smallest);
        }
    }

    /// Opens a draft, if that is possible.
    fn stage(&self, draft: &Draft) -> Option<Stage> {
        let violation = self.trace.end().violation.as_ref()?;
        Stage::new(self.base, draft, violation, &self.reason).ok()
    }

    /// The first scene: the trace, taken as late as it still leads to the violation.
    fn first(&mut self, name: &str) -> Result<Option<Found>, String> {
        let pasts = cut::pasts(self.base, self.trace, MOST_MOMENTS)?;
        let drafts: Vec<Draft> = pasts
            .iter()
            .map(|past| past.draft(self.base, self.trace, name))
            .collect();
        Ok(self.latest(drafts, NEIGHBOURS))
    }

    /// The first of these drafts that shows the violation, or else of their neighbours.
    fn latest(&mut self, drafts: Vec<Draft>, near: u64) -> Option<Found> {
        let mut stages: Vec<(&Draft, Stage)> = Vec::new();
        let mut exact = None;
        for batch in drafts.chunks(BATCH as usize) {
            if !self.may_go_on() {
                break;
            }
            let this = &*self;
            let opened: Vec<Option<(Stage, Option<Shown>)>> = batch
                .par_iter()
                .map(|draft| {
                    let stage = this.stage(draft)?;
                    let shown = stage.shows(&draft.plan);
                    Some((stage, shown))
                })
                .collect();
            self.count(batch.len() as u64);
            for (draft, opened) in batch.iter().zip(opened) {
                match opened {
                    Some((_, Some(shown))) if exact.is_none() => exact = Some((draft, shown)),
                    Some((stage, None)) if exact.is_none() => stages.push((draft, stage)),
                    _ => {}
                }
            }
            if exact.is_some() {
                break;
            }
        }
        // Later ones may have a neighbour that does.
        for (draft, stage) in stages {
            if let Some(shown) = self.near(&stage, &draft.plan, near) {
                return Some(self.found(draft.clone(), shown));
            }
        }
        exact.map(|(draft, shown)| self.found(draft.clone(), shown))
    }

    fn found(&mut self, draft: Draft, shown: Shown) -> Found {
        self.smallest = self.smallest.min(shown.events);
        Found {
            draft: Draft {
                plan: shown.plan,
                violated: shown.at,
                ..draft
            },
            trace: shown.trace,
            events: shown.events,
        }
    }

    /// What the first neighbour of a plan comes to that shows the violation.
    fn near(&mut self, stage: &Stage, plan: &Plan, most: u64) -> Option<Shown> {
        for first in (0..most).step_by(BATCH as usize) {
            if !self.may_go_on() {
                return None;
            }
            let batch = (first..first + BATCH).into_par_iter();
            let shown: Vec<Option<Shown>> = batch.map(|n| stage.shows_near(plan, n)).collect();
            self.count(BATCH);
            if let Some(shown) = shown.into_iter().flatten().next() {
                return Some(shown);
            }
        }
        None
    }

    /// Cuts the trace of a scene once more.
    fn cut_again(&mut self, best: &mut Found) -> Result<(), String> {
        let Ok(case) = self.base.staged(&best.draft) else {
            return Ok(());
        };
        let pasts = cut::pasts(case.as_ref(), &best.trace, MOST_MOMENTS / 3)?;
        let drafts: Vec<Draft> = pasts
            .iter()
            .filter(|past| !past.is_beginning())
            .map(|past| past.draft(case.as_ref(), &best.trace, &best.draft.name))
            .collect();
        if let Some(found) = self
            .latest(drafts, MANY)
            .filter(|found| found.events < best.events)
        {
            *best = found;
        }
        Ok(())
    }

    /// Writes it down, reads that again, and looks whether it still shows what it is to show.
    fn finish(&mut self, mut best: Found) -> Result<Scene, String> {
        // What has become smaller may tell of another object, or name it otherwise.
        best.draft.about = cut::about(&self.trace.head.case, &best.trace);
        let case = self.base.staged(&best.draft)?;
        let json = case.file().ok_or("this case has no scenario file")?;
        let violation = self.trace.end().violation.as_ref();
        let violation = violation.expect("it was looked at");
        let stage = Stage::new(self.base, &best.draft, violation, &self.reason)?;
        let (outcome, odd) = stage.run(&best.draft.plan);
        if outcome.end().violation.is_none() {
            return Err("what was found does not show itself again: this is a bug".to_owned());
        }
        let options = case.derive(0);
        let head = Head::new(case.as_ref(), 0, options);
        let trace = Trace::of(head, &outcome);
        let attribution =
            crate::attribution::attribute(case.as_ref(), &trace, crate::attribution::Depth::Each);
        Ok(Scene {
            text: to_yaml(&json),
            size: Size {
                events: outcome.tallies.events,
                leading: explain::leading(case.as_ref(), &trace).unwrap_or_default() as u64,
                actions: (best.draft.plan.actions.len() + best.draft.before.len()) as u64,
                choices: odd.choices,
                latencies: odd.latencies,
                content: best.draft.parts() as u64,
                processes: outcome.world.processes().len() as u64,
            },
            case,
            trace,
            attribution,
            attempts: self.attempts,
            is_whole: self.may_go_on(),
        })
    }
}
