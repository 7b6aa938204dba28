//! What `wavetank check` searches: a case's world at some moment, how far the search goes from there,
//! and the trace of what it finds. How it is searched is in `models`.

use std::collections::BTreeMap;
use std::time::Duration;

use wavetank_engine::drive::plan::{FromPlan, Plan, Planned};
use wavetank_engine::drive::replay::{Fit, Replay};
use wavetank_engine::drive::{Limits, Missed, Outcome, Run};
use wavetank_engine::trace::{End, FoundViolation, Line, Record, TraceWhat};
use wavetank_engine::{Action, Event, Fault, Time, World};
use wavetank_models::{Bounds, Due, Found, Node, Recovery, Retraced, WorldModel, retrace};

use crate::case::{Case, Options};
use crate::head::Head;
use crate::replay::{LINES_BEFORE, Unfollowed, needs_copies};
use crate::trace_file::Trace;

/// The options of a search are those of this seed.
const SEED: u64 = 0;

/// How far a search of a case goes.
#[derive(Clone, Debug)]
pub struct Scope {
    /// When it begins; until then everything goes its default way.
    pub from: Time,
    /// How far it goes. What is planned before `from` happens before.
    pub bounds: Bounds,
    /// Every state has to recover within so much virtual time, if given.
    pub recovers_within: Option<Duration>,
    /// What it is for: switches that it finds, each turned on its own when all else is fixed.
    pub shows: Vec<String>,
    /// Switches of which it passes the place and that it cannot find, with the reason.
    pub cannot_show: BTreeMap<String, String>,
}

/// What is searched around a trace.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    /// The search begins at each event of so much virtual time before the trace's end,
    pub window: Duration,
    /// with so many deviations,
    pub deviations: u32,
    /// and ends so much virtual time after the trace.
    pub beyond: Duration,
}

/// A search about to begin.
#[derive(Debug)]
pub struct Search {
    options: Options,
    seed: u64,
    /// What leads to the first of the starts.
    way: Way,
    /// The states it begins at, each with how many steps of the way lead there.
    starts: Vec<(Node, u64)>,
    /// What happens from there on.
    pub model: WorldModel,
    /// How long the calm of a recovery is, if that is checked.
    pub calm: Option<Duration>,
    /// Faults that are planned for before it begins, and struck nothing.
    pub in_vain: Vec<Missed>,
}

/// How a start is reached.
#[derive(Debug)]
enum Way {
    /// What is planned happens, and all else in its default order.
    Plan(Plan),
    /// These events happen, in this order.
    Events(Vec<Line>),
}

impl Search {
    /// Of a case within its scope.
    ///
    /// # Errors
    /// Why it cannot be searched.
    pub fn of(case: &dyn Case) -> Result<Search, String> {
        needs_copies(case).map_err(|error| error.to_string())?;
        let options = case.derive(SEED);
        let scope = case.scope().ok_or_else(|| lacking(case, &options))?;
        let world = case.world(&options)?;
        let plan = undisturbed(case, &options, &world, &scope);
        let mut run = Run::new(
            world,
            FromPlan::new(&plan),
            Limits::until(scope.from),
            Record::default(),
        );
        let mut steps = 0;
        while step(&mut run)? {
            steps += 1;
        }
        let (from, mut bounds) = (scope.from, scope.bounds);
        bounds.plan.retain(|(at, _)| *at > from);
        let before = run.stop();
        let start = before.world;
        can_be_done(&start, &bounds)?;
        Ok(Search {
            options,
            seed: SEED,
            way: Way::Plan(plan),
            starts: vec![(Node::fresh(start.clone(), &bounds), steps)],
            model: WorldModel { start, bounds },
            calm: scope.recovers_within,
            in_vain: before.tallies.missed,
        })
    }

    /// Of what happens in a trace, and of what is near to that. The trace is followed event by event if it is of this
    /// case and build. Else its faults, latencies and choices are repeated, and events come in their default order.
    ///
    /// # Errors
    /// Why it cannot be searched.
    pub fn around(case: &dyn Case, trace: &Trace, around: Around) -> Result<Search, Unfollowed> {
        needs_copies(case)?;
        let options = trace.head.options.clone();
        let plan = Plan::from_trace(trace.lines.iter());
        let events = trace.lines.iter().filter_map(|line| match line {
            Line::Event(event) => Some(event.at),
            _ => None,
        });
        let end = events.max().unwrap_or(Time::ZERO);
        let begin = Time::ZERO + end.since(Time::ZERO).saturating_sub(around.window);
        let world = case.world(&options).map_err(Unfollowed::NoWorld)?;
        let due = |planned: &Planned| (planned.at, Due::Act(planned.action.clone()));
        let mut all: Vec<(Time, Due)> = plan.actions.iter().map(due).collect();
        all.extend(plan.calm.map(|at| (at, Due::Calm)));
        all.retain(|(at, _)| *at >= begin);
        all.sort_by_key(|(at, _)| *at);
        let bounds = Bounds {
            plan: all,
            deviations: around.deviations,
            widest_choice: Some(16),
            horizon: end + around.beyond,
            ..Bounds::default()
        };
        let is_own = case.identity() == trace.head.identity && trace.head.fit() == Fit::Strict;
        let (starts, way) = match is_own {
            true => {
                let events = trace.lines.iter();
                let events = events.filter(|line| matches!(line, Line::Event(_)));
                let way = Way::Events(events.cloned().collect());
                (along(world, trace, begin, &bounds)?, way)
            }
            false => {
                let starts = by_plan(world, &plan, (begin, end), &bounds);
                (starts, Way::Plan(plan))
            }
        };
        let start = starts.first().map(|(node, _)| node.world.clone());
        let start =
            start.ok_or_else(|| Unfollowed::NoWorld("the trace has no events".to_owned()))?;
        Ok(Search {
            options,
            seed: trace.head.seed,
            way,
            starts,
            model: WorldModel { start, bounds },
            calm: None,
            in_vain: Vec::new(),
        })
    }

    /// The states that the search begins at.
    pub fn starts(&self) -> Vec<Node> {
        self.starts.iter().map(|(node, _)| node.clone()).collect()
    }

    /// The trace of a counterexample: `found` is a path of `model` from `start`.
    pub fn trace(&self, case: &dyn Case, model: &WorldModel, start: &Node, found: &Found) -> Trace {
        let recovery = self.calm.map(Recovery::within);
        let Retraced { events, violated } = retrace(model, recovery.as_ref(), start, &found.path);
        let violation = violated.map(|violated| *violated);
        let mut lines = self.before(case, found.start);
        lines.extend(events.into_iter().map(Line::Event));
        let events = lines.iter().filter(|line| matches!(line, Line::Event(_)));
        let end = End {
            events: events.count() as u64,
            violation,
        };
        lines.push(Line::End(end));
        let head = Head {
            shrunk: true,
            ..Head::new(case, self.seed, self.options.clone())
        };
        Trace { head, lines }
    }

    /// What leads to one of the starts.
    fn before(&self, case: &dyn Case, start: usize) -> Vec<Line> {
        let steps = self.starts[start].1;
        let plan = match &self.way {
            Way::Plan(plan) => plan,
            Way::Events(lines) => return lines[..steps as usize].to_vec(),
        };
        let world = case.world(&self.options).expect("it was built before");
        let choices = FromPlan::new(plan);
        let mut run = Run::new(
            world,
            choices,
            Limits::until(Time::NEVER),
            Record::default(),
        );
        for _ in 0..steps {
            run.step().expect("it came as far before");
        }
        let outcome: Outcome = run.stop();
        let name = |process| outcome.world.name(process).to_owned();
        let mut lines: Vec<Line> = outcome.record.lines(&name, outcome.end()).collect();
        lines.pop();
        lines
    }
}

/// The states along a trace, from the last one before an instant on, each with how many events lead there. The event that violates a guarantee
/// leads to none: the search takes it itself.
fn along(
    world: World,
    trace: &Trace,
    begin: Time,
    bounds: &Bounds,
) -> Result<Vec<(Node, u64)>, Unfollowed> {
    let fresh = |world: &World| Node::fresh(world.clone(), bounds);
    let mut replay = Replay::new(world, Fit::Strict);
    let mut starts = Vec::new();
    let mut planned = 0;
    for (number, line) in (LINES_BEFORE + 1..).zip(&trace.lines) {
        let Line::Event(event) = line else { continue };
        if event.at >= begin && starts.is_empty() {
            starts.push((fresh(replay.world()), replay.events()));
        }
        replay.follow(line).map_err(|parting| Unfollowed::Parted {
            line: number,
            parting,
            alike: None,
        })?;
        if replay.violation().is_some() {
            break;
        }
        if event.at < begin {
            continue;
        }
        planned += usize::from(matches!(event.what, TraceWhat::Act(_) | TraceWhat::Calm));
        let world = replay.world();
        let node = Node {
            planned,
            ..fresh(world)
        };
        starts.push((node, replay.events()));
    }
    Ok(starts)
}

/// The states from one instant to another one when what is planned happens and all else comes in its default order, each
/// with how many steps lead there.
fn by_plan(
    world: World,
    plan: &Plan,
    (begin, end): (Time, Time),
    bounds: &Bounds,
) -> Vec<(Node, u64)> {
    let mut run = Run::new(
        world,
        FromPlan::new(plan),
        Limits::until(end),
        Record::default(),
    );
    let mut starts = Vec::new();
    let mut steps = 0;
    loop {
        let now = run.world().now();
        if now >= begin {
            let done = |(at, _): &&(Time, Due)| *at < now || (*at == now && steps > 0);
            let planned = bounds.plan.iter().filter(done).count();
            let node = Node {
                planned,
                ..Node::fresh(run.world().clone(), bounds)
            };
            starts.push((node, steps));
        }
        // What goes wrong without any deviation is found by the search as well.
        if !step(&mut run).unwrap_or(false) {
            return starts;
        }
        steps += 1;
    }
}

/// What a scenario lacks that is no scope.
fn lacking(case: &dyn Case, options: &Options) -> String {
    let storm = case.fault_schedule(options).storm;
    let world = case.world(options).ok();
    let mut names = world.iter().flat_map(|world| {
        let all = world.processes();
        all.map(|process| world.name(process).to_owned())
    });
    // An apiserver, if there is one.
    let first = names.next().unwrap_or_default();
    let process = names.find(|name| name == "a1").unwrap_or(first);
    let half = Duration::from_nanos(storm.nanos() / 2);
    // A search of a whole storm would not end.
    let from = storm.since(Time::ZERO + half.min(Duration::from_secs(1)));
    format!(
        "`{}` says nothing of how far a search goes: it has no `search`. Add the line\n  \
         search: {{from: {from:?}, faults: [{{crash: {{process: {process}}}}}]}}\n\
         which begins shortly before the storm ends, and with it the search. docs/SCENARIOS.md has all keys.",
        case.name()
    )
}

/// What a process is told it must understand. (Of one that is down nobody knows.)
fn can_be_done(world: &World, bounds: &Bounds) -> Result<(), String> {
    let planned = bounds.plan.iter().filter_map(|(_, due)| match due {
        Due::Act(action) => Some(action),
        Due::Calm => None,
    });
    for action in planned.chain(&bounds.faults) {
        let applied = world
            .clone()
            .apply(world.now(), Event::Act(action), &mut |sent| sent.nominal);
        applied.map_err(|error| format!("what is asked for cannot be done: {error}"))?;
    }
    Ok(())
}

/// One step on the way to where the search begins.
fn step(run: &mut Run<FromPlan>) -> Result<bool, String> {
    run.step().map_err(|found| {
        let FoundViolation {
            property, message, ..
        } = found;
        format!("`{property}` is violated before the search begins: {message}")
    })
}

/// Everything is started at time zero, and what is planned happens.
fn undisturbed(case: &dyn Case, options: &Options, world: &World, scope: &Scope) -> Plan {
    let first = case.fault_schedule(options).start_first;
    let names = world
        .processes()
        .map(|process| world.name(process).to_owned());
    let (mut names, others): (Vec<_>, Vec<_>) = names.partition(|name| first.contains(name));
    names.extend(others);
    let started = names.into_iter().map(|process| Planned {
        at: Time::ZERO,
        after: None,
        action: Action::Fault(Fault::Start { process }),
    });
    let planned = scope.bounds.plan.iter().filter_map(|(at, due)| match due {
        Due::Act(action) if *at <= scope.from => Some(Planned {
            at: *at,
            after: None,
            action: action.clone(),
        }),
        _ => None,
    });
    Plan {
        actions: started.chain(planned).collect(),
        ..Plan::default()
    }
}
