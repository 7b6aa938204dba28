//! What caches tell reports and properties.

use wavetank_api::Resource;
use wavetank_etcd::Revision;

/// A note of a watch cache.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum CacheNote {
    /// It was filled, at this revision.
    Filled(&'static Resource, Revision),
    /// Its watch of etcd is over: it is not ready until it is filled anew.
    Broke(&'static Resource, String),
    /// The connection of its watch of etcd broke, and it watches again, from behind this revision on.
    WatchesAgain(&'static Resource, Revision),
    /// Another one has taken its place, and it is no more.
    TornDown(&'static Resource),
    /// It is held where it is.
    Held(&'static Resource),
    /// It is held no longer.
    LetGo(&'static Resource),
    /// This watch was closed, for its client did not read.
    TooSlow(&'static Resource, u64),
    /// It differs from etcd at the same revision.
    Inconsistent(&'static Resource, Revision),
    /// This server has compacted etcd.
    Compacted(Revision),
}
