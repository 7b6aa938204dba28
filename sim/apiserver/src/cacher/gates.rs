//! What changed between releases in the watch cache. Where it is not known in which release something changed, the gate
//! stands at the first modelled release that has it, and says so.

pub use wavetank_api::gates::WATCH_LIST;
use wavetank_version::{EtcdGate, Gate, Line, gates};

/// Is `RequestWatchProgress` of this etcd to be trusted (`storage/feature/feature_support_checker.go`)?
pub const RELIABLE_PROGRESS: EtcdGate =
    EtcdGate::since(6, 0).and_in(&[Line::from(4, 31), Line::from(5, 13)]);

gates! {
    /// A window without events begins after the revision of its list (PR #49992).
    pub EMPTY_WINDOW_BEGINS_AFTER_ITS_LIST = Gate::since(1, 8);
    /// A deletion has its own revision (PR #58547, `etcd3/watcher.go`).
    pub DELETIONS_HAVE_THEIR_REVISION = Gate::since(1, 10);
    /// A cache that is torn down ends its watches (PR #78029).
    pub STOPPED_CACHE_ENDS_WATCHES = Gate::since(1, 15);
    /// Watches of etcd require a leader (PR #89881).
    pub WATCHES_REQUIRE_LEADER = Gate::since(1, 19);
    /// The window grows and shrinks with how fast events come (`resizeCacheLocked`; before,
    /// `NewHeuristicWatchCacheSizes`; the first modelled release that has it).
    pub WINDOW_IS_RESIZED = Gate::since(1, 20);
    /// Bookmarks come every minute, and not only before the end of a watch (`bookmarkFrequency`; the first modelled
    /// release that has it).
    pub BOOKMARKS_EVERY_MINUTE = Gate::since(1, 20);
    /// The window knows whether it has lost an event, and not only whether it is full (`startIndex`; the first
    /// modelled release that has it).
    pub WINDOW_KNOWS_WHAT_IT_LOST = Gate::since(1, 20);
    /// etcd is asked to notify of progress (`EfficientWatchResumption`, beta).
    pub PROGRESS_IS_NOTIFIED = Gate::since(1, 21);
    /// A request that finds a cache torn down is refused (PR #108414).
    pub STOPPED_CACHE_REFUSES = Gate::since(1, 24);
    /// Readiness has generations, and a watch of a former one is closed (PR #116172, `ready.go`).
    pub READY_HAS_GENERATIONS = Gate::since(1, 27);
    /// The dispatch loop begins with the revision of the first list (`lastProcessedResourceVersion`; the first modelled
    /// release that has it).
    pub DISPATCH_BEGINS_AT_THE_LIST = Gate::since(1, 36);
    /// Somebody asks etcd for progress when a revision is waited for (PR #117989, `lister_watcher.go`).
    pub PROGRESS_IS_REQUESTED = Gate::since(1, 28);
    /// A watch with initial events asks etcd for progress (PR #122830).
    pub WATCH_LIST_REQUESTS_PROGRESS = Gate::since(1, 30);
    /// A cache that is not ready refuses (`ResilientWatchCacheInitialization`, beta).
    pub RESILIENT_INITIALISATION = Gate::since(1, 31);
    /// Lists without a revision are read from the cache (`ConsistentListFromCache`, beta).
    pub CONSISTENT_LISTS = Gate::since(1, 31);
    /// Snapshots of former states are kept (`ListFromCacheSnapshot`, beta).
    pub SNAPSHOTS = Gate::since(1, 34);
    /// A cache compares itself with etcd (`DetectCacheInconsistency`, beta), and follows compactions (`compactor.go`).
    pub CACHE_CHECKS_ITSELF = Gate::since(1, 34);
    /// A cache is filled by a watch with initial events (`WatchListClient`, beta).
    pub FILLED_BY_WATCH_LIST = Gate::since(1, 35);
    /// The budget of the dispatch loop is counted continuously, and not by a ticker (`time_budget.go`; the first
    /// modelled release that has it).
    pub BUDGET_IS_CONTINUOUS = Gate::since(1, 36);
    /// A watch without events begins at the revision of the cache (`getAllEventsSinceLocked`; the first modelled
    /// release that has it).
    pub INITIAL_STATE_HAS_ITS_REVISION = Gate::since(1, 36);
    /// Initial events are read from the window when they are sent, not copied before (`watch_cache_interval.go`; the
    /// first modelled release that has it).
    pub INITIAL_EVENTS_ARE_READ_LATER = Gate::since(1, 36);
    /// The reflector of a cache tries a list on that failed inside the server (`MaxInternalErrorRetryDuration`; the
    /// first modelled release that has it).
    pub INTERNAL_ERRORS_ARE_RETRIED = Gate::since(1, 36);
    /// The buffer of a watcher follows from how much the window holds and whether there is an index
    /// (`suggestedWatchChannelSize`; the first modelled release that has it).
    pub BUFFERS_FOLLOW_THE_WINDOW = Gate::since(1, 36);
    /// Nodes, secrets and config maps are indexed by their names (`nodeNameTriggerFunc` and the like; the first
    /// modelled release that has it no more). Scopes of watchers do this later.
    pub NAMES_ARE_TRIGGERS = Gate::until(1, 36);
    /// Watchers are kept by their scope, namespace and name (`namespacedName`; the first modelled release that has
    /// it).
    pub WATCHERS_HAVE_SCOPES = Gate::since(1, 36);
    /// Resource slices are indexed by their node (`pkg/registry/resource/resourceslice`; the first modelled release
    /// that has it).
    pub RESOURCE_SLICES_HAVE_TRIGGERS = Gate::since(1, 36);
}
