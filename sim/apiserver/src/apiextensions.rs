//! Custom resources in the apiserver (`apiextensions-apiserver`): the handler that serves what definitions make, and the
//! controllers of definitions. They are tasks of the server's process, on one informer of its own, through its loopback
//! client. What definitions and their schemas mean is in `wavetank_api::apiextensions`.
//!
//! - `handler`: from a path to what serves it; `serving_info` keeps a storage for each definition, and tears it down;
//! - `webhook_converter`: the call of a webhook that converts versions;
//! - `rest`: what the deletion of a definition does first;
//! - `defects`: known bugs of these;
//! - `controllers`: naming, establishing, non-structural schemas, API approval, finalizer,
//!   discovery.

mod controllers;
mod defects;
mod handler;
mod rest;
mod serving_info;
pub(crate) mod webhook_converter;

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::apiextensions::CUSTOM_RESOURCE_DEFINITIONS;
use wavetank_client::informer::{HandlerSpec, Informers, Lister, Notice, SharedInformerFactory};
use wavetank_client::workqueue::WorkQueue;
use wavetank_engine::{Cell, Cx, Name, NotState, ProcId, RoutineFuture, Rx, Task, Timer};
use wavetank_version::Set;

use crate::aggregator;
use crate::server::Config;
pub(crate) use defects::DEFECTS;

pub(crate) use controllers::{group_versions, versions_of};
pub use defects::CustomDefect;
pub(crate) use handler::{CustomPath, Found, InUse, done, resolve, watch};
pub(crate) use rest::Definitions;
pub use webhook_converter::ConversionReview;

/// `forbidCreateAdmission`: why nothing is made by a definition that is on its way out.
pub(crate) const CREATE_NOT_ALLOWED: &str =
    "create not allowed while custom resource definition is terminating";

/// Whose the informer is.
const SCOPE: Name = Name::new("apiextensions");

/// Are custom resources served?
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum CustomResources {
    /// There are no definitions.
    #[default]
    Unserved,
    /// As every real server does.
    Served {
        /// `--apiserver-count`: where there are several, a definition waits before it is established.
        apiserver_count: u32,
        /// Does the server keep APIServices of what it serves, as every real one does? If not, it has no aggregator before
        /// it, and tells of definitions itself.
        aggregated: bool,
        /// The processes that are conversion webhooks, by the hosts of their URLs.
        webhooks: Arc<BTreeMap<Arc<str>, ProcId>>,
        /// The known bugs of how it does so.
        defects: Set<CustomDefect>,
    },
}

/// By hand: a server that serves none has the hash that it had before it could.
impl Hash for CustomResources {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if let CustomResources::Served {
            apiserver_count,
            aggregated,
            webhooks,
            defects,
        } = self
        {
            (apiserver_count, aggregated, webhooks, defects).hash(state);
        }
    }
}

/// `masterCount`, for handlers of the informer.
static APISERVER_COUNT: Cell<u32> = Cell::new("crd-apiserver-count");

/// What a handler of the informer does.
type Handler = fn(Rx, u32, &Notice);

/// How often all controllers are told of all definitions (`New` in `apiserver.go`).
const RESYNC: Duration = Duration::from_secs(300);

/// The informer of definitions, with a handler for each who listens.
fn informers(config: &Config) -> (Arc<Informers>, Lister) {
    let factory = SharedInformerFactory::new(SCOPE, config.loopback(), Set::NONE);
    let mut factory = factory.resynced(RESYNC);
    let mut informer = factory.informer_for(&CUSTOM_RESOURCE_DEFINITIONS);
    let handlers: [(&'static str, Handler); 6] = [
        ("handler", serving_info::on_definition),
        ("naming", controllers::naming::on_definition),
        (
            "non-structural-schema",
            controllers::non_structural_schema::on_definition,
        ),
        ("api-approval", controllers::api_approval::on_definition),
        ("finalizer", controllers::finalizer::on_definition),
        ("discovery", controllers::discovery::on_definition),
    ];
    let registers: Option<(&'static str, Handler)> = config
        .aggregates()
        .then_some(("crd-autoregister", aggregator::on_definition));
    for (name, on) in handlers.into_iter().chain(registers) {
        informer.add_event_handler(HandlerSpec {
            on: NotState(Arc::new(on)),
            ..HandlerSpec::new(name)
        });
    }
    let lister = informer.lister();
    (factory.done(), lister)
}

/// The definitions that this server knows.
pub(crate) fn definitions(config: &Config) -> Lister {
    informers(config).1
}

/// Begins with the process.
pub(crate) fn boot(config: &Config, cx: &mut Cx<'_>) {
    let Some(count) = config.serves_custom_resources() else {
        return;
    };
    *cx.cell(&APISERVER_COUNT) = count;
    if let CustomResources::Served {
        webhooks, defects, ..
    } = &config.custom_resources
    {
        *cx.cell(&DEFECTS) = *defects;
        *cx.cell(&webhook_converter::HOSTS) = webhooks.clone();
    }
    controllers::make_queues(cx);
    informers(config).0.boot(cx);
    controllers::start(cx);
}

/// A timer of the process; false if it is none of these.
pub(crate) fn timer(config: &Config, cx: &mut Cx<'_>, timer: Timer) -> bool {
    config.serves_custom_resources().is_some()
        && (WorkQueue::timer(cx, timer) || informers(config).0.timer(cx, timer))
}

/// The future of a task, if it is one of these.
pub(crate) fn routine(config: &Arc<Config>, task: &Task) -> Option<RoutineFuture> {
    config.serves_custom_resources()?;
    let own = controllers::routine(config, task).or_else(|| serving_info::routine(config, task));
    let queued = own.or_else(|| WorkQueue::routine(task));
    queued.or_else(|| informers(config).0.routine(task))
}
