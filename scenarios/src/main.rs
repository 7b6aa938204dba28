//! The command `wavetank`.

use std::process::ExitCode;

/// Worlds are many small allocations; this one takes half as long for them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    wavetank::command().run()
}
