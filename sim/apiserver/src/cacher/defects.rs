//! The known bugs of the watch cache. Each is declared beside the algorithm that it changes.

use wavetank_version::defects;

use super::{progress, ready, reflector, register, source, state};
use crate::etcd_clients;
use crate::storage::update;

defects! {
    /// A known bug of the watch cache.
    pub enum CacheDefect in "watch caches of apiservers" {
        EmptyWindowMissesEvent = state::EMPTY_WINDOW_MISSES_EVENT,
        DeletedAtOldRevision = source::DELETED_AT_OLD_REVISION,
        WatchDuringReinitialisation = register::WATCH_DURING_REINITIALISATION,
        QuietCacheFallsBehind = progress::QUIET_CACHE_FALLS_BEHIND,
        WatchWithoutLeader = source::WATCH_WITHOUT_LEADER,
        WatchListWithoutProgress = register::WATCH_LIST_WITHOUT_PROGRESS,
        StoppedCacheKeepsWatches = reflector::STOPPED_CACHE_KEEPS_WATCHES,
        StoppedCacheIsWaitedFor = ready::STOPPED_CACHE_IS_WAITED_FOR,
        EtcdConnectionIsNotChecked = etcd_clients::ETCD_CONNECTION_IS_NOT_CHECKED,
        StaleRefusalIsFinal = update::STALE_REFUSAL_IS_FINAL,
    }
}
