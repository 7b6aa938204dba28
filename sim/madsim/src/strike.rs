//! What faults are on madsim. A kill, a restart, a pause and a clogged link are madsim's own; the world is told of each,
//! since properties ask it. What madsim does not know (SIGTERM, a broken connection, a wrong clock, a goroutine that is
//! held) is done to the process alone. A slow or lossy network is all of madsim's network for a while.

use std::time::Duration;

use madsim::net::NetSim;
use madsim::rand::prelude::SliceRandom;
use madsim::rand::{Rng, thread_rng};
use madsim::runtime::Handle;
use wavetank_engine::drive::seeded::Budget;
use wavetank_engine::{Action, Fault, FaultKind, ProcId, RoutineId, What, World};

use crate::cluster::{Cluster, State};

/// What strikes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Trouble {
    /// A process, a connection or a link.
    Fault(Fault),
    /// All messages take so many times as long.
    Slow(u32),
    /// So many of a thousand packets are lost.
    Loss(u32),
    /// The network is as it should be.
    Fair,
}

/// How fast and how reliable the network is while nothing is wrong.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub latency: std::ops::Range<Duration>,
}

impl Trouble {
    /// What it is counted as; nothing if it is the end of one.
    fn kind(&self) -> Option<&'static str> {
        match self {
            Trouble::Fault(fault) => fault.kind().map(FaultKind::name),
            Trouble::Slow(_) => Some("slow-network"),
            Trouble::Loss(_) => Some("loss"),
            Trouble::Fair => None,
        }
    }
}

impl Cluster {
    /// Strikes. Did it find its target?
    pub(crate) fn strike(&self, trouble: &Trouble, network: &Network) -> bool {
        let injected = self.strike_now(trouble, network);
        if let Some(kind) = trouble.kind().filter(|_| injected) {
            *self.lock().injected.entry(kind).or_default() += 1;
        }
        injected
    }

    fn strike_now(&self, trouble: &Trouble, network: &Network) -> bool {
        match trouble {
            Trouble::Fault(fault) => self.fault(fault),
            Trouble::Slow(factor) => {
                let (low, high) = (network.latency.start, network.latency.end);
                NetSim::current()
                    .update_config(|config| config.send_latency = low * *factor..high * *factor);
                true
            }
            Trouble::Loss(per_mille) => {
                let rate = f64::from(*per_mille) / 1_000.0;
                NetSim::current().update_config(|config| config.packet_loss_rate = rate);
                true
            }
            Trouble::Fair => {
                NetSim::current().update_config(|config| {
                    config.send_latency = network.latency.clone();
                    config.packet_loss_rate = 0.0;
                });
                true
            }
        }
    }

    /// A fault by name, or its end.
    pub fn fault(&self, fault: &Fault) -> bool {
        let stands = |fault: &Fault| match fault {
            Fault::Pause { process } | Fault::Resume { process, .. } => {
                let found = self.look(|world| world.find(process));
                found.map(|process| self.lock().nodes.id(process))
            }
            _ => None,
        };
        let node = stands(fault);
        let injected = self.act(&Action::Fault(fault.clone()));
        match (fault, node) {
            (Fault::Pause { .. }, Some(node)) if injected => Handle::current().pause(node),
            (Fault::Resume { .. }, Some(node)) => Handle::current().resume(node),
            (
                Fault::Partition { .. }
                | Fault::Heal { .. }
                | Fault::Stall { .. }
                | Fault::Unstall { .. }
                | Fault::HealAll {},
                _,
            ) => self.lock().clog(),
            _ => {}
        }
        injected
    }
}

impl State {
    /// Links are clogged where the world says that they are cut.
    fn clog(&self) {
        let net = NetSim::current();
        for from in self.world.processes() {
            for to in self.world.processes().filter(|to| *to != from) {
                let (src, dst) = (self.nodes.id(from), self.nodes.id(to));
                match self.world.is_cut(from, to) {
                    true => net.clog_link(src, dst),
                    false => net.unclog_link(src, dst),
                }
            }
        }
    }
}

/// A fault of this budget at this process, if it has what the kind strikes, and what ends it if it lasts.
pub(crate) fn aim(
    budget: &Budget,
    world: &World,
    target: ProcId,
) -> Option<(Trouble, Option<Trouble>)> {
    let process = world.name(target).to_owned();
    let (low, high) = (budget.amount.0.max(1), budget.amount.1.max(1));
    let mut rng = thread_rng();
    let amount = rng.gen_range(low..=high);
    let signed = match rng.gen_bool(0.5) {
        true => amount as i64,
        false => -(amount as i64),
    };
    let again = Some(Trouble::Fault(Fault::Start {
        process: process.clone(),
    }));
    let (fault, end) = match budget.kind {
        FaultKind::SlowLink => return Some((Trouble::Slow(amount as u32), Some(Trouble::Fair))),
        FaultKind::Delay => {
            let loss = Trouble::Loss(rng.gen_range(50..=500));
            return Some((loss, Some(Trouble::Fair)));
        }
        FaultKind::Stop => return Some((Trouble::Fault(Fault::Stop { process }), again)),
        FaultKind::Crash => return Some((Trouble::Fault(Fault::Crash { process }), again)),
        FaultKind::PowerLoss => return Some((Trouble::Fault(Fault::PowerLoss { process }), again)),
        FaultKind::Pause => (
            Fault::Pause {
                process: process.clone(),
            },
            // In which order it looks at what has come in meanwhile is madsim's.
            Some(Fault::Resume { process, order: 0 }),
        ),
        FaultKind::Deschedule => {
            let routine = routine_of(world, target)?.to_string();
            let hold = Fault::Deschedule {
                process: process.clone(),
                routine: routine.clone(),
            };
            (hold, Some(Fault::Reschedule { process, routine }))
        }
        FaultKind::ClockRate => (
            Fault::ClockRate {
                process: process.clone(),
                ppm: signed,
            },
            Some(Fault::ClockRate { process, ppm: 0 }),
        ),
        FaultKind::ClockJump => {
            let millis = signed;
            (Fault::ClockJump { process, millis }, None)
        }
        FaultKind::Partition
        | FaultKind::PartitionOneWay
        | FaultKind::Stall
        | FaultKind::Reset
        | FaultKind::HalfOpen
        | FaultKind::LoseAnswer => at_links(budget.kind, world, target)?,
    };
    Some((Trouble::Fault(fault), end.map(Trouble::Fault)))
}

/// One that is about to get a lock, so that others overtake it at the gate; else any.
fn routine_of(world: &World, target: ProcId) -> Option<RoutineId> {
    let mut own = world.pending().filter(|entry| entry.process == target);
    let grant = own.find(|entry| matches!(entry.what, What::Grant { .. }));
    let all: Vec<RoutineId> = world.routines(target).collect();
    let owner = grant.and_then(|entry| entry.what.routine());
    owner.or_else(|| all.choose(&mut thread_rng()).copied())
}

/// The same of what lies between processes.
fn at_links(kind: FaultKind, world: &World, target: ProcId) -> Option<(Fault, Option<Fault>)> {
    let name = |process: ProcId| world.name(process).to_owned();
    let mut rng = thread_rng();
    let its =
        |client: ProcId, server: ProcId| client != server && (client == target || server == target);
    let connections = world.connections().filter(|(c, s, _)| its(*c, *s));
    let connections: Vec<_> = connections.collect();
    match kind {
        FaultKind::Partition | FaultKind::PartitionOneWay => {
            let one_way = kind == FaultKind::PartitionOneWay;
            let (mut left, mut right) = (vec![name(target)], Vec::new());
            for other in world.processes().filter(|other| *other != target) {
                match rng.gen_bool(0.25) {
                    true => left.push(name(other)),
                    false => right.push(name(other)),
                }
            }
            if one_way && rng.gen_bool(0.5) {
                std::mem::swap(&mut left, &mut right);
            }
            let heal = Fault::Heal {
                left: left.clone(),
                right: right.clone(),
                one_way,
            };
            Some((
                Fault::Partition {
                    left,
                    right,
                    one_way,
                },
                Some(heal),
            ))
        }
        FaultKind::Stall => {
            let (client, server, _) = connections.choose(&mut rng)?;
            let (from, to) = match rng.gen_bool(0.5) {
                true => (name(*client), name(*server)),
                false => (name(*server), name(*client)),
            };
            let end = Fault::Unstall {
                from: from.clone(),
                to: to.clone(),
            };
            Some((Fault::Stall { from, to }, Some(end)))
        }
        FaultKind::Reset | FaultKind::HalfOpen => {
            let (client, server, transport) = connections.choose(&mut rng)?;
            let (client, server) = (name(*client), name(*server));
            let transport = (*transport).to_owned();
            let fault = match kind {
                FaultKind::Reset => Fault::Reset {
                    client,
                    server,
                    transport,
                },
                _ => Fault::HalfOpen {
                    client,
                    server,
                    transport,
                },
            };
            Some((fault, None))
        }
        FaultKind::LoseAnswer => {
            let flying = world
                .in_flight()
                .filter(|(from, to, is_answer)| *is_answer && its(*from, *to));
            let flying: Vec<_> = flying.collect();
            let (server, client, _) = flying.choose(&mut rng)?;
            let (client, server) = (name(*client), name(*server));
            Some((Fault::LoseAnswer { client, server }, None))
        }
        _ => None,
    }
}
