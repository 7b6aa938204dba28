//! The controllers of definitions: which there are, their queues and workers. Each has a file: what queues a definition,
//! and what `sync` does to one.

pub(super) mod api_approval;
pub(super) mod discovery;
pub(super) mod establishing;
pub(super) mod finalizer;
pub(super) mod naming;
pub(super) mod non_structural_schema;

use std::sync::Arc;

use wavetank_api::apiextensions::CUSTOM_RESOURCE_DEFINITIONS;
use wavetank_api::json::Json;
use wavetank_api::{Content, Method, Reason, Request, Stamp, Stored};
use wavetank_client::informer::{Lister, Notice};
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_client::{Failure, RestClient};
use wavetank_engine::{Cx, Name, Outcome, RoutineFuture, Rx, Task};

use super::informers;
use crate::server::Config;

const WORK: Name = Name::new("crd-work");

/// A controller of definitions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Of {
    Naming,
    Establishing,
    NonStructuralSchema,
    ApiApproval,
    Finalizer,
    Discovery,
}

/// They, with how many workers each has (`apiserver.go`).
const CONTROLLERS: [(Of, u32); 6] = [
    (Of::Naming, 1),
    (Of::Establishing, 1),
    (Of::NonStructuralSchema, 5),
    (Of::ApiApproval, 5),
    (Of::Finalizer, 5),
    (Of::Discovery, 1),
];

impl Of {
    fn queue(self) -> WorkQueue {
        match self {
            Of::Naming => naming::QUEUE,
            Of::Establishing => establishing::QUEUE,
            Of::NonStructuralSchema => non_structural_schema::QUEUE,
            Of::ApiApproval => api_approval::QUEUE,
            Of::Finalizer => finalizer::QUEUE,
            Of::Discovery => discovery::QUEUE,
        }
    }
}

/// `GROUP/VERSION` of each version of a definition.
pub(crate) fn versions_of(crd: &Json) -> impl Iterator<Item = Item> {
    let group = wavetank_api::json::text(crd, &["spec", "group"]);
    let versions = wavetank_api::json::list(crd, &["spec", "versions"]).iter();
    let names = versions.filter_map(|version| version["name"].as_str());
    names.map(move |version| format!("{group}/{version}").into())
}

/// Those of a definition, as it is and as it was.
pub(crate) fn group_versions(notice: &Notice) -> Vec<Item> {
    let (new, old) = match notice {
        Notice::Added { new, .. } => (Some(new), None),
        Notice::Updated { old, new } => (Some(new), Some(old)),
        Notice::Deleted(gone) => (None, gone.last.as_ref()),
    };
    let both = new.into_iter().chain(old);
    both.flat_map(|crd| versions_of(crd.object.json()))
        .collect()
}

/// Why a definition is looked at again.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Failed;

/// What a controller works with.
#[derive(Clone, Debug)]
struct Controller {
    config: Arc<Config>,
    rest: RestClient,
    lister: Lister,
}

/// Makes the queues, in each life of the process.
pub(super) fn make_queues(cx: &mut Cx<'_>) {
    for (of, _) in CONTROLLERS {
        of.queue().make(cx);
    }
}

/// Starts the workers.
pub(super) fn start(cx: &mut Cx<'_>) {
    for (of, workers) in CONTROLLERS {
        for worker in 0..workers {
            cx.spawn(Task::new(WORK, (of, worker)));
        }
    }
}

/// The future of a task, if it is one of these.
pub(super) fn routine(config: &Arc<Config>, task: &Task) -> Option<RoutineFuture> {
    if task.kind() != WORK {
        return None;
    }
    let (of, worker) = *task.args::<(Of, u32)>();
    let controller = Controller {
        config: config.clone(),
        rest: config.loopback(),
        lister: informers(config).1,
    };
    Some(Box::pin(controller.process_next_work_item(
        Rx::new(),
        of,
        worker,
    )))
}

impl Controller {
    /// `processNextWorkItem`
    async fn process_next_work_item(self, rx: Rx, of: Of, worker: u32) -> Outcome {
        self.lister.wait_for_cache_sync(rx).await;
        let queue = of.queue();
        let key = queue.get(rx).await;
        let synced = self.sync(rx, of, &key).await;
        match synced {
            Ok(()) => queue.forget(rx, &key),
            Err(Failed) => queue.add_rate_limited(rx, key.clone()),
        }
        queue.done(rx, &key);
        Outcome::Become(Task::new(WORK, (of, worker)))
    }

    async fn sync(&self, rx: Rx, of: Of, key: &Item) -> Result<(), Failed> {
        match of {
            Of::Naming => naming::sync(self, rx, key).await,
            Of::Establishing => establishing::sync(self, rx, key).await,
            Of::NonStructuralSchema => non_structural_schema::sync(self, rx, key).await,
            Of::ApiApproval => api_approval::sync(self, rx, key).await,
            Of::Finalizer => finalizer::sync(self, rx, key).await,
            Of::Discovery => {
                discovery::sync(self.lister, rx, key);
                Ok(())
            }
        }
    }

    /// The definition that the informer shows.
    fn get(&self, rx: Rx, key: &str) -> Option<Stored> {
        self.lister.get(rx, key)
    }

    /// `UpdateStatus`; `None` if it was deleted or changed in the meantime: then this is called again.
    async fn update_status(&self, rx: Rx, crd: Json) -> Result<Option<Stored>, Failed> {
        let name = wavetank_api::json::text(&crd, &["metadata", "name"]);
        let path = format!("{}/status", CUSTOM_RESOURCE_DEFINITIONS.path("", name));
        let put = Request::new(Method::Put, path).with(crd);
        match self.rest.request(rx, put).await {
            Ok(response) => Ok(match response.content {
                Content::One(updated) => Some(updated),
                _ => None,
            }),
            Err(error) if error.is(Reason::NotFound) || error.is(Reason::Conflict) => Ok(None),
            Err(Failure::Status(_) | Failure::Net(_)) => Err(Failed),
        }
    }

    fn now(rx: Rx) -> Stamp {
        Stamp::of(rx.clock())
    }
}
