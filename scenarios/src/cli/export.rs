//! `wavetank report`: a whole trace, for programs that show traces.

use crate::catalogue::Catalogue;
use crate::explain::Whole;

use super::args::ReportArgs;
use super::exit::{Exit, Problem};
use super::{explain, find, print, replay};

pub(super) fn report(catalogue: &dyn Catalogue, args: &ReportArgs) -> Result<Exit, Problem> {
    let (trace, case) = find::traced(catalogue, &args.trace)?;
    let whole = Whole::of(case.as_ref(), &trace)
        .map_err(|error| replay::unfollowed(&error, &args.trace))?;
    let mut told = String::new();
    if let Some(path) = &args.perfetto {
        explain::write(path, &whole.perfetto())?;
        told += &format!(
            "{}: for Perfetto, https://ui.perfetto.dev\n",
            path.display()
        );
    }
    if let Some(path) = &args.shiviz {
        explain::write(path, &whole.shiviz())?;
        told += &format!(
            "{}: for ShiViz, https://bestchai.bitbucket.io/shiviz\n",
            path.display()
        );
    }
    print(&told)?;
    Ok(Exit::Clean)
}
