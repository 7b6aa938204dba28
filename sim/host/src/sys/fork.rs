//! A process of its own for a simulation: counters that a program keeps for all its life are as they were when it began.

use std::cell::Cell;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::Duration;
use std::{fs, io};

use super::pulse::Pulse;
use super::simulated;

/// So long no program may have a turn, and no answer come. What takes longer will never end: a program that waits for a
/// clock to move, and does not let it. A turn takes far less than a second, however busy the machine is.
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
    in_child_within(LIMIT, work, stop)
}

fn in_child_within(
    limit: Duration,
    work: &mut (dyn FnMut() -> Vec<u8> + Send),
    stop: &dyn Fn() -> bool,
) -> Result<Option<Vec<u8>>, String> {
    let guard = BEGINNING
        .lock()
        .unwrap_or_else(|broken| broken.into_inner());
    let (reader, writer) = pipe().map_err(|error| format!("no pipe: {error}"))?;
    let pulse = Pulse::new().map_err(|error| format!("no memory: {error}"))?;
    // SAFETY: the child has this thread only. What other threads may have held when it began it does not touch: the
    // allocator and the C library care for themselves in `fork`, and locks of others are of no concern to a simulation.
    match unsafe { libc::fork() } {
        -1 => Err(format!("no process: {}", io::Error::last_os_error())),
        0 => {
            drop(reader);
            pulse.adopt();
            be_child(work, writer)
        }
        child => {
            drop(writer);
            drop(guard);
            let child = Cell::new(Some(child));
            let parent = Parent {
                child,
                reader,
                pulse,
            };
            parent.wait(limit, stop)
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
    pulse: Pulse,
}

impl Parent {
    fn wait(self, limit: Duration, stop: &dyn Fn() -> bool) -> Result<Option<Vec<u8>>, String> {
        let mut bytes = Vec::new();
        let mut chunk = vec![0; 1 << 16];
        let (mut turns, mut waited) = (0, Duration::ZERO);
        loop {
            if !self.is_readable() {
                if stop() {
                    return Ok(None);
                }
                waited += TICK;
                if turns != self.pulse.count() {
                    (turns, waited) = (self.pulse.count(), Duration::ZERO);
                }
                if waited >= limit {
                    return Err(format!(
                        "nothing happened for {} s: a program that waits for a clock to move stops it (`loop` around \
                         `Instant::now`, a lock that another thread holds)",
                        limit.as_secs()
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

#[cfg(test)]
mod tests {
    use super::super::pulse::beat;
    use super::*;

    const SHORT: Duration = Duration::from_secs(1);

    /// The clocks of a simulation stand still: the system counts.
    fn pause() {
        // SAFETY: it waits for nothing, 100 ms long.
        unsafe { libc::poll(std::ptr::null_mut(), 0, 100) };
    }

    #[test]
    fn who_has_turns_may_take_as_long_as_it_takes() {
        let mut work = || {
            for _ in 0..25 {
                pause();
                beat();
            }
            b"done".to_vec()
        };
        let answer = in_child_within(SHORT, &mut work, &|| false);
        assert_eq!(answer, Ok(Some(b"done".to_vec())));
    }

    #[test]
    fn who_has_no_turn_any_more_is_told_so() {
        let mut work = || {
            beat();
            loop {
                pause();
            }
        };
        let told = in_child_within(SHORT, &mut work, &|| false).expect_err("it does not end");
        assert!(told.starts_with("nothing happened for 1 s"), "{told}");
    }
}
