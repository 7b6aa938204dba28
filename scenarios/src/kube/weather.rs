//! From a scenario's budget to what the generator draws from: kinds, amounts, and who may be hit.

use std::time::Duration;

use serde_json::{Value as Json, json};
use wavetank_cluster::Topology;
use wavetank_engine::drive::seeded::{Budget, Latency, Weather, Workload};
use wavetank_engine::{Action, Fault, FaultKind, Time};

use crate::file::{self, Outage, Range, Scenario, Spell};

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

/// The weather of a scenario over a topology.
pub(super) fn of(scenario: &Scenario, topology: &Topology) -> Weather {
    let connect = scenario.workload.connect.iter().map(|connect| Workload {
        processes: topology.client_names(),
        what: "connect".to_owned(),
        every: nanos(connect.every),
        ends: false,
    });
    let operations = &scenario.workload.etcd_operations;
    let operate = operations.iter().map(|operations| Workload {
        processes: topology.etcd_client_names(),
        what: "operate".to_owned(),
        every: nanos(operations.every),
        ends: false,
    });
    let load = |often: &Option<file::Often>, what: &str, processes: Vec<String>, ends| {
        let every = nanos(often.as_ref()?.every);
        Some(Workload {
            processes,
            what: what.to_owned(),
            every,
            ends,
        })
    };
    let own = &scenario.workload;
    // What is written later would hide what was missed.
    let watching = [
        load(&own.write, "write", topology.writer_names(), true),
        load(&own.read, "read", topology.writer_names(), false),
        load(&own.services, "use", topology.service_writer_names(), true),
        load(
            &own.probe_services,
            "probe",
            topology.service_writer_names(),
            false,
        ),
        load(&own.move_informers, "move", topology.informer_names(), true),
        load(&own.lag_caches, "lag", topology.apiserver_names(), true),
        load(
            &own.rebuild_caches,
            "rebuild",
            topology.apiserver_names(),
            true,
        ),
        load(&own.roll, "roll", topology.roller_names(), true),
    ];
    let watching = watching.into_iter().flatten();
    Weather {
        storm: Time::ZERO + nanos(scenario.storm),
        start_within: START_WITHIN.min(nanos(scenario.storm)),
        start_first: topology.etcd_names(),
        budgets: budgets(scenario, topology),
        workload: connect.chain(operate).chain(watching).collect(),
        latency: Latency {
            base: range(&scenario.network.latency),
            tail_per_million: millionths(scenario.network.tail.chance),
            tail: range(&scenario.network.tail.latency),
        },
        directed: directed(scenario).expect("checked when the job was made"),
    }
}

/// The planned faults.
///
/// # Errors
/// Which one is none, and why.
pub(super) fn directed(scenario: &Scenario) -> Result<Vec<(Time, Action)>, String> {
    let typed = |planned: &file::Directed| {
        let action = if let Some(hold) = &planned.hold {
            told(
                &hold.process,
                "hold",
                json!({"resource": hold.resource, "revision": hold.revision}),
            )
        } else if let Some(held) = &planned.release {
            told(&held.process, "release", json!({"resource": held.resource}))
        } else if let Some(tell) = &planned.tell {
            told(&tell.process, &tell.what, tell.with.clone())
        } else {
            let fault: Fault = serde_json::from_value(planned.fault.clone().unwrap_or_default())
                .map_err(|error| format!("the planned fault at {}: {error}", planned.at))?;
            Action::Fault(fault)
        };
        Ok((Time::ZERO + nanos(planned.at), action))
    };
    scenario.plan.iter().map(typed).collect()
}

pub(super) fn told(process: &str, what: &str, args: Json) -> Action {
    Action::Tell {
        process: process.to_owned(),
        what: what.to_owned(),
        args,
    }
}

fn budgets(scenario: &Scenario, topology: &Topology) -> Vec<Budget> {
    let faults = &scenario.faults;
    let servers = topology.apiserver_names();
    let etcd = topology.etcd_names();
    // A single etcd under apiservers is hit less, and its connections where they are theirs.
    let is_aim = etcd.len() > 1 || servers.is_empty();
    let informers = topology.informer_names();
    let managers = topology.manager_names();
    let all = topology.names();
    let mut budgets = Vec::new();
    let mut add = |kind, max: u32, lasts, gone: f64, amount, targets: &[String]| {
        if targets.is_empty() {
            return;
        }
        budgets.push(Budget {
            kind,
            max,
            lasts,
            gone_per_million: millionths(gone),
            amount,
            targets: targets.to_vec(),
        });
    };
    let none = (Duration::ZERO, Duration::ZERO);
    let outages: [(FaultKind, &Option<Outage>); 3] = [
        (FaultKind::Stop, &faults.stop),
        (FaultKind::Crash, &faults.crash),
        (FaultKind::PowerLoss, &faults.power_loss),
    ];
    for (kind, outage) in outages {
        let Some(outage) = outage else { continue };
        let lasts = range(&outage.lasts);
        add(kind, outage.max, lasts, outage.gone, (0, 0), &servers);
        add(kind, outage.max, lasts, 0.0, (0, 0), &managers);
        // Members of etcd come back: without a majority of them a cluster promises nothing.
        if kind != FaultKind::Stop {
            let max = match is_aim {
                true => outage.max,
                false => outage.max.div_ceil(2),
            };
            add(kind, max, lasts, 0.0, (0, 0), &etcd);
            add(kind, outage.max, lasts, 0.0, (0, 0), &informers);
        }
    }
    let spells: [(FaultKind, &Option<Spell>, &[String]); 6] = [
        (FaultKind::Pause, &faults.pause, &all),
        (FaultKind::Deschedule, &faults.deschedule, &servers),
        (FaultKind::Partition, &faults.partition, &all),
        (FaultKind::PartitionOneWay, &faults.partition_one_way, &all),
        (FaultKind::Stall, &faults.stall, &all),
        (FaultKind::Delay, &faults.delay, &servers),
    ];
    for (kind, spell, targets) in spells {
        let Some(spell) = spell else { continue };
        add(kind, spell.max, range(&spell.lasts), 0.0, (0, 0), targets);
        if kind == FaultKind::Deschedule || kind == FaultKind::Delay {
            add(
                kind,
                spell.max,
                range(&spell.lasts),
                0.0,
                (0, 0),
                &informers,
            );
            add(kind, spell.max, range(&spell.lasts), 0.0, (0, 0), &managers);
        }
        if kind == FaultKind::Delay && is_aim {
            add(kind, spell.max, range(&spell.lasts), 0.0, (0, 0), &etcd);
        }
    }
    let moments = [
        (FaultKind::Reset, &faults.reset),
        (FaultKind::HalfOpen, &faults.half_open),
        (FaultKind::LoseAnswer, &faults.lose_answer),
    ];
    for (kind, moment) in moments {
        let Some(moment) = moment else { continue };
        add(kind, moment.max, none, 0.0, (0, 0), &servers);
        add(kind, moment.max, none, 0.0, (0, 0), &informers);
        add(kind, moment.max, none, 0.0, (0, 0), &managers);
        if is_aim {
            add(kind, moment.max, none, 0.0, (0, 0), &etcd);
        }
    }
    if let Some(slow) = &faults.slow_link {
        let factor = (u64::from(slow.factor.low), u64::from(slow.factor.high));
        let lasts = range(&slow.lasts);
        add(FaultKind::SlowLink, slow.max, lasts, 0.0, factor, &all);
    }
    if let Some(rate) = &faults.clock_rate {
        let ppm = (1, u64::from(rate.ppm));
        let lasts = range(&rate.lasts);
        add(FaultKind::ClockRate, rate.max, lasts, 0.0, ppm, &all);
    }
    if let Some(jump) = &faults.clock_jump {
        let millis = |d: file::Duration| d.nanos() / 1_000_000;
        let by = (millis(jump.by.low), millis(jump.by.high));
        add(FaultKind::ClockJump, jump.max, none, 0.0, by, &all);
    }
    budgets
}
