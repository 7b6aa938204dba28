//! A scenario's bounds of a search, for the searcher.

use std::time::Duration;

use wavetank_engine::{Action, Fault, Time};
use wavetank_models::{Bounds, Due};

use super::fault_schedule;
use crate::file::{self, Scenario};
use crate::search::Scope;

fn nanos(duration: file::Duration) -> Duration {
    Duration::from_nanos(duration.nanos())
}

/// The scope of a scenario that has one. What strikes was checked when the file was read.
pub(super) fn of(scenario: &Scenario) -> Option<Scope> {
    let search = scenario.search.as_ref()?;
    let fault = |fault: &serde_json::Value| match file::told(fault) {
        Some(told) => {
            let told = told.expect("it was read before");
            fault_schedule::command(&told.process, &told.what, told.with)
        }
        None => {
            let fault: Fault = serde_json::from_value(fault.clone()).expect("it was read before");
            Action::Fault(fault)
        }
    };
    let planned = fault_schedule::directed(scenario).expect("checked when the job was made");
    Some(Scope {
        from: Time::ZERO + nanos(search.from),
        bounds: Bounds {
            plan: planned
                .into_iter()
                .map(|(at, action)| (at, Due::Act(action)))
                .collect(),
            faults: search.faults.iter().map(fault).collect(),
            at_most: search.at_most,
            deviations: search.deviations,
            late_by: search.late_by.map(nanos),
            widest_choice: Some(search.widest_choice),
            stay_down: search.stay_down,
            horizon: Time::ZERO + nanos(scenario.storm),
        },
        recovers_within: search.recovers.then(|| nanos(scenario.calm)),
        shows: search.shows.clone(),
        cannot_show: search.cannot_show.clone(),
    })
}
