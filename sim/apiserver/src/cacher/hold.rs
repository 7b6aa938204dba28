//! Holding a cache where it is: not upstream's, but a fault. A lagging member of etcd, a starved
//! process, a slow link or a connection that is half open make caches lag; this makes any one of them lag
//! by itself, for as long as is wanted.

use std::time::Duration;

use serde_json::Value;
use wavetank_api::kinds::Kinds;
use wavetank_engine::{Cx, Outcome, Rx, Task};
use wavetank_etcd::Revision;

use super::note::CacheNote;
use super::{Cacher, Config, LAG, LET_GO, REBUILD, serving};

/// It takes nothing later from etcd.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Hold {
    /// Up to here; `None`: from now on nothing.
    upto: Option<Revision>,
    /// Does a timer end it?
    ends: bool,
}

/// A cache that lags by itself does so for up to so many seconds.
const LONGEST_LAG: u64 = 90;

/// `hold {resource, revision?, seconds?}` and `release {resource}`; the resource is named as in
/// Statuses, `configmaps`, `endpointslices.discovery.k8s.io`. `lag`: one that the driver draws is held
/// for a while. `rebuild`: one that the driver draws makes way for another. `None` if it is something else.
pub fn command(
    cx: &mut Cx<'_>,
    config: Config,
    kinds: &Kinds,
    what: &str,
    args: &Value,
) -> Option<Result<(), String>> {
    let hold = match what {
        "hold" => true,
        "release" => false,
        "lag" => {
            cx.spawn(Task::new(LAG, (config, kinds.clone())));
            return Some(Ok(()));
        }
        "rebuild" => {
            cx.spawn(Task::new(REBUILD, (config, kinds.clone())));
            return Some(Ok(()));
        }
        _ => return None,
    };
    let named = args["resource"].as_str().unwrap_or_default();
    let mut all = kinds.cached();
    let Some(resource) = all.find(|resource| resource.qualified() == named) else {
        return Some(Err(format!("caches no resource `{named}`")));
    };
    let build = *cx.cell(&serving(resource));
    let cacher = Cacher {
        config,
        resource,
        build,
    };
    if hold {
        let seconds = args["seconds"].as_u64();
        cx.cell(&cacher.cell()).held = Some(Hold {
            upto: args["revision"].as_u64(),
            ends: seconds.is_some(),
        });
        cx.note(CacheNote::Held(resource));
        if let Some(seconds) = seconds {
            let limit = Duration::from_secs(seconds);
            cx.spawn(Task::new(LET_GO, (cacher, limit)));
        }
    } else if cx.cell(&cacher.cell()).held.take().is_some() {
        cx.note(CacheNote::LetGo(resource));
        cx.broadcast(cacher.let_go());
    }
    Some(Ok(()))
}

/// Holds any cache for any while, unless it is held.
pub(super) async fn lag(rx: Rx, config: Config, kinds: Kinds) -> Outcome {
    let cacher = Cacher::any(rx, config, &kinds).await;
    let seconds = rx.choose(LONGEST_LAG).await + 1;
    let held = rx.update(&cacher.cell(), |cache| {
        let is_free = cache.held.is_none();
        cache.held.get_or_insert(Hold {
            upto: None,
            ends: true,
        });
        is_free
    });
    if held {
        rx.note(CacheNote::Held(cacher.resource));
        let limit = Duration::from_secs(seconds);
        rx.spawn(Task::new(LET_GO, (cacher, limit)));
    }
    Outcome::Done
}

/// Ends a hold after a while, unless it is one without an end by then.
pub(super) async fn end(rx: Rx, cacher: Cacher, limit: Duration) -> Outcome {
    rx.sleep(limit).await;
    let ended = rx.update(&cacher.cell(), |cache| {
        cache.held.take_if(|hold| hold.ends).is_some()
    });
    if ended {
        rx.note(CacheNote::LetGo(cacher.resource));
        rx.broadcast(cacher.let_go());
    }
    Outcome::Done
}

impl Cacher {
    /// One that the driver draws, of those that are watched if there are any: nobody would notice what
    /// becomes of the others.
    pub(super) async fn any(rx: Rx, config: Config, kinds: &Kinds) -> Cacher {
        let all = kinds
            .cached()
            .map(|resource| Cacher::serving(rx, config, resource));
        let all: Vec<Cacher> = all.collect();
        let is_watched =
            |cacher: &Cacher| rx.look(&cacher.cell(), |cache| !cache.watchers.is_empty());
        let watched: Vec<Cacher> = all.iter().copied().filter(is_watched).collect();
        let of = if watched.is_empty() {
            &all[..]
        } else {
            &watched
        };
        of[rx.choose(of.len() as u64).await as usize]
    }

    /// Waits while it is held before this revision.
    pub(super) async fn unheld(self, rx: Rx, revision: Revision) {
        let is_held = |hold: Hold| hold.upto.is_none_or(|upto| revision > upto);
        while rx.look(&self.cell(), |cache| cache.held.is_some_and(is_held)) {
            rx.changed(self.let_go()).await;
        }
    }
}
