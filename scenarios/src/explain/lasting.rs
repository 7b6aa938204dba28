//! Faults as spans: from where each struck to what ended it.

use std::collections::BTreeMap;

use wavetank_engine::drive::causes::Because;

use super::history::{History, Kind};

/// A fault that struck.
pub(crate) struct Lasting<'a> {
    pub event: usize,
    /// What ended it.
    pub end: Option<usize>,
    pub text: &'a str,
}

impl History {
    /// The faults, each with what ended it; the ends of faults are none.
    pub fn lasting(&self) -> Vec<Lasting<'_>> {
        let mut ends: BTreeMap<usize, usize> = BTreeMap::new();
        for (event, happened) in self.events.iter().enumerate() {
            if happened.fault.is_none() {
                continue;
            }
            for (fault, because) in self.causes.before(event) {
                if matches!(because, Because::Fault | Because::Life) {
                    ends.entry(fault).or_insert(event);
                }
            }
        }
        let events = self.events.iter().enumerate();
        let faults = events.filter_map(|(event, happened)| {
            happened.fault.as_ref()?.kind()?;
            let mut told = happened.told.iter();
            let told = told.find(|told| told.kind == Kind::Fault)?;
            Some(Lasting {
                event,
                end: ends.get(&event).copied(),
                text: &told.text,
            })
        });
        faults.collect()
    }
}
