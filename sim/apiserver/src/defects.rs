//! The known bugs of the generic apiserver, and the sets of all components that a server is made of.

use wavetank_version::{AnyVersion, Selection, Set, defects};

use crate::cacher::CacheDefect;
use crate::endpoints::admission;
use crate::endpoints::eviction::EvictionDefect;
use crate::quota::QuotaDefect;
use crate::registry::DeletionDefect;
use crate::server;
use crate::storage;

defects! {
    /// A known bug of the generic apiserver.
    pub enum ServerDefect in "apiservers" {
        ListenerClosesBeforeRemoval = server::LISTENER_CLOSES_BEFORE_REMOVAL,
        PolicyTrustsItsInformer = admission::POLICY_TRUSTS_ITS_INFORMER,
        StoredInNewestVersion = storage::STORED_IN_NEWEST_VERSION,
    }
}

/// The defects and fixes that are on in a server, by component.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Defects {
    /// Of the generic apiserver.
    pub server: Set<ServerDefect>,
    /// Of its watch caches.
    pub cache: Set<CacheDefect>,
    /// Of its admission plugin for quotas.
    pub quota: Set<QuotaDefect>,
    /// Of evictions.
    pub eviction: Set<EvictionDefect>,
    /// Of deletions.
    pub deletion: Set<DeletionDefect>,
}

impl Defects {
    /// Those of a selection.
    pub fn of(selection: &Selection) -> Defects {
        Defects {
            server: selection.of(),
            cache: selection.of(),
            quota: selection.of(),
            eviction: selection.of(),
            deletion: selection.of(),
        }
    }

    /// What a version shipped with.
    pub fn shipped_with(version: impl Into<AnyVersion>) -> Defects {
        let version = version.into();
        Defects {
            server: Set::shipped_with(version),
            cache: Set::shipped_with(version),
            quota: Set::shipped_with(version),
            eviction: Set::shipped_with(version),
            deletion: Set::shipped_with(version),
        }
    }
}
