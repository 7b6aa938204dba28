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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn it_says_how_it_is_built() {
        let args = LiveArgs {
            etcd: None,
            operations: 7,
            seed: 3,
            out: PathBuf::new(),
        };
        let problem = apiserver(None, &args).expect_err("it cannot");
        assert_eq!(problem.exit, Exit::CouldNotRun);
        let command = "cargo run --features real-apiserver -- conform apiserver --live --operations 7 --seed 3";
        assert!(problem.message.contains(command), "{}", problem.message);
    }
}
