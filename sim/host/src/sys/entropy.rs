//! What a simulated thread knows instead of the world outside: two clocks and a stream of numbers. It also knows whether
//! the runtime on it is about to sleep, and until when it would.

use std::cell::Cell;

use super::pulse::beat;

/// Monotonic clocks begin here, so that a program may subtract from their first instant.
const UP_SINCE: u64 = 1_000_000_000_000_000;
/// The world begins at 2026-01-01T00:00:00Z, in nanoseconds of Unix time.
const EPOCH: u64 = 1_767_225_600_000_000_000;

/// What the clocks of a process show, in nanoseconds since the world began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Clocks {
    /// Its monotonic clock.
    pub monotonic: u64,
    /// Its wall clock.
    pub wall: u64,
}

// All without a destructor: they may be asked when a thread begins and when it ends.
thread_local! {
    static ON: Cell<bool> = const { Cell::new(false) };
    static NUMBERS: Cell<u64> = const { Cell::new(0) };
    static MONOTONIC: Cell<u64> = const { Cell::new(UP_SINCE) };
    static WALL: Cell<u64> = const { Cell::new(EPOCH) };
    static PARKING: Cell<bool> = const { Cell::new(false) };
    static PARKED: Cell<Option<u64>> = const { Cell::new(None) };
    static WOKEN: Cell<Option<u64>> = const { Cell::new(None) };
    static THREADS: Cell<bool> = const { Cell::new(false) };
}

/// From now on this thread is simulated.
pub(super) fn begin() {
    ON.set(true);
}

/// It no longer is.
pub(super) fn end() {
    ON.set(false);
}

/// Is this thread simulated?
pub(super) fn is_on() -> bool {
    ON.get()
}

/// A process of the world runs on this thread from here on: its clocks, and where its stream of numbers stands.
pub(crate) fn enter(clocks: Clocks, numbers: u64) {
    MONOTONIC.set(UP_SINCE + clocks.monotonic);
    WALL.set(EPOCH + clocks.wall);
    NUMBERS.set(numbers);
    PARKED.set(None);
}

/// It no longer does: the turn is over. Where its numbers stand now.
pub(crate) fn leave() -> u64 {
    beat();
    NUMBERS.get()
}

/// The runtime looks whether it is to sleep.
pub(crate) fn begin_park() {
    PARKING.set(true);
}

/// It does not sleep, or has woken. Would it have slept?
pub(crate) fn end_park() -> bool {
    PARKING.set(false);
    WOKEN.set(None);
    PARKED.get().is_some()
}

/// Until when the runtime would have slept, in nanoseconds of its monotonic clock since the world began.
pub(crate) fn take_parked() -> Option<u64> {
    PARKED.take().map(|until| until.saturating_sub(UP_SINCE))
}

pub(super) fn is_parking() -> bool {
    PARKING.get()
}

/// The runtime would sleep until then.
pub(super) fn would_sleep(until: u64) {
    PARKED.set(Some(until));
}

/// Who slept for so long looks at the clock for whether it has: the next look at it, and only that, shows its end.
pub(super) fn looks_whether_it_slept_until(until: u64) {
    WOKEN.set(Some(until));
}

/// The program starts a thread.
pub(super) fn starts_thread() {
    THREADS.set(true);
}

/// Has it started a thread since it was asked last?
pub(crate) fn take_threads() -> bool {
    THREADS.take()
}

pub(super) fn monotonic() -> u64 {
    MONOTONIC.get()
}

/// What whoever looks at the monotonic clock sees.
pub(super) fn seen() -> u64 {
    WOKEN.take().unwrap_or_else(monotonic)
}

pub(super) fn wall() -> u64 {
    WALL.get()
}

/// The next number (SplitMix64; Steele, Lea and Flood, OOPSLA 2014).
pub(super) fn number() -> u64 {
    let state = NUMBERS.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
    NUMBERS.set(state);
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
