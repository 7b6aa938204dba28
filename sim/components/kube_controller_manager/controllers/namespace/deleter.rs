//! How a namespace is emptied (`pkg/controller/namespace/deletion/namespaced_resources_deleter.go`): pods first, then all
//! other resources that discovery lists. When the last list of each is empty the namespace is let go.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use wavetank_api::kinds::{NAMESPACES, PODS};
use wavetank_api::{Content, Json, Method, Reason, Request, Resource, Stamp, Stored, json as tree};
use wavetank_client::{Failure, RestClient};
use wavetank_engine::{Cell, Rx};
use wavetank_version::Set;

use super::conditions::NamespaceConditionUpdater;
use super::defects::NamespaceDefect;
use super::notes::{DeletesOthers, Empties, Finalizes, Remaining};
use crate::controller_utils::discovery::{Mapping, server_preferred_resources};
use crate::gates;

/// How a client of metadata asks for a list (`client-go/metadata/metadata.go`).
const METADATA: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
/// The finalizer of this controller (`v1.FinalizerKubernetes`).
const FINALIZER_TOKEN: &str = "kubernetes";
/// `finalizerEstimateSeconds`
const FINALIZER_ESTIMATE: i64 = 15;

/// `operationNotSupportedCache`
static NOT_SUPPORTED: Cell<BTreeSet<Operation>> = Cell::new("operation-not-supported");

/// `operationKey`: what is done, and to which resource of which group and version.
type Operation = (&'static str, Arc<str>, Arc<str>);

const LIST: &str = "list";
const DELETE_COLLECTION: &str = "deletecollection";

/// Why a namespace is not gone.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum DeletionError {
    /// `ResourcesRemainingError`, with the seconds that it may take.
    ResourcesRemaining(i64),
    /// Something failed.
    Failed(String),
}

impl From<Failure> for DeletionError {
    fn from(failure: Failure) -> DeletionError {
        DeletionError::Failed(failure.to_string())
    }
}

/// `gvrDeletionMetadata`
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Left {
    finalizer_estimate_seconds: i64,
    num_remaining: usize,
    finalizers_to_num_remaining: BTreeMap<String, usize>,
}

/// `allGVRDeletionMetadata`
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Totals {
    /// Resource and group, and how many there are.
    pub gvr_to_num_remaining: BTreeMap<(String, String), usize>,
    pub finalizers_to_num_remaining: BTreeMap<String, usize>,
}

impl Totals {
    fn add(&mut self, mapping: &Mapping, left: &Left) {
        if left.num_remaining == 0 {
            return;
        }
        let key = (mapping.resource.to_string(), mapping.group().to_owned());
        self.gvr_to_num_remaining.insert(key, left.num_remaining);
        for (finalizer, count) in &left.finalizers_to_num_remaining {
            let total = self.finalizers_to_num_remaining.entry(finalizer.clone());
            *total.or_default() += count;
        }
    }
}

/// `namespacedResourcesDeleter`
#[derive(Debug)]
pub(super) struct NamespacedResourcesDeleter {
    pub rest: RestClient,
    pub defects: Set<NamespaceDefect>,
    /// Of what there may be objects.
    pub resources: Vec<&'static Resource>,
}

fn is_gone_or_refused(failure: &Failure) -> bool {
    failure.is(Reason::MethodNotAllowed) || failure.is(Reason::NotFound)
}

fn background() -> Json {
    json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"})
}

impl NamespacedResourcesDeleter {
    /// `discoverResourcesFn`: nothing if discovery fails. Of resources that nobody uses there are no objects.
    async fn discover_resources_fn(&self, rx: Rx) -> Vec<Mapping> {
        let mut all = server_preferred_resources(rx, &self.rest).await;
        all.retain(|mapping| mapping.namespaced);
        all
    }

    fn may_have_objects(&self, mapping: &Mapping) -> bool {
        let mut used = self.resources.iter();
        used.any(|own| {
            *own.plural == *mapping.resource && *own.api_version() == *mapping.api_version
        })
    }

    /// `initOpCache`: false if nothing could be discovered.
    pub async fn init_op_cache(&self, rx: Rx) -> bool {
        let all = self.discover_resources_fn(rx).await;
        let mut refused = BTreeSet::new();
        for mapping in &all {
            for operation in [LIST, DELETE_COLLECTION] {
                if !mapping.supports_all_verbs(&[operation]) {
                    let (version, resource) = (&mapping.api_version, &mapping.resource);
                    refused.insert((operation, version.clone(), resource.clone()));
                }
            }
        }
        rx.update(&NOT_SUPPORTED, |cache| *cache = refused);
        !all.is_empty()
    }

    /// `isSupported`
    fn is_supported(&self, rx: Rx, operation: &'static str, mapping: &Mapping) -> bool {
        let (version, resource) = (mapping.api_version.clone(), mapping.resource.clone());
        rx.look(&NOT_SUPPORTED, |cache| {
            !cache.contains(&(operation, version, resource))
        })
    }

    async fn get(&self, rx: Rx, name: &str) -> Result<Stored, Failure> {
        let get = Request::new(Method::Get, NAMESPACES.path("", name));
        self.rest.object(rx, get).await
    }

    /// `Delete`
    ///
    /// # Errors
    /// If the namespace is not gone yet.
    pub async fn delete(&self, rx: Rx, name: &str) -> Result<(), DeletionError> {
        let namespace = match self.get(rx, name).await {
            Err(failure) if failure.is(Reason::NotFound) => return Ok(()),
            read => read?,
        };
        if !namespace.object.is_being_deleted() {
            return Ok(());
        }
        let terminating = self
            .retry_on_conflict_error(rx, namespace, Step::UpdateStatus)
            .await?;
        let Some(namespace) = terminating else {
            return Ok(());
        };
        let finalizers = tree::list(namespace.object.json(), &["spec", "finalizers"]);
        if !namespace.object.is_being_deleted() || finalizers.is_empty() {
            return Ok(());
        }
        let estimate = self.delete_all_content(rx, &namespace).await?;
        if estimate > 0 {
            return Err(DeletionError::ResourcesRemaining(estimate));
        }
        rx.note(Finalizes {
            namespace: name.into(),
        });
        self.retry_on_conflict_error(rx, namespace, Step::Finalize)
            .await?;
        Ok(())
    }

    /// `retryOnConflictError`: nothing if the namespace is gone.
    async fn retry_on_conflict_error(
        &self,
        rx: Rx,
        mut latest: Stored,
        step: Step,
    ) -> Result<Option<Stored>, DeletionError> {
        let name = latest.object.name().to_owned();
        loop {
            let failure = match self.step(rx, &latest, step).await {
                Ok(namespace) => return Ok(Some(namespace)),
                Err(failure) => failure,
            };
            if failure.is(Reason::NotFound) {
                return Ok(None);
            }
            if !failure.is(Reason::Conflict) {
                return Err(failure.into());
            }
            let before = latest;
            latest = match self.get(rx, &name).await {
                Err(failure) if failure.is(Reason::NotFound) => return Ok(None),
                read => read?,
            };
            if before.object.uid() != latest.object.uid() {
                let why = "namespace uid has changed across retries";
                return Err(DeletionError::Failed(why.to_owned()));
            }
        }
    }

    /// Upstream's `updateNamespaceStatusFunc`, `finalizeNamespace`
    async fn step(&self, rx: Rx, namespace: &Stored, step: Step) -> Result<Stored, Failure> {
        let mut new = namespace.json();
        let path = match step {
            Step::UpdateStatus => {
                let phase = tree::text(&new, &["status", "phase"]);
                if !namespace.object.is_being_deleted() || phase == "Terminating" {
                    return Ok(namespace.clone());
                }
                tree::set(&mut new, &["status", "phase"], "Terminating");
                "status"
            }
            Step::Finalize => {
                let finalizers = tree::list(&new, &["spec", "finalizers"]).iter();
                let others = finalizers.filter(|own| *own != FINALIZER_TOKEN);
                let mut others: Vec<Json> = others.cloned().collect();
                others.sort_by_key(Json::to_string);
                others.dedup();
                tree::set(&mut new, &["spec", "finalizers"], others);
                tree::remove(&mut new, &["status"]);
                "finalize"
            }
        };
        let path = format!("{}/{path}", NAMESPACES.path("", namespace.object.name()));
        self.rest
            .object(rx, Request::new(Method::Put, path).with(new))
            .await
    }

    /// `deleteCollection`: false if the resource does not have that.
    async fn delete_collection(
        &self,
        rx: Rx,
        mapping: &Mapping,
        namespace: &str,
    ) -> Result<bool, Failure> {
        if !self.is_supported(rx, DELETE_COLLECTION, mapping) {
            return Ok(false);
        }
        let delete = Request::new(Method::Delete, mapping.path(namespace, ""));
        match self.rest.request(rx, delete.with(background())).await {
            Ok(_) => Ok(true),
            Err(failure) if is_gone_or_refused(&failure) => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    /// `listCollection`: nothing if the resource does not have that.
    async fn list_collection(
        &self,
        rx: Rx,
        mapping: &Mapping,
        namespace: &str,
    ) -> Result<Option<Vec<Json>>, Failure> {
        if !self.is_supported(rx, LIST, mapping) {
            return Ok(None);
        }
        let mut get = Request::new(Method::Get, mapping.path(namespace, ""));
        get.accept = Some(METADATA.into());
        match self.rest.request(rx, get).await {
            Ok(response) => Ok(Some(match &response.content {
                Content::Tree(list) => tree::list(list, &["items"]).to_vec(),
                other => unreachable!("a list of metadata was asked for: {other:?}"),
            })),
            Err(failure) if is_gone_or_refused(&failure) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// `deleteEachItem`
    async fn delete_each_item(
        &self,
        rx: Rx,
        mapping: &Mapping,
        namespace: &str,
    ) -> Result<(), Failure> {
        let listed = self.list_collection(rx, mapping, namespace).await?;
        for item in listed.into_iter().flatten() {
            let name = tree::text(&item, &["metadata", "name"]);
            let delete = Request::new(Method::Delete, mapping.path(namespace, name));
            match self.rest.request(rx, delete.with(background())).await {
                Err(failure) if !is_gone_or_refused(&failure) => return Err(failure),
                _ => {}
            }
        }
        Ok(())
    }

    /// `deleteAllContentForGroupVersionResource`: what is left, and what failed.
    async fn delete_all_content_for_group_version_resource(
        &self,
        rx: Rx,
        mapping: &Mapping,
        namespace: &Stored,
    ) -> (Left, Option<String>) {
        let name = namespace.object.name();
        let estimate = match self
            .estimate_graceful_termination(rx, mapping, namespace)
            .await
        {
            Ok(estimate) => estimate,
            Err(failure) => return (Left::default(), Some(failure.to_string())),
        };
        let mut left = Left {
            finalizer_estimate_seconds: estimate,
            ..Left::default()
        };
        let deleted = match self.delete_collection(rx, mapping, name).await {
            Ok(false) => self.delete_each_item(rx, mapping, name).await,
            other => other.map(drop),
        };
        if let Err(failure) = deleted {
            return (left, Some(failure.to_string()));
        }
        let items = match self.list_collection(rx, mapping, name).await {
            Ok(Some(items)) => items,
            Ok(None) => return (left, None),
            Err(failure) => return (left, Some(failure.to_string())),
        };
        if items.is_empty() || self.defects.has(NamespaceDefect::RemainingIsIgnored) {
            return (Left::default(), None);
        }
        for item in &items {
            for finalizer in tree::list(item, &["metadata", "finalizers"]) {
                let finalizer = finalizer.as_str().unwrap_or_default().to_owned();
                *left
                    .finalizers_to_num_remaining
                    .entry(finalizer)
                    .or_default() += 1;
            }
        }
        left.num_remaining = items.len();
        if estimate != 0 {
            return (left, None);
        }
        if !left.finalizers_to_num_remaining.is_empty() {
            left.finalizer_estimate_seconds = FINALIZER_ESTIMATE;
            return (left, None);
        }
        let (group, version, resource) = (mapping.group(), mapping.version(), &mapping.resource);
        let why = format!(
            "unexpected items still remain in namespace: {name} for gvr: {group}/{version}, Resource={resource}"
        );
        (left, Some(why))
    }

    /// `deleteAllContent`: how many seconds it may take until nothing is left; 0 if nothing is.
    async fn delete_all_content(&self, rx: Rx, namespace: &Stored) -> Result<i64, DeletionError> {
        let mut errors = Vec::new();
        let mut conditions = NamespaceConditionUpdater::new(Stamp::of(rx.clock()));
        let mut all = self.discover_resources_fn(rx).await;
        if all.is_empty() {
            let why = "unable to discover the resources of the server";
            conditions.process_discover_resources_err(why);
            errors.push(why.to_owned());
        }
        all.retain(|mapping| {
            mapping.supports_all_verbs(&["delete"]) && self.may_have_objects(mapping)
        });
        let is_pods = |mapping: &Mapping| {
            *mapping.resource == *PODS.plural && *mapping.api_version == *PODS.api_version()
        };
        // Pods come first, and others have to wait for them.
        let is_ordered = self.rest.release.has(gates::NAMESPACE_DELETION_IS_ORDERED);
        if is_ordered {
            all.sort_by_key(|mapping| !is_pods(mapping));
        }
        let mut totals = Totals::default();
        let mut estimate = 0;
        for mapping in &all {
            let content =
                self.delete_all_content_for_group_version_resource(rx, mapping, namespace);
            let (left, error) = content.await;
            let failed = error.is_some();
            if let Some(error) = error {
                conditions.process_delete_content_err(&error);
                if !self.defects.has(NamespaceDefect::ErrorsAreIgnored) {
                    errors.push(error);
                }
            }
            estimate = estimate.max(left.finalizer_estimate_seconds);
            totals.add(mapping, &left);
            if is_ordered && is_pods(mapping) {
                let holds = NamespaceDefect::FixPodsHoldOthers;
                if left.num_remaining > 0 || failed && self.defects.has(holds) {
                    self.update_conditions(rx, namespace, conditions).await;
                    return finish(estimate, &errors);
                }
                let namespace = namespace.object.name().into();
                rx.note(DeletesOthers { namespace });
            }
        }
        rx.note(Empties {
            namespace: namespace.object.name().into(),
            remaining: Remaining::of(&totals),
        });
        conditions.process_content_totals(&totals);
        self.update_conditions(rx, namespace, conditions).await;
        finish(estimate, &errors)
    }

    /// Whether it succeeds or not, the deletion goes on.
    async fn update_conditions(
        &self,
        rx: Rx,
        namespace: &Stored,
        conditions: NamespaceConditionUpdater,
    ) {
        let mut new = namespace.json();
        if conditions.update(&mut new) {
            let path = format!("{}/status", NAMESPACES.path("", namespace.object.name()));
            let put = Request::new(Method::Put, path).with(new);
            let _ = self.rest.object(rx, put).await;
        }
    }

    /// `estimateGracefulTermination`: how long pods may take to end, as long as that has not passed since the deletion.
    async fn estimate_graceful_termination(
        &self,
        rx: Rx,
        mapping: &Mapping,
        namespace: &Stored,
    ) -> Result<i64, Failure> {
        if *mapping.resource != *PODS.plural || !mapping.group().is_empty() {
            return Ok(0);
        }
        let get = Request::new(Method::Get, PODS.path(namespace.object.name(), ""));
        let pods = self.rest.list(rx, get).await?.items;
        let running = pods.iter().map(|pod| pod.object.json()).filter(|pod| {
            !matches!(
                tree::text(pod, &["status", "phase"]),
                "Succeeded" | "Failed"
            )
        });
        let grace = |pod| tree::number(pod, &["spec", "terminationGracePeriodSeconds"]);
        let estimate = running.filter_map(grace).max().unwrap_or(0).max(0);
        let deleted = tree::text(namespace.object.json(), &["metadata", "deletionTimestamp"]);
        let deleted = Stamp::parse(deleted).unwrap_or(Stamp::of(rx.clock()));
        let since = Stamp::of(rx.clock()).nanos() - deleted.nanos();
        let allowed = Duration::from_secs(estimate.unsigned_abs()).as_nanos();
        let is_over = u128::try_from(since).is_ok_and(|since| since >= allowed);
        Ok(if is_over { 0 } else { estimate })
    }
}

/// What is done to a namespace again and again until it is not in conflict.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    UpdateStatus,
    Finalize,
}

fn finish(estimate: i64, errors: &[String]) -> Result<i64, DeletionError> {
    match errors.is_empty() {
        true => Ok(estimate),
        false => Err(DeletionError::Failed(errors.join(", "))),
    }
}
