//! Waiting until a cache has seen a revision.

use std::time::Duration;

use wavetank_api::Status;
use wavetank_engine::{Rx, mutant};
use wavetank_etcd::Revision;

use super::Cacher;
use crate::options::StoreError;

/// `blockTimeout`
const LIMIT: Duration = Duration::from_secs(3);
/// `resourceVersionTooHighRetrySeconds`
const RETRY_AFTER: u32 = 1;

impl Cacher {
    /// `waitUntilFreshAndBlock`; with `ask` etcd is asked for progress meanwhile.
    ///
    /// # Errors
    /// 504, too large.
    pub(super) async fn wait_until_fresh_and_block(
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
        if ask && self.asks_for_progress() {
            self.want(rx, revision);
        }
        let fresh = rx
            .timeout(LIMIT, async {
                while behind() {
                    rx.changed(self.changed()).await;
                }
            })
            .await;
        match fresh {
            Some(()) => Ok(()),
            None if mutant!(
                "late-cache-is-served",
                "a cache that does not become fresh in time answers all the same"
            ) =>
            {
                Ok(())
            }
            None => {
                let current = rx.look(&cell, |cache| cache.revision);
                Err(
                    Status::new_too_large_resource_version_error(revision, current, RETRY_AFTER)
                        .into(),
                )
            }
        }
    }
}

/// `IsTooLargeResourceVersion`
pub(super) fn is_too_large_resource_version(status: &Status) -> bool {
    status.has_cause("ResourceVersionTooLarge")
}
