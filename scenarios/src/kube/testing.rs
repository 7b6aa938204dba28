//! What in a scenario puts a property to the test.

use std::time::Duration;

use wavetank_cluster::Named;
use wavetank_component::{Entry, Setup};

use super::job::Job;
use crate::case::Case as _;

/// What would put a property of a job to the test that was not.
pub(super) fn would_test(job: &Job, property: &str) -> Option<String> {
    let mut all = job.properties.iter();
    let named = all.find(|named| named.info.name == property)?;
    let lacking: Vec<String> = named
        .info
        .tested_by
        .iter()
        .filter(|entry| !has(job, entry))
        .map(Entry::to_string)
        .collect();
    if !lacking.is_empty() {
        return Some(format!("add {}", lacking.join(" and ")));
    }
    let (calm, settled) = (job.calm(), settled(job, named));
    if named.info.is_of_calm() && calm <= settled {
        return Some(format!(
            "it is looked at {} s after the storm, and `calm` ends before that: let it last longer",
            settled.as_secs()
        ));
    }
    Some("more `--seeds`, a longer `storm`, or more and other `faults` may do it".to_owned())
}

/// Does its file have this key?
fn has(job: &Job, entry: &Entry) -> bool {
    match entry.section {
        "faults" => {
            let mut budgets = job.scenario.faults.budgets();
            budgets.any(|(kind, max)| kind == entry.key && max > 0)
        }
        section => {
            let mut sections = job.spec.given.sections();
            sections.any(|(name, keys)| name == section && keys.contains_key(entry.key))
        }
    }
}

/// How long after calm all that a property is about has settled.
fn settled(job: &Job, named: &Named) -> Duration {
    let setup = Setup {
        drawn: job.components.draw(&job.spec, 0),
        spec: job.spec.clone(),
    };
    let component = job.components.find(named.of);
    component.map_or(Duration::ZERO, |own| own.settles(&setup))
}
