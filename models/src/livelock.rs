//! Livelock: events go on and on while virtual time stands still. No search may take that for an end,
//! only because it comes back to a state that it knows.

use wavetank_engine::drive::livelocked;
use wavetank_engine::trace::FoundViolation;
use wavetank_engine::{Digest, Memo, Time, World, mutant};

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

/// Is what is next due at this instant, and before what is planned?
pub(crate) fn stands(world: &World, now: Time, planned: Option<Time>) -> bool {
    let next = world.next_entry().map(|entry| entry.at);
    next.is_some_and(|at| at <= now && planned.is_none_or(|planned| planned > at))
}

/// The violation, if the default order never leads on from this instant, neither to a later one nor to what is
/// planned. A choice has its usual answer, so that whoever draws lots until it wins is not taken for one who
/// cannot.
pub(crate) fn endless_from(
    memo: &mut Memo,
    world: &World,
    planned: Option<Time>,
) -> Option<Box<FoundViolation>> {
    let now = world.now();
    if mutant::is("livelock") {
        return None;
    }
    let mut ahead = world.clone();
    let mut standstill = Standstill::new(world);
    while stands(&ahead, now, planned) {
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
    None
}
