//! v1.36 compares each cache with etcd now and then (`consistencyChecker`): one that differs serves
//! no snapshots until it agrees again.

use std::time::Duration;

use wavetank_api::Stored;
use wavetank_engine::{Outcome, Rx, Task};
use wavetank_etcd::Revision;

use super::note::CacheNote;
use super::{CHECK, Cacher};
use crate::options::{ListOptions, Match};

/// `ConsistencyCheckPeriod`, jitter 0.5, drawn in steps.
const EVERY: Duration = Duration::from_secs(300);
const STEP: Duration = Duration::from_secs(30);
const STEPS: u64 = 6;

pub(super) async fn check(rx: Rx, cacher: Cacher) -> Outcome {
    let wait = STEP * u32::try_from(rx.choose(STEPS).await).expect("small");
    rx.sleep(EVERY + wait).await;
    if cacher.is_stopped(rx) {
        return Outcome::Done;
    }
    if let Some((revision, same)) = cacher.compare(rx).await {
        rx.update(&cacher.cell(), |cache| cache.mark_consistent(same));
        if !same {
            rx.note(CacheNote::Inconsistent(cacher.resource, revision));
        }
    }
    Outcome::Become(Task::new(CHECK, cacher))
}

impl Cacher {
    /// The revision of the cache, and whether etcd is the same there; `None` if that cannot be told.
    async fn compare(self, rx: Rx) -> Option<(Revision, bool)> {
        if !self.is_ready(rx) {
            return None;
        }
        let (revision, here) = rx.look(&self.cell(), |cache| {
            let here: Vec<_> = cache.store.values().map(mark).collect();
            (cache.revision, here)
        });
        let exactly = ListOptions {
            resource_version: Some(revision),
            resource_version_match: Some(Match::Exact),
            ..ListOptions::default()
        };
        let there = self.list_etcd_for(rx, self.prefix(), &exactly).await.ok()?;
        let there: Vec<_> = there.items.iter().map(mark).collect();
        Some((revision, here == there))
    }
}

/// What goes into the digest.
fn mark(stored: &Stored) -> (String, String, Revision) {
    let object = &stored.object;
    (
        object.namespace().to_owned(),
        object.name().to_owned(),
        stored.resource_version,
    )
}
