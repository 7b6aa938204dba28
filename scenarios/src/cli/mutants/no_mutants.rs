//! `wavetank mutants` in a build without the feature `mutants`: says how to build it.

use super::MutantsArgs;
use crate::catalogue::Catalogue;
use crate::cli::exit::{Exit, Problem};
use crate::mutants::Mutant;

pub(super) fn run(
    _: &dyn Catalogue,
    args: &MutantsArgs,
    chosen: &[&Mutant],
) -> Result<Exit, Problem> {
    let MutantsArgs {
        seeds,
        profile,
        patience,
        jobs,
        within,
        resume,
        ..
    } = args;
    // What was asked for has been read, and nothing of it can be done.
    let _ = (seeds, profile, patience, jobs, within, resume);
    let only = match args.only.as_slice() {
        [] => String::new(),
        names => names.iter().map(|name| format!(" --only {name}")).collect(),
    };
    Err(Problem::new(format!(
        "this build has none of the {} compiled in: build it with `--features mutants`, for example\n  \
         cargo run --release --features mutants -- mutants{only}",
        crate::cli::human::count(chosen.len() as u64, "mutant")
    )))
}
