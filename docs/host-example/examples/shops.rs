//! The command `wavetank` over the control plane, one of the operators, and those who have shops:
//! `SHOPS=stale cargo run -p shop-operator --example shops -- run docs/host-example/tests/shops.yaml`.

#[path = "../tests/suite/cluster.rs"]
mod cluster;

use std::env;
use std::process::ExitCode;

use shop_operator::{correct, halfway, intermediate, stale};

fn main() -> ExitCode {
    let command = match env::var("SHOPS").as_deref() {
        Ok("stale") => cluster::command(stale::run),
        Ok("halfway") => cluster::command(halfway::run),
        Ok("intermediate") => cluster::command(intermediate::run),
        _ => cluster::command(correct::run),
    };
    command.run()
}
