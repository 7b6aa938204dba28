//! `NamespaceLifecycle` (`apiserver/pkg/admission/plugin/namespace/lifecycle/admission.go`): some namespaces stay, and
//! nothing is made in one that is missing or on its way out. It looks into an informer of the server's own, and asks the
//! server where that has reason to be behind. The informer is here, too: others admit and make namespaces by it.

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::kinds::NAMESPACES;
use wavetank_api::status::Cause;
use wavetank_api::{Method, Request, Resource, Status, Stored, json};
use wavetank_client::Failure;
use wavetank_client::informer::{Informers, Lister, SharedInformerFactory};
use wavetank_engine::{Cell, Cx, Name, Outcome, RoutineFuture, Rx, Task, Timer, mutant};
use wavetank_version::Set;

use super::admission::Operation;
use crate::server::Config;

/// `forceLiveLookupTTL`
const FORCE_LIVE_LOOKUP_TTL: Duration = Duration::from_secs(30);
/// So many names are kept (`newLifecycleWithClock`).
const FORCE_LIVE_LOOKUPS: usize = 100;
/// `missingNamespaceWait`
const MISSING_NAMESPACE_WAIT: Duration = Duration::from_millis(50);
/// `timeToWaitForReady` (`apiserver/pkg/admission/handler.go`), and how often it looks.
const TIME_TO_WAIT_FOR_READY: Duration = Duration::from_secs(10);
const READY_POLL: Duration = Duration::from_millis(100);

const SCOPE: Name = Name::new("namespaces");
const FORGET: Name = Name::new("forget-deleted-namespace");

/// The namespaces that the server knows.
pub const NAMESPACE_LISTER: Lister = Lister::of(SCOPE, 0);

/// `forceLiveLookupCache`, the one last used at the end.
static FORCE_LIVE_LOOKUP: Cell<ForceLiveLookup> = Cell::new("force-live-lookup");

/// Namespaces whose deletion was asked for here lately: of these the informer may show what is no longer so.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct ForceLiveLookup {
    /// With the number of each.
    names: Vec<(Arc<str>, u32)>,
    /// How many there were.
    count: u32,
}

impl ForceLiveLookup {
    /// `Add`: its number, for when it expires.
    fn add(&mut self, name: Arc<str>) -> u32 {
        self.count = self.count.wrapping_add(1);
        self.names.retain(|(known, _)| *known != name);
        self.names.push((name, self.count));
        if self.names.len() > FORCE_LIVE_LOOKUPS {
            self.names.remove(0);
        }
        self.count
    }

    /// `Get`: is it among them?
    fn get(&mut self, name: &str) -> bool {
        let at = self.names.iter().position(|(known, _)| **known == *name);
        let Some(at) = at else {
            return false;
        };
        let used = self.names.remove(at);
        self.names.push(used);
        true
    }
}

/// The informer of namespaces.
fn informers(config: &Config) -> Arc<Informers> {
    let mut factory = SharedInformerFactory::new(SCOPE, config.loopback(), Set::NONE);
    factory.informer_for(&NAMESPACES);
    factory.done()
}

/// Begins with the process.
pub(crate) fn boot(config: &Config, cx: &mut Cx<'_>) {
    if config.namespace_lifecycle {
        informers(config).boot(cx);
    }
}

/// A timer of the process; false if it is none of these.
pub(crate) fn timer(config: &Config, cx: &mut Cx<'_>, timer: Timer) -> bool {
    config.namespace_lifecycle && informers(config).timer(cx, timer)
}

/// `hold` and `release` of the informer; false if the command is about another resource.
pub(crate) fn command(
    config: &Config,
    cx: &mut Cx<'_>,
    what: &str,
    args: &serde_json::Value,
) -> Option<Result<(), String>> {
    let own = config.namespace_lifecycle && args["informer"].as_bool() == Some(true);
    own.then(|| informers(config).command(cx, what, args))
}

/// The future of a task, if it is one of these.
pub(crate) fn routine(config: &Config, task: &Task) -> Option<RoutineFuture> {
    if !config.namespace_lifecycle {
        return None;
    }
    if task.kind() == FORGET {
        let (name, number) = task.args::<(Arc<str>, u32)>().clone();
        return Some(Box::pin(forget(Rx::new(), name, number)));
    }
    informers(config).routine(task)
}

/// An entry expires, unless it was added anew.
async fn forget(rx: Rx, name: Arc<str>, number: u32) -> Outcome {
    rx.sleep(FORCE_LIVE_LOOKUP_TTL).await;
    rx.update(&FORCE_LIVE_LOOKUP, |cache| {
        cache.names.retain(|own| *own != (name.clone(), number));
    });
    Outcome::Done
}

/// `WaitForReady` of the plugins whose ready function is that the informer of namespaces has synced.
pub(crate) async fn wait_for_ready(rx: Rx) -> bool {
    let ready = async {
        while !NAMESPACE_LISTER.has_synced(rx) {
            rx.sleep(READY_POLL).await;
        }
    };
    NAMESPACE_LISTER.has_synced(rx)
        || rx.timeout(TIME_TO_WAIT_FOR_READY, ready).await.is_some()
        || NAMESPACE_LISTER.has_synced(rx)
}

/// What is refused while a plugin is not ready.
pub(crate) fn not_yet_ready(resource: &Resource, name: &str) -> Status {
    Status::new_forbidden(resource, name, "not yet ready to handle request")
}

/// A live lookup, by a call of the server's own.
///
/// # Errors
/// 404 as it is; whatever else fails as an internal error.
pub(crate) async fn look_up(rx: Rx, config: &Config, namespace: &str) -> Result<Stored, Status> {
    let get = Request::new(Method::Get, NAMESPACES.path("", namespace));
    match config.loopback().object(rx, get).await {
        Ok(found) => Ok(found),
        Err(Failure::Status(status)) if status.is(wavetank_api::Reason::NotFound) => Err(status),
        Err(failed) => Err(Status::new_internal_error(failed)),
    }
}

/// `Admit`
///
/// # Errors
/// 403 or 404.
pub(crate) async fn admit(
    rx: Rx,
    config: &Config,
    operation: Operation,
    resource: &Resource,
    namespace: &str,
    name: &str,
) -> Result<(), Status> {
    if *resource == NAMESPACES {
        return of_namespace(rx, operation, name);
    }
    if namespace.is_empty() || operation == Operation::Delete {
        return Ok(());
    }
    if !wait_for_ready(rx).await {
        return Err(not_yet_ready(resource, name));
    }
    let mut known = NAMESPACE_LISTER.get(rx, namespace);
    if known.is_none() && operation == Operation::Create {
        // Time for the informer to hear of it.
        rx.sleep(MISSING_NAMESPACE_WAIT).await;
        known = NAMESPACE_LISTER.get(rx, namespace);
    }
    let was_deleted = rx.update(&FORCE_LIVE_LOOKUP, |cache| cache.get(namespace));
    let found = match known {
        Some(known) if !(was_deleted && phase(&known) == "Active") => known,
        _ => look_up(rx, config, namespace).await?,
    };
    if operation != Operation::Create
        || phase(&found) != "Terminating"
        || mutant!(
            "create-in-terminating",
            "objects can be created in a namespace that goes"
        )
    {
        return Ok(());
    }
    let why = format!(
        "unable to create new content in namespace {namespace} because it is being terminated"
    );
    let mut status = Status::new_forbidden(resource, name, &why);
    if let Some(details) = &mut status.details {
        details.causes.push(Cause {
            reason: "NamespaceTerminating".to_owned(),
            message: format!("namespace {namespace} is being terminated"),
            field: "metadata.namespace".to_owned(),
        });
    }
    Err(status)
}

/// Some may not be deleted. What is to be deleted is looked up live for a while.
fn of_namespace(rx: Rx, operation: Operation, name: &str) -> Result<(), Status> {
    if operation != Operation::Delete {
        return Ok(());
    }
    if ["default", "kube-system", "kube-public"].contains(&name) {
        let why = "this namespace may not be deleted";
        return Err(Status::new_forbidden(&NAMESPACES, name, why));
    }
    let name: Arc<str> = name.into();
    let number = rx.update(&FORCE_LIVE_LOOKUP, |cache| cache.add(name.clone()));
    rx.spawn(Task::new(FORGET, (name, number)));
    Ok(())
}

fn phase(namespace: &Stored) -> &str {
    json::text(namespace.object.json(), &["status", "phase"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_hundred_deletions_are_looked_up() {
        let mut cache = ForceLiveLookup::default();
        let name = |n: usize| Arc::from(format!("n{n}"));
        for n in 0..FORCE_LIVE_LOOKUPS {
            cache.add(name(n));
        }
        assert!(cache.get("n0"), "and now it is the one last used");
        cache.add(name(FORCE_LIVE_LOOKUPS));
        assert!(cache.get("n0") && !cache.get("n1"));
        assert_eq!(cache.add(name(7)), cache.count);
        assert_eq!(cache.names.len(), FORCE_LIVE_LOOKUPS);
    }
}
