//! Asking etcd how far a quiet cache is, while somebody waits for it
//! (`progress/watch_progress.go`).

use std::time::Duration;

use wavetank_engine::{Outcome, Payload, Rx, Stream, Task, mutant};
use wavetank_etcd::{Revision, WatchRequest};
use wavetank_version::Defect;

use super::state::Cache;
use super::{Cacher, PROGRESS};
use crate::CacheDefect;
use crate::cacher::gates;

/// `progressRequestPeriod`.
const PERIOD: Duration = Duration::from_millis(100);
/// So often it is asked for one who waits: as long as that lasts.
const ROUNDS: u32 = 30;

/// Who waits, and for what. Upstream counts those who wait; here they are forgotten when their time
/// is over, so that one whose request is cut short is not waited for without end.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Demand {
    wanted: Revision,
    rounds: u32,
}

pub(crate) const QUIET_CACHE_FALLS_BEHIND: Defect = Defect::known(
    "quiet-cache-falls-behind",
    "k/k#107133, PR #117989 (1.28)",
    "nobody asks etcd for progress: a revision that a quiet cache has not seen is too large for ever",
)
.until(gates::PROGRESS_IS_REQUESTED);

impl Cacher {
    /// `ConsistentListFromCache`, and an etcd that can be asked. v1.16 and v1.20 never ask.
    pub(super) fn asks_for_progress(self) -> bool {
        self.config.progress && !self.config.defects.has(CacheDefect::QuietCacheFallsBehind)
    }

    /// Somebody waits for this revision.
    pub(super) fn want(self, rx: Rx, revision: Revision) {
        rx.update(&self.cell(), |cache| {
            let demand = &mut cache.demand;
            demand.wanted = demand.wanted.max(revision);
            demand.rounds = ROUNDS;
        });
        rx.broadcast(self.demand());
    }
}

impl Cache {
    /// Is it time to ask once more? With the stream to ask on.
    fn next_round(&mut self) -> Option<Option<Stream>> {
        if self.revision >= self.demand.wanted
            || self.demand.rounds == 0
            || mutant!(
                "progress-is-not-asked",
                "a watch cache that is behind does not ask etcd for progress"
            )
        {
            self.demand = Demand::default();
            return None;
        }
        self.demand.rounds -= 1;
        Some(self.stream)
    }
}

/// At once when somebody begins to wait, then every 100 ms until nobody does.
pub(super) async fn request(rx: Rx, cacher: Cacher) -> Outcome {
    while !cacher.is_stopped(rx) {
        let Some(stream) = rx.update(&cacher.cell(), Cache::next_round) else {
            rx.changed(cacher.demand()).await;
            continue;
        };
        if let Some(stream) = stream {
            rx.send(stream, Payload::new(WatchRequest::Progress));
        }
        rx.sleep(PERIOD).await;
        return Outcome::Become(Task::new(PROGRESS, cacher));
    }
    Outcome::Done
}
