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
