//! Asking etcd how far a quiet cache is, while somebody waits for it
//! (`progress/watch_progress.go`).

use std::time::Duration;

use wavetank_engine::{Outcome, Payload, Rx, Task};
use wavetank_etcd::WatchRequest;
use wavetank_release::Switch;

use super::{Cacher, PROGRESS};

/// `progressRequestPeriod`.
const PERIOD: Duration = Duration::from_millis(100);

impl Cacher {
    /// `ConsistentListFromCache`, and an etcd that can be asked. v1.16 and v1.20 never ask.
    pub(super) fn asks_for_progress(self) -> bool {
        self.config.progress && !self.config.switches.has(Switch::QuietCacheFallsBehind)
    }
}

/// At once when somebody begins to wait, then every 100 ms until nobody does.
pub(super) async fn request(rx: Rx, cacher: Cacher) -> Outcome {
    let cell = cacher.cell();
    loop {
        if cacher.is_stopped(rx) {
            return Outcome::Done;
        }
        let stream = rx.look(&cell, |cache| (cache.waiting, cache.stream));
        match stream {
            (0, _) => {
                rx.changed(cacher.demand()).await;
                continue;
            }
            (_, Some(stream)) => rx.send(stream, Payload::new(WatchRequest::Progress)),
            (_, None) => {}
        }
        rx.sleep(PERIOD).await;
        return Outcome::Become(Task::new(PROGRESS, cacher));
    }
}
