//! What the random worlds are held to.

use wavetank_engine::{
    Cell, Check, Class, Eventually, Note, Property, Stable, Status, Violation, World,
};

use super::build::micros;
use super::description::{Goal, Rule, Settles, Watched};
use super::toy::{CELLS, Noted, Toy};

/// A rule, with what it remembers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Watch {
    rule: RuleState,
    guaranteed: bool,
}

/// A rule in numbers, and what was noted.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum RuleState {
    MoreThan {
        what: u8,
        times: u8,
        seen: u8,
    },
    After {
        first: u8,
        then: u8,
        seen: bool,
    },
    RightAfter {
        first: u8,
        then: u8,
        rest: u8,
        last: Option<(u8, u8)>,
    },
    With {
        what: u8,
        number: u8,
    },
}

impl Watch {
    pub fn new(watched: &Watched) -> Watch {
        let rule = match watched.rule {
            Rule::MoreThan { what, times } => RuleState::MoreThan {
                what,
                times,
                seen: 0,
            },
            Rule::After { first, then } => RuleState::After {
                first,
                then,
                seen: false,
            },
            Rule::RightAfter { first, then, rest } => {
                let rest = rest % 3;
                RuleState::RightAfter {
                    first,
                    then,
                    rest,
                    last: None,
                }
            }
            Rule::With { what, number } => RuleState::With { what, number },
        };
        Watch {
            rule,
            guaranteed: watched.guaranteed,
        }
    }
}

impl RuleState {
    /// Is it broken by this?
    fn breaks(&mut self, noted: Noted) -> bool {
        let Noted {
            what: now,
            number: told,
        } = noted;
        match self {
            RuleState::MoreThan { what, times, seen } => {
                *seen = (*seen + u8::from(*what == now)).min(*times + 1);
                *seen > *times
            }
            RuleState::After { first, then, seen } => {
                let broken = *seen && *then == now;
                *seen |= *first == now;
                broken
            }
            RuleState::RightAfter {
                first,
                then,
                rest,
                last,
            } => {
                let before = last.replace((now, told));
                let fits = |(what, number): (u8, u8)| {
                    what == *first && *then == now && (number + told) % 3 == *rest
                };
                before.is_some_and(fits)
            }
            RuleState::With { what, number } => *what == now && *number == told,
        }
    }
}

impl Property for Watch {
    fn name(&self) -> &'static str {
        match self.rule {
            RuleState::MoreThan { .. } => "not-more-often",
            RuleState::After { .. } => "not-after",
            RuleState::RightAfter { .. } => "not-right-after",
            RuleState::With { .. } => "not-with",
        }
    }

    fn class(&self) -> Class {
        match self.guaranteed {
            true => Class::Guarantee,
            false => Class::Observation,
        }
    }

    fn note(&mut self, _: &World, note: &Note) -> Check {
        let Some(noted) = note.body.get::<Noted>() else {
            return Check::Idle;
        };
        match self.rule.breaks(*noted) {
            false => Check::Held,
            true => broken(format!("{} with {}", noted.what, noted.number)),
        }
    }
}

fn broken(message: String) -> Check {
    Check::Violated(Violation {
        kind: "note",
        object: String::new(),
        message,
    })
}

/// The property that something settles.
pub(super) fn settles(settles: &Settles) -> Box<dyn Property> {
    let within = micros(settles.within);
    let holds: fn(&World) -> Check = match settles.goal {
        Goal::Volatile => |world| held(toy(world, "p0").is_none_or(|toy| toy.volatile() != 3)),
        Goal::Durable => |world| held(toy(world, "p1").is_none_or(|toy| toy.durable() == 0)),
        Goal::Cell => |world| held(cell(world, &CELLS[0]) < 3),
        Goal::Up => |world| {
            let mut all = world.processes();
            held(all.all(|process| world.status(process) == Status::Up))
        },
        Goal::Idle => |world| {
            let first = world.find("p0");
            held(first.is_none_or(|first| world.routines(first).len() == 0))
        },
    };
    match settles.stays {
        false => Box::new(Eventually::new("settles", within, |_| true, holds)),
        true => {
            let is_odd = |_: &World, note: &Note| {
                let noted = note.body.get::<Noted>();
                held(noted.is_none_or(|noted| noted.number % 4 != 3))
            };
            Box::new(Stable::new("stays", within, is_odd, holds))
        }
    }
}

fn held(holds: bool) -> Check {
    match holds {
        true => Check::Held,
        false => broken("not settled".to_owned()),
    }
}

fn toy<'a>(world: &'a World, name: &str) -> Option<&'a Toy> {
    world.process(world.find(name)?)
}

fn cell(world: &World, cell: &Cell<u64>) -> u64 {
    world.find("p0").map_or(0, |first| world.cell(first, cell))
}
