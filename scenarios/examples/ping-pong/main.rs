//! A system of one's own under Wavetank: two players, their mistakes as switches, and a command
//! with everything that `wavetank` can do.
//!
//! `cargo run --example ping-pong -- run ping-pong --defect blind`

mod game;
mod table;

use std::process::ExitCode;

fn main() -> ExitCode {
    wavetank::main_with(&table::Tables)
}
