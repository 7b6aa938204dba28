//! What the collector asks of apiservers (`pkg/controller/garbagecollector/operations.go`, `patch.go`). It reads metadata
//! only.

use std::sync::Arc;

use serde_json::json;
use wavetank_api::{Json, Method, Reason, Request, Stored};
use wavetank_client::Failure;
use wavetank_client::wait::{DEFAULT_BACKOFF, retry_on_conflict};
use wavetank_engine::Rx;

use super::GarbageCollector;
use super::defects::CollectorDefect;
use super::graph::{NodeId, ObjectReference, OwnerReference, owner_references};
use super::notes::{Deletes, TakesFinalizer};
use crate::controller_utils::discovery::{Mapping, MappingError, rest_mapping};

/// How a client of metadata asks for it (`client-go/metadata/metadata.go`).
const METADATA: &str =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const MERGE: &str = "application/merge-patch+json";

/// Why something was not done.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Error {
    /// No mapping, or no discovery.
    Mapping(MappingError),
    /// `namespacedOwnerOfClusterScopedObjectErr`
    NamespacedOwner,
    /// `enqueuedVirtualDeleteEventErr`
    EnqueuedVirtualDelete,
    /// What a request came to.
    Request(Failure),
    /// Something failed, in words that nobody reads.
    Failed,
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        Error::Request(failure)
    }
}

impl From<MappingError> for Error {
    fn from(error: MappingError) -> Error {
        Error::Mapping(error)
    }
}

impl Error {
    /// Did a server answer with this reason?
    pub fn is(&self, reason: Reason) -> bool {
        matches!(self, Error::Request(failure) if failure.is(reason))
    }
}

/// A patch as a JSON merge patch, for kinds that know no strategic one.
pub(super) enum MergePatch<'a> {
    /// `deleteOwnerRefJSONMergePatch`
    DeleteOwners(&'a [Arc<str>]),
    /// `unblockOwnerReferencesJSONMergePatch`
    Unblock(&'a [OwnerReference]),
}

/// `GenerateDeleteOwnerRefStrategicMergeBytes`
pub(super) fn generate_delete_owner_ref_strategic_merge_bytes(
    uid: &str,
    owners: &[Arc<str>],
) -> Json {
    let owners = owners
        .iter()
        .map(|owner| json!({"$patch": "delete", "uid": &**owner}));
    let owners: Vec<Json> = owners.collect();
    json!({"metadata": {"uid": uid, "ownerReferences": owners}})
}

/// `unblockOwnerReferencesStrategicMergePatch`
pub(super) fn unblock_owner_references_strategic_merge_patch(
    uid: &str,
    owners: &[OwnerReference],
) -> Json {
    let blocking = owners.iter().filter(|owner| owner.blocks());
    let blocking = blocking.map(|owner| {
        let mut reference = owner.json();
        reference["blockOwnerDeletion"] = false.into();
        reference
    });
    let blocking: Vec<Json> = blocking.collect();
    json!({"metadata": {"uid": uid, "ownerReferences": blocking}})
}

impl GarbageCollector {
    /// `apiResource`
    pub(super) async fn api_resource(
        &self,
        rx: Rx,
        api_version: &str,
        kind: &str,
    ) -> Result<Mapping, Error> {
        Ok(rest_mapping(rx, &self.rest, api_version, kind).await?)
    }

    async fn metadata(&self, rx: Rx, mut request: Request) -> Result<Stored, Error> {
        request.accept = Some(METADATA.into());
        Ok(self.rest.object(rx, request).await?)
    }

    /// The metadata of the object of this name.
    pub(super) async fn get(
        &self,
        rx: Rx,
        mapping: &Mapping,
        namespace: &str,
        name: &str,
    ) -> Result<Stored, Error> {
        let get = Request::new(Method::Get, mapping.path(namespace, name));
        self.metadata(rx, get).await
    }

    /// `getObject`
    pub(super) async fn get_object(&self, rx: Rx, item: &ObjectReference) -> Result<Stored, Error> {
        let mapping = self.api_resource(rx, &item.api_version, &item.kind).await?;
        if mapping.namespaced && item.namespace.is_empty() {
            return Err(Error::NamespacedOwner);
        }
        self.get(rx, &mapping, &item.namespace, &item.name).await
    }

    /// `deleteObject`: only if the object is as it was read. If it has changed, and not in its owners, only its UID has to
    /// be the same.
    pub(super) async fn delete_object(
        &self,
        rx: Rx,
        item: &ObjectReference,
        read: &Stored,
        policy: &'static str,
    ) -> Result<(), Error> {
        let mapping = self.api_resource(rx, &item.api_version, &item.kind).await?;
        let path = mapping.path(&item.namespace, &item.name);
        rx.note(Deletes {
            object: item.into(),
            policy,
        });
        let mut preconditions = json!({"uid": &*item.uid});
        let mut revision = Some(read.resource_version);
        loop {
            preconditions["resourceVersion"] = match revision {
                Some(revision) => revision.to_string().into(),
                None => Json::Null,
            };
            let error = match self.delete(rx, &path, &preconditions, policy).await {
                Err(error) if error.is(Reason::Conflict) && revision.is_some() => error,
                done => return done,
            };
            let live = match self.get(rx, &mapping, &item.namespace, &item.name).await {
                Err(gone) if gone.is(Reason::NotFound) => return Err(gone),
                live => live.map_err(|_| error.clone())?,
            };
            let is_same = live.object.uid() == &*item.uid
                && Some(live.resource_version) != revision
                && owner_references(live.object.json()) == owner_references(read.object.json());
            if !is_same {
                return Err(error);
            }
            let is_fixed = self.defects.has(CollectorDefect::FixDeleteAsCompared);
            revision = is_fixed.then_some(live.resource_version);
        }
    }

    async fn delete(
        &self,
        rx: Rx,
        path: &str,
        preconditions: &Json,
        policy: &'static str,
    ) -> Result<(), Error> {
        let mut options = json!({
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "propagationPolicy": policy,
        });
        if !self.defects.has(CollectorDefect::CollectsByName) {
            options["preconditions"] = preconditions.clone();
        }
        let delete = Request::new(Method::Delete, path).with(options);
        self.rest.request(rx, delete).await?;
        Ok(())
    }

    /// `patchObject`
    async fn patch_object(
        &self,
        rx: Rx,
        item: &ObjectReference,
        patch: Json,
        content_type: &str,
    ) -> Result<Stored, Error> {
        let mapping = self.api_resource(rx, &item.api_version, &item.kind).await?;
        let path = mapping.path(&item.namespace, &item.name);
        let mut request = Request::new(Method::Patch, path).with(patch);
        request.content_type = Some(content_type.into());
        self.metadata(rx, request).await
    }

    /// `patch`: strategically, or else as a merge.
    pub(super) async fn patch(
        &self,
        rx: Rx,
        item: &ObjectReference,
        strategic: Json,
        merge: MergePatch<'_>,
    ) -> Result<(), Error> {
        match self.patch_object(rx, item, strategic, STRATEGIC).await {
            Err(error) if error.is(Reason::UnsupportedMediaType) => {}
            patched => return patched.map(drop),
        }
        let known = self.get_metadata(rx, item).await?;
        let owners: Vec<Json> = match merge {
            MergePatch::DeleteOwners(uids) => {
                let owners = owner_references(known.object.json());
                let stay = owners.iter().filter(|owner| !uids.contains(&owner.uid));
                stay.map(OwnerReference::json).collect()
            }
            MergePatch::Unblock(owners) => {
                let owners = owners.iter().map(|owner| OwnerReference {
                    block_owner_deletion: Some(false),
                    ..owner.clone()
                });
                owners.map(|owner| owner.json()).collect()
            }
        };
        let revision = known.resource_version.to_string();
        let patch = json!({"metadata": {"resourceVersion": revision, "ownerReferences": owners}});
        self.patch_object(rx, item, patch, MERGE).await.map(drop)
    }

    /// `getMetadata`: as a monitor has it, or else as an apiserver does.
    async fn get_metadata(&self, rx: Rx, item: &ObjectReference) -> Result<Stored, Error> {
        let mapping = self.api_resource(rx, &item.api_version, &item.kind).await?;
        let monitor = self.monitor_of(rx, &mapping);
        let known = monitor.and_then(|monitor| monitor.get(rx, &item.key()));
        match known {
            Some(known) => Ok(known),
            None => self.get(rx, &mapping, &item.namespace, &item.name).await,
        }
    }

    /// `removeFinalizer`
    pub(super) async fn remove_finalizer(
        &self,
        rx: Rx,
        owner: &ObjectReference,
        finalizer: &str,
    ) -> Result<(), Error> {
        let is_conflict = |error: &Error| error.is(Reason::Conflict);
        let removed = retry_on_conflict(rx, DEFAULT_BACKOFF, is_conflict, || async {
            let read = match self.get_object(rx, owner).await {
                Err(error) if error.is(Reason::NotFound) => return Ok(()),
                read => read.map_err(|_| Error::Failed)?,
            };
            let all = wavetank_api::json::list(read.object.json(), &["metadata", "finalizers"]);
            let stay: Vec<&Json> = all.iter().filter(|own| *own != finalizer).collect();
            if stay.len() == all.len() {
                return Ok(());
            }
            let is_another = read.object.uid() != &*owner.uid;
            // Upstream does not ask.
            if is_another && self.defects.has(CollectorDefect::FixFinalizersGoByUid) {
                return Ok(());
            }
            rx.note(TakesFinalizer {
                of: owner.into(),
                is_another,
            });
            let finalizers = match stay.is_empty() {
                true => Json::Null,
                false => json!(stay),
            };
            let revision = read.resource_version.to_string();
            let patch =
                json!({"metadata": {"resourceVersion": revision, "finalizers": finalizers}});
            self.patch_object(rx, owner, patch, MERGE).await.map(drop)
        });
        removed.await
    }

    /// `item.identity`
    pub(super) fn identity(&self, rx: Rx, id: NodeId) -> ObjectReference {
        self.node(rx, id, |node| node.identity.clone())
    }
}
