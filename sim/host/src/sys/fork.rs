//! A process of its own for a simulation: counters that a program keeps for all its life are as they were when it began.

use std::cell::Cell;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::Duration;
use std::{fs, io};

use super::simulated;

/// So long there may be no answer. What takes longer will never end: a program that waits for a clock to move, and does
/// not let it.
const LIMIT: Duration = Duration::from_secs(120);
/// How often it is asked whether to stop.
const TICK: Duration = Duration::from_millis(50);

const DONE: u8 = 0;
const PANICKED: u8 = 1;

/// While one is begun no other is: it would inherit the first one's pipe, which would then not end with it.
static BEGINNING: Mutex<()> = Mutex::new(());

/// Does the work in a process of its own, on a simulated thread, and hands over what it returns; `None` if `stop` said so.
///
/// # Errors
/// If that process ended otherwise, or did not end.
pub(crate) fn in_child(
    work: &mut (dyn FnMut() -> Vec<u8> + Send),
    stop: &dyn Fn() -> bool,
) -> Result<Option<Vec<u8>>, String> {
    let guard = BEGINNING
        .lock()
        .unwrap_or_else(|broken| broken.into_inner());
    let (reader, writer) = pipe().map_err(|error| format!("no pipe: {error}"))?;
    // SAFETY: the child has this thread only. What other threads may have held when it began it does not touch: the
    // allocator and the C library care for themselves in `fork`, and locks of others are of no concern to a simulation.
    match unsafe { libc::fork() } {
        -1 => Err(format!("no process: {}", io::Error::last_os_error())),
        0 => {
            drop(reader);
            be_child(work, writer)
        }
        child => {
            drop(writer);
            drop(guard);
            let child = Cell::new(Some(child));
            Parent { child, reader }.wait(stop)
        }
    }
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: there is room for two.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: they are new, and nobody else's.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}

fn be_child(work: &mut (dyn FnMut() -> Vec<u8> + Send), writer: OwnedFd) -> ! {
    // SAFETY: it only says that this process dies with its parent.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    let mut bytes = Vec::new();
    let done = catch_unwind(AssertUnwindSafe(|| simulated(&mut || bytes = work())));
    let (first, bytes) = match done {
        Ok(()) => (DONE, bytes),
        Err(panic) => {
            let text = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied());
            (PANICKED, text.unwrap_or("a panic").as_bytes().to_vec())
        }
    };
    let mut out = fs::File::from(writer);
    let written = io::Write::write_all(&mut out, &[first]);
    let written = written.and_then(|()| io::Write::write_all(&mut out, &bytes));
    // SAFETY: nothing of the parent's is undone or flushed twice: that is why it is not `exit`.
    unsafe { libc::_exit(i32::from(written.is_err())) }
}

/// Ends its child, whatever becomes of it.
struct Parent {
    /// Until it is waited for: then its number may be another's.
    child: Cell<Option<libc::pid_t>>,
    reader: OwnedFd,
}

impl Parent {
    fn wait(self, stop: &dyn Fn() -> bool) -> Result<Option<Vec<u8>>, String> {
        let mut bytes = Vec::new();
        let mut chunk = vec![0; 1 << 16];
        let mut waited = Duration::ZERO;
        loop {
            if !self.is_readable() {
                waited += TICK;
                if stop() {
                    return Ok(None);
                }
                if waited >= LIMIT {
                    return Err(format!(
                        "no answer for {} s: a program that waits for a clock to move stops it (`loop` around \
                         `Instant::now`, a lock that another thread holds)",
                        LIMIT.as_secs()
                    ));
                }
                continue;
            }
            // SAFETY: there is so much room.
            let read = unsafe {
                libc::read(
                    self.reader.as_raw_fd(),
                    chunk.as_mut_ptr().cast(),
                    chunk.len(),
                )
            };
            match usize::try_from(read) {
                Ok(0) => break,
                Ok(count) => bytes.extend(&chunk[..count]),
                Err(_) if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(io::Error::last_os_error().to_string()),
            }
        }
        match bytes.split_first() {
            Some((&DONE, rest)) => Ok(Some(rest.to_vec())),
            Some((&PANICKED, text)) => Err(String::from_utf8_lossy(text).into_owned()),
            _ => Err(format!(
                "the process of the simulation ended: {}",
                self.end()
            )),
        }
    }

    fn is_readable(&self) -> bool {
        let mut ask = libc::pollfd {
            fd: self.reader.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: it is one.
        let ready = unsafe { libc::poll(&raw mut ask, 1, TICK.as_millis() as libc::c_int) };
        ready > 0
    }

    /// How it ended, for people.
    fn end(&self) -> String {
        let mut status = 0;
        if let Some(child) = self.child.take() {
            // SAFETY: there is room for it.
            unsafe { libc::waitpid(child, &raw mut status, 0) };
        }
        if libc::WIFEXITED(status) {
            let code = libc::WEXITSTATUS(status);
            return format!(
                "code {code}. An operator that calls `std::process::exit` ends the simulation: let it return an error"
            );
        }
        format!("signal {}", libc::WTERMSIG(status))
    }
}

impl Drop for Parent {
    fn drop(&mut self) {
        let Some(child) = self.child.take() else {
            return;
        };
        // SAFETY: it is a child of this process, and nobody has waited for it.
        unsafe {
            libc::kill(child, libc::SIGKILL);
            libc::waitpid(child, std::ptr::null_mut(), 0);
        }
    }
}
