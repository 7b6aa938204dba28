//! The cases of the command: scenario files of a Kubernetes control plane.
//!
//! `job` is a scenario with a composition of release, defects and fixes, as a case; `weather`
//! turns its budget into what the generator draws from; `library` holds the bundled scenarios.

mod job;
mod library;
mod weather;

pub use job::Job;
pub use library::bundled;

use wavetank_cluster::properties;
use wavetank_release::{Release, Switch};

use crate::case::Case;
use crate::catalogue::{Catalogue, Composition, Listed};
use crate::cli::suggestion;
use crate::file::{self, Known, Scenario};

/// The catalogue of the command.
#[derive(Clone, Copy, Debug)]
pub struct Kube;

impl Catalogue for Kube {
    fn scenarios(&self) -> Vec<Listed> {
        let bundled = library::bundled();
        let listed = bundled.iter().map(|scenario| {
            let first = scenario.about.split(['.', ':']).next().unwrap_or_default();
            Listed::new(&scenario.name, first.replace('\n', " "))
        });
        listed.collect()
    }

    fn properties(&self) -> Vec<Listed> {
        let table = properties::Name::TABLE.iter();
        table
            .map(|info| {
                let class = if info.sometimes { "sometimes: " } else { "" };
                Listed::new(info.name, format!("{class}{}", info.about))
            })
            .collect()
    }

    fn defects(&self) -> Vec<Listed> {
        let table = Switch::TABLE.iter();
        table
            .map(|info| {
                let ships: Vec<&str> = info.ships.iter().map(|r| r.name()).collect();
                let ships = match ships.is_empty() {
                    true => String::new(),
                    false => format!(", shipped with {}", ships.join(", ")),
                };
                Listed::new(
                    info.name,
                    format!("{} ({}{ships})", info.about, info.source),
                )
            })
            .collect()
    }

    fn releases(&self) -> Vec<Listed> {
        let all = Release::ALL.iter();
        all.map(|r| Listed::new(r.name(), r.about())).collect()
    }

    fn open(&self, scenario: &str, composition: &Composition) -> Result<Box<dyn Case>, String> {
        let parsed = match library::text(scenario) {
            Some(text) => read(&format!("{scenario}.yaml"), text)?,
            None => {
                let text = std::fs::read_to_string(scenario)
                    .map_err(|error| format!("{scenario}: {error}"))?;
                read(scenario, &text)?
            }
        };
        let release = composition.release.as_deref();
        let release = release.map(|name| named_release(self, name)).transpose()?;
        let switches = wavetank_release::Composition {
            fixed: composition.fixed,
            on: named_switches(self, &composition.defects)?,
            off: named_switches(self, &composition.without)?,
        };
        Ok(Box::new(Job::new(parsed, release, switches)?))
    }

    fn reopen(&self, identity: &serde_json::Value) -> Result<Box<dyn Case>, String> {
        Ok(Box::new(Job::from_identity(identity)?))
    }
}

/// Reads a scenario from YAML text; the error shows the place.
///
/// # Errors
/// What is wrong with it, for people.
pub fn read(name: &str, text: &str) -> Result<Scenario, String> {
    let names: Vec<&str> = properties::Name::TABLE.iter().map(|i| i.name).collect();
    let known = Known { properties: &names };
    file::parse(name, text, &known).map_err(|report| report.to_string())
}

fn named_release(kube: &Kube, name: &str) -> Result<Release, String> {
    Release::named(name).ok_or_else(|| {
        let help = suggestion(name, &kube.releases(), "the releases are");
        format!("there is no release `{name}`; {help}")
    })
}

fn named_switches(kube: &Kube, names: &[String]) -> Result<Vec<Switch>, String> {
    let named = |name: &String| {
        Switch::named(name).ok_or_else(|| {
            let help = suggestion(name, &kube.defects(), "the defects are");
            format!("there is no defect `{name}`; {help}")
        })
    };
    names.iter().map(named).collect()
}
