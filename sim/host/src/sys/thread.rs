//! Threads on which programs are hosted.

use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{panic, thread};

use super::entropy;
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
    static PREPARED: Once = Once::new();
    PREPARED.call_once(|| on_thread(&mut prepare));
    on_thread(work);
}

/// The first use of ahash in a process decides for all others: its keys are drawn then, and where its numbers come from. By
/// itself it takes addresses for them.
fn prepare() {
    // If somebody was first, it stays as it is.
    let _ = ahash::random_state::set_random_source(Numbers);
    let _ = ahash::RandomState::new();
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

fn on_thread(work: &mut dyn FnMut()) {
    let lent = Lent(work);
    let run = move || {
        let work = lent.get();
        entropy::begin();
        entropy::enter(entropy::Clocks::default(), FIRST);
        fastrand::seed(FIRST);
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
