//! The simulated kube-apiserver against a real one that runs beside it: sequences of requests are drawn and recorded, and
//! the recording is replayed and compared as those are that come with the sources (`sim/oracle`).
//!
//! - `op`: what is asked; `draw`, `bodies`, `dice`: drawn from a seed; `scripts`: what no draw comes upon;
//! - `server`, `http`, `gateway`: the real server and its etcd, and how they are spoken to;
//! - `record`, `normal`, `clean`: one sequence becomes a recording, and leaves nothing;
//! - `campaign`: many sequences, what differs, made smaller; `known`: what is known to differ.

mod bodies;
mod campaign;
mod clean;
mod dice;
mod draw;
mod gateway;
mod given;
mod http;
mod known;
mod normal;
mod op;
mod record;
mod scripts;
mod server;

use std::path::Path;

pub use campaign::{Difference, Figures, Plan, Report, compare};
pub use known::Known;
pub use op::Op;
pub use server::Program;

use crate::server::Program as Etcd;

/// Runs a plan against the kube-apiserver at `path` over the etcd at `etcd`, else those that are found. `progress` hears
/// how far it is, and says whether to go on.
///
/// # Errors
/// Why there is nothing to compare with, and what can be done about it. That the two differ is no error: the report says
/// so.
pub fn against_real(
    path: Option<&Path>,
    etcd: Option<&Path>,
    plan: &Plan,
    progress: impl FnMut(&Figures) -> bool,
) -> Result<Report, String> {
    const HELP: &str = "docs/LIVE.md says how to get one";
    let program = match path {
        Some(path) => Program::at(path),
        None => Program::find(),
    };
    let program = program.map_err(|error| format!("{error}.\n{HELP}: name it by --live."))?;
    let etcd = match etcd {
        Some(path) => Etcd::at(path),
        None => Etcd::find(),
    };
    let etcd = etcd.map_err(|error| {
        format!("{error}.\n{HELP}: name it by --etcd, or have `etcd` on the PATH.")
    })?;
    Ok(compare(&program, &etcd, plan, progress))
}
