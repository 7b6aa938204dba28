//! Leaves out of a scene what the violation does not need.

use std::collections::BTreeMap;
use std::time::Duration;

use wavetank_engine::Action;
use wavetank_engine::drive::plan::{Occurrence, Plan, Planned};
use wavetank_engine::trace::{Line, TraceWhat};

use crate::attribution::Attribution;

use super::cut::whole_seconds;
use super::stage::{Shown, Stage};
use super::without::without;
use super::{BATCH, Draft, Found, Search};

/// After another content, or without a process, so many neighbours are tried.
const FEW: u64 = BATCH;

/// What is done next is done so long after what was done before.
const GAPS: [Duration; 4] = [
    Duration::ZERO,
    Duration::from_millis(1),
    Duration::from_millis(20),
    Duration::from_secs(1),
];

/// The storm ends so long after the last that is done in it.
const AFTER_ALL: [Duration; 3] = [
    Duration::ZERO,
    Duration::from_secs(1),
    Duration::from_secs(10),
];

impl Search<'_> {
    /// Everything that can go, the dearest first: operations, what is stored, processes; then what is odd in the rest.
    pub(super) fn shrink(&mut self, best: &mut Found, near: u64) {
        loop {
            let before = (best.draft.plan.actions.len(), best.draft.parts());
            self.shrink_plan(best, near);
            self.shrink_content(best);
            self.shrink_options(best);
            self.shrink_up(best);
            let after = (best.draft.plan.actions.len(), best.draft.parts());
            if before == after || !self.may_go_on() {
                break;
            }
        }
    }

    /// Takes a plan, if it or one of so many neighbours shows the violation.
    fn try_plan(&mut self, best: &mut Found, stage: &Stage, plan: Plan, near: u64) -> bool {
        if !self.may_go_on() {
            return false;
        }
        self.count(1);
        let shown = match stage.shows(&plan) {
            Some(shown) => Some(shown),
            None => self.near(stage, &plan, near),
        };
        self.take(best, shown)
    }

    fn take(&mut self, best: &mut Found, shown: Option<Shown>) -> bool {
        let Some(shown) = shown else {
            return false;
        };
        *best = self.found(best.draft.clone(), shown);
        true
    }

    /// Takes another draft, if it or one of a few neighbours shows the violation.
    fn try_draft(&mut self, best: &mut Found, draft: Draft) -> bool {
        if !self.may_go_on() {
            return false;
        }
        self.count(1);
        let Some(stage) = self.stage(&draft) else {
            return false;
        };
        let shown = match stage.shows(&draft.plan) {
            Some(shown) => Some(shown),
            None => self.near(&stage, &draft.plan, FEW),
        };
        match shown {
            Some(shown) => {
                *best = self.found(draft, shown);
                true
            }
            None => false,
        }
    }

    pub(super) fn shrink_plan(&mut self, best: &mut Found, near: u64) {
        let Some(stage) = self.stage(&best.draft) else {
            return;
        };
        self.forget_odds(best, &stage);
        let mut size = best.draft.plan.actions.len().div_ceil(2);
        while size > 0 {
            let mut from = 0;
            while from < best.draft.plan.actions.len() {
                let to = (from + size).min(best.draft.plan.actions.len());
                let mut plan = best.draft.plan.clone();
                plan.actions.drain(from..to);
                // Halves that do not show it have no near neighbours: where a single one went, others may do.
                let is_gone = self.try_plan(best, &stage, plan, 0)
                    || size <= 2 && self.may_go_on() && {
                        let moved = without(&best.draft.plan, &best.trace, from..to);
                        self.try_plan(best, &stage, moved, near)
                    };
                match is_gone {
                    true => self.forget_odds(best, &stage),
                    false => from = to,
                }
            }
            size /= 2;
        }
        self.forget_entries(best, &stage, |plan| &mut plan.delays);
        self.forget_entries(best, &stage, |plan| &mut plan.choices);
        for at in 0..best.draft.plan.actions.len() {
            if best.draft.plan.actions[at].after.is_some() {
                let mut plan = best.draft.plan.clone();
                plan.actions[at].after = None;
                self.try_plan(best, &stage, plan, 0);
            }
        }
    }

    /// All latencies, all choices.
    fn forget_odds(&mut self, best: &mut Found, stage: &Stage) {
        if !best.draft.plan.delays.is_empty() {
            let plan = Plan {
                delays: BTreeMap::new(),
                ..best.draft.plan.clone()
            };
            self.try_plan(best, stage, plan, 0);
        }
        if !best.draft.plan.choices.is_empty() {
            let plan = Plan {
                choices: BTreeMap::new(),
                ..best.draft.plan.clone()
            };
            self.try_plan(best, stage, plan, 0);
        }
    }

    /// Lets halves, quarters, … single entries be as they usually are.
    fn forget_entries<V>(
        &mut self,
        best: &mut Found,
        stage: &Stage,
        part: impl Fn(&mut Plan) -> &mut BTreeMap<Occurrence, V>,
    ) {
        let mut size = part(&mut best.draft.plan).len();
        while size > 0 {
            let mut from = 0;
            while from < part(&mut best.draft.plan).len() {
                let mut plan = best.draft.plan.clone();
                let entries = part(&mut plan);
                let keys: Vec<Occurrence> = entries.keys().skip(from).take(size).cloned().collect();
                for key in &keys {
                    entries.remove(key);
                }
                if !self.try_plan(best, stage, plan, 0) {
                    from += size;
                }
            }
            size /= 2;
        }
    }

    fn shrink_content(&mut self, best: &mut Found) {
        for of in 0..best.draft.content.len() {
            let mut size = best.draft.content[of].parts.len();
            while size > 0 {
                let mut from = 0;
                while from < best.draft.content[of].parts.len() {
                    let mut draft = best.draft.clone();
                    let parts = &mut draft.content[of].parts;
                    let to = (from + size).min(parts.len());
                    parts.drain(from..to);
                    if !self.try_draft(best, draft) {
                        from = to;
                    }
                }
                size /= 2;
            }
        }
    }

    /// Processes that nobody needs to have started.
    fn shrink_up(&mut self, best: &mut Found) {
        let Some(names) = self.stage(&best.draft).map(|stage| stage.names()) else {
            return;
        };
        for name in names {
            if best.draft.down.contains(&name) {
                continue;
            }
            let mut draft = best.draft.clone();
            draft.down.push(name.clone());
            let alone = |own: &str| own != name;
            for actions in [&mut draft.plan.actions, &mut draft.before] {
                actions.retain(|planned| concerns_only(&planned.action, &alone));
            }
            self.try_draft(best, draft);
        }
    }

    /// Fewer processes.
    fn shrink_options(&mut self, best: &mut Found) {
        while self.may_go_on() {
            let Ok(case) = self.base.staged(&best.draft) else {
                return;
            };
            let smaller = case.smaller(&best.draft.options);
            let drafts = smaller.into_iter().filter_map(|options| {
                let mut draft = Draft {
                    options,
                    ..best.draft.clone()
                };
                let probe = Draft {
                    down: Vec::new(),
                    content: Vec::new(),
                    before: Vec::new(),
                    plan: Plan::default(),
                    ..draft.clone()
                };
                // Who is there is known without anybody having started.
                let world = self.base.staged(&probe).ok()?;
                let world = world.world(&world.derive(0)).ok()?;
                let known = |name: &str| world.find(name).is_some();
                draft.down.retain(|name| known(name));
                for actions in [&mut draft.plan.actions, &mut draft.before] {
                    actions.retain(|planned| concerns_only(&planned.action, &known));
                }
                Some(draft)
            });
            let drafts: Vec<Draft> = drafts.collect();
            let is_smaller = drafts.into_iter().any(|draft| self.try_draft(best, draft));
            if !is_smaller {
                return;
            }
        }
    }

    /// Where nothing happens for long, what is done next is done earlier.
    pub(super) fn shrink_gaps(&mut self, best: &mut Found) {
        let Some(stage) = self.stage(&best.draft) else {
            return;
        };
        for at in 0..best.draft.plan.actions.len() {
            for gap in GAPS {
                let mut draft = best.draft.clone();
                let actions = &mut draft.plan.actions;
                let before = at
                    .checked_sub(1)
                    .map_or(draft.from, |before| actions[before].at);
                let late = actions[at].at.since(before);
                if late <= gap {
                    break;
                }
                if !self.may_go_on() {
                    return;
                }
                for planned in &mut actions[at..] {
                    planned.at = planned.at - (late - gap);
                }
                self.count(1);
                let shown = stage.shows(&draft.plan);
                let fewer = shown.filter(|shown| shown.events <= best.events);
                if self.take(best, fewer) {
                    break;
                }
            }
        }
    }

    /// The storm ends as soon as nothing more is done.
    pub(super) fn shrink_storm(&mut self, best: &mut Found) {
        let actions = best.draft.plan.actions.iter();
        let last = actions.map(|planned| planned.at).max();
        let last = last.unwrap_or(best.draft.from).max(best.draft.from);
        for after in AFTER_ALL {
            let storm = whole_seconds(last + after);
            if storm >= best.draft.storm {
                return;
            }
            let mut draft = best.draft.clone();
            draft.storm = storm;
            draft.plan.calm = Some(storm);
            let before = best.draft.violated;
            draft.violated = storm + before.since(best.draft.storm);
            if self.try_draft(best, draft) {
                return;
            }
        }
    }

    /// Switches that do not matter are as they are when all that is known is fixed.
    pub(super) fn forget_switches(&mut self, best: &mut Found) {
        let kept = match &self.reason {
            Attribution::Each(names) | Attribution::Together(names) => names.clone(),
            Attribution::Known | Attribution::Nothing | Attribution::Unclear(_) => return,
        };
        let draft = Draft {
            switches: Some(kept),
            ..best.draft.clone()
        };
        let Some(stage) = self.stage(&draft) else {
            return;
        };
        self.count(1);
        if let Some(shown) = stage.shows(&draft.plan) {
            *best = self.found(draft, shown);
        }
    }

    /// Lets the opening have what is done first, if all that is odd comes later: the run begins as late as it can.
    pub(super) fn open_later(&mut self, best: &mut Found) {
        let acts = best.trace.lines.iter().filter_map(|line| match line {
            Line::Event(event) => Some(event),
            _ => None,
        });
        let acts: Vec<usize> = acts
            .enumerate()
            .filter(|(_, event)| matches!(event.what, TraceWhat::Act(_)))
            .map(|(at, _)| at)
            .collect();
        for at in acts.into_iter().rev() {
            if let Some(draft) = opened_at(best, at)
                && self.try_draft(best, draft)
            {
                return;
            }
        }
    }
}

/// The same, but the run begins right before an event of its trace, and what comes at the same instant.
fn opened_at(best: &Found, at: usize) -> Option<Draft> {
    let events = best.trace.lines.iter().filter_map(|line| match line {
        Line::Event(event) => Some(event),
        _ => None,
    });
    let events: Vec<_> = events.collect();
    let first = events.iter().position(|event| event.at == events[at].at);
    let (at, is_first) = (first?, first == Some(at));
    if at == 0 {
        return None;
    }
    let from = match is_first {
        true => events[at].at,
        false => events[at].at - Duration::from_nanos(1),
    };
    let done = events[..at].iter().filter_map(|event| match &event.what {
        TraceWhat::Act(action) => Some(Planned {
            at: event.at,
            after: None,
            action: action.clone(),
        }),
        _ => None,
    });
    let rest: Vec<Line> = events[at..]
        .iter()
        .map(|event| Line::Event((*event).clone()))
        .collect();
    let plan = Plan {
        calm: best.draft.plan.calm,
        ..Plan::from_trace(rest.iter())
    };
    let mut draft = Draft {
        from,
        plan,
        ..best.draft.clone()
    };
    draft.before.extend(done);
    Some(draft)
}

fn concerns_only(action: &Action, known: &dyn Fn(&str) -> bool) -> bool {
    match action {
        Action::Fault(fault) => fault.processes().into_iter().all(known),
        Action::Command { process, .. } => known(process),
    }
}
