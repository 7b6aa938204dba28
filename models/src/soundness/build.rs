//! From a description to a world and the model of its search.

use std::time::Duration;

use wavetank_engine::{Action, Event, Fault, Time, World, WorldBuilder};

use crate::world_model::{Bounds, Due, WorldModel};

use super::description::{Delay, Description, Lie, Strike};
use super::rules::{self, Watch};
use super::toy::{Plot, ROUTINES, TRANSPORTS, Toy, one};

/// At least one process, and not more than have names.
const MOST: usize = 8;

/// How long a delay is.
pub(super) fn micros(delay: Delay) -> Duration {
    match delay {
        Delay::Us(micros) => Duration::from_micros(micros.into()),
        Delay::Hour => Duration::from_secs(3600),
        Delay::Ever => Duration::MAX,
    }
}

fn at(micros: u32) -> Time {
    Time::ZERO + Duration::from_micros(micros.into())
}

/// The names of processes, by their numbers.
struct Names(Vec<String>);

impl Names {
    fn of(&self, number: u8) -> String {
        one(&self.0, number).clone()
    }

    fn fault(&self, strike: &Strike) -> Fault {
        let name = |number| self.of(number);
        let routine = |number| format!("{}#0", one(&ROUTINES, number));
        let transport = |number| one(&TRANSPORTS, number).name.to_string();
        match *strike {
            Strike::Command(_) => unreachable!("it is no fault"),
            Strike::Stop(process) => Fault::Stop {
                process: name(process),
            },
            Strike::Crash(process) => Fault::Crash {
                process: name(process),
            },
            Strike::PowerLoss(process) => Fault::PowerLoss {
                process: name(process),
            },
            Strike::Start(process) => Fault::Start {
                process: name(process),
            },
            Strike::Pause(process) => Fault::Pause {
                process: name(process),
            },
            Strike::Resume { process, order } => Fault::Resume {
                process: name(process),
                order: order.into(),
            },
            Strike::Deschedule {
                process,
                routine: number,
            } => Fault::Deschedule {
                process: name(process),
                routine: routine(number),
            },
            Strike::Reschedule {
                process,
                routine: number,
            } => Fault::Reschedule {
                process: name(process),
                routine: routine(number),
            },
            Strike::Reset {
                client,
                server,
                over,
            } => Fault::Reset {
                client: name(client),
                server: name(server),
                transport: transport(over),
            },
            Strike::HalfOpen {
                client,
                server,
                over,
            } => Fault::HalfOpen {
                client: name(client),
                server: name(server),
                transport: transport(over),
            },
            Strike::Stall { from, to } => Fault::Stall {
                from: name(from),
                to: name(to),
            },
            Strike::Unstall { from, to } => Fault::Unstall {
                from: name(from),
                to: name(to),
            },
            Strike::Partition {
                left,
                right,
                one_way,
            } => Fault::Partition {
                left: vec![name(left)],
                right: vec![name(right)],
                one_way,
            },
            Strike::Heal {
                left,
                right,
                one_way,
            } => Fault::Heal {
                left: vec![name(left)],
                right: vec![name(right)],
                one_way,
            },
            Strike::Slow { left, right } => Fault::Slow {
                a: name(left),
                b: name(right),
                factor: 3,
            },
            Strike::Unslow { left, right } => Fault::Unslow {
                a: name(left),
                b: name(right),
            },
            Strike::Delay { from, to } => Fault::Delay {
                from: name(from),
                to: name(to),
                nanos: 300_000,
            },
            Strike::LoseAnswer { client, server } => Fault::LoseAnswer {
                client: name(client),
                server: name(server),
            },
            Strike::ClockRate { process, slow } => Fault::ClockRate {
                process: name(process),
                ppm: if slow { -200_000 } else { 200_000 },
            },
            Strike::ClockJump { process } => Fault::ClockJump {
                process: name(process),
                millis: 1,
            },
        }
    }

    fn action(&self, strike: &Strike) -> Action {
        match strike {
            Strike::Command(process) => command(&self.of(*process), "go"),
            fault => Action::Fault(self.fault(fault)),
        }
    }
}

/// A process is told something.
pub(super) fn command(process: &str, what: &str) -> Action {
    Action::Command {
        process: process.to_owned(),
        what: what.to_owned(),
        args: Default::default(),
    }
}

/// The search of a described world, and how long its calm is if recovery is looked at.
pub fn model(description: &Description) -> (WorldModel, Option<Duration>) {
    let scripts = &description.processes[..description.processes.len().min(MOST)];
    let names = Names(
        (0..scripts.len().max(1))
            .map(|number| format!("p{number}"))
            .collect(),
    );
    let limits = &description.limits;
    let due = |due: &Option<Strike>| match due {
        Some(strike) => Due::Act(names.action(strike)),
        None => Due::Calm,
    };
    let bounds = Bounds {
        plan: limits
            .plan
            .iter()
            .map(|(when, what)| (at(*when), due(what)))
            .collect(),
        faults: limits
            .faults
            .iter()
            .map(|strike| names.action(strike))
            .collect(),
        at_most: limits.at_most.map(u32::from),
        deviations: limits.deviations.into(),
        late_by: limits
            .late_by
            .map(|late| Duration::from_micros(late.into())),
        widest_choice: limits.widest_choice.map(u64::from),
        stay_down: limits.stay_down,
        horizon: at(limits.horizon),
    };
    let calm = limits.calm.map(|calm| Duration::from_micros(calm.into()));
    (
        WorldModel {
            start: started(description, &names.0),
            bounds,
        },
        calm,
    )
}

/// The world, in which every process was started at once.
fn started(description: &Description, names: &[String]) -> World {
    let mut builder = WorldBuilder::new();
    let peers: Vec<_> = names
        .iter()
        .map(|name| WorldBuilder::id_of(name, names))
        .collect();
    for (me, (name, script)) in names.iter().zip(&description.processes).enumerate() {
        let plot = Plot {
            script: script.clone(),
            peers: peers.clone(),
        };
        let lie = if me == 0 { description.lie } else { Lie::None };
        builder.process(name, Toy::new(plot, lie));
    }
    for watched in &description.watched {
        builder.property(Box::new(Watch::new(watched)));
    }
    if let Some(settles) = &description.settles {
        builder.property(rules::settles(settles));
    }
    let mut world = builder.build();
    for name in names {
        let start = Action::Fault(Fault::Start {
            process: name.clone(),
        });
        let started = world.apply(Time::ZERO, Event::Act(&start), &mut |sent| sent.nominal);
        let report = started.expect("it is one of the world's");
        assert!(report.livelock.is_none(), "it never ends to start");
    }
    world
}
