//! The keys of hash maps of the standard library, which decide in what order a program goes through them.
//!
//! The library draws one number for a thread, and each map of the thread counts on from it. Hosted programs share their
//! thread with the driver and the world, which make maps as well: who replays a trace makes others than who ran the seed,
//! and words that are made once for a process are made by whoever needs them first. So where a program goes on counting is
//! said here: a fixed way from where the last one stopped, whatever others took in between.

use std::cell::Cell;

/// Programs go on at the next multiple of this from where the last one stopped. Others take fewer between two turns,
const BETWEEN_TURNS: u64 = 1 << 7;
/// and fewer before a life begins: there may have been the building of a world.
const BEFORE_A_LIFE: u64 = 1 << 13;

thread_local! {
    /// The last key that the last program could have taken.
    static LEFT: Cell<u64> = const { Cell::new(0) };
}

/// This thread begins to count, before anybody makes a map: its number comes of what is asked for now.
pub(super) fn begin() {
    LEFT.set(count());
}

/// A life begins.
pub(crate) fn enter_life() {
    go_on(BEFORE_A_LIFE);
}

/// A turn of a life begins.
pub(crate) fn enter_turn() {
    go_on(BETWEEN_TURNS);
}

/// A program has had its turn.
pub(crate) fn leave() {
    LEFT.set(count());
}

/// Counts up by so many.
pub(crate) fn skip(keys: u64) {
    for _ in 0..keys {
        count();
    }
}

fn go_on(step: u64) {
    let taken = count().wrapping_sub(LEFT.get());
    skip(taken.next_multiple_of(step) - taken);
}

/// Makes the keys of one more map, and says where the count is.
#[allow(clippy::disallowed_types, reason = "its keys are what this is about")]
fn count() -> u64 {
    // SAFETY: it is two numbers, the one that counts and one that stays, in whatever order: their sum counts, too. If a
    // version of the library keeps anything else, the sizes differ and this does not compile.
    let [one, other] = unsafe {
        std::mem::transmute::<std::hash::RandomState, [u64; 2]>(std::hash::RandomState::new())
    };
    one.wrapping_add(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It is the version of the standard library that is asked.
    #[test]
    fn maps_count() {
        let first = count();
        assert_eq!(count(), first.wrapping_add(1));
        skip(10);
        assert_eq!(count(), first.wrapping_add(12));
    }

    #[test]
    fn what_others_take_does_not_matter() {
        let turn = |others: u64| {
            leave();
            let left = LEFT.get();
            skip(others);
            enter_turn();
            count().wrapping_sub(left)
        };
        let alone = turn(0);
        assert_eq!(alone, BETWEEN_TURNS + 1);
        for others in [1, 5, BETWEEN_TURNS - 1] {
            assert_eq!(turn(others), alone);
        }
        assert_eq!(turn(BETWEEN_TURNS), alone + BETWEEN_TURNS);
    }
}
