//! Fewer states for the same verdict. The full search tells two worlds apart by everything that is in
//! them, instants included, those that processes remember as well; a reduced one leaves out what seldom
//! decides anything:
//!
//! - **How long** it is until what is pending. A fault that strikes a moment later, or two independent
//!   events in the other order, lead to worlds that differ in nothing but instants: they are one as
//!   long as what is pending comes in the same order and, to a tenth of a millisecond, at the same time.
//!   That is less than any frame takes to another machine: a coarser grain misses what properties can
//!   remember (by a tenth of a second, on four of the first seventeen scopes).
//!   This is partial-order reduction for a world with timers: what is independent is not assumed of
//!   events, but seen in where they lead.
//! - **States on the way.** One that has only one way on needs not be known for ever: the one at the
//!   next choice is. The latest of them are remembered, and one in 1,024 is kept, so that paths which
//!   meet on the way are seldom walked twice.
//!
//! The second loses nothing. The first does not look at orders that come about only because a frame
//! that is *not sent yet* will be a little earlier or later: of two worlds in which a timer is due 30 µs
//! apart, one is taken for the other, and a race that only one of them has is missed. So the verdict of a
//! reduced search is an empirical one. That none of ours depends on it is tested, by both searches of all
//! scopes: they come to the same verdict, and have seen the properties remember the same.
//!
//! Reducing by which process an event belongs to (a crash of one and an event of another commute) is
//! unsound here: they do, but what they lead to is a race in virtual time. The tests show that, too.
//! Nor is there a reduction by symmetry, but that of faults that are the same, which are interchangeable
//! also in a full search. A world within the bounds is seldom another one with names exchanged: at the start
//! of a search each replica is at another point of its period, one of them leads, and each has written its
//! name and address into what is stored, by which upstream sorts; and clients and objects are told apart
//! by the plan, which asks each for something else at another time. What there would be to save is measured
//! (`cargo bench --bench search -- symmetry SCOPE..`).

use std::time::Duration;

use wavetank_engine::{Digest, Time, digest, mutant};

use crate::world_model::{Node, WorldModel};

/// Times are told apart by so much, as long as the order is the same.
const GRAIN: Duration = Duration::from_micros(100);

/// What a search leaves out.
#[derive(Clone, Copy, Debug)]
pub struct Reduction {
    /// States of the same key are searched once.
    pub key: fn(&WorldModel, &Node) -> Digest,
    /// Do states of the same key lead to the same states? If not, what is found depends on which of
    /// them is met first, and so the search is left to one thread.
    pub exact: bool,
    /// Of the states that have only one way on, one in so many is kept.
    pub keep_one_in: u64,
}

impl Default for Reduction {
    /// The full search.
    fn default() -> Reduction {
        Reduction::NONE
    }
}

impl Reduction {
    /// The full search.
    pub const NONE: Reduction = Reduction {
        key: |_, node| node.fingerprint(),
        exact: true,
        keep_one_in: 1,
    };

    /// Orders instead of instants, and choices instead of the way to them.
    pub const ORDERS: Reduction = Reduction {
        key: in_order,
        exact: false,
        keep_one_in: 1024,
    };

    /// Is a state with this key kept, although only one way leads on from it?
    pub(crate) fn keeps(&self, key: Digest) -> bool {
        key.is_multiple_of(self.keep_one_in)
    }
}

/// All but instants; what the bounds cut off has its place in the order of what is pending.
fn in_order(model: &WorldModel, node: &Node) -> Digest {
    let bounds = &model.bounds;
    let until = |last: Time| {
        let pending = node.world.pending();
        pending.take_while(|entry| entry.at <= last).count()
    };
    let planned = bounds.plan.get(node.planned).map(|(at, _)| until(*at));
    let late = bounds.late_by.filter(|_| node.deviations > 0);
    let first = node.world.next_entry();
    let late = late.and_then(|late| first.map(|entry| until(entry.at + late)));
    let budgets = (node.deviations, node.faults, node.planned);
    let budgets = (!mutant::is("reduction: budgets")).then_some(budgets);
    let cuts = (planned, late, until(bounds.horizon));
    let cuts = (!mutant::is("reduction: cuts")).then_some(cuts);
    let now = (!mutant::is("reduction: now")).then_some(node.world.now());
    let grain = match mutant::is("reduction: grain") {
        true => Duration::from_secs(1),
        false => GRAIN,
    };
    digest(&(budgets, now, cuts, node.world.coarse_digest(grain)))
}
