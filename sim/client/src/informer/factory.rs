//! `SharedInformerFactory` (`client-go/informers/factory.go`): the controllers of a process share one informer of each
//! resource, and each adds handlers of its own. How informers run belongs to `informer`.

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::Stored;
use wavetank_api::kinds::Resource;
use wavetank_engine::{Name, Rx};
use wavetank_etcd::Revision;
use wavetank_version::Set;

use super::{HandlerSpec, Informer, InformerSpec, Informers, SYNC_POLL};
use crate::InformerDefect;
use crate::indexer::Index;
use crate::rest::RestClient;

/// The informers of a process, while its controllers are being made.
#[derive(Debug)]
pub struct SharedInformerFactory {
    informers: Informers,
    resync: Option<Duration>,
}

/// An informer that controllers share, while they are being made.
#[derive(Debug)]
pub struct SharedInformer<'a> {
    spec: &'a mut InformerSpec,
    lister: Lister,
}

/// What a controller reads of an informer: its store, and whether that is filled.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Lister {
    scope: Name,
    at: u32,
}

impl SharedInformerFactory {
    /// Upstream's `NewSharedInformerFactory`: no informers yet, and none will be resynced. No other informers of the
    /// process have this name.
    pub fn new(
        scope: Name,
        rest: RestClient,
        defects: Set<InformerDefect>,
    ) -> SharedInformerFactory {
        let specs = Vec::new();
        let informers = Informers {
            scope,
            rest,
            defects,
            specs,
        };
        SharedInformerFactory {
            informers,
            resync: None,
        }
    }

    /// Informers are resynced so often: upstream's `defaultResync`. That of a controller manager comes after 12 h, which no
    /// run lasts.
    pub fn resynced(self, every: Duration) -> SharedInformerFactory {
        SharedInformerFactory {
            resync: Some(every),
            ..self
        }
    }

    /// `InformerFor`: the one informer of this resource.
    pub fn informer_for(&mut self, resource: &'static Resource) -> SharedInformer<'_> {
        let scope = self.informers.scope;
        let specs = &mut self.informers.specs;
        let known = specs
            .iter()
            .position(|spec| spec.selection.resource == resource);
        let at = known.unwrap_or_else(|| {
            specs.push(InformerSpec {
                handlers: Vec::new(),
                resync: self.resync,
                ..InformerSpec::of(resource)
            });
            specs.len() - 1
        });
        SharedInformer {
            spec: &mut specs[at],
            lister: Lister {
                scope,
                at: u32::try_from(at).expect("few resources"),
            },
        }
    }

    /// All informers that were asked for. `Start` is [`Informers::boot`].
    pub fn done(self) -> Arc<Informers> {
        Arc::new(self.informers)
    }
}

impl SharedInformer<'_> {
    /// `AddEventHandler`
    ///
    /// # Panics
    /// If the informer has a handler of this name: handlers are compared by their names.
    pub fn add_event_handler(&mut self, handler: HandlerSpec) {
        let name = handler.name;
        let is_new = self.spec.handlers.iter().all(|other| other.name != name);
        let resource = self.spec.selection.resource;
        assert!(
            is_new,
            "the informer of {resource:?} has two handlers called `{name}`: each controller names its own"
        );
        self.spec.handlers.push(handler);
    }

    /// It is resynced so often by itself, if nothing else is said of all: handlers that ask for more are told of everything only
    /// where an informer resyncs at all.
    pub fn resynced(&mut self, every: Duration) {
        self.spec.resync.get_or_insert(every);
    }

    /// `AddIndexers`. One that is there stays: controllers that share an informer may ask for the same.
    pub fn add_indexers(&mut self, indexers: &[Index]) {
        for index in indexers {
            if !self.spec.indices.contains(index) {
                self.spec.indices.push(*index);
            }
        }
    }

    /// `Lister`
    pub fn lister(&self) -> Lister {
        self.lister
    }
}

impl Lister {
    /// That of the informer with this place among those of an owner.
    pub const fn of(scope: Name, at: u32) -> Lister {
        Lister { scope, at }
    }

    /// `Get`: what the store has under `namespace/name`.
    pub fn get(self, rx: Rx, key: &str) -> Option<Stored> {
        self.look(rx, |informer| informer.indexer.get(key).cloned())
    }

    /// `List`: everything that the store has, in the order of its keys.
    pub fn list(self, rx: Rx) -> Vec<Stored> {
        self.look(rx, |informer| {
            let all = informer.indexer.iter();
            all.map(|(_, stored)| stored.clone()).collect()
        })
    }

    /// `ByIndex`: what has this value in this index, in the order of its keys.
    ///
    /// # Panics
    /// If the informer has no such index.
    pub fn by_index(self, rx: Rx, index: &Index, value: &str) -> Vec<Stored> {
        self.look(rx, |informer| {
            let found = informer.indexer.by_index(index.name, value);
            found.into_iter().cloned().collect()
        })
    }

    /// `LastStoreSyncResourceVersion`: the newest revision that the store was told.
    pub fn last_store_sync_resource_version(self, rx: Rx) -> Revision {
        self.look(rx, |informer| informer.indexer.revision())
    }

    /// `HasSynced`: has the store been filled?
    pub fn has_synced(self, rx: Rx) -> bool {
        self.look(rx, Informer::has_synced)
    }

    /// Upstream's `WaitForNamedCacheSync`
    pub async fn wait_for_cache_sync(self, rx: Rx) {
        while !self.has_synced(rx) {
            rx.sleep(SYNC_POLL).await;
        }
    }

    fn look<R: wavetank_engine::Message + Clone + Eq + std::hash::Hash>(
        self,
        rx: Rx,
        look: impl FnOnce(&Informer) -> R,
    ) -> R {
        Informers::look(rx, self.scope, self.at, look)
    }
}
