//! The part of `kube-aggregator` that keeps APIServices of what this server serves itself, and answers `/apis` by them.
//! Servers of others, to which it would hand requests on, are not simulated.
//!
//! - `autoregister`: the APIServices that should be there, and their controller;
//! - `crd_registration`: those of the versions of definitions.

mod autoregister;
mod crd_registration;

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::discovery::{Group, groups_of_api_services};
use wavetank_api::kinds::API_SERVICES;
use wavetank_client::informer::{HandlerSpec, Informers, Lister, SharedInformerFactory};
use wavetank_client::workqueue::WorkQueue;
use wavetank_engine::{Cx, Name, NotState, Outcome, RoutineFuture, Rx, Task, Timer};
use wavetank_version::Set;

use crate::apiextensions::definitions;
use crate::server::Config;

pub(crate) use crd_registration::on_definition;

/// Whose informer and queues these are.
const SCOPE: Name = Name::new("kube-aggregator");
const START: Name = Name::new("kube-apiserver-autoregistration");

/// How often it is told of all APIServices (`NewWithDelegate` in `apiserver.go`).
const RESYNC: Duration = Duration::from_secs(300);

fn informers(config: &Config) -> (Arc<Informers>, Lister) {
    let factory = SharedInformerFactory::new(SCOPE, config.loopback(), Set::NONE);
    let mut factory = factory.resynced(RESYNC);
    let mut informer = factory.informer_for(&API_SERVICES);
    informer.add_event_handler(HandlerSpec {
        on: NotState(Arc::new(autoregister::on_api_service)),
        ..HandlerSpec::new("autoregister")
    });
    let lister = informer.lister();
    (factory.done(), lister)
}

/// Begins with the process.
pub(crate) fn boot(config: &Config, cx: &mut Cx<'_>) {
    if !config.aggregates() {
        return;
    }
    autoregister::QUEUE.make(cx);
    crd_registration::QUEUE.make(cx);
    informers(config).0.boot(cx);
    cx.spawn(Task::new(START, ()));
}

/// A timer of the process; false if it is none of these.
pub(crate) fn timer(config: &Config, cx: &mut Cx<'_>, timer: Timer) -> bool {
    config.aggregates() && informers(config).0.timer(cx, timer)
}

/// The future of a task, if it is one of these.
pub(crate) fn routine(config: &Arc<Config>, task: &Task) -> Option<RoutineFuture> {
    if !config.aggregates() {
        return None;
    }
    if task.kind() == START {
        return Some(Box::pin(start(Rx::new(), config.clone())));
    }
    let own = autoregister::routine(config, task);
    let own = own.or_else(|| crd_registration::routine(config, task));
    let queued = own.or_else(|| WorkQueue::routine(task));
    queued.or_else(|| informers(config).0.routine(task))
}

/// The hook `kube-apiserver-autoregistration`: what definitions make is known before the first APIService is looked at.
async fn start(rx: Rx, config: Arc<Config>) -> Outcome {
    autoregister::api_services_to_register(rx, &config);
    let crds = definitions(&config);
    crds.wait_for_cache_sync(rx).await;
    crd_registration::sync_all(rx, crds);
    crd_registration::start(rx);
    let (_, lister) = informers(&config);
    lister.wait_for_cache_sync(rx).await;
    autoregister::run(rx, lister);
    Outcome::Done
}

/// The groups of all APIServices, as `/apis` lists them; `None` where nobody keeps APIServices.
pub(crate) fn groups(rx: Rx, config: &Config) -> Option<Vec<Group>> {
    if !config.aggregates() {
        return None;
    }
    let kept = informers(config).1.list(rx);
    let kept = kept.iter().map(|entry| entry.object.json());
    Some(groups_of_api_services(kept))
}
