//! Choices drawn from a seed: a *swarm*. Each seed enables its own subset of the budgeted faults,
//! with its own rates and timings (Groce et al., "Swarm Testing", ISSTA 2012; TigerBeetle's VOPR).

mod aim;
mod links;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::fault::{Action, Fault, FaultKind};
use crate::name::ProcId;
use crate::net::Sent;
use crate::queue::Entry;
use crate::slot::Status;
use crate::time::Time;
use crate::trace::Record;
use crate::world::{Report, World};

use super::plan::START_AGAIN;
use super::random::Stream;
use super::run::{Choices, Limits, Outcome, Run, Turn};

use aim::{aim, next_owner};
pub use links::Latency;
use links::LinkDraw;

/// How much of one kind of fault a seed may use.
#[derive(Clone, Debug)]
pub struct Budget {
    /// The kind.
    pub kind: FaultKind,
    /// At most so many in a run.
    pub max: u32,
    /// How long one lasts (for a crash or a stop: until the restart).
    pub lasts: (Duration, Duration),
    /// In so many of a million cases the process never comes back.
    pub gone_per_million: u32,
    /// Its strength: factor of a slow link, ppm of a clock, milliseconds of a jump.
    pub amount: (u64, u64),
    /// The processes it may hit.
    pub targets: Vec<String>,
}

/// A stimulus that comes again and again.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Who gets it.
    pub processes: Vec<String>,
    /// What it is.
    pub what: String,
    /// How often, on average.
    pub every: Duration,
    /// Does it end with the storm?
    pub ends: bool,
}

/// All that a seed has to work with.
#[derive(Clone, Debug)]
pub struct FaultSchedule {
    /// The storm's end.
    pub storm: Time,
    /// Every process starts at some time before this.
    pub start_within: Duration,
    /// These start first, at time zero.
    pub start_first: Vec<String>,
    /// Faults come in this order of kinds.
    pub budgets: Vec<Budget>,
    /// Stimuli.
    pub workload: Vec<Workload>,
    /// Links.
    pub latency: Latency,
    /// Directed actions, in the same form as drawn ones.
    pub directed: Vec<(Time, Action)>,
}

/// What is on the agenda.
#[derive(Clone, Debug)]
enum Item {
    Act(Action),
    /// The end of a fault: also comes when the storm ends.
    End(Fault),
    /// A strike of the budget with this index.
    Strike(usize),
    Stimulus {
        load: usize,
        process: usize,
    },
    StormEnds,
    Calm,
}

/// A strike that waits for its process to be in the middle of something.
#[derive(Clone, Debug)]
struct Aimed {
    budget: usize,
    process: ProcId,
    /// Strikes after so many of the process's events,
    events: u64,
    /// and, if it is to hold a routine, when one is about to get a lock.
    at_lock: bool,
}

/// Draws choices from a seed.
#[derive(Clone, Debug)]
pub struct Seeded {
    fault_schedule: FaultSchedule,
    agenda: BTreeMap<(Time, u64), Item>,
    /// When the first of the agenda is due: looked at before each event.
    due: Option<Time>,
    number: u64,
    aimed: Vec<Aimed>,
    /// Strikes whose moment is right after the last event.
    urgent: VecDeque<Action>,
    /// The process that the last strike hit: troubles come in company.
    last_hit: Option<ProcId>,
    gone: Vec<String>,
    links: Vec<LinkDraw>,
    choice: Stream,
    faults: Vec<Stream>,
    loads: Vec<Vec<Stream>>,
}

/// In so many of a million cases a seed enables a kind of fault.
const ENABLED: u32 = 700_000;
/// In so many of a million cases a strike waits for a moment in the middle of its target's work,
const AIMED: u32 = 500_000;
/// half of those that hold a routine for one in which a lock changes hands,
const AT_LOCK: u32 = 500_000;
/// or it follows close on the one before it.
const IN_COMPANY: u32 = 300_000;

impl Seeded {
    /// The choices of `seed` for `world`, which must be at time zero.
    pub fn new(seed: u64, world: &World, fault_schedule: FaultSchedule) -> Seeded {
        let names: Vec<String> = world
            .processes()
            .map(|p| world.name(p).to_owned())
            .collect();
        let links = links::draw(&names, seed, &fault_schedule.latency);
        let faults = fault_streams(&fault_schedule, seed);
        let loads = load_streams(&fault_schedule, seed);
        let mut seeded = Seeded {
            fault_schedule,
            agenda: BTreeMap::new(),
            due: None,
            number: 0,
            aimed: Vec::new(),
            urgent: VecDeque::new(),
            last_hit: None,
            gone: Vec::new(),
            links,
            choice: Stream::new(seed, CHOICES),
            faults,
            loads,
        };
        seeded.plan_starts(seed, &names);
        seeded.plan_faults();
        seeded.plan_workload();
        for (at, action) in seeded.fault_schedule.directed.clone() {
            seeded.put(at, Item::Act(action));
        }
        seeded.put(seeded.fault_schedule.storm, Item::StormEnds);
        seeded
    }

    /// From now on all is drawn from another seed. What was drawn before stays: how far processes are from each other, when
    /// faults are due.
    pub(super) fn redraw(&mut self, world: &World, seed: u64) {
        for (link, process) in self.links.iter_mut().zip(world.processes()) {
            link.redraw(world.name(process), seed);
        }
        self.choice = Stream::new(seed, CHOICES);
        self.faults = fault_streams(&self.fault_schedule, seed);
        self.loads = load_streams(&self.fault_schedule, seed);
    }

    /// Processes that never come back.
    pub fn gone(&self) -> &[String] {
        &self.gone
    }

    fn put(&mut self, at: Time, item: Item) {
        self.number += 1;
        self.agenda.insert((at, self.number), item);
        self.look_ahead();
    }

    fn look_ahead(&mut self) {
        self.due = self.agenda.first_key_value().map(|((at, _), _)| *at);
    }

    fn plan_starts(&mut self, seed: u64, names: &[String]) {
        for name in names {
            let first = self.fault_schedule.start_first.contains(name);
            let at = match first {
                true => Time::ZERO,
                false => {
                    let mut stream = Stream::new(seed, &format!("start/{name}"));
                    Time::ZERO
                        + stream.uniform(Duration::from_millis(1), self.fault_schedule.start_within)
                }
            };
            let process = name.clone();
            self.put(at, Item::Act(Action::Fault(Fault::Start { process })));
        }
    }

    /// Some of the kinds are enabled; of each, between one and `max` strikes.
    fn plan_faults(&mut self) {
        let from = Time::ZERO + self.fault_schedule.start_within;
        let mut before = None;
        for at in 0..self.fault_schedule.budgets.len() {
            let max = self.fault_schedule.budgets[at].max;
            let stream = &mut self.faults[at];
            if max == 0 || !stream.chance(ENABLED) {
                continue;
            }
            let mut times = Vec::new();
            for _ in 0..stream.within(1, u64::from(max)) {
                let mut when =
                    from + stream.uniform(Duration::ZERO, self.fault_schedule.storm.since(from));
                if let Some(earlier) = before
                    && stream.chance(IN_COMPANY)
                {
                    when =
                        earlier + stream.spread(Duration::from_micros(100), Duration::from_secs(2));
                }
                before = Some(when);
                times.push(when.min(self.fault_schedule.storm));
            }
            for when in times {
                self.put(when, Item::Strike(at));
            }
        }
    }

    fn plan_workload(&mut self) {
        for load in 0..self.fault_schedule.workload.len() {
            for process in 0..self.fault_schedule.workload[load].processes.len() {
                self.next_stimulus(Time::ZERO, load, process);
            }
        }
    }

    fn next_stimulus(&mut self, now: Time, load: usize, process: usize) {
        let every = self.fault_schedule.workload[load].every;
        let pause = self.loads[load][process].uniform(Duration::from_millis(1), every * 2);
        self.put(now + pause, Item::Stimulus { load, process });
    }

    /// A strike is due: at whom, and now or in the middle of something?
    fn strike(&mut self, world: &World, now: Time, budget: usize) -> Turn {
        let company = self.faults[budget].chance(IN_COMPANY);
        let aimed = self.faults[budget].chance(AIMED);
        let events = self.faults[budget].within(1, 40);
        let up: Vec<ProcId> = self.fault_schedule.budgets[budget]
            .targets
            .iter()
            .filter_map(|name| world.find(name))
            .filter(|p| world.status(*p) == Status::Up && !world.is_paused(*p))
            .collect();
        let process = match self.last_hit {
            Some(last) if company && up.contains(&last) => Some(last),
            _ => self.faults[budget].pick(&up).copied(),
        };
        let Some(process) = process else {
            return Turn::Nothing;
        };
        if aimed {
            let holds = self.fault_schedule.budgets[budget].kind == FaultKind::Deschedule;
            let at_lock = holds && self.faults[budget].chance(AT_LOCK);
            self.aimed.push(Aimed {
                budget,
                process,
                events,
                at_lock,
            });
            return Turn::Nothing;
        }
        self.hit(world, now, budget, process)
    }

    /// The fault itself, with all that it needs, and its end on the agenda.
    fn hit(&mut self, world: &World, now: Time, at: usize, process: ProcId) -> Turn {
        let budget = &self.fault_schedule.budgets[at];
        let stream = &mut self.faults[at];
        let Some((fault, end)) = aim(budget, stream, world, process) else {
            return Turn::Nothing;
        };
        self.last_hit = Some(process);
        let (low, high) = budget.lasts;
        let lasts = stream.spread(low, high);
        let stays_gone = stream.chance(budget.gone_per_million);
        match end {
            Some(Fault::Start { process }) if stays_gone => self.gone.push(process),
            Some(end) => {
                let over = (now + lasts).min(self.fault_schedule.storm);
                self.put(over, Item::End(end));
            }
            None => {}
        }
        Turn::Act(Action::Fault(fault))
    }

    /// The storm is over: all that lasts ends now, in the order in which it would have.
    fn end_storm(&mut self, now: Time) {
        self.aimed.clear();
        self.urgent.clear();
        let agenda = std::mem::take(&mut self.agenda);
        let mut ends = vec![Fault::HealAll {}];
        for ((at, number), item) in agenda {
            match item {
                Item::End(fault) => ends.push(fault),
                Item::Strike(_) => {}
                Item::Stimulus { load, .. } if self.fault_schedule.workload[load].ends => {}
                other => {
                    self.agenda.insert((at, number), other);
                }
            }
        }
        for fault in ends {
            self.put(now, Item::End(fault));
        }
        self.put(now, Item::Calm);
    }

    /// The end of a fault; a start waits until its process has ended.
    fn end(&mut self, world: &World, now: Time, fault: Fault) -> Turn {
        if let Fault::Start { process } = &fault
            && world
                .find(process)
                .is_some_and(|p| world.status(p) == Status::Up)
        {
            let later = now + START_AGAIN;
            // Still shutting down; a process that never stopped needs no start.
            if !self.agenda.values().any(|item| is_start_of(item, process)) {
                self.put(later, Item::End(fault));
            }
            return Turn::Nothing;
        }
        Turn::Act(Action::Fault(fault))
    }
}

const CHOICES: &str = "choices";

/// One for each budget.
fn fault_streams(fault_schedule: &FaultSchedule, seed: u64) -> Vec<Stream> {
    let budgets = fault_schedule.budgets.iter();
    budgets
        .map(|b| {
            // By whom it may hit too: one kind may have several budgets.
            let concern = format!("faults/{}/{}", b.kind.name(), b.targets.join("+"));
            Stream::new(seed, &concern)
        })
        .collect()
}

/// One for each process of each load.
fn load_streams(fault_schedule: &FaultSchedule, seed: u64) -> Vec<Vec<Stream>> {
    let loads = fault_schedule.workload.iter();
    loads
        .map(|load| {
            load.processes
                .iter()
                .map(|name| Stream::new(seed, &format!("workload/{}/{name}", load.what)))
                .collect()
        })
        .collect()
}

fn is_start_of(item: &Item, name: &str) -> bool {
    matches!(item, Item::End(Fault::Start { process }) if process == name)
}

impl Seeded {
    /// Runs a world under these choices ([`Run::finish_unless`]). What is generic is built with the crate that asks for
    /// it, and this with the engine, which is optimised where the command is not.
    ///
    /// # Errors
    /// The record, if it was stopped.
    pub fn run_unless(
        self,
        world: World,
        limits: Limits,
        record: Record,
        stop: &dyn Fn() -> bool,
    ) -> Result<Outcome, Record> {
        Run::new(world, self, limits, record).finish_unless(stop)
    }
}

impl Choices for Seeded {
    fn latency(&mut self, sent: Sent) -> Duration {
        self.links[sent.from.index()].latency(sent, &self.fault_schedule.latency)
    }

    fn choose(&mut self, _world: &World, _entry: &Entry, domain: u64) -> u64 {
        self.choice.below(domain.max(1))
    }

    fn next_turn(&self) -> Option<Time> {
        match self.urgent.is_empty() {
            true => self.due,
            false => Some(Time::ZERO),
        }
    }

    fn turn(&mut self, world: &World) -> Turn {
        if let Some(action) = self.urgent.pop_front() {
            return Turn::Act(action);
        }
        let Some(((at, _), item)) = self.agenda.pop_first() else {
            return Turn::Nothing;
        };
        self.look_ahead();
        match item {
            Item::Act(action) => Turn::Act(action),
            Item::End(fault) => self.end(world, at, fault),
            Item::Strike(budget) => self.strike(world, at, budget),
            Item::Stimulus { load, process } => {
                self.next_stimulus(at, load, process);
                let load = &self.fault_schedule.workload[load];
                Turn::Act(Action::Command {
                    process: load.processes[process].clone(),
                    what: load.what.clone(),
                    args: serde_json::Value::Null,
                })
            }
            Item::StormEnds => {
                self.end_storm(at);
                Turn::Nothing
            }
            Item::Calm => Turn::Calm,
        }
    }

    fn applied(&mut self, world: &World, entry: Option<&Entry>, _report: &Report) {
        if self.aimed.is_empty() {
            return;
        }
        let Some(entry) = entry else { return };
        let mut due = None;
        for (at, aimed) in self.aimed.iter_mut().enumerate() {
            if aimed.process == entry.process {
                aimed.events = aimed.events.saturating_sub(1);
                if aimed.events == 0
                    && (!aimed.at_lock || next_owner(world, aimed.process).is_some())
                {
                    due.get_or_insert(at);
                }
            }
        }
        if let Some(at) = due {
            let Aimed {
                budget, process, ..
            } = self.aimed.remove(at);
            if let Turn::Act(action) = self.hit(world, world.now(), budget, process) {
                self.urgent.push_back(action);
            }
        }
    }
}
