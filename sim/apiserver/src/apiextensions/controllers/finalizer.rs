//! The objects of a definition go before it does (`controller/finalizer/crd_finalizer.go`).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::apiextensions::CUSTOM_RESOURCE_CLEANUP_FINALIZER;
use wavetank_api::apiextensions::conditions::{
    Condition, crd_has_finalizer, crd_remove_finalizer, is_crd_condition_true,
    remove_crd_condition, set_crd_condition,
};
use wavetank_api::json::{self, Json};
use wavetank_api::options::DeleteOptions;
use wavetank_api::strategy::Part;
use wavetank_api::{Status, Stored};
use wavetank_client::informer::Notice;
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_engine::{Rx, mutant};

use super::{Controller, Failed};
use crate::apiextensions::serving_info::get_or_create_serving_info_for;
use crate::apiextensions::{CustomDefect, DEFECTS, SCOPE};
use crate::cacher::Cacher;
use crate::options::ListOptions;
use crate::registry::{Generic, Registry};

pub(super) const QUEUE: WorkQueue = WorkQueue::new(SCOPE, "crd-finalizer");

/// How often it looks whether all objects are gone, and how long.
const POLL: Duration = Duration::from_secs(5);
const POLLS: u32 = 12;

fn is_going(crd: &Json) -> bool {
    json::at(crd, &["metadata", "deletionTimestamp"]).is_some()
        && crd_has_finalizer(crd, CUSTOM_RESOURCE_CLEANUP_FINALIZER)
}

/// Upstream's `addCustomResourceDefinition`, `updateCustomResourceDefinition`: those that go, unless nothing but its own condition
/// has changed.
pub(in crate::apiextensions) fn on_definition(rx: Rx, _: u32, notice: &Notice) {
    match notice {
        Notice::Added { new, .. } if is_going(new.object.json()) => QUEUE.add(rx, notice.key()),
        Notice::Updated { old, new } if is_going(new.object.json()) => {
            let rest = |stored: &Stored| {
                let mut rest = stored.object.json().clone();
                remove_crd_condition(&mut rest, "Terminating");
                rest
            };
            if old.resource_version == new.resource_version || rest(old) != rest(new) {
                QUEUE.add(rx, notice.key());
            }
        }
        _ => {}
    }
}

fn terminating(
    status: &'static str,
    reason: &'static str,
    message: impl Into<String>,
) -> Condition {
    Condition {
        ty: "Terminating",
        status,
        reason,
        message: message.into(),
    }
}

/// `sync`
pub(super) async fn sync(controller: &Controller, rx: Rx, key: &Item) -> Result<(), Failed> {
    let Some(stored) = controller.get(rx, key) else {
        return Ok(());
    };
    let mut crd = stored.json();
    if !is_going(&crd) {
        return Ok(());
    }
    let message = "CustomResource deletion is in progress";
    let in_progress = terminating("True", "InstanceDeletionInProgress", message);
    set_crd_condition(&mut crd, &in_progress, Controller::now(rx));
    // Who was overtaken will be called again; if only by the change that this server wrote a moment ago, which its
    // informer did not show yet, by nobody but a resync.
    let Some(updated) = controller.update_status(rx, crd).await? else {
        return Ok(());
    };
    let mut crd = updated.json();
    if has_instances(rx, &crd) {
        let deleted = delete_instances(controller, rx, &updated).await;
        let (condition, done) = match deleted {
            Ok(condition) => (condition, true),
            Err(condition) => (condition, false),
        };
        set_crd_condition(&mut crd, &condition, Controller::now(rx));
        if !done {
            let _ = controller.update_status(rx, crd).await;
            return Err(Failed);
        }
    } else {
        let never = terminating(
            "False",
            "NeverEstablished",
            "resource was never established",
        );
        set_crd_condition(&mut crd, &never, Controller::now(rx));
    }
    crd_remove_finalizer(&mut crd, CUSTOM_RESOURCE_CLEANUP_FINALIZER);
    finish(controller, rx, crd).await
}

/// May there be objects of it? Upstream looks at `Established`, but serves as soon as the names are accepted.
fn has_instances(rx: Rx, crd: &Json) -> bool {
    is_crd_condition_true(crd, "Established")
        || is_crd_condition_true(crd, "NamesAccepted")
            && rx
                .read(&DEFECTS)
                .has(CustomDefect::FixDeleteBeforeEstablished)
}

/// The last update: what it answers is a Status or the object, both are well.
async fn finish(controller: &Controller, rx: Rx, crd: Json) -> Result<(), Failed> {
    controller.update_status(rx, crd).await.map(drop)
}

/// `deleteInstances`
async fn delete_instances(
    controller: &Controller,
    rx: Rx,
    crd: &Stored,
) -> Result<Condition, Condition> {
    let failed = |message: String| terminating("True", "InstanceDeletionFailed", message);
    let registry = get_custom_resource_lister_collection_deleter(controller, rx, crd).await;
    let registry =
        registry.map_err(|error| failed(format!("could not list instances: {error}")))?;
    let all = ListOptions::default();
    let listed = registry.list_predicate(rx, &all).await;
    let listed =
        listed.map_err(|error| failed(format!("could not list instances: {}", error.message)))?;
    let namespaces = listed
        .items
        .iter()
        .map(|item| item.object.namespace().to_owned());
    let mut seen = BTreeSet::new();
    let mut errors: Vec<String> = Vec::new();
    for namespace in namespaces.filter(|namespace| seen.insert(namespace.clone())) {
        if mutant!(
            "instances-stay",
            "the objects of a definition that goes are not deleted"
        ) {
            break;
        }
        let of_namespace = Registry {
            namespace: namespace.into(),
            ..registry.clone()
        };
        let options = DeleteOptions {
            grace: Some(0),
            ..DeleteOptions::default()
        };
        if let Err(error) = of_namespace.delete_collection(rx, &options, &all).await {
            errors.push(error.message);
        }
    }
    if !errors.is_empty() {
        let errors = match errors.as_slice() {
            [one] => one.clone(),
            all => format!("[{}]", all.join(", ")),
        };
        return Err(failed(format!("could not issue all deletes: {errors}")));
    }
    wait_until_none(rx, &registry).await.map_err(|error| {
        let message = format!("could not confirm zero CustomResources remaining: {error}");
        terminating("True", "InstanceDeletionCheck", message)
    })?;
    let message = "removed all instances";
    Ok(terminating("False", "InstanceDeletionCompleted", message))
}

/// Upstream's poll: none is left, or it takes too long.
async fn wait_until_none(rx: Rx, registry: &Registry) -> Result<(), String> {
    for poll in 0..=POLLS {
        let listed = registry.list_predicate(rx, &ListOptions::default()).await;
        if listed
            .map_err(|error: Status| error.message)?
            .items
            .is_empty()
            || mutant!(
                "instances-are-not-waited-for",
                "a definition goes before its objects have"
            )
        {
            return Ok(());
        }
        if poll < POLLS {
            rx.sleep(POLL).await;
        }
    }
    Err("context deadline exceeded".to_owned())
}

/// `GetCustomResourceListerCollectionDeleter`: the storage of the version that is stored.
async fn get_custom_resource_lister_collection_deleter(
    controller: &Controller,
    rx: Rx,
    crd: &Stored,
) -> Result<Registry, String> {
    let config = &controller.config;
    let (uid, name) = (crd.object.uid(), crd.object.name());
    let info = get_or_create_serving_info_for(rx, config, uid, name).await;
    let info = info.map_err(|why| {
        let why = why.unwrap_or_else(|| format!("customresourcedefinition {name:?} not found"));
        format!("unable to find a custom resource client for {name}: {why}")
    })?;
    let version = info.definition.storage.clone();
    let resource = info.definition.version(&version);
    let resource = resource.ok_or("the storage version is not there")?;
    let caches = config.caches();
    Ok(Registry {
        resource,
        served: resource,
        storage: config.storage_of(resource),
        cacher: caches.map(|caches| Cacher::of_build(caches, resource, info.build(&version))),
        part: Part::Whole,
        namespace: "".into(),
        rest: Arc::new(Generic),
        validation: None,
        dry_run: false,
        me: config.number,
    })
}
