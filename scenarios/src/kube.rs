//! The cases of the command: scenario files of a Kubernetes control plane, or of an etcd alone.
//!
//! `job` is a scenario with a composition of release, defects and fixes, as a case; `identity` is how it stands
//! in a trace, `front` what is in front of its apiservers, `scope` how far a search of it goes, `defects` which
//! defects and fixes it has, `understood` whether processes can be told what it tells them; `weather` turns its
//! budget into what the generator draws from; `library` holds the bundled scenarios, `listing` says what there is
//! to choose from.

mod defects;
mod front;
mod identity;
mod job;
mod library;
mod listing;
mod scope;
mod understood;
mod weather;

pub use job::Job;
pub use library::bundled;

use wavetank_api::Resource;
use wavetank_cluster::{Concern, Named, components};
use wavetank_releases::{AnyRelease, Release, etcd};
use wavetank_version::Defect;

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
        bundled.iter().map(listing::scenario).collect()
    }

    fn scopes(&self) -> Vec<Listed> {
        library::scopes().iter().map(listing::scenario).collect()
    }

    fn properties(&self) -> Vec<Listed> {
        listing::properties()
    }

    fn defects(&self) -> Vec<Listed> {
        components::defects().map(listing::defect).collect()
    }

    fn releases(&self) -> Vec<Listed> {
        let kubernetes = Release::TABLE.iter();
        let kubernetes = kubernetes.map(|release| Listed::new(release.name, release.about));
        kubernetes
            .chain(etcd::VERSIONS.into_iter().map(listing::etcd))
            .collect()
    }

    fn open(&self, scenario: &str, composition: &Composition) -> Result<Box<dyn Case>, String> {
        let (name, text) = match library::text(scenario) {
            Some(text) => (format!("{scenario}.yaml"), text.to_owned()),
            None => {
                let text = std::fs::read_to_string(scenario)
                    .map_err(|error| format!("{scenario}: {error}"))?;
                (scenario.to_owned(), text)
            }
        };
        let parsed = read(&name, &text)?;
        let (release, defects) = self.composed(composition)?;
        let job = Job::new(parsed, release, defects)?;
        understood::check(&job, &name, &text)?;
        Ok(Box::new(job))
    }

    fn reopen(&self, identity: &serde_json::Value) -> Result<Box<dyn Case>, String> {
        Ok(Box::new(Job::from_identity(identity)?))
    }

    fn recompose(
        &self,
        identity: &serde_json::Value,
        composition: &Composition,
    ) -> Result<Box<dyn Case>, String> {
        let (release, defects) = self.composed(composition)?;
        let job = Job::from_identity(identity)?;
        Ok(Box::new(job.recomposed(release, defects)?))
    }
}

impl Kube {
    /// What a composition names.
    fn composed(
        &self,
        composition: &Composition,
    ) -> Result<(Option<AnyRelease>, wavetank_version::Composition), String> {
        let release = composition.release.as_deref();
        let release = release.map(|name| named_release(self, name)).transpose()?;
        let defects = wavetank_version::Composition {
            fixed: composition.fixed,
            on: named_defects(self, &composition.defects)?,
            off: named_defects(self, &composition.without)?,
        };
        Ok((release, defects))
    }
}

/// Reads a scenario from YAML text; the error shows the place.
///
/// # Errors
/// What is wrong with it, for people.
pub fn read(name: &str, text: &str) -> Result<Scenario, String> {
    let of = |concern| -> Vec<&str> {
        let all = Named::all().into_iter();
        let those = all.filter(|entry| entry.property.concern() == concern);
        those.map(|entry| entry.name).collect()
    };
    let names = |resources: &[&Resource]| -> Vec<String> {
        let all = resources.iter();
        all.map(|resource| resource.qualified()).collect()
    };
    let (informed, cached) = (names(&wavetank_cluster::INFORMED), names(&Resource::ALL));
    let known = Known {
        control_plane: &of(Concern::ControlPlane),
        etcd: &of(Concern::Etcd),
        informers: &of(Concern::Informers),
        services: &of(Concern::Services),
        leaders: &of(Concern::Leaders),
        informed: &informed.iter().map(String::as_str).collect::<Vec<_>>(),
        cached: &cached.iter().map(String::as_str).collect::<Vec<_>>(),
    };
    file::parse(name, text, &known).map_err(|report| report.to_string())
}

fn named_release(kube: &Kube, name: &str) -> Result<AnyRelease, String> {
    AnyRelease::named(name).ok_or_else(|| {
        let help = suggestion(name, &kube.releases(), "the releases are");
        format!("there is no release `{name}`; {help}")
    })
}

fn named_defects(kube: &Kube, names: &[String]) -> Result<Vec<&'static Defect>, String> {
    let named = |name: &String| {
        components::defect(name).ok_or_else(|| {
            let help = suggestion(name, &kube.defects(), "the defects are");
            format!("there is no defect `{name}`; {help}")
        })
    };
    names.iter().map(named).collect()
}
