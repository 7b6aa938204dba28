//! The admission plugin `ResourceQuota` (`apiserver/pkg/admission/plugin/resourcequota`, v1.36.2): a request that makes
//! an object is charged to the quotas of its namespace before the object is stored, or refused. `evaluate` works requests
//! off, those of a namespace together; `resource_access` reads quotas and writes what is used; here is where both begin.
//! How much an object uses is in `wavetank_api::quota`; who counts again what is used belongs to a controller.

mod defects;
mod evaluate;
mod note;
mod resource_access;

use std::sync::Arc;

use wavetank_api::Json;
use wavetank_api::kinds::{NAMESPACES, RESOURCE_QUOTAS};
use wavetank_api::quota::{Attributes, Evaluator, Operation};
use wavetank_api::strategy::Part;
use wavetank_api::{Object, Status, json};
use wavetank_client::informer::{Informers, Lister, SharedInformerFactory};
use wavetank_client::workqueue::WorkQueue;
use wavetank_engine::{Cx, Name, RoutineFuture, Rx, Task, Timer};
use wavetank_version::Set;

use crate::gates::QUOTA_ADMISSION;
use crate::registry::{Hooked, Registry, ValidateObject};
use crate::server::Config;

pub use defects::QuotaDefect;
pub use note::Admitted;

const SCOPE: Name = Name::new("quota-admission");
/// The quotas that the server knows.
const LISTER: Lister = Lister::of(SCOPE, 0);
/// By namespace, so that requests of one are worked off together.
const QUEUE: WorkQueue = WorkQueue::new(SCOPE, "admission_quota_controller");

/// Is it on?
pub(crate) fn is_on(config: &Config) -> bool {
    config.admission.quota && config.release.has(QUOTA_ADMISSION)
}

fn informers(config: &Config) -> Arc<Informers> {
    let mut factory = SharedInformerFactory::new(SCOPE, config.loopback(), Set::NONE);
    factory.informer_for(&RESOURCE_QUOTAS);
    factory.done()
}

/// Begins with the process.
pub(crate) fn boot(config: &Config, cx: &mut Cx<'_>) {
    if is_on(config) {
        informers(config).boot(cx);
        QUEUE.make(cx);
    }
}

/// A timer of the process; false if it is none of these.
pub(crate) fn timer(config: &Config, cx: &mut Cx<'_>, timer: Timer) -> bool {
    is_on(config) && informers(config).timer(cx, timer)
}

/// The future of a task, if it is one of these.
pub(crate) fn routine(config: &Arc<Config>, task: &Task) -> Option<RoutineFuture> {
    if !is_on(config) {
        return None;
    }
    let work = evaluate::routine(config, task);
    work.or_else(|| informers(config).routine(task))
}

/// The plugin, for the time of one request.
#[derive(Debug)]
pub(crate) struct QuotaAdmission;

impl QuotaAdmission {
    /// What it is about to be asked; nothing of what lies in no namespace, and of namespaces.
    fn attributes(registry: &Registry, object: &Json, old: Option<&Json>) -> Option<Attributes> {
        if registry.namespace.is_empty() || *registry.resource == NAMESPACES {
            return None;
        }
        Some(Attributes {
            resource: registry.resource,
            namespace: registry.namespace.clone(),
            name: json::text(object, &["metadata", "name"]).into(),
            subresource: match registry.part {
                Part::Whole => "",
                Part::Status => "status",
                Part::Resize => "resize",
                _ => "other",
            },
            operation: match old {
                None => Operation::Create,
                Some(_) => Operation::Update,
            },
            object: Object::new(object.clone()),
            old: old.cloned().map(Object::new),
            dry_run: registry.dry_run,
        })
    }
}

impl ValidateObject for QuotaAdmission {
    /// `Validate`, and of `Evaluate` what decides whether there is anything to do.
    fn validate<'a>(
        &'a self,
        rx: Rx,
        registry: &'a Registry,
        object: &'a Json,
        old: Option<&'a Json>,
    ) -> Hooked<'a, Result<(), Status>> {
        Box::pin(async move {
            let Some(evaluator) = Evaluator::of(registry.resource) else {
                return Ok(());
            };
            let attributes = QuotaAdmission::attributes(registry, object, old);
            match attributes.filter(|own| evaluator.handles(own)) {
                Some(attributes) => evaluate::evaluate(rx, attributes).await,
                None => Ok(()),
            }
        })
    }
}
