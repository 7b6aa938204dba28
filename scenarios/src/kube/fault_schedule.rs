//! From a scenario's budget to what the generator draws from: kinds, amounts, and who may be hit.

use std::time::Duration;

use serde_json::{Value as Json, json};
use wavetank_cluster::Components;
use wavetank_component::{Component, Hit, Section, Setup};
use wavetank_engine::drive::seeded::{Budget, FaultSchedule, Latency, Workload};
use wavetank_engine::{Action, Fault, FaultKind, Time};

use crate::file::{self, EVERYWHERE, Faults, Outage, Range, Scenario, Spell};

/// Apiservers and clients start within this time, the members of etcd at once.
const START_WITHIN: Duration = Duration::from_secs(10);

fn nanos(duration: file::Duration) -> Duration {
    Duration::from_nanos(duration.nanos())
}

fn range(range: &Range<file::Duration>) -> (Duration, Duration) {
    (nanos(range.low), nanos(range.high))
}

fn millionths(chance: f64) -> u32 {
    (chance * 1e6).round() as u32
}

/// The fault schedule of a scenario over what is composed of it.
pub(super) fn of(scenario: &Scenario, components: &Components, setup: &Setup) -> FaultSchedule {
    let processes = components.processes(setup, Some(&setup.drawn));
    let processes = processes.expect("checked when the world was built");
    FaultSchedule {
        storm: Time::ZERO + nanos(scenario.storm),
        start_within: START_WITHIN.min(nanos(scenario.storm)),
        start_first: start_first(components, setup),
        budgets: budgets(&scenario.faults, components, setup, &processes),
        workload: workload(components, setup, &processes),
        latency: Latency {
            base: range(&scenario.network.latency),
            tail_per_million: millionths(scenario.network.tail.chance),
            tail: range(&scenario.network.tail.latency),
        },
        directed: directed(scenario).expect("checked when the job was made"),
    }
}

/// The processes that start before all others.
pub(super) fn start_first(components: &Components, setup: &Setup) -> Vec<String> {
    let processes = components.processes(setup, Some(&setup.drawn));
    let processes = processes.expect("checked when the world was built");
    let first = components.iter().filter(|own| own.starts_first());
    let first = first.flat_map(|own| of_component(&processes, own.name()));
    first.cloned().collect()
}

/// The names of processes, by component.
type Processes = [(&'static str, Vec<String>)];

fn of_component<'a>(processes: &'a Processes, component: &str) -> &'a [String] {
    let mut all = processes.iter();
    let found = all.find(|(of, _)| *of == component);
    found.map_or(&[], |(_, names)| names)
}

fn workload(components: &Components, setup: &Setup, processes: &Processes) -> Vec<Workload> {
    let asked = setup.given.section(Section::Workload);
    let all = components.iter().flat_map(|own| {
        let loads = own.workload().into_iter();
        loads.map(move |load| (load.to.unwrap_or(own.name()), load))
    });
    let workload = all.filter_map(|(who, load)| {
        Some(Workload {
            processes: of_component(processes, who).to_vec(),
            what: load.command.to_owned(),
            every: nanos(load.every(asked)?),
            ends: load.ends,
        })
    });
    workload.collect()
}

/// The planned faults.
///
/// # Errors
/// Which one is none, and why.
pub(super) fn directed(scenario: &Scenario) -> Result<Vec<(Time, Action)>, String> {
    let typed = |planned: &file::Directed| {
        let action = if let Some(hold) = &planned.hold {
            command(
                &hold.process,
                "hold",
                json!({"resource": hold.resource, "revision": hold.revision}),
            )
        } else if let Some(held) = &planned.release {
            command(&held.process, "release", json!({"resource": held.resource}))
        } else if let Some(tell) = &planned.tell {
            command(&tell.process, &tell.what, tell.with.clone())
        } else {
            let fault: Fault = serde_json::from_value(planned.fault.clone().unwrap_or_default())
                .map_err(|error| format!("the planned fault at {}: {error}", planned.at))?;
            Action::Fault(fault)
        };
        Ok((Time::ZERO + nanos(planned.at), action))
    };
    scenario.plan.iter().map(typed).collect()
}

/// Whom the plan lets crash and never starts again: calm starts only those that the seed has injected.
pub(super) fn stay_down(scenario: &Scenario) -> Vec<String> {
    let mut planned = directed(scenario).unwrap_or_default();
    planned.sort_by_key(|(at, _)| *at);
    let mut down: Vec<String> = Vec::new();
    for (_, action) in planned {
        match action {
            Action::Fault(Fault::Crash { process } | Fault::PowerLoss { process }) => {
                down.push(process);
            }
            Action::Fault(Fault::Start { process }) => down.retain(|other| *other != process),
            _ => {}
        }
    }
    down.sort();
    down.dedup();
    down
}

pub(super) fn command(process: &str, what: &str, args: Json) -> Action {
    Action::Command {
        process: process.to_owned(),
        what: what.to_owned(),
        args,
    }
}

/// What the budget of a scenario allows of one kind of fault.
struct Allowed {
    kind: FaultKind,
    max: u32,
    lasts: (Duration, Duration),
    gone: f64,
    amount: (u64, u64),
}

impl Allowed {
    fn on(&self, max: u32, gone: f64, targets: Vec<String>) -> Option<Budget> {
        let is_some = !targets.is_empty();
        is_some.then(|| Budget {
            kind: self.kind,
            max,
            lasts: self.lasts,
            gone_per_million: millionths(gone),
            amount: self.amount,
            targets,
        })
    }
}

/// All that is allowed, in the order in which kinds are drawn.
fn allowed(faults: &Faults) -> Vec<Allowed> {
    let mut all = Vec::new();
    let none = (Duration::ZERO, Duration::ZERO);
    let mut add = |kind, max, lasts, gone, amount| {
        all.push(Allowed {
            kind,
            max,
            lasts,
            gone,
            amount,
        });
    };
    let outages: [(FaultKind, &Option<Outage>); 3] = [
        (FaultKind::Stop, &faults.stop),
        (FaultKind::Crash, &faults.crash),
        (FaultKind::PowerLoss, &faults.power_loss),
    ];
    for (kind, outage) in outages {
        if let Some(outage) = outage {
            add(kind, outage.max, range(&outage.lasts), outage.gone, (0, 0));
        }
    }
    let spells: [(FaultKind, &Option<Spell>); 6] = [
        (FaultKind::Pause, &faults.pause),
        (FaultKind::Deschedule, &faults.deschedule),
        (FaultKind::Partition, &faults.partition),
        (FaultKind::PartitionOneWay, &faults.partition_one_way),
        (FaultKind::Stall, &faults.stall),
        (FaultKind::Delay, &faults.delay),
    ];
    for (kind, spell) in spells {
        if let Some(spell) = spell {
            add(kind, spell.max, range(&spell.lasts), 0.0, (0, 0));
        }
    }
    let moments = [
        (FaultKind::Reset, &faults.reset),
        (FaultKind::HalfOpen, &faults.half_open),
        (FaultKind::LoseAnswer, &faults.lose_answer),
    ];
    for (kind, moment) in moments {
        if let Some(moment) = moment {
            add(kind, moment.max, none, 0.0, (0, 0));
        }
    }
    if let Some(slow) = &faults.slow_link {
        let factor = (u64::from(slow.factor.low), u64::from(slow.factor.high));
        let lasts = range(&slow.lasts);
        add(FaultKind::SlowLink, slow.max, lasts, 0.0, factor);
    }
    if let Some(rate) = &faults.clock_rate {
        let ppm = (1, u64::from(rate.ppm));
        let lasts = range(&rate.lasts);
        add(FaultKind::ClockRate, rate.max, lasts, 0.0, ppm);
    }
    if let Some(jump) = &faults.clock_jump {
        let millis = |d: file::Duration| d.nanos() / 1_000_000;
        let by = (millis(jump.by.low), millis(jump.by.high));
        add(FaultKind::ClockJump, jump.max, none, 0.0, by);
    }
    all
}

/// Faults that strike everywhere have one budget; of the others each component has its own.
fn budgets(
    faults: &Faults,
    components: &Components,
    setup: &Setup,
    processes: &Processes,
) -> Vec<Budget> {
    let everybody = || processes.iter().flat_map(|(_, names)| names.clone());
    let mut budgets = Vec::new();
    for allowed in allowed(faults) {
        if EVERYWHERE.contains(&allowed.kind) {
            budgets.extend(allowed.on(allowed.max, 0.0, everybody().collect()));
            continue;
        }
        let hit = |own: &dyn Component| {
            let hit = own.hit(setup, allowed.kind, allowed.max)?;
            Some((hit, of_component(processes, own.name()).to_vec()))
        };
        let mut hits: Vec<(Hit, Vec<String>)> = components.iter().filter_map(hit).collect();
        hits.sort_by_key(|(hit, _)| hit.turn);
        budgets.extend(hits.into_iter().filter_map(|(hit, targets)| {
            let gone = if hit.may_stay_away { allowed.gone } else { 0.0 };
            allowed.on(hit.max, gone, targets)
        }));
    }
    budgets
}
