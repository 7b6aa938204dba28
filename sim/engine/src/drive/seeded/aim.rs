//! Aiming: what exactly a fault of one kind strikes, and what ends it.

use crate::fault::{Fault, FaultKind};
use crate::name::{ProcId, RoutineId};
use crate::queue::{Entry, What};
use crate::time::nanos;
use crate::world::World;

use super::super::random::Stream;
use super::Budget;

/// A fault, and what ends it if it lasts.
type Aimed = (Fault, Option<Fault>);

/// A fault of this budget at this process, if it has what the kind strikes.
pub(super) fn aim(
    budget: &Budget,
    stream: &mut Stream,
    world: &World,
    target: ProcId,
) -> Option<Aimed> {
    match budget.kind {
        FaultKind::Stop
        | FaultKind::Crash
        | FaultKind::PowerLoss
        | FaultKind::Pause
        | FaultKind::Deschedule
        | FaultKind::ClockRate
        | FaultKind::ClockJump => at_process(budget, stream, world, target),
        FaultKind::Partition
        | FaultKind::PartitionOneWay
        | FaultKind::Stall
        | FaultKind::Reset
        | FaultKind::HalfOpen
        | FaultKind::SlowLink
        | FaultKind::Delay
        | FaultKind::LoseAnswer => at_links(budget, stream, world, target),
    }
}

fn at_process(
    budget: &Budget,
    stream: &mut Stream,
    world: &World,
    target: ProcId,
) -> Option<Aimed> {
    let process = world.name(target).to_owned();
    let start = Some(Fault::Start {
        process: process.clone(),
    });
    let (low, high) = budget.amount;
    Some(match budget.kind {
        FaultKind::Stop => (Fault::Stop { process }, start),
        FaultKind::Crash => (Fault::Crash { process }, start),
        FaultKind::PowerLoss => (Fault::PowerLoss { process }, start),
        FaultKind::Pause => (
            Fault::Pause {
                process: process.clone(),
            },
            Some(Fault::Resume {
                process,
                order: match stream.chance(500_000) {
                    true => 0,
                    false => stream.within(1, u64::from(u16::MAX)) as u16,
                },
            }),
        ),
        FaultKind::Deschedule => {
            let routine = routine_of(stream, world, target)?.to_string();
            (
                Fault::Deschedule {
                    process: process.clone(),
                    routine: routine.clone(),
                },
                Some(Fault::Reschedule { process, routine }),
            )
        }
        FaultKind::ClockRate => {
            let amount = stream.within(low.max(1), high.max(1)) as i64;
            let ppm = if stream.chance(500_000) {
                amount
            } else {
                -amount
            };
            (
                Fault::ClockRate {
                    process: process.clone(),
                    ppm,
                },
                Some(Fault::ClockRate { process, ppm: 0 }),
            )
        }
        FaultKind::ClockJump => {
            let amount = stream.within(low.max(1), high.max(1)) as i64;
            let millis = if stream.chance(500_000) {
                amount
            } else {
                -amount
            };
            (Fault::ClockJump { process, millis }, None)
        }
        _ => return None,
    })
}

/// One that is about to get a lock, so that others overtake it at the gate; else, half of the time, one that
/// is about to run on. Most of the others only wait for a request or a tick.
fn routine_of(stream: &mut Stream, world: &World, target: ProcId) -> Option<RoutineId> {
    if let Some(owner) = next_owner(world, target) {
        return Some(owner);
    }
    let runs_on = match stream.chance(500_000) {
        true => pending(world, target).find_map(|entry| entry.what.routine()),
        false => None,
    };
    let all: Vec<RoutineId> = world.routines(target).collect();
    runs_on.or_else(|| stream.pick(&all).copied())
}

/// The routine that gets a lock next, if one does.
pub(super) fn next_owner(world: &World, target: ProcId) -> Option<RoutineId> {
    let is_grant = |entry: &&Entry| matches!(entry.what, What::Grant { .. });
    let grant = pending(world, target).find(is_grant);
    grant.and_then(|entry| entry.what.routine())
}

fn pending(world: &World, target: ProcId) -> impl Iterator<Item = &Entry> {
    world.pending().filter(move |entry| entry.process == target)
}

fn at_links(budget: &Budget, stream: &mut Stream, world: &World, target: ProcId) -> Option<Aimed> {
    let name = |p: ProcId| world.name(p).to_owned();
    let process = name(target);
    let (low, high) = budget.amount;
    Some(match budget.kind {
        FaultKind::Partition | FaultKind::PartitionOneWay => {
            let one_way = budget.kind == FaultKind::PartitionOneWay;
            let (mut left, mut right) = (vec![process], Vec::new());
            for p in world.processes().filter(|p| *p != target) {
                match stream.chance(250_000) {
                    true => left.push(name(p)),
                    false => right.push(name(p)),
                }
            }
            if one_way && stream.chance(500_000) {
                std::mem::swap(&mut left, &mut right);
            }
            (
                Fault::Partition {
                    left: left.clone(),
                    right: right.clone(),
                    one_way,
                },
                Some(Fault::Heal {
                    left,
                    right,
                    one_way,
                }),
            )
        }
        FaultKind::Stall => {
            let peer = pick_peer(stream, world, target)?;
            let (from, to) = either_way(stream, process, name(peer));
            (
                Fault::Stall {
                    from: from.clone(),
                    to: to.clone(),
                },
                Some(Fault::Unstall { from, to }),
            )
        }
        FaultKind::Reset | FaultKind::HalfOpen => {
            let open: Vec<_> = world
                .connections()
                .filter(|(c, s, _)| c != s && (*c == target || *s == target))
                .collect();
            let (client, server, transport) = *stream.pick(&open)?;
            let (client, server) = (name(client), name(server));
            let transport = transport.to_owned();
            let fault = match budget.kind {
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
            (fault, None)
        }
        FaultKind::SlowLink => {
            let (a, b) = (process, name(pick_peer(stream, world, target)?));
            let factor = stream.within(low.max(2), high.max(2)) as u32;
            (
                Fault::Slow {
                    a: a.clone(),
                    b: b.clone(),
                    factor,
                },
                Some(Fault::Unslow { a, b }),
            )
        }
        FaultKind::Delay => {
            let flying: Vec<_> = world
                .in_flight()
                .filter(|(f, t, _)| f != t && (*f == target || *t == target))
                .collect();
            let (from, to, _) = *stream.pick(&flying)?;
            let nanos = nanos(stream.spread(budget.lasts.0, budget.lasts.1));
            let (from, to) = (name(from), name(to));
            (Fault::Delay { from, to, nanos }, None)
        }
        FaultKind::LoseAnswer => {
            let flying: Vec<_> = world
                .in_flight()
                .filter(|(f, t, answer)| *answer && f != t && (*f == target || *t == target))
                .collect();
            let (server, client, _) = *stream.pick(&flying)?;
            let (client, server) = (name(client), name(server));
            (Fault::LoseAnswer { client, server }, None)
        }
        _ => return None,
    })
}

fn pick_peer(stream: &mut Stream, world: &World, target: ProcId) -> Option<ProcId> {
    let mut peers: Vec<ProcId> = world
        .connections()
        .filter_map(|(c, s, _)| match (c == target, s == target) {
            (true, false) => Some(s),
            (false, true) => Some(c),
            _ => None,
        })
        .collect();
    peers.sort();
    peers.dedup();
    stream.pick(&peers).copied()
}

fn either_way(stream: &mut Stream, a: String, b: String) -> (String, String) {
    match stream.chance(500_000) {
        true => (a, b),
        false => (b, a),
    }
}
