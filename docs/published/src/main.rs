//! The command `wavetank` over the control plane and operators that others have published, each as it is in the registry:
//! `cargo run --manifest-path docs/published/Cargo.toml -- run docs/published/rivven.yaml --seeds 0..100`. What came of it
//! is told in `docs/PUBLISHED.md`.

mod apps;
mod electors;
mod rivven;

use std::process::ExitCode;

use wavetank_host::wavetank;
use wavetank_host::wavetank::prelude::*;

fn main() -> ExitCode {
    // What hosted programs log, at the time of the world: `RUST_LOG=info … replay TRACE`.
    if let Ok(filter) = tracing_subscriber::EnvFilter::try_from_default_env() {
        let logs = tracing_subscriber::fmt().with_ansi(false);
        logs.with_env_filter(filter)
            .with_writer(std::io::stderr)
            .init();
    }
    let command = wavetank::command()
        .with(rivven::operator())
        .with(Actors::new("tn", "people who have clusters of Rivven", rivven::Tenant).until_calm())
        .with(apps::operator())
        .with(Actors::new("dv", "people who have apps", apps::Developer).until_calm())
        .with(electors::of_kube_leader_election())
        .with(electors::of_kubert());
    command.run()
}
