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
    // A search hands out neither workload nor faults by budget: its own keys say what happens.
    let is_scope = job.scenario.search.is_some();
    let counts = |entry: &&Entry| !is_scope || !["workload", "faults"].contains(&entry.section);
    let lacking: Vec<String> = named
        .info
        .tested_by
        .iter()
        .filter(counts)
        .filter(|entry| !has(job, entry))
        .map(Entry::to_string)
        .collect();
    if !lacking.is_empty() {
        return Some(format!("add {}", lacking.join(" and ")));
    }
    let more = "more `--seeds`, a longer `storm`, or more and other `faults` may do it";
    let of_calm = named.info.is_of_calm().then(|| out_of_calm(job, named));
    // A search has no seeds: what it does not reach is not within its bounds.
    let otherwise = || (!is_scope).then(|| more.to_owned());
    of_calm.flatten().or_else(otherwise)
}

/// Why a property that is looked at in calm never is.
fn out_of_calm(job: &Job, named: &Named) -> Option<String> {
    let settled = settled(job, named);
    let leads_on = |search: &crate::file::Search| search.recovers;
    if job
        .scenario
        .search
        .as_ref()
        .is_some_and(|search| !leads_on(search))
    {
        return Some(
            "it is looked at in calm, to which a search goes on only with `recovers: true`"
                .to_owned(),
        );
    }
    // A search goes on from a state until calm has lasted so long, a run until it would.
    let is_short = match job.scenario.search {
        Some(_) => job.calm() < settled,
        None => job.calm() <= settled,
    };
    is_short.then(|| {
        format!(
            "it is looked at {} s after the storm, and `calm` ends before that: let it last longer",
            settled.as_secs()
        )
    })
}

/// What a scope asks for, by name, that its calm never comes to: it is known before a search that may take long.
pub(super) fn in_vain(job: &Job) -> Vec<String> {
    let asked = job
        .scenario
        .properties
        .iter()
        .filter(|_| job.scenario.search.is_some());
    let named = asked.filter_map(|name| job.properties.iter().find(|own| own.info.name == *name));
    let of_calm = named.filter(|named| named.info.is_of_calm());
    of_calm
        .filter_map(|named| {
            Some(format!(
                "`{}`: {}",
                named.info.name,
                out_of_calm(job, named)?
            ))
        })
        .collect()
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
