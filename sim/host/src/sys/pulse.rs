//! Does a simulation in a process of its own get on? It counts the turns of its programs in a page that it shares with who
//! waits for it.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::{io, mem};

/// In the process of a simulation, its counter; elsewhere nothing.
static OWN: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());

/// A program has had its turn.
pub(super) fn beat() {
    // SAFETY: it was made by `Pulse::new`, and this process keeps it until it ends.
    if let Some(count) = unsafe { OWN.load(Ordering::Relaxed).as_ref() } {
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// The counter, on the side of who waits.
pub(super) struct Pulse(ptr::NonNull<AtomicU64>);

impl Pulse {
    /// Before the other process begins, which then has it as well.
    ///
    /// # Errors
    /// If the system has no page.
    pub(super) fn new() -> io::Result<Pulse> {
        // SAFETY: a page of its own, of zeros, as a counter begins.
        let page = unsafe {
            libc::mmap(
                ptr::null_mut(),
                mem::size_of::<AtomicU64>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        match ptr::NonNull::new(page.cast()) {
            Some(count) if page != libc::MAP_FAILED => Ok(Pulse(count)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// In the new process: its own turns are counted here. It keeps the page for all its life.
    pub(super) fn adopt(self) {
        OWN.store(self.0.as_ptr(), Ordering::Relaxed);
        mem::forget(self);
    }

    /// Turns so far.
    pub(super) fn count(&self) -> u64 {
        // SAFETY: the page is there as long as this is.
        unsafe { self.0.as_ref() }.load(Ordering::Relaxed)
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        // SAFETY: it is what `mmap` has given, and nobody else of this process has it.
        unsafe { libc::munmap(self.0.as_ptr().cast(), mem::size_of::<AtomicU64>()) };
    }
}
