//! The functions of the C library by which Rust programs come to randomness and to time: the standard library,
//! `getrandom` of all versions, `rand`, `ring`, and whoever reads a clock.
//!
//! `syscall` is among them for two reasons: some call `getrandom` by it, and the standard library and `parking_lot` put
//! a thread to sleep by it (`futex`). A runtime that is about to sleep is told that its time has come; until when it
//! meant to sleep is written down instead. So the world learns when the program has something to do next.
//!
//! `pthread_create` is among them so that a program that starts a thread is found out at once, and not whenever that
//! thread happens to run.

use libc::{
    c_int, c_long, c_uint, c_void, clockid_t, pthread_attr_t, pthread_t, size_t, ssize_t, time_t,
    timespec, timeval,
};

use super::{entropy, raw};

const SECOND: u64 = 1_000_000_000;
/// `getentropy` gives no more at once.
const MOST: size_t = 256;
/// The operation of a futex, without its flags.
const OPERATION: usize = 0x7f;

/// # Safety
/// `buffer` must be valid for writes of `length` bytes.
unsafe fn fill(buffer: *mut c_void, length: size_t) {
    let mut at = 0;
    while at < length {
        let bytes = entropy::number().to_le_bytes();
        let count = bytes.len().min(length - at);
        // SAFETY: `count` bytes from `at` on lie within what the caller gives.
        unsafe {
            buffer
                .cast::<u8>()
                .add(at)
                .copy_from_nonoverlapping(bytes.as_ptr(), count);
        }
        at += count;
    }
}

/// `getrandom(2)`
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(buffer: *mut c_void, length: size_t, flags: c_uint) -> ssize_t {
    if entropy::is_on() {
        // SAFETY: what the caller promises.
        unsafe { fill(buffer, length) };
        return length as ssize_t;
    }
    let args = [buffer as usize, length, flags as usize, 0, 0, 0];
    // SAFETY: what the caller promises.
    raw::checked(unsafe { raw::call(libc::SYS_getrandom as usize, args) })
}

/// `getentropy(3)`
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn getentropy(buffer: *mut c_void, length: size_t) -> c_int {
    if length > MOST {
        return raw::fail(libc::EIO) as c_int;
    }
    // SAFETY: what the caller promises.
    let given = unsafe { getrandom(buffer, length, 0) };
    match given == length as ssize_t {
        true => 0,
        false => -1,
    }
}

fn timespec_of(nanos: u64) -> timespec {
    timespec {
        tv_sec: (nanos / SECOND) as time_t,
        tv_nsec: (nanos % SECOND) as c_long,
    }
}

/// What a clock of this thread shows.
fn shown(clock: clockid_t) -> u64 {
    match clock {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI => entropy::wall(),
        _ => entropy::seen(),
    }
}

/// `clock_gettime(2)`
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    if entropy::is_on() {
        // SAFETY: what the caller promises.
        unsafe { time.write(timespec_of(shown(clock))) };
        return 0;
    }
    let args = [clock as usize, time as usize, 0, 0, 0, 0];
    // SAFETY: what the caller promises.
    raw::checked(unsafe { raw::call(libc::SYS_clock_gettime as usize, args) }) as c_int
}

/// `gettimeofday(2)`
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn gettimeofday(time: *mut timeval, zone: *mut c_void) -> c_int {
    if entropy::is_on() {
        let wall = timespec_of(entropy::wall());
        let value = timeval {
            tv_sec: wall.tv_sec,
            tv_usec: wall.tv_nsec / 1_000,
        };
        // SAFETY: what the caller promises.
        unsafe { time.write(value) };
        return 0;
    }
    let args = [time as usize, zone as usize, 0, 0, 0, 0];
    // SAFETY: what the caller promises.
    raw::checked(unsafe { raw::call(libc::SYS_gettimeofday as usize, args) }) as c_int
}

/// `syscall(2)`. The C library's takes any number of arguments; on both architectures whoever calls it puts them where
/// they are put for a function of seven, and what was not given is not read by the kernel.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    if entropy::is_on() {
        match number {
            libc::SYS_getrandom => {
                // SAFETY: what the caller promises.
                unsafe { fill(a as *mut c_void, b) };
                return b as c_long;
            }
            libc::SYS_clock_gettime => {
                // SAFETY: what the caller promises.
                return unsafe { clock_gettime(a as clockid_t, b as *mut timespec) }.into();
            }
            libc::SYS_futex if entropy::is_parking() => {
                // SAFETY: what the caller promises: where it waits with a limit, the fourth is its address.
                if let Some(until) = unsafe { sleeps_until(b, d as *const timespec) } {
                    entropy::would_sleep(until);
                    if operation(b) == libc::FUTEX_WAIT {
                        // `parking_lot` (tokio has it with its feature `full`) does not believe that its time has come.
                        entropy::looks_whether_it_slept_until(until);
                    }
                    return raw::fail(libc::ETIMEDOUT) as c_long;
                }
            }
            _ => {}
        }
    }
    // SAFETY: what the caller promises.
    raw::checked(unsafe { raw::call(number as usize, [a, b, c, d, e, f]) }) as c_long
}

/// What a thread begins with.
type Start = extern "C" fn(*mut c_void) -> *mut c_void;
type Create =
    unsafe extern "C" fn(*mut pthread_t, *const pthread_attr_t, Start, *mut c_void) -> c_int;

/// `pthread_create(3)`
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    if entropy::is_on() {
        entropy::starts_thread();
    }
    // SAFETY: the name ends as one of C does.
    let own = unsafe { libc::dlsym(libc::RTLD_NEXT, c"pthread_create".as_ptr()) };
    if own.is_null() {
        return libc::EAGAIN;
    }
    // SAFETY: it is the C library's function of this name, which has this type.
    let create = unsafe { std::mem::transmute::<*mut c_void, Create>(own) };
    // SAFETY: what the caller promises.
    unsafe { create(thread, attributes, start, argument) }
}

/// What is asked of a futex.
fn operation(with_flags: usize) -> c_int {
    (with_flags & OPERATION) as c_int
}

/// Until when a thread would sleep at a futex, if it would and not for ever.
///
/// # Safety
/// If it waits, `limit` must be null or valid for reads.
unsafe fn sleeps_until(operation: usize, limit: *const timespec) -> Option<u64> {
    let operation = self::operation(operation);
    let is_wait = matches!(operation, libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET);
    if !is_wait || limit.is_null() {
        return None;
    }
    // SAFETY: what the caller promises.
    let limit = unsafe { limit.read() };
    let limit = (limit.tv_sec as u64)
        .saturating_mul(SECOND)
        .saturating_add(limit.tv_nsec as u64);
    // The one counts from now, the other says when.
    Some(match operation {
        libc::FUTEX_WAIT => entropy::monotonic().saturating_add(limit),
        _ => limit,
    })
}

#[cfg(test)]
#[allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "it is what a program does that is tested"
)]
mod tests {
    use std::cell::Cell;
    use std::time::{Duration, Instant};

    use super::super::{Clocks, begin_park, end_park, enter, in_child, take_parked};

    const NOW: Duration = Duration::from_secs(7);
    const SLEEP: Duration = Duration::from_secs(5);
    /// So often it is asked whether to stop: a wait that does not end is none of the program's making.
    const ASKED: u32 = 100;

    /// Until when a program would sleep, and whether its clock has moved by that.
    fn slept(wait: impl Fn() + Sync) -> (Duration, bool) {
        let mut work = || {
            let clocks = Clocks {
                monotonic: NOW.as_nanos() as u64,
                wall: 0,
            };
            enter(clocks, 1);
            let before = Instant::now();
            begin_park();
            wait();
            let is_later = Instant::now() != before;
            assert!(end_park(), "it would sleep");
            let until = take_parked().expect("it would sleep");
            [&until.to_le_bytes()[..], &[u8::from(is_later)]].concat()
        };
        let asked = Cell::new(0);
        let stop = || {
            asked.set(asked.get() + 1);
            asked.get() > ASKED
        };
        let bytes = in_child(&mut work, &stop).expect("it comes to its end");
        let bytes = bytes.expect("it does not wait for a clock that stands still");
        let (until, is_later) = bytes.split_first_chunk().expect("a number");
        (
            Duration::from_nanos(u64::from_le_bytes(*until)),
            is_later == [1],
        )
    }

    /// As a runtime of tokio does that has the feature `parking_lot`.
    #[test]
    fn who_waits_with_parking_lot_has_waited() {
        let wait = || {
            let (lock, condition) = (parking_lot::Mutex::new(()), parking_lot::Condvar::new());
            let mut guard = lock.lock();
            assert!(condition.wait_for(&mut guard, SLEEP).timed_out());
        };
        assert_eq!(slept(wait), (NOW + SLEEP, false));
    }

    /// As one without it does.
    #[test]
    fn who_waits_with_the_standard_library_has_waited() {
        let wait = || {
            let (lock, condition) = (std::sync::Mutex::new(()), std::sync::Condvar::new());
            let guard = lock.lock().expect("nobody has it");
            let (_guard, waited) = condition.wait_timeout(guard, SLEEP).expect("it waits");
            assert!(waited.timed_out());
        };
        assert_eq!(slept(wait), (NOW + SLEEP, false));
    }
}
