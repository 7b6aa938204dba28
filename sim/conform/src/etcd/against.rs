//! The simulated etcd against a real one: what the command `wavetank conform etcd` runs.
//!
//! How a comparison is run is in `campaign.rs`; what is told of it is for the command to decide.

use std::path::Path;

use wavetank_version::EtcdVersion;

use crate::etcd::campaign::{Plan, Report, compare};
use crate::etcd::figures::Figures;
use crate::etcd::ours::Ours;
use crate::etcd::real::Real;
use crate::etcd::strategy;
use crate::server::{Program, Ticks};

/// Runs so many operations on a real etcd and on the simulated one of the same release. The program
/// is the one at `path`, else what [`Program::find`] finds. `progress` hears how far it is, and says whether to go on.
///
/// # Errors
/// Why there is nothing to compare with, and what can be done about it. That the two differ is no
/// error: the report says so.
pub fn against_real(
    path: Option<&Path>,
    operations: u64,
    seed: u64,
    progress: impl FnMut(&Figures) -> bool,
) -> Result<Report, String> {
    let program = match path {
        Some(path) => Program::at(path)?,
        None => Program::find().map_err(|error| {
            format!(
                "{error}.\nA real etcd is needed to compare with: install one (Debian and Ubuntu: \
                 `apt install etcd-server`; else a release from \
                 https://github.com/etcd-io/etcd/releases) so that `etcd` is on the PATH, or name \
                 the program by --etcd or WAVETANK_ETCD."
            )
        })?,
    };
    let release = release_of(&program)?;
    let plan = Plan {
        keys: keys(&program),
        ..Plan::new(operations, seed)
    };
    let real = || Real::new(program.clone(), Ticks::Fast);
    Ok(compare(&plan, real, || Ok(Ours::new(release)), progress))
}

/// The keys that a comparison with this program should draw.
pub fn keys(program: &Program) -> &'static [&'static str] {
    if program.go() >= (1, 19) {
        strategy::KEYS
    } else {
        strategy::FEW_KEYS
    }
}

/// Which release the simulated one must play to be like this program.
///
/// # Errors
/// If it is not a 3.4 or later 3.x, which is what the simulator knows.
pub fn release_of(program: &Program) -> Result<EtcdVersion, String> {
    let version = program.version();
    let mut parts = version.split(['.', '-', '+']).map(str::parse::<u8>);
    match (parts.next(), parts.next(), parts.next()) {
        (Some(Ok(3)), Some(Ok(minor @ 4..)), Some(Ok(patch))) => Ok(EtcdVersion::new(minor, patch)),
        _ => Err(format!(
            "{program} cannot be compared: the simulator knows etcd 3.4 and later 3.x"
        )),
    }
}
