//! Mirror pods: what the API shows of static pods (`pkg/kubelet/pod/mirror_client.go`, and `tryReconcileMirrorPods` and
//! `fastStaticPodsRegistration` of `pkg/kubelet/kubelet.go`, v1.36.2).

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use wavetank_api::kinds::{NODES, PODS};
use wavetank_api::{Method, Object, Request, json};
use wavetank_client::Failure;
use wavetank_engine::{Name, Outcome, Rx};

use crate::defects::KubeletDefect;
use crate::kubelet::Kubelet;
use crate::notes::{DeletesMirror, MakesMirror};
use crate::pod::{self, CONFIG_HASH, CONFIG_MIRROR, annotation, full_name, is_static_pod};
use crate::pod_manager;

pub(crate) const REGISTER: Name = Name::new("register-static-pods");
/// How long a request may take: the client's timeout.
const LIMIT: Duration = Duration::from_secs(30);
/// How often the node is looked for.
const POLL: Duration = Duration::from_millis(100);

/// `IsMirrorPodOf`
fn is_mirror_pod_of(mirror: &Object, pod: &Object) -> bool {
    let hash = annotation(mirror, CONFIG_MIRROR);
    hash.is_some() && hash == annotation(pod, CONFIG_HASH)
}

impl Kubelet {
    /// `GetNode`. Upstream's looks into the cache of an informer.
    async fn get_node(&self, rx: Rx) -> Result<Object, Failure> {
        let get = Request::new(Method::Get, NODES.path("", self.node.name()));
        let found = self.rest.object_within(rx, get, LIMIT).await;
        found.map(|own| own.object)
    }

    /// `CreateMirrorPod`. That there is one already is no mistake, and others are logged and no more.
    async fn create_mirror_pod(&self, rx: Rx, pod: &Object, node: &Object) {
        let mut own = pod.json().clone();
        let hash = annotation(pod, CONFIG_HASH).unwrap_or_default();
        json::set(&mut own, &["metadata", "annotations", CONFIG_MIRROR], hash);
        let owner = json!([{
            "apiVersion": "v1",
            "kind": "Node",
            "name": node.name(),
            "uid": node.uid(),
            "controller": true,
        }]);
        json::set(&mut own, &["metadata", "ownerReferences"], owner);
        rx.note(MakesMirror(pod::pod_ref(pod)));
        let post = Request::new(Method::Post, PODS.path(pod.namespace(), "")).with(own);
        let _ = self.rest.object_within(rx, post, LIMIT).await;
    }

    /// `DeleteMirrorPod`: the one of this name, if it has this UID. Was it deleted?
    pub(crate) async fn delete_mirror_pod(
        &self,
        rx: Rx,
        name: &Arc<str>,
        uid: Option<&str>,
    ) -> bool {
        let (own, namespace) = name.rsplit_once('_').unwrap_or((name, ""));
        let mut options =
            json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0});
        if let Some(uid) = uid {
            options["preconditions"] = json!({ "uid": uid });
        }
        rx.note(DeletesMirror(name.clone()));
        let delete = Request::new(Method::Delete, PODS.path(namespace, own)).with(options);
        self.rest.object_within(rx, delete, LIMIT).await.is_ok()
    }

    /// `tryReconcileMirrorPods`
    pub(crate) async fn try_reconcile_mirror_pods(
        &self,
        rx: Rx,
        pod: &Object,
        mirror: Option<&Object>,
    ) {
        if !is_static_pod(pod) {
            return;
        }
        let is_left = self.defects.has(KubeletDefect::MirrorPodsStayToGo);
        let is_wrong =
            |own: &&Object| (own.is_being_deleted() && !is_left) || !is_mirror_pod_of(own, pod);
        let mut deleted = false;
        if let Some(own) = mirror.filter(is_wrong) {
            let name = full_name(pod);
            deleted = self.delete_mirror_pod(rx, &name, Some(own.uid())).await;
        }
        if mirror.is_some() && !deleted {
            return;
        }
        if let Ok(node) = self.get_node(rx).await
            && !node.is_being_deleted()
        {
            self.create_mirror_pod(rx, pod, &node).await;
        }
    }

    /// `fastStaticPodsRegistration`
    pub(crate) async fn fast_static_pods_registration(self: Arc<Kubelet>, rx: Rx) -> Outcome {
        while self.get_node(rx).await.is_err() {
            rx.sleep(POLL).await;
        }
        for (pod, mirror) in pod_manager::get_static_pod_to_mirror_pod_map(rx) {
            self.try_reconcile_mirror_pods(rx, &pod, mirror.as_ref())
                .await;
        }
        Outcome::Done
    }
}
