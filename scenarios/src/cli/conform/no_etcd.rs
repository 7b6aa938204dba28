//! `wavetank conform etcd` in a build without the feature `real-etcd`: says how to build it.

use super::EtcdArgs;
use crate::cli::exit::{Exit, Problem};

pub(super) fn etcd(args: &EtcdArgs) -> Result<Exit, Problem> {
    let operations = args.operations;
    Err(Problem::new(format!(
        "this build cannot speak to a real etcd: build it with `--features real-etcd`, for example\n  \
         cargo run --features real-etcd -- conform etcd --operations {operations}"
    )))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn it_says_how_it_is_built() {
        let args = EtcdArgs {
            operations: 7,
            seed: 0,
            etcd: None,
            out: PathBuf::new(),
        };
        let problem = etcd(&args).expect_err("it cannot");
        assert_eq!(problem.exit, Exit::CouldNotRun);
        let command = "cargo run --features real-etcd -- conform etcd --operations 7";
        assert!(problem.message.contains(command), "{}", problem.message);
    }
}
