//! The watch cache: what `apiserver/pkg/storage/cacher` keeps of one resource, so that lists and
//! watches need not go to etcd.
//!
//! The way of one change: the *reflector* takes it from etcd, under the cache's lock appends it to
//! the *window*, puts it into the store and sets the resourceVersion, wakes who waits for that, and
//! hands it to the *dispatch* loop, which puts it into the buffer of each *watcher*; a watcher's own
//! routine turns it into what its client selected. Between any two of these other routines may run:
//! what is in the cache and what watches have been told differ. `delegate` says which reads are
//! answered from here and which from etcd.
//!
//! All state is volatile and lies in one cell for each resource; what works on it are routines.

mod bookmark;
mod budget;
mod check;
mod compact;
mod defects;
mod delegate;
mod dispatch;
mod event;
mod fresh;
pub mod gates;
mod hold;
mod initial;
mod note;
mod progress;
mod ready;
mod rebuild;
mod reflector;
mod register;
mod scope;
mod source;
mod state;
mod watcher;
mod window;

use std::hash::{Hash, Hasher};
use std::time::Duration;

use wavetank_api::kinds::Kinds;
use wavetank_api::{Resource, Stored};
use wavetank_engine::{
    Cell, Channel, Condition, Cx, Lock, Name, ProcId, RoutineFuture, Rx, Task, World,
};
use wavetank_etcd::{Client, Key, Revision};
use wavetank_version::{EtcdVersion, Set, Version};

pub use compact::{COMPACT_EVERY, COMPACT_KEY};
pub use defects::CacheDefect;
pub use hold::command;
pub use note::CacheNote;
pub use register::Watch;

use crate::Defects;
use crate::etcd_clients::purpose_of;
use crate::storage::{Codec, Storage, StorageVersions};
use state::Cache;

const REFLECT: Name = Name::new("cache-reflector");
const DISPATCH: Name = Name::new("cache-dispatch");
const WATCHER: Name = Name::new("cache-watcher");
const BOOKMARKS: Name = Name::new("cache-bookmarks");
const PROGRESS: Name = Name::new("cache-progress");
const LET_GO: Name = Name::new("cache-let-go");
const LAG: Name = Name::new("cache-lag");
const REBUILD: Name = Name::new("cache-rebuild");
const TEAR_DOWN: Name = Name::new("cache-tear-down");
const CHECK: Name = Name::new("cache-check");
const COMPACT: Name = Name::new("compactor");
const COMPACTED: Name = Name::new("compact-revision");
const COMPACT_CACHES: Name = Name::new("compact-caches");

/// The lock of a cacher upstream. Nobody waits while holding it, so one for all resources is as
/// good as one for each: it is a point at which others may run.
const CACHER: Lock = Lock::new("cacher");

/// What never changes in the caches of a server.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Config {
    /// The release of the server.
    pub release: Version,
    /// Its known bugs.
    pub defects: Set<CacheDefect>,
    /// Of its clients of etcd: each cache has the one of its resource ([`Client::made_for`]).
    pub etcd: Client,
    /// Does that etcd answer requests for progress as it should ([`supports_progress`])?
    pub progress: bool,
    /// In which versions it finds objects.
    pub versions: CachedVersions,
}

/// In which versions a cache finds objects in etcd, if there are servers of several releases.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CachedVersions(pub Option<StorageVersions>);

/// By hand: where all servers are of one release it says nothing.
impl Hash for CachedVersions {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if let Some(versions) = self.0 {
            versions.hash(state);
        }
    }
}

/// `storage/feature/feature_support_checker.go`: is `RequestWatchProgress` to be trusted?
pub fn supports_progress(etcd: EtcdVersion) -> bool {
    etcd.has(gates::RELIABLE_PROGRESS)
}

/// The revision up to which the cache of a resource shows what is stored; 0 if it has not been filled.
pub fn shown(world: &World, server: ProcId, resource: &'static Resource) -> Revision {
    let build = world.cell(server, &serving(resource));
    let cache = Cell::<Cache>::numbered(resource.registry, build);
    world.cell(server, &cache).revision
}

/// What the cache of a resource holds, and as of which revision; `None` if it has not been filled.
pub fn contents(
    world: &World,
    server: ProcId,
    resource: &'static Resource,
) -> Option<(Revision, Vec<(Key, Stored)>)> {
    let build = world.cell(server, &serving(resource));
    let cache = Cell::<Cache>::numbered(resource.registry, build);
    let cache = world.cell(server, &cache);
    let objects = cache
        .store
        .iter()
        .map(|(key, object)| (key.clone(), object.clone()));
    (cache.revision > 0).then(|| (cache.revision, objects.collect()))
}

/// The watch cache of one resource: a handle that routines pass around.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Cacher {
    config: Config,
    resource: &'static Resource,
    /// 0 is the first in this life of the server.
    build: u32,
}

/// The cache that serves a resource is the one of this build.
fn serving(resource: &Resource) -> Cell<u32> {
    Cell::numbered("cache-builds", resource.number())
}

/// Starts the compactor, and on v1.36 what follows its traces. Once in the life of a server.
pub fn start_compactor(cx: &mut Cx<'_>, config: Config, kinds: &Kinds, every: Duration) {
    let compactor = compact::Compactor::new(config, kinds.clone(), every);
    cx.spawn(Task::new(COMPACT, compactor));
    if config.release.has(gates::CACHE_CHECKS_ITSELF) {
        cx.spawn(Task::new(
            COMPACTED,
            compact::Follower::new(config, kinds.clone()),
        ));
    }
}

/// The future of a task that is one of a cache's.
pub fn routine(task: &Task) -> Option<RoutineFuture> {
    let rx = Rx::new();
    let kind = task.kind();
    Some(if kind == REFLECT {
        Box::pin(reflector::reflect(
            rx,
            task.args::<reflector::Reflector>().clone(),
        ))
    } else if kind == DISPATCH {
        Box::pin(dispatch::dispatch(rx, *task.args()))
    } else if kind == WATCHER {
        Box::pin(watcher::process_interval(
            rx,
            task.args::<watcher::Watcher>().clone(),
        ))
    } else if kind == BOOKMARKS {
        Box::pin(bookmark::keep_time(rx, *task.args()))
    } else if kind == PROGRESS {
        Box::pin(progress::request(rx, *task.args()))
    } else if kind == LET_GO {
        let (cacher, limit) = *task.args();
        Box::pin(hold::end(rx, cacher, limit))
    } else if kind == LAG {
        let (config, kinds) = task.args::<(Config, Kinds)>().clone();
        Box::pin(hold::lag(rx, config, kinds))
    } else if kind == REBUILD {
        let (config, kinds) = task.args::<(Config, Kinds)>().clone();
        Box::pin(rebuild::rebuild(rx, config, kinds))
    } else if kind == TEAR_DOWN {
        Box::pin(rebuild::tear_down(rx, *task.args()))
    } else if kind == CHECK {
        Box::pin(check::check(rx, *task.args()))
    } else if kind == COMPACT {
        Box::pin(compact::compact(
            rx,
            task.args::<compact::Compactor>().clone(),
        ))
    } else if kind == COMPACTED {
        Box::pin(compact::follow(
            rx,
            task.args::<compact::Follower>().clone(),
        ))
    } else if kind == COMPACT_CACHES {
        let (config, kinds) = task.args::<(Config, Kinds)>().clone();
        Box::pin(compact::compact_if_needed(rx, config, kinds))
    } else {
        return None;
    })
}

impl Cacher {
    /// The first cache of `resource`.
    pub fn new(config: Config, resource: &'static Resource) -> Cacher {
        let build = 0;
        Cacher {
            config,
            resource,
            build,
        }
    }

    /// The cache that serves `resource`.
    pub fn serving(rx: Rx, config: Config, resource: &'static Resource) -> Cacher {
        let build = rx.read(&serving(resource));
        Cacher {
            config,
            resource,
            build,
        }
    }

    /// The cache of this number. Those of one key prefix are numbered by who makes them.
    pub(crate) fn of_build(config: Config, resource: &'static Resource, build: u32) -> Cacher {
        Cacher {
            config,
            resource,
            build,
        }
    }

    /// Makes the cache and starts to fill it (`NewCacherFromConfig`).
    pub fn start(self, cx: &mut Cx<'_>) {
        cx.make(self.incoming(), dispatch::INCOMING);
        cx.make(self.ticks(), bookmark::TICKS);
        for task in self.tasks() {
            cx.spawn(task);
        }
    }

    /// The same from a routine.
    pub(crate) fn start_in(self, rx: Rx) {
        rx.make(self.incoming(), dispatch::INCOMING);
        rx.make(self.ticks(), bookmark::TICKS);
        for task in self.tasks() {
            rx.spawn(task);
        }
    }

    fn tasks(self) -> impl Iterator<Item = Task> {
        let reflector = Task::new(REFLECT, reflector::Reflector::new(self));
        let dispatch = Task::new(DISPATCH, dispatch::Dispatch::new(self));
        let progress = self.asks_for_progress().then(|| Task::new(PROGRESS, self));
        let checks = self.config.release.has(gates::CACHE_CHECKS_ITSELF);
        let check = checks.then(|| Task::new(CHECK, self));
        [Some(reflector), Some(dispatch), progress, check]
            .into_iter()
            .flatten()
    }

    /// `Cacher.Stop`: its watches end; it is never ready again. In place; its routines notice.
    pub fn stop(self, rx: Rx) {
        rx.update(&self.cell(), |cache| cache.ready.stop());
        rx.broadcast(self.stopping());
        rx.broadcast(self.changed());
        rx.broadcast(self.demand());
        rx.close(self.incoming());
        rx.close(self.ticks());
    }

    /// Is it filled?
    pub fn is_ready(self, rx: Rx) -> bool {
        rx.look(&self.cell(), |cache| cache.ready.is_ready())
    }

    /// The client of etcd under this cache, and under the storage of its resource.
    fn etcd(self) -> Client {
        self.config.etcd.made_for(purpose_of(self.resource))
    }

    /// How its objects are read.
    fn codec(self) -> Codec {
        Codec::of(self.resource, self.config.versions.0)
    }

    fn storage(self) -> Storage {
        Storage {
            etcd: self.etcd(),
            release: self.config.release,
            // A cache allocates nothing.
            defects: Defects {
                cache: self.config.defects,
                ..Defects::default()
            },
            codec: self.codec(),
        }
    }

    fn number(self) -> u64 {
        u64::from(self.build) << 32 | u64::from(self.resource.number())
    }

    fn cell(self) -> Cell<Cache> {
        Cell::numbered(self.resource.registry, self.build)
    }

    /// The lock of the watch cache, which readers hold while they become watchers.
    fn lock(self) -> Lock {
        Lock::new(self.resource.registry)
    }

    /// Changes on their way to the dispatch loop.
    fn incoming(self) -> Channel {
        Channel::new("cache-incoming", self.number())
    }

    /// Watchers whose time for a bookmark has come.
    fn ticks(self) -> Channel {
        Channel::new("cache-ticks", self.number())
    }

    /// The resourceVersion has moved, or it has become ready or not.
    fn changed(self) -> Condition {
        Condition::new("cache-changed", self.number())
    }

    /// It is stopped. Not the same as `changed`: its reflector would wake itself.
    fn stopping(self) -> Condition {
        Condition::new("cache-stopping", self.number())
    }

    /// Somebody waits for progress.
    fn demand(self) -> Condition {
        Condition::new("cache-demand", self.number())
    }

    /// It is held no longer.
    fn let_go(self) -> Condition {
        Condition::new("cache-let-go", self.number())
    }

    fn is_stopped(self, rx: Rx) -> bool {
        rx.look(&self.cell(), |cache| cache.ready.is_stopped())
    }
}
