//! `wavetank list`.

use serde_json::json;

use crate::catalogue::Catalogue;

use super::args::{Format, ListArgs, What};
use super::exit::{Exit, Problem};
use super::{print, print_json};

pub(super) fn list(catalogue: &dyn Catalogue, args: &ListArgs) -> Result<Exit, Problem> {
    let (kind, listed) = match args.what {
        What::Scenarios => ("scenarios", catalogue.scenarios()),
        What::Scopes => ("scopes", catalogue.scopes()),
        What::Components => ("components", catalogue.components()),
        What::Properties => ("properties", catalogue.properties()),
        What::Defects => ("defects", catalogue.defects()),
        What::Releases => ("releases", catalogue.releases()),
    };
    match args.format {
        Format::Json => print_json(&json!({"version": 1, kind: listed}))?,
        Format::Human => {
            let width = listed.iter().map(|l| l.name.len()).max().unwrap_or(0);
            let lines = listed
                .iter()
                .map(|l| format!("{:width$}  {}\n", l.name, l.about));
            print(&lines.collect::<String>())?;
        }
    }
    Ok(Exit::Clean)
}
