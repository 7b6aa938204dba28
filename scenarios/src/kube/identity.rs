//! A job as it stands in a trace's head, and back.

use serde::{Deserialize, Serialize};
use wavetank_cluster::Components;
use wavetank_releases::{AnyRelease, Release, etcd};
use wavetank_version::{Composition, Defect};

use super::defects::names;
use super::job::Job;
use crate::file;

/// What makes a job what it is.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Identity {
    scenario: serde_json::Value,
    /// The release of all apiservers, if it is not the scenario's own.
    release: Option<String>,
    /// The release of etcd. Heads from before there were several have none: it follows from the
    /// rest.
    #[serde(default)]
    etcd_release: Option<String>,
    fixed: bool,
    on: Vec<String>,
    off: Vec<String>,
    /// What is on as a result: in some process, each combination once. A defect or fix that is younger than the trace
    /// is not among them, and stays off whatever has come to `fixed` since.
    defects: Vec<Vec<String>>,
    /// Those of etcd.
    #[serde(default)]
    etcd_defects: Vec<String>,
}

impl Job {
    /// The job whose [`identity`](crate::case::Case::identity) this is.
    ///
    /// # Errors
    /// What does not fit.
    pub fn from_identity(
        identity: &serde_json::Value,
        components: &Components,
    ) -> Result<Job, String> {
        if identity.get("scenario").is_none() {
            return Err(
                "another program wrote it, with cases of its own: replay it with that \
                        program"
                    .to_owned(),
            );
        }
        let identity: Identity =
            serde_json::from_value(identity.clone()).map_err(|error| error.to_string())?;
        let defects = |names: &[String]| -> Result<Vec<&'static Defect>, String> {
            let named = |name: &String| {
                let found = components.defect(name);
                found.ok_or_else(|| format!("this build knows no defect `{name}`"))
            };
            names.iter().map(named).collect()
        };
        let release = identity.release.map(|name| {
            Release::named(&name).ok_or_else(|| format!("this build knows no release `{name}`"))
        });
        let mut composition = Composition {
            fixed: identity.fixed,
            on: defects(&identity.on)?,
            off: defects(&identity.off)?,
        };
        let etcd_version = identity.etcd_release.map(|name| {
            etcd::named(&name)
                .ok_or_else(|| format!("this build knows no release of etcd `{name}`"))
        });
        let etcd_version = etcd_version.transpose()?;
        let scenario = file::from_json(&identity.scenario, components).map_err(|why| {
            format!(
                "{why}; if the command of another crate wrote it, which has components of its own, use that one"
            )
        })?;
        let release = release.transpose()?.map(AnyRelease::from);
        let open = |composition: &Composition| -> Result<Job, String> {
            let job = Job::new(scenario.clone(), release, composition.clone(), components)?;
            Ok(match etcd_version {
                Some(_) => job.with_etcd(etcd_version),
                None => job,
            })
        };
        let job = open(&composition)?;
        let was_on: Vec<&String> = identity.defects.iter().flatten().collect();
        let is_younger = |defect: &Defect| !was_on.iter().any(|name| *name == defect.name);
        let mut younger: Vec<&'static Defect> = Vec::new();
        for defect in job.selections().iter().flat_map(|all| all.iter()) {
            if is_younger(defect) && !younger.contains(&defect) {
                younger.push(defect);
            }
        }
        if younger.is_empty() {
            return Ok(job);
        }
        composition.off.extend(younger);
        open(&composition)
    }

    pub(super) fn to_identity(&self) -> serde_json::Value {
        let composition = &self.spec.composition;
        let mut defects: Vec<Vec<String>> = Vec::new();
        for selection in self.selections() {
            let on = names(selection.iter());
            if !defects.contains(&on) {
                defects.push(on);
            }
        }
        let identity = Identity {
            scenario: self.scenario.to_json(),
            release: self.spec.kubernetes.map(|release| release.name.to_owned()),
            etcd_release: self.etcd_release().map(|version| version.to_string()),
            fixed: composition.fixed,
            on: names(composition.on.iter().copied()),
            off: names(composition.off.iter().copied()),
            defects,
            etcd_defects: names(self.etcd_selection().iter()),
        };
        serde_json::to_value(identity).expect("a scenario is JSON")
    }
}
