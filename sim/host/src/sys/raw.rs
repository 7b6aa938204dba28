//! System calls without the C library, for those functions of it that are defined anew here.

use std::arch::asm;

/// A system call; the kernel says no with a number from -4095 to -1.
///
/// # Safety
/// As the call itself asks for.
#[cfg(target_arch = "x86_64")]
pub(super) unsafe fn call(number: usize, args: [usize; 6]) -> isize {
    let result: isize;
    let [a, b, c, d, e, f] = args;
    // SAFETY: the kernel keeps all registers but these three; what it does with memory the caller answers for.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// A system call; the kernel says no with a number from -4095 to -1.
///
/// # Safety
/// As the call itself asks for.
#[cfg(target_arch = "aarch64")]
pub(super) unsafe fn call(number: usize, args: [usize; 6]) -> isize {
    let result: isize;
    let [a, b, c, d, e, f] = args;
    // SAFETY: the kernel keeps all registers but the first; what it does with memory the caller answers for.
    unsafe {
        asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") a as isize => result,
            in("x1") b, in("x2") c, in("x3") d, in("x4") e, in("x5") f,
            options(nostack),
        );
    }
    result
}

/// What the C library makes of it: -1, and the reason in `errno`.
pub(super) fn checked(result: isize) -> isize {
    if !(-4095..0).contains(&result) {
        return result;
    }
    fail(-result as i32)
}

/// -1, with this reason in `errno`.
pub(super) fn fail(errno: i32) -> isize {
    // SAFETY: it is the address of this thread's own `errno`.
    unsafe { *libc::__errno_location() = errno };
    -1
}
