//! The defects of watch caches and informers that a seed of `watch-storm` shows: each is found by a
//! monitor of what its bug report complains of. `wavetank matrix watch-storm` looks for all of them, under
//! many seeds. Three that no seed below 600 shows have scopes. `too-large-is-no-fallback` is found by `relist-too-large`,
//! where a link stalls for 50 s: a reflector hears of a refused list after eleven attempts, which take 43 s, and a silent
//! connection of a cache is noticed after 40 s. `watch-during-reinitialisation` is found by `watch-cache-refill`, and
//! `watch-without-leader` by `leaderless-caches`. Caches are torn down where definitions of custom resources come and go:
//! `stopped-cache-keeps-watches` is found by `definition-tear-down`, and `stopped-cache-is-waited-for`, which releases before
//! them have, by `watch-cache-torn-down`.

use crate::support::pins::pins;

pins! {
    empty_window_misses_event: "empty-window-misses-event",
    deleted_at_old_revision: "deleted-at-old-revision",
    quiet_cache_falls_behind: "quiet-cache-falls-behind",
    watch_list_without_progress: "watch-list-without-progress",
    relist_at_zero: "relist-at-zero",
    relist_is_a_sync: "relist-is-a-sync",
    replace_forgets_queued: "replace-forgets-queued",
    synced_before_handlers: "synced-before-handlers",
    expired_goes_unnoticed: "expired-goes-unnoticed",
    stale_refusal_is_final: "stale-refusal-is-final",
    etcd_connection_is_not_checked: "etcd-connection-is-not-checked",
}
