//! Livelock: events go on and on while virtual time stands still. No search may take that for an end,
//! only because it comes back to a state that it knows.

use std::collections::BTreeSet;

use wavetank_engine::drive::livelocked;
use wavetank_engine::trace::FoundViolation;
use wavetank_engine::{Digest, Memo, Time, World, digest, mutant};

use crate::step::step;

/// So many events at one instant are too many.
pub(crate) const MOST_AT_ONE_INSTANT: u32 = 2_000;

/// After so many it is looked whether a state comes again.
const PATIENCE: u32 = 32;

/// How long time has stood still.
#[derive(Clone, Debug)]
pub(crate) struct Standstill {
    at: Time,
    events: u32,
    /// A state on the way here; it comes again where there is a circle.
    mark: Digest,
}

impl Standstill {
    /// From here on.
    pub fn new(world: &World) -> Standstill {
        Standstill {
            at: world.now(),
            events: 0,
            mark: 0,
        }
    }

    /// One more event, which led here. Does it go on like this for ever?
    pub fn goes_on(&mut self, world: &World) -> Option<Box<FoundViolation>> {
        if world.now() != self.at {
            *self = Standstill::new(world);
            return None;
        }
        self.events += 1;
        if self.events <= PATIENCE {
            return None;
        }
        let here = world.exact_digest();
        let comes_again = here == self.mark;
        if self.events.is_power_of_two() {
            self.mark = here;
        }
        let ends = !comes_again && self.events < MOST_AT_ONE_INSTANT;
        (!ends).then(|| endless(world))
    }
}

/// The violation; a world that is in it.
pub(crate) fn endless(world: &World) -> Box<FoundViolation> {
    let next = world.next_entry();
    let next = next.map_or_else(String::new, |entry| world.render(&world.entry_name(entry)));
    let now = world.now();
    Box::new(livelocked(format!(
        "no end of events at {now} s of virtual time: {next}, and so on"
    )))
}

/// Worlds from which the default order is known to lead on. Where many ways lead into one instant, none of it
/// is gone twice.
#[derive(Debug, Default)]
pub struct LeadsOn {
    known: BTreeSet<Digest>,
}

/// So many are known at a time.
const MOST_KNOWN: usize = 1 << 16;

impl LeadsOn {
    fn learn(&mut self, worlds: Vec<Digest>) {
        if self.known.len() + worlds.len() > MOST_KNOWN {
            self.known.clear();
        }
        self.known.extend(worlds);
    }
}

/// The violation, if the default order never leads on from this instant, neither to a later one nor to what is
/// planned. A choice has its usual answer, so that whoever draws lots until it wins is not taken for one who
/// cannot.
pub(crate) fn endless_from(
    memo: &mut Memo,
    leads_on: &mut LeadsOn,
    world: &World,
    planned: Option<Time>,
) -> Option<Box<FoundViolation>> {
    let now = world.now();
    let stands = |world: &World| {
        let next = world.next_entry().map(|entry| entry.at);
        next.is_some_and(|at| at <= now && planned.is_none_or(|planned| planned > at))
    };
    if !stands(world) || mutant::is("livelock") {
        return None;
    }
    let mut ahead = world.clone();
    let mut standstill = Standstill::new(world);
    let mut passed = Vec::new();
    while stands(&ahead) {
        let here = digest(&(ahead.exact_digest(), now, planned));
        if leads_on.known.contains(&here) {
            break;
        }
        passed.push(here);
        let usual = ahead.next_entry().expect("it is due").usual();
        // What is violated on the way the search sees itself.
        if step(memo, &mut ahead, now, usual).violated.is_some() {
            return None;
        }
        let endless = standstill.goes_on(&ahead);
        if endless.is_some() {
            return endless;
        }
        ahead.cache_all_digests();
    }
    leads_on.learn(passed);
    None
}
