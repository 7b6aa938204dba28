//! Holding a cache where it is: not upstream's, but a fault. A lagging member of etcd, a starved
//! process or a slow link make caches lag; this makes any one of them lag by itself, for as long as
//! is wanted.

use serde_json::Value;
use wavetank_api::Resource;
use wavetank_engine::{Cx, Rx};
use wavetank_etcd::Revision;

use super::{Cacher, Config};

/// It takes nothing later from etcd.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Hold {
    /// Up to here; `None`: from now on nothing.
    upto: Option<Revision>,
}

/// `hold {resource, revision?}` and `release {resource}`; the resource is named as in Statuses,
/// `configmaps`, `endpointslices.discovery.k8s.io`. `None` if it is something else.
pub fn tell(
    cx: &mut Cx<'_>,
    config: Config,
    what: &str,
    args: &Value,
) -> Option<Result<(), String>> {
    let held = match what {
        "hold" => Some(Hold {
            upto: args["revision"].as_u64(),
        }),
        "release" => None,
        _ => return None,
    };
    let named = args["resource"].as_str().unwrap_or_default();
    let mut all = Resource::ALL.into_iter();
    let Some(resource) = all.find(|resource| resource.qualified() == named) else {
        return Some(Err(format!("serves no resource `{named}`")));
    };
    let cacher = Cacher::new(config, resource);
    cx.cell(&cacher.cell()).held = held;
    cx.broadcast(cacher.let_go());
    Some(Ok(()))
}

impl Cacher {
    /// Waits while it is held before this revision.
    pub(super) async fn unheld(self, rx: Rx, revision: Revision) {
        let is_held = |hold: Hold| hold.upto.is_none_or(|upto| revision > upto);
        while rx.look(&self.cell(), |cache| cache.held.is_some_and(is_held)) {
            rx.changed(self.let_go()).await;
        }
    }
}
