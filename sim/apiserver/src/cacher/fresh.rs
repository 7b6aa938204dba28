//! Waiting until a cache has seen a revision.

use std::time::Duration;

use wavetank_api::Status;
use wavetank_engine::Rx;
use wavetank_etcd::Revision;

use super::Cacher;
use crate::options::StoreError;

/// `blockTimeout`
const LIMIT: Duration = Duration::from_secs(3);
/// `resourceVersionTooHighRetrySeconds`
const RETRY_AFTER: u32 = 1;

impl Cacher {
    /// `waitUntilFreshAndBlock`; with `ask` etcd is asked for progress meanwhile. The future must
    /// not be dropped before it is over, which takes 3 s at most, or etcd is asked for ever.
    ///
    /// # Errors
    /// 504, too large.
    pub(super) async fn wait_until_fresh(
        self,
        rx: Rx,
        revision: Revision,
        ask: bool,
    ) -> Result<(), StoreError> {
        let cell = self.cell();
        let behind = || rx.look(&cell, |cache| cache.revision < revision);
        if !behind() {
            return Ok(());
        }
        let asking = ask && self.asks_for_progress();
        if asking {
            rx.update(&cell, |cache| cache.waiting += 1);
            rx.broadcast(self.demand());
        }
        let fresh = rx
            .timeout(LIMIT, async {
                while behind() {
                    rx.changed(self.changed()).await;
                }
            })
            .await;
        if asking {
            rx.update(&cell, |cache| cache.waiting -= 1);
        }
        match fresh {
            Some(()) => Ok(()),
            None => {
                let current = rx.look(&cell, |cache| cache.revision);
                Err(Status::too_large_resource_version(revision, current, RETRY_AFTER).into())
            }
        }
    }
}

/// `IsTooLargeResourceVersion`
pub(super) fn is_too_large(status: &Status) -> bool {
    status.has_cause("ResourceVersionTooLarge")
}
