//! The cases of the command: scenario files over the components of a cluster.
//!
//! `job` is a scenario with a composition of release, defects and fixes, as a case; `identity` is how it stands
//! in a trace, `scope` how far a search of it goes, `scene` how one begins in the middle, `defects` which
//! defects and fixes it has, `validate_commands` whether processes can be told what it tells them; `fault_schedule` turns its
//! budget into what the generator draws from; `meaning` says what messages mean; `library` holds the bundled scenarios, `listing` says what there is
//! to choose from; `flags` says whether what flags name matters in a scenario, `testing` what puts a property to the
//! test.

mod defects;
mod describing;
mod fault_schedule;
mod flags;
mod identity;
mod job;
mod library;
mod listing;
mod meaning;
mod scene;
mod scope;
mod testing;
mod validate_commands;

pub use job::Job;
pub(crate) use library::texts;

use std::sync::{Arc, OnceLock};

use wavetank_cluster::Components;
use wavetank_component::Component;
use wavetank_releases::{AnyRelease, Release, etcd};
use wavetank_version::Defect;

use crate::case::Case;
use crate::catalogue::{Catalogue, Composition, Described, Listed};
use crate::cli::suggestion;
use crate::file::{self, Format, Scenario};

/// The catalogue of the command: scenario files over these components.
#[derive(Clone, Debug, Default)]
pub struct Kube {
    components: Components,
    /// What is bundled: read once somebody asks what one of it shows.
    bundled: Arc<OnceLock<Vec<describing::Bundled>>>,
}

impl Catalogue for Kube {
    fn scenarios(&self) -> Vec<Listed> {
        let bundled = library::bundled(&self.components);
        bundled.iter().map(listing::scenario).collect()
    }

    fn scopes(&self) -> Vec<Listed> {
        let scopes = library::scopes(&self.components);
        scopes.iter().map(listing::scenario).collect()
    }

    fn scenario_names(&self) -> Vec<String> {
        library::scenario_names()
    }

    fn scope_names(&self) -> Vec<String> {
        library::scope_names()
    }

    fn components(&self) -> Vec<Listed> {
        listing::components(&self.components)
    }

    fn properties(&self) -> Vec<Listed> {
        listing::properties(&self.components)
    }

    fn defects(&self) -> Vec<Listed> {
        let all = self.components.defects().into_iter();
        all.map(|(_, _, defect)| listing::defect(defect)).collect()
    }

    fn describe(&self, name: &str) -> Option<Described> {
        describing::describe(self, name)
    }

    fn described(&self) -> Vec<Listed> {
        describing::described(self)
    }

    fn schema(&self) -> String {
        Format::new(&self.components).json_schema()
    }

    fn releases(&self) -> Vec<Listed> {
        let kubernetes = Release::TABLE.iter();
        let kubernetes = kubernetes.map(|release| Listed::new(release.name, release.about));
        let etcd = etcd::VERSIONS.into_iter();
        let etcd = etcd.map(|version| listing::etcd(&self.components, version));
        kubernetes.chain(etcd).collect()
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
        self.case(&name, &text, composition)
    }

    fn reopen(&self, identity: &serde_json::Value) -> Result<Box<dyn Case>, String> {
        Ok(Box::new(Job::from_identity(identity, &self.components)?))
    }

    fn recompose(
        &self,
        identity: &serde_json::Value,
        composition: &Composition,
    ) -> Result<Box<dyn Case>, String> {
        let (release, defects) = self.composed(composition)?;
        let job = Job::from_identity(identity, &self.components)?;
        let plain = job.clone().recomposed(release, without_flags(&defects))?;
        flags::check(self, &plain, &defects)?;
        Ok(Box::new(job.recomposed(release, defects)?))
    }
}

impl Kube {
    /// With one more component.
    ///
    /// # Panics
    /// If it has a name that another has: of itself, of a key, of a property or of a defect.
    pub fn with(self, component: impl Component) -> Kube {
        let components = self.components.with(component);
        Kube {
            components,
            bundled: Arc::default(),
        }
    }

    /// All bundled scenarios.
    ///
    /// # Panics
    /// If one is wrong; a test reads them all.
    pub fn bundled(&self) -> Vec<Scenario> {
        library::bundled(&self.components)
    }

    /// Reads a scenario from YAML text; the error shows the place.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub fn read(&self, name: &str, text: &str) -> Result<Scenario, String> {
        read(name, text, &self.components)
    }

    /// A scenario as a case, under a release of its own or another.
    ///
    /// # Errors
    /// A release of what there is none of, a defect that has no place in it, or a planned fault that is none.
    pub fn job(
        &self,
        scenario: Scenario,
        release: Option<AnyRelease>,
        composition: wavetank_version::Composition,
    ) -> Result<Job, String> {
        Job::new(scenario, release, composition, &self.components)
    }

    /// The case of a scenario file that is at hand as text.
    ///
    /// # Errors
    /// What is wrong with the file or the composition, for people.
    pub fn case(
        &self,
        name: &str,
        text: &str,
        composition: &Composition,
    ) -> Result<Box<dyn Case>, String> {
        let parsed = file::parse_misnamed(name, text, &self.components);
        let (parsed, misnamed) = parsed.map_err(|report| report.to_string())?;
        let made = self.made(name, text, parsed, composition);
        match (misnamed, made) {
            (None, made) => Ok(Box::new(made?)),
            (Some(misnamed), Ok(_)) => Err(misnamed.to_string()),
            (Some(misnamed), Err(why)) => Err(format!("{misnamed}\n\n{why}")),
        }
    }

    /// A scenario as it was read, with what a composition names.
    fn made(
        &self,
        name: &str,
        text: &str,
        parsed: Scenario,
        composition: &Composition,
    ) -> Result<Job, String> {
        let (release, defects) = self.composed(composition)?;
        let job = match &parsed.scene {
            None => {
                let plain = self.job(parsed.clone(), release, without_flags(&defects))?;
                flags::check(self, &plain, &defects)?;
                self.job(parsed, release, defects)?
            }
            Some(scene) => {
                let own = scene::composition(scene, &self.components)?;
                let written = self.job(parsed, None, own)?;
                let plain = written.clone();
                let plain = plain.recomposed(release, without_flags(&defects))?;
                flags::check(self, &plain, &defects)?;
                written.recomposed(release, defects)?
            }
        };
        validate_commands::check(&job, name, text)?;
        Ok(job)
    }

    /// What a composition names.
    fn composed(
        &self,
        composition: &Composition,
    ) -> Result<(Option<AnyRelease>, wavetank_version::Composition), String> {
        let release = composition.release.as_deref();
        let release = release.map(named_release).transpose()?;
        let defects = wavetank_version::Composition {
            fixed: composition.fixed,
            on: named_defects(self, &composition.defects)?,
            off: named_defects(self, &composition.without)?,
        };
        Ok((release, defects))
    }
}

fn read(name: &str, text: &str, components: &Components) -> Result<Scenario, String> {
    file::parse(name, text, components).map_err(|report| report.to_string())
}

/// The same, but for what --defect and --without name.
fn without_flags(composition: &wavetank_version::Composition) -> wavetank_version::Composition {
    wavetank_version::Composition {
        fixed: composition.fixed,
        ..wavetank_version::Composition::default()
    }
}

fn named_release(name: &str) -> Result<AnyRelease, String> {
    AnyRelease::named(name).ok_or_else(|| {
        // A release that is near to the one that is meant is another one: all are named.
        let kubernetes: Vec<&str> = Release::TABLE.iter().map(|release| release.name).collect();
        let etcd: Vec<String> = etcd::VERSIONS.iter().map(ToString::to_string).collect();
        format!(
            "there is no release `{name}`; those of Kubernetes are {}, those of etcd {} (`wavetank list releases` tells \
             of them)",
            kubernetes.join(", "),
            etcd.join(", ")
        )
    })
}

fn named_defects(kube: &Kube, names: &[String]) -> Result<Vec<&'static Defect>, String> {
    let named = |name: &String| {
        kube.components.defect(name).ok_or_else(|| {
            let help = suggestion(name, &kube.defects(), "the defects are");
            format!("there is no defect `{name}`; {help}")
        })
    };
    names.iter().map(named).collect()
}
