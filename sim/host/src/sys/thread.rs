//! Threads on which programs are hosted.
//!
//! What a program draws must not depend on what this process did before: a seed is run in a child of a process that has read
//! a scenario, a trace is replayed in one that has not. So whatever the first use in a process or on a thread decides is
//! decided here, before anybody else comes to it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::{panic, thread};

use super::{entropy, keys};
use crate::life;

/// As much as a main thread has: an operator was written for that.
const STACK: usize = 8 << 20;

/// What is asked for before any program runs is the same in all processes.
const FIRST: u64 = 0x5eed;

/// Lends what is not `Send` to another thread.
struct Lent<T>(T);

// SAFETY: only `simulated` makes one. It waits until the other thread has ended, so that the two never come to what is
// lent at the same time, and what the other thread made of it is seen by this one. What is lent must not belong to its
// thread as such; it is a closure of a driver, which keeps worlds, traces and texts.
unsafe impl<T> Send for Lent<T> {}

impl<T> Lent<T> {
    fn get(self) -> T {
        self.0
    }
}

/// Does the work on a new thread that is simulated, and waits for it. A panic goes on here.
#[allow(
    clippy::disallowed_methods,
    reason = "the one thread of a simulation, which nobody else shares"
)]
pub(crate) fn simulated(work: &mut dyn FnMut()) {
    let lent = Lent(work);
    let run = move || {
        let work = lent.get();
        begin();
        work();
        life::end_all();
    };
    let result = thread::scope(|scope| {
        let named = thread::Builder::new().stack_size(STACK);
        named.spawn_scoped(scope, run).expect("a thread").join()
    });
    if let Err(panic) = result {
        panic::resume_unwind(panic);
    }
}

/// This thread is simulated from here on. The standard library draws the keys of hash maps at the first one of a thread:
/// if that were the program's, they would come out of its own numbers, and else not.
fn begin() {
    entropy::begin();
    entropy::enter(entropy::Clocks::default(), FIRST);
    fastrand::seed(FIRST);
    keys::begin();
}

/// The loader calls this before `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = prepare;

/// The first use of ahash in a process decides for all others: its keys are drawn then, and where its numbers come from. By
/// itself it takes addresses for them. Nobody can be asked not to use it first, so this comes before all.
extern "C" fn prepare() {
    entropy::begin();
    entropy::enter(entropy::Clocks::default(), FIRST);
    // Only another one that comes before `main` could have been first.
    let _ = ahash::random_state::set_random_source(Numbers);
    let _ = ahash::RandomState::new();
    entropy::end();
}

struct Numbers;

impl ahash::random_state::RandomSource for Numbers {
    fn gen_hasher_seed(&self) -> usize {
        static OTHERS: AtomicUsize = AtomicUsize::new(0);
        match entropy::is_on() {
            true => entropy::number() as usize,
            // A thread of the tests themselves.
            false => OTHERS.fetch_add(1, Ordering::Relaxed),
        }
    }
}
