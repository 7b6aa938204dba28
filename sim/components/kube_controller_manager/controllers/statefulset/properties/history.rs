//! How many revisions of a set are kept.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::json::{self, Json};
use wavetank_api::kinds::{CONTROLLER_REVISIONS, PODS};
use wavetank_client::workqueue::Item;
use wavetank_engine::{Check, Note, Property, World};

use super::super::notes::TruncatesHistory;
use super::super::util::{get_pod_revision, is_terminating, of_spec, uid};
use super::end::{EACH, owned};

/// No more than `revisionHistoryLimit`. Nothing wakes the controller up when its cache comes to show another revision, so
/// that one which it did not see in its last sync of a set stays until the next.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct StatefulHistoryIsLimited {
    after: Duration,
    /// What was seen of each set last, by its UID.
    seen: BTreeMap<Arc<str>, Arc<[Item]>>,
}

impl StatefulHistoryIsLimited {
    pub fn new(after: Duration) -> StatefulHistoryIsLimited {
        StatefulHistoryIsLimited {
            after,
            seen: BTreeMap::new(),
        }
    }

    fn judge(&self, world: &World, set: &Json) -> Option<Result<(), String>> {
        let seen = self.seen.get(uid(set)).filter(|_| !is_terminating(set))?;
        let pods = owned(world, PODS.registry, set);
        let of_pods = pods.iter().map(|pod| get_pod_revision(pod.json()));
        let named = |field| json::text(set, &["status", field]);
        let live = [named("currentRevision"), named("updateRevision")];
        let live: Vec<&str> = of_pods.chain(live).collect();
        let mut old = owned(world, CONTROLLER_REVISIONS.registry, set);
        old.retain(|own| {
            seen.iter().any(|name| **name == *own.name()) && !live.contains(&own.name())
        });
        let (count, limit) = (old.len() as i64, of_spec(set, "revisionHistoryLimit"));
        Some(match count > limit {
            true => Err(format!("has {count} old revisions, and is to keep {limit}")),
            false => Ok(()),
        })
    }
}

impl Property for StatefulHistoryIsLimited {
    fn name(&self) -> &'static str {
        "stateful-history-is-limited"
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let is_new = note.body.get::<TruncatesHistory>().is_some();
        (!is_new).then_some(Check::Idle)
    }

    fn note(&mut self, _: &World, note: &Note) -> Check {
        if let Some(TruncatesHistory { set, revisions }) = note.body.get() {
            self.seen.insert(set.clone(), revisions.clone());
        }
        Check::Idle
    }

    fn calm(&mut self, _: &World) -> Option<Duration> {
        Some(self.after)
    }

    fn deadline(&mut self, world: &World) -> Check {
        EACH.is_met(world, |set| self.judge(world, set.json()))
    }
}
