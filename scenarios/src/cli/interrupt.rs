//! Ctrl-C: the first one asks to stop and to say what is known, the second one ends at once.

use std::sync::atomic::{AtomicBool, Ordering};

use super::Exit;

static STOP: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C only asks to stop; the flag says whether it did.
pub(super) fn listen() -> &'static AtomicBool {
    listen_saying("interrupted: telling what is known (again to end at once)")
}

/// Was it pressed?
pub(super) fn is_asked_to_stop() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// The same where Ctrl-C is how one ends it.
pub(super) fn listen_for_the_end() -> &'static AtomicBool {
    listen_saying("closing")
}

fn listen_saying(what: &'static str) -> &'static AtomicBool {
    let handled = ctrlc::set_handler(move || {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(Exit::Interrupted as i32);
        }
        eprintln!("{what}");
    });
    if let Err(error) = handled {
        eprintln!("note: Ctrl-C will end at once: {error}");
    }
    &STOP
}
