//! `wavetank conform apiserver --live` in a build without the feature `real-apiserver`: says how to build it.

use std::path::Path;

use super::LiveArgs;
use crate::cli::exit::{Exit, Problem};

pub(super) fn apiserver(_: Option<&Path>, args: &LiveArgs) -> Result<Exit, Problem> {
    let LiveArgs {
        operations, seed, ..
    } = args;
    Err(Problem::new(format!(
        "this build cannot speak to a real kube-apiserver: build it with `--features real-apiserver`, for example\n  \
         cargo run --features real-apiserver -- conform apiserver --live --operations {operations} --seed {seed}"
    )))
}
