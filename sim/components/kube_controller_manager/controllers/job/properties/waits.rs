//! Pods that have failed are waited for before others are made, the longer the more of them failed since the last success. What
//! a controller knows of that it forgets when it ends (k/k#114650), and it knows only what it has written.

use std::collections::BTreeMap;
use std::sync::Arc;

use wavetank_api::Stamp;
use wavetank_engine::{Check, Note, Property, World};

use super::super::backoff_utils::backoff_duration;
use super::super::notes::{CountsPods, FlushedCounts, MakesJobPods};
use super::{Life, life};
use wavetank_components::promises::violated;

/// The pods that have failed since the last success, and when.
type Failures = BTreeMap<Arc<str>, Stamp>;

/// What each life of each controller knows of each Job: what it has written, and what it counts in this sync.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct FailedPodsAreWaitedFor {
    written: BTreeMap<(Life, Arc<str>), Failures>,
    counted: BTreeMap<(Life, Arc<str>), Failures>,
}

/// What is known once these were counted as well.
fn with(mut known: Failures, counts: &CountsPods) -> Failures {
    let successes = counts.successes.iter().flatten();
    let new = counts.failed.iter();
    let new = new.filter_map(|(uid, at)| Some((uid.clone(), (*at)?)));
    match successes.max() {
        None => known.extend(new),
        Some(last) => known = new.filter(|(_, at)| at > last).collect(),
    }
    known
}

impl Property for FailedPodsAreWaitedFor {
    fn name(&self) -> &'static str {
        "failed-pods-are-waited-for"
    }

    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        let body = &note.body;
        if body.get::<CountsPods>().is_some() || body.get::<FlushedCounts>().is_some() {
            return None;
        }
        let makes = body.get::<MakesJobPods>();
        let Some(makes) = makes.filter(|own| !own.waits_by_index && own.count > 0) else {
            return Some(Check::Idle);
        };
        let failed = self.counted.get(&(life(world, note), makes.uid.clone()));
        let Some(failed) = failed.filter(|own| !own.is_empty()) else {
            return Some(Check::Idle);
        };
        let count = u32::try_from(failed.len()).unwrap_or(u32::MAX);
        let (wait, last) = (backoff_duration(count), failed.values().max()?);
        let passed = Stamp::of(world.now()).nanos() - last.nanos();
        if passed >= wait.as_nanos() as i128 {
            return Some(Check::Held);
        }
        let job = &makes.job;
        let (wait, passed) = (wait.as_secs(), passed / 1_000_000_000);
        let message = format!(
            "Job {job}: pods are made {passed} s after the last of {count} failed, and {wait} s are to be waited"
        );
        Some(violated("job", job, message))
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(counts) = note.body.get::<CountsPods>() {
            let key = (life(world, note), counts.uid.clone());
            let known = self.written.get(&key).cloned().unwrap_or_default();
            self.counted.insert(key, with(known, counts));
        }
        if let Some(FlushedCounts { uid }) = note.body.get() {
            let key = (life(world, note), uid.clone());
            if let Some(counted) = self.counted.get(&key).cloned() {
                self.written.insert(key, counted);
            }
        }
        self.glance(world, note).unwrap_or(Check::Idle)
    }
}
