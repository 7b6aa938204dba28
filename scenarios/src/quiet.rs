//! A panic inside a simulated world is a violation like any other: caught, recorded and reported.
//! Its message is kept off stderr, where one for each seed and attempt would bury the report;
//! `replay` shows it with its place.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

static INSTALLED: Once = Once::new();

/// Puts a hook before the one there is, which then sees only panics outside of [`quietly`].
fn install() {
    let loud = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !QUIET.get() {
            loud(info);
        }
    }));
}

/// From now on no panic is heard, on any thread: for a command whose every panic is caught and told.
pub(crate) fn for_good() {
    panic::set_hook(Box::new(|_| ()));
}

/// Does work that catches the panics of simulated worlds itself.
pub(crate) fn quietly<R>(work: impl FnOnce() -> R) -> R {
    INSTALLED.call_once(install);
    let before = QUIET.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    QUIET.set(before);
    result.unwrap_or_else(|panic| {
        // One that nobody has caught is not the world's: it must not go unheard.
        let text = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied());
        eprintln!("error: the driver panicked: {}", text.unwrap_or("?"));
        panic::resume_unwind(panic)
    })
}
