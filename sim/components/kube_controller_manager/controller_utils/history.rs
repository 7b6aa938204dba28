//! The templates that an object had, each kept as a ControllerRevision (`pkg/controller/history/controller_history.go`).

use serde_json::json;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::CONTROLLER_REVISIONS;
use wavetank_api::selector::LabelSelector;
use wavetank_api::{Method, Object, Reason, Request, Stored};
use wavetank_client::informer::Lister;
use wavetank_client::wait::DEFAULT_BACKOFF;
use wavetank_client::{Index, RestClient};
use wavetank_engine::{NotState, Rx};

use super::pods::controller_index_key;
use super::ref_manager::{owner_ref_controller_patch, recheck_deletion_timestamp};
use super::{ControllerRef, SyncError, get_controller_of};

/// `ControllerRevisionHashLabel`
const HASH_LABEL: &str = "controller.kubernetes.io/hash";
/// No name is longer.
const LONGEST_PREFIX: usize = 223;
/// `SafeEncodeString`
const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const STRATEGIC_MERGE_PATCH: &str = "application/strategic-merge-patch+json";

/// `ControllerRevisionControllerIndex`: revisions by their controller, and those that have none by their namespace.
pub const CONTROLLER_REVISION_CONTROLLER_INDEX: Index = Index {
    name: "controllerRevisionController",
    of: NotState(|revision| {
        let reference = get_controller_of(revision.json());
        vec![controller_index_key(revision.namespace(), reference).into()]
    }),
};

/// FNV-1, 32 bits.
fn fnv32(bytes: impl Iterator<Item = u8>) -> u32 {
    bytes.fold(2_166_136_261_u32, |hash, byte| {
        hash.wrapping_mul(16_777_619) ^ u32::from(byte)
    })
}

/// `HashControllerRevision`
fn hash_controller_revision(data: &Json, probe: i64) -> String {
    // As Go marshals it.
    let text = data.to_string().replace('<', "\\u003c");
    let text = text.replace('>', "\\u003e").replace('&', "\\u0026");
    let probe = probe.to_string();
    let hash = fnv32(text.bytes().chain(probe.bytes())).to_string();
    let letters = hash
        .bytes()
        .map(|digit| LETTERS[usize::from(digit) % LETTERS.len()]);
    letters.map(char::from).collect()
}

/// `ControllerRevisionName`
fn controller_revision_name(prefix: &str, hash: &str) -> String {
    let prefix = &prefix[..prefix.len().min(LONGEST_PREFIX)];
    format!("{prefix}-{hash}")
}

fn number(revision: &Json) -> i64 {
    json::number(revision, &["revision"]).unwrap_or(0)
}

/// Upstream's `getPatch` of each kind: a template, as a patch that replaces it.
pub fn get_patch(set: &Json) -> Json {
    let mut template = json::at(set, &["spec", "template"])
        .cloned()
        .unwrap_or_default();
    json::set(&mut template, &["$patch"], "replace");
    json!({"spec": {"template": template}})
}

/// `EqualRevision`
pub fn equal_revision(first: &Json, second: &Json) -> bool {
    first.get("data") == second.get("data")
}

/// What a revision is to hold.
#[derive(Clone, Debug)]
pub struct RevisionData {
    /// The labels of the template.
    pub labels: Json,
    /// The annotations of its parent.
    pub annotations: Json,
    /// The template, as a patch.
    pub data: Json,
}

/// `realHistory`
#[derive(Clone, Debug)]
pub struct History {
    /// How it reaches apiservers.
    pub rest: RestClient,
    /// The revisions that it knows.
    pub revisions: Lister,
}

impl History {
    /// `NewControllerRevision`
    pub fn new_controller_revision(
        parent: ControllerRef<'_>,
        of: RevisionData,
        revision: i64,
        collisions: i64,
    ) -> Json {
        let hash = hash_controller_revision(&of.data, collisions);
        let name = controller_revision_name(parent.object.name(), &hash);
        let mut made = json!({
            "apiVersion": CONTROLLER_REVISIONS.api_version(),
            "kind": CONTROLLER_REVISIONS.kind,
            "metadata": {"name": name, "labels": of.labels, "ownerReferences": [parent.json()]},
            "data": of.data,
            "revision": revision,
        });
        json::set(&mut made, &["metadata", "labels", HASH_LABEL], hash);
        if of
            .annotations
            .as_object()
            .is_some_and(|own| !own.is_empty())
        {
            json::set(&mut made, &["metadata", "annotations"], of.annotations);
        }
        made
    }

    /// `ListControllerRevisions`, then sorted (`SortControllerRevisions`).
    pub fn list_controller_revisions(
        &self,
        rx: Rx,
        parent: ControllerRef<'_>,
        selector: &LabelSelector,
    ) -> Vec<Stored> {
        let namespace = parent.object.namespace();
        let own = controller_index_key(namespace, Some(&parent.json()));
        let orphans = controller_index_key(namespace, None);
        let index = &CONTROLLER_REVISION_CONTROLLER_INDEX;
        let mut all = self.revisions.by_index(rx, index, &own);
        all.extend(self.revisions.by_index(rx, index, &orphans));
        all.retain(|revision| selector.matches(revision.object.json()));
        let key = |of: &Stored| {
            let created = json::text(of.object.json(), &["metadata", "creationTimestamp"]);
            let name = of.object.name().to_owned();
            (number(of.object.json()), created.to_owned(), name)
        };
        all.sort_by_cached_key(key);
        all
    }

    /// `CreateControllerRevision`: the revision, or the one of its name that is the same, and how many collisions there
    /// were. With `collides` one of its name is never the same.
    ///
    /// # Errors
    /// If it was not made.
    pub async fn create_controller_revision(
        &self,
        rx: Rx,
        parent: &Object,
        revision: &Json,
        collisions: i64,
        collides: impl Fn() -> bool,
    ) -> Result<(Json, i64), SyncError> {
        let namespace = parent.namespace();
        let mut clone = revision.clone();
        for collisions in collisions.. {
            let hash = hash_controller_revision(&revision["data"], collisions);
            let name = controller_revision_name(parent.name(), &hash);
            let path = CONTROLLER_REVISIONS.path(namespace, &name);
            json::set(&mut clone, &["metadata", "name"], name);
            let post = Request::new(Method::Post, CONTROLLER_REVISIONS.path(namespace, ""));
            match self.rest.object(rx, post.with(clone.clone())).await {
                Err(error) if error.is(Reason::AlreadyExists) => {}
                made => return Ok((made?.json(), collisions)),
            }
            let get = Request::new(Method::Get, path);
            let exists = self.rest.object(rx, get).await?.json();
            if equal_revision(&exists, &clone) && !collides() {
                return Ok((exists, collisions));
            }
        }
        unreachable!("numbers do not end")
    }

    /// The revision of this name, as the server has it.
    ///
    /// # Errors
    /// If the server did not say whether there is one.
    pub async fn look_for_controller_revision(
        &self,
        rx: Rx,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Json>, SyncError> {
        let get = Request::new(Method::Get, CONTROLLER_REVISIONS.path(namespace, name));
        match self.rest.object(rx, get).await {
            Err(error) if error.is(Reason::NotFound) => Ok(None),
            found => Ok(Some(found?.json())),
        }
    }

    /// `UpdateControllerRevision`: it gets another number.
    ///
    /// # Errors
    /// If it was not updated.
    pub async fn update_controller_revision(
        &self,
        rx: Rx,
        revision: &Stored,
        new: i64,
    ) -> Result<Json, SyncError> {
        let (namespace, name) = (revision.object.namespace(), revision.object.name());
        let path = CONTROLLER_REVISIONS.path(namespace, name);
        let mut clone = revision.json();
        let mut backoff = DEFAULT_BACKOFF;
        loop {
            if number(&clone) == new {
                return Ok(clone);
            }
            json::set(&mut clone, &["revision"], new);
            let put = Request::new(Method::Put, path.clone()).with(clone.clone());
            let Err(error) = self.rest.object(rx, put).await else {
                return Ok(clone);
            };
            if let Some(updated) = self.revisions.get(rx, &format!("{namespace}/{name}")) {
                clone = updated.json();
            }
            if !error.is(Reason::Conflict) || !backoff.wait(rx).await {
                return Err(error.into());
            }
        }
    }

    /// `DeleteControllerRevision`
    ///
    /// # Errors
    /// If it was not deleted.
    pub async fn delete_controller_revision(&self, rx: Rx, of: &Object) -> Result<(), SyncError> {
        let path = CONTROLLER_REVISIONS.path(of.namespace(), of.name());
        let options = json!({"kind": "DeleteOptions", "apiVersion": "v1"});
        let delete = Request::new(Method::Delete, path).with(options);
        self.rest.request(rx, delete).await?;
        Ok(())
    }

    /// Upstream's `AdoptControllerRevision`, for all of these that are nobody's, once it is sure that their parent is to stay.
    ///
    /// # Errors
    /// The first thing that went wrong.
    pub async fn adopt_orphan_revisions(
        &self,
        rx: Rx,
        parent: ControllerRef<'_>,
        revisions: &[Stored],
    ) -> Result<(), SyncError> {
        let mut orphans = revisions.iter().map(|own| &own.object);
        let is_orphan = |own: &&Object| get_controller_of(own.json()).is_none();
        let orphans: Vec<_> = orphans.by_ref().filter(is_orphan).collect();
        if orphans.is_empty() {
            return Ok(());
        }
        if let Err(why) = recheck_deletion_timestamp(rx, &self.rest, parent).await {
            let why = format!("can't adopt ControllerRevisions: {why}");
            return Err(SyncError::Worded(why));
        }
        for revision in orphans {
            let path = CONTROLLER_REVISIONS.path(revision.namespace(), revision.name());
            let patch = owner_ref_controller_patch(&parent, revision.uid());
            let mut request = Request::new(Method::Patch, path).with(patch);
            request.content_type = Some(STRATEGIC_MERGE_PATCH.into());
            self.rest.object(rx, request).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_are_named_as_upstream_names_them() {
        // The known values of FNV-1.
        assert_eq!(fnv32("".bytes()), 0x811c_9dc5);
        assert_eq!(fnv32("foobar".bytes()), 0x31f0_b262);
        // From a recording of a real manager.
        let container = json!({
            "image": "registry.example/app:1", "imagePullPolicy": "IfNotPresent", "name": "c", "resources": {},
            "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
        });
        let spec = json!({
            "containers": [container], "dnsPolicy": "ClusterFirst", "restartPolicy": "Always",
            "schedulerName": "default-scheduler", "securityContext": {}, "terminationGracePeriodSeconds": 30,
        });
        let template = json!({
            "$patch": "replace", "metadata": {"labels": {"app": "db"}}, "spec": spec,
        });
        let data = json!({"spec": {"template": template}});
        assert_eq!(hash_controller_revision(&data, 0), "66897bfb94");
        assert!(hash_controller_revision(&data, 1) != "66897bfb94");
    }
}
