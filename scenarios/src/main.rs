//! The command `wavetank`.

use std::process::ExitCode;

fn main() -> ExitCode {
    wavetank::main_with(&wavetank::kube::Kube)
}
