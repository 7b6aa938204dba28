//! What changed between releases in client-go but for leader election, which has a table of its own. Where it is not
//! known in which release something changed, the gate stands at the first modelled release that has it, and says so.

use wavetank_version::{Gate, gates};

gates! {
    /// A watch that ends as expired ends its round: a list follows (k/k#56121).
    pub EXPIRED_ENDS_THE_ROUND = Gate::since(1, 8);
    /// Relists ask for what was last seen (PR #83520, `relistResourceVersion`).
    pub RELISTS_AT_LAST_SEEN = Gate::since(1, 18);
    /// What a list brings is Replaced, and no Sync (PR #86015).
    pub LISTS_ARE_REPLACED = Gate::since(1, 18);
    /// A list that is refused as too large is asked for at any revision (PR #92537; also 1.18.6).
    pub TOO_LARGE_FALLS_BACK = Gate::since(1, 19);
    /// Connections that are refused have a back-off of their own (`initConnBackoffManager`; the modelled release that
    /// has it, and the first that has not).
    pub CONNECTIONS_BACK_OFF_APART = Gate::since(1, 20).gone_since(1, 36);
    /// The rounds of a reflector back off exponentially, with jitter (`backoffManager`; the first modelled release
    /// that has it); before, 1 s apart.
    pub REFLECTORS_BACK_OFF = Gate::since(1, 20);
    /// Connections of HTTP/2 are checked by pings (`ReadIdleTimeout`; the first modelled release that has it).
    pub HTTP2_IS_CHECKED = Gate::since(1, 20);
    /// A list deletes what is only in the queue (PR #115620).
    pub REPLACE_LOOKS_INTO_THE_QUEUE = Gate::since(1, 27);
    /// Handlers say whether they have seen all that the store was filled with (PR #113985).
    pub HANDLERS_HAVE_SYNCED = Gate::since(1, 27);
    /// A reflector begins with a watch-list (`WatchListClient`, beta).
    pub WATCH_LIST_CLIENT = Gate::since(1, 35);
    /// Back-offs begin anew by a clock of their own (`backoffManager.Step` of `wait.Backoff`; before,
    /// `exponentialBackoffManagerImpl`; the first modelled release that has it).
    pub BACKOFF_HAS_ITS_CLOCK = Gate::since(1, 36);
    /// The queue keeps the order of single deltas, and lists are one delta (`InOrderInformers` with `AtomicFIFO`; the
    /// first modelled release that has both).
    pub REAL_FIFO = Gate::since(1, 36);
    /// The lock of the queue is free while what was popped is processed (`UnlockWhileProcessingFIFO`, beta).
    pub QUEUE_IS_UNLOCKED_WHILE_PROCESSING = Gate::since(1, 36);
    /// The revision moves only once ADDED events that come in no order have ended (the first modelled release that has
    /// it).
    pub REVISION_WAITS_FOR_ADDED = Gate::since(1, 36);
    /// Recorders report Events of `events.k8s.io`, in series (`tools/events`; the first modelled release whose recorders
    /// of a server do).
    pub EVENTS_IN_SERIES = Gate::since(1, 36);
    /// A watch that is refused with 429 is begun again (`isWatchErrorRetriable`; the first modelled release that has
    /// it).
    pub TOO_MANY_REQUESTS_ARE_RETRIED = Gate::since(1, 36);
    /// Watches are repeated by the client of REST (`rest/with_retry.go`; the first modelled release that has it).
    pub WATCHES_ARE_REPEATED = Gate::since(1, 36);
    /// An update that keeps the revision is a sync, whichever delta brings it (`OnUpdate` of `shared_informer.go`;
    /// the first modelled release that has it).
    pub SAME_REVISION_IS_A_SYNC = Gate::since(1, 36);
    /// Polls look at their condition with a context (`PollUntilContextCancel`; before, `PollImmediateUntil`; the
    /// first modelled release that has it).
    pub POLLS_HAVE_CONTEXTS = Gate::since(1, 36);
}
