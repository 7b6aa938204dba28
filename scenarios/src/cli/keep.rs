//! `wavetank keep`: adds a trace to those that tests replay.

use crate::catalogue::Catalogue;
use crate::replay::{Unfollowed, follow};
use crate::trace_file;

use super::args::KeepArgs;
use super::exit::{Exit, Problem};
use super::{find, print};

pub(super) fn keep(catalogue: &dyn Catalogue, args: &KeepArgs) -> Result<Exit, Problem> {
    let (trace, case) = find::traced(catalogue, &args.trace)?;
    let shown = args.trace.display();
    follow(
        case.as_ref(),
        &trace,
        trace.head.fit(),
        None,
        &mut |_, _, _| {},
    )
    .map_err(|error| {
        let message = format!("{shown}: {error}");
        match error {
            Unfollowed::NoWorld(_) | Unfollowed::Apart(_) => Problem::new(message),
            Unfollowed::Parted { .. } => Problem::misfit(message),
        }
    })?;
    let stem = trace_file::stem(&args.trace);
    let path = trace_file::write_to_keep(&args.dir, &stem, &trace.to_bytes()).map_err(|error| {
        Problem::new(format!(
            "cannot write into `{}`: {error}",
            args.dir.display()
        ))
    })?;
    print(&format!("kept as {}\n", path.display()))?;
    Ok(Exit::Clean)
}
