//! A storm: starts, faults and workload within what a `FaultSchedule` allows, drawn from madsim's generator. Then all is
//! healed, and it is calm.
//!
//! Nothing of it is what the generator of the command draws from the same seed: neither when faults strike nor whom.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use madsim::rand::prelude::SliceRandom;
use madsim::rand::{Rng, thread_rng};
use madsim::time::sleep;
use wavetank_engine::drive::seeded::{Budget, FaultSchedule, Workload};
use wavetank_engine::{Action, Fault, ProcId, Status, Time, World};

use crate::cluster::{Cluster, spawn_on};
use crate::strike::{Network, Trouble, aim};

/// A seed enables a kind of fault with this probability.
const ENABLED: f64 = 0.7;
/// In so many cases a strike waits for a moment in the middle of its target's work.
const AIMED: f64 = 0.5;
/// A connection of madsim tries a link again after at most 10 s. Calm is told of after that.
const HEALS_WITHIN: Duration = Duration::from_secs(11);
/// A process that shuts down is looked at so often.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// What is wrong at present and has to end.
#[derive(Debug, Default)]
struct Lasting {
    ends: Vec<(u64, Trouble)>,
    number: u64,
    is_over: bool,
}

#[derive(Clone)]
struct Storm {
    cluster: Cluster,
    network: Network,
    lasting: Arc<Mutex<Lasting>>,
}

/// Starts all processes and lets the storm pass; calm begins when this returns. It ends early if a guarantee is violated.
pub async fn storm(cluster: &Cluster, schedule: &FaultSchedule) {
    let (low, high) = schedule.latency.base;
    let storm = Storm {
        cluster: cluster.clone(),
        network: Network {
            latency: low..high.max(low + Duration::from_nanos(1)),
        },
        lasting: Arc::default(),
    };
    storm.cluster.strike(&Trouble::Fair, &storm.network);
    storm.plan_starts(schedule);
    storm.plan_faults(schedule);
    for load in &schedule.workload {
        for process in &load.processes {
            storm.spawn(stimulate(storm.clone(), load.clone(), process.clone()));
        }
    }
    for (at, action) in schedule.directed.clone() {
        let cluster = cluster.clone();
        storm.spawn(async move {
            sleep(at.since(Time::ZERO)).await;
            match &action {
                Action::Fault(fault) => cluster.fault(fault),
                Action::Command { .. } => cluster.act(&action),
            };
        });
    }
    sleep(schedule.storm.since(Time::ZERO)).await;
    storm.end().await;
    sleep(HEALS_WITHIN).await;
    cluster.calm();
}

impl Storm {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let outside = self.cluster.lock().nodes.outside();
        spawn_on(outside, task);
    }

    fn plan_starts(&self, schedule: &FaultSchedule) {
        let names: Vec<String> = self.cluster.look(|world| {
            let processes = world.processes();
            processes
                .map(|process| world.name(process).to_owned())
                .collect()
        });
        for process in names {
            let within = schedule.start_within.max(Duration::from_millis(2));
            let wait = match schedule.start_first.contains(&process) {
                true => Duration::ZERO,
                false => thread_rng().gen_range(Duration::from_millis(1)..within),
            };
            let cluster = self.cluster.clone();
            self.spawn(async move {
                sleep(wait).await;
                cluster.fault(&Fault::Start { process });
            });
        }
    }

    /// Some of the kinds are enabled; of each, between one and `max` strikes.
    fn plan_faults(&self, schedule: &FaultSchedule) {
        let from = schedule.start_within;
        let until = schedule
            .storm
            .since(Time::ZERO)
            .max(from + Duration::from_millis(1));
        for budget in &schedule.budgets {
            let mut rng = thread_rng();
            if budget.max == 0 || !rng.gen_bool(ENABLED) {
                continue;
            }
            for _ in 0..rng.gen_range(1..=budget.max) {
                let at = rng.gen_range(from..until);
                self.spawn(strike(self.clone(), budget.clone(), at));
            }
        }
    }

    fn lasting(&self) -> MutexGuard<'_, Lasting> {
        self.lasting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends a fault that lasts, unless the end of the storm already has.
    async fn end_one(&self, number: u64) {
        let found = {
            let mut lasting = self.lasting();
            let place = lasting.ends.iter().position(|(own, _)| *own == number);
            place.map(|place| lasting.ends.remove(place).1)
        };
        if let Some(end) = found {
            self.undo(end).await;
        }
    }

    /// A start waits until its process has ended.
    async fn undo(&self, end: Trouble) {
        if let Trouble::Fault(Fault::Start { process }) = &end {
            let is_up = |cluster: &Cluster| {
                cluster.look(|world| {
                    world
                        .find(process)
                        .is_some_and(|own| world.status(own) == Status::Up)
                })
            };
            let is_stopping = |cluster: &Cluster| {
                cluster.look(|world| {
                    world
                        .find(process)
                        .is_some_and(|own| world.is_stopping(own))
                })
            };
            while is_up(&self.cluster) && is_stopping(&self.cluster) {
                sleep(LOOK_AGAIN).await;
            }
        }
        self.cluster.strike(&end, &self.network);
    }

    /// All that lasts ends now.
    async fn end(&self) {
        let ends = {
            let mut lasting = self.lasting();
            lasting.is_over = true;
            std::mem::take(&mut lasting.ends)
        };
        self.cluster.fault(&Fault::HealAll {});
        self.cluster.strike(&Trouble::Fair, &self.network);
        for (_, end) in ends {
            let storm = self.clone();
            self.spawn(async move { storm.undo(end).await });
        }
    }
}

/// One strike of a budget: at whom, and now or in the middle of its work?
async fn strike(storm: Storm, budget: Budget, at: Duration) {
    sleep(at).await;
    let up = |world: &World| {
        let targets = budget.targets.iter().filter_map(|name| world.find(name));
        let is_up =
            |target: &ProcId| world.status(*target) == Status::Up && !world.is_paused(*target);
        targets.filter(is_up).collect::<Vec<ProcId>>()
    };
    let target = storm
        .cluster
        .look(|world| up(world).choose(&mut thread_rng()).copied());
    let Some(target) = target else {
        return;
    };
    if thread_rng().gen_bool(AIMED) {
        let events = thread_rng().gen_range(1..=40);
        storm.cluster.after_events(target, events).await;
    }
    if storm.lasting().is_over {
        return;
    }
    let aimed = storm.cluster.look(|world| {
        let is_up = up(world).contains(&target);
        is_up.then(|| aim(&budget, world, target)).flatten()
    });
    let Some((trouble, end)) = aimed else {
        return;
    };
    if !storm.cluster.strike(&trouble, &storm.network) {
        return;
    }
    let Some(end) = end else {
        return;
    };
    let gone = f64::from(budget.gone_per_million) / 1e6;
    let stays_gone =
        matches!(end, Trouble::Fault(Fault::Start { .. })) && thread_rng().gen_bool(gone);
    if stays_gone {
        return;
    }
    let number = {
        let mut lasting = storm.lasting();
        lasting.number += 1;
        let number = lasting.number;
        lasting.ends.push((number, end));
        number
    };
    let (low, high) = budget.lasts;
    let lasts = thread_rng().gen_range(low..=high.max(low));
    sleep(lasts).await;
    storm.end_one(number).await;
}

/// A stimulus that comes again and again.
async fn stimulate(storm: Storm, load: Workload, process: String) {
    let action = Action::Command {
        process,
        what: load.what.clone(),
        args: serde_json::Value::Null,
    };
    loop {
        let pause = thread_rng().gen_range(Duration::from_millis(1)..load.every * 2);
        sleep(pause).await;
        if load.ends && storm.lasting().is_over {
            return;
        }
        storm.cluster.act(&action);
    }
}
