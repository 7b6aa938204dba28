//! The known bugs of informers. Each is declared beside the algorithm that it changes.

use wavetank_version::defects;

use crate::fifo::delta;
use crate::informer::state;
use crate::reflector::{self, list, stream};

defects! {
    /// A known bug of informers.
    pub enum InformerDefect in "informers" {
        ReplaceForgetsQueued = delta::REPLACE_FORGETS_QUEUED,
        SyncedBeforeHandlers = state::SYNCED_BEFORE_HANDLERS,
        TooLargeIsNoFallback = reflector::TOO_LARGE_IS_NO_FALLBACK,
        ExpiredGoesUnnoticed = stream::EXPIRED_GOES_UNNOTICED,
        RelistAtZero = list::RELIST_AT_ZERO,
        RelistIsASync = delta::RELIST_IS_A_SYNC,
        WatchListWithoutEnd = stream::WATCH_LIST_WITHOUT_END,
    }
}
