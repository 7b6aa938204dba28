//! `wavetank list`.

use serde_json::json;

use crate::catalogue::{Catalogue, Composition, Listed};

use super::args::{Format, ListArgs, What};
use super::exit::{Exit, Problem};
use super::{find, human, print, print_json};

pub(super) fn list(catalogue: &dyn Catalogue, args: &ListArgs) -> Result<Exit, Problem> {
    let (kind, listed) = match args.what {
        What::Scenarios => ("scenarios", catalogue.scenarios()),
        What::Scopes => ("scopes", catalogue.scopes()),
        What::Components => ("components", catalogue.components()),
        What::Properties => ("properties", catalogue.properties()),
        What::Defects => ("defects", catalogue.defects()),
        What::Releases => ("releases", catalogue.releases()),
    };
    let listed = match &args.scenario {
        None => listed,
        Some(scenario) => concerning(catalogue, args.what, listed, scenario)?,
    };
    match args.format {
        Format::Json => print_json(&json!({"version": 1, kind: listed}))?,
        Format::Human => {
            let named = listed.iter().map(|l| (l.name.as_str(), l.about.as_str()));
            print(&human::named(named))?;
        }
    }
    Ok(Exit::Clean)
}

/// What of this concerns a scenario.
fn concerning(
    catalogue: &dyn Catalogue,
    what: What,
    mut listed: Vec<Listed>,
    scenario: &str,
) -> Result<Vec<Listed>, Problem> {
    let case = find::either(catalogue, scenario, &Composition::default())?;
    let names: Vec<String> = match what {
        What::Defects => case.places().into_iter().map(str::to_owned).collect(),
        What::Properties => {
            let world = case.world(&case.derive(0)).map_err(Problem::new)?;
            let all = world.properties();
            all.map(|property| property.name().to_owned()).collect()
        }
        What::Scenarios | What::Scopes | What::Components | What::Releases => {
            return Err(Problem::new(
                "--for says what concerns a scenario: `list defects` and `list properties` have it",
            ));
        }
    };
    listed.retain(|listed| names.contains(&listed.name));
    Ok(listed)
}
