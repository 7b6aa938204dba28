//! Which pods there are for a kubelet (`pkg/kubelet/pod/pod_manager.go`), and which static pod a mirror pod stands for
//! (v1.36.2). How it comes to know of them is in `config`.

use std::collections::BTreeMap;
use std::sync::Arc;

use wavetank_api::Object;
use wavetank_engine::{Cell, Rx};

use crate::pod::{self, full_name, is_mirror_pod, is_static_pod};
use crate::runtime::cri::Uid;

type Pods = BTreeMap<Uid, Object>;
/// Of static pods: the UIDs of their mirror pods, if there are any.
type ToMirror = BTreeMap<Uid, Option<Uid>>;
/// Of mirror pods: the UIDs of their static pods.
type FromMirror = BTreeMap<Uid, Uid>;

/// `basicManager`
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Manager {
    pods: Pods,
    mirrors: Pods,
    by_full_name: BTreeMap<Arc<str>, Uid>,
    mirrors_by_full_name: BTreeMap<Arc<str>, Uid>,
    translation: FromMirror,
}

static PODS: Cell<Manager> = Cell::new("pod-manager");

impl Manager {
    fn mirror_of(&self, name: &str) -> Option<&Object> {
        self.mirrors.get(self.mirrors_by_full_name.get(name)?)
    }

    /// Upstream's `updatePodsInternal`
    fn update(&mut self, pod: &Object) {
        let (name, uid) = (full_name(pod), pod::uid(pod));
        if is_mirror_pod(pod) {
            if let Some(own) = self.by_full_name.get(&name) {
                self.translation.insert(uid.clone(), own.clone());
            }
            self.mirrors.insert(uid.clone(), pod.clone());
            self.mirrors_by_full_name.insert(name, uid);
        } else {
            if let Some(mirror) = self.mirrors_by_full_name.get(&name) {
                self.translation.insert(mirror.clone(), uid.clone());
            }
            self.pods.insert(uid.clone(), pod.clone());
            self.by_full_name.insert(name, uid);
        }
    }

    fn remove(&mut self, pod: &Object) {
        let name = full_name(pod);
        if is_mirror_pod(pod) {
            self.mirrors.remove(pod.uid());
            self.mirrors_by_full_name.remove(&name);
            self.translation.remove(pod.uid());
        } else {
            self.pods.remove(pod.uid());
            self.by_full_name.remove(&name);
        }
    }
}

/// `GetPodByUID`
pub(crate) fn get_pod_by_uid(rx: Rx, uid: &str) -> Option<Object> {
    rx.look(&PODS, |own| own.pods.get(uid).cloned())
}

/// `GetPods`
pub(crate) fn get_pods(rx: Rx) -> Vec<Object> {
    rx.look(&PODS, |own| own.pods.values().cloned().collect())
}

/// Upstream's `AddPod`, `UpdatePod`
pub(crate) fn set_pod(rx: Rx, pod: &Object) {
    rx.update(&PODS, |own| own.update(pod));
}

/// `RemovePod`
pub(crate) fn remove_pod(rx: Rx, pod: &Object) {
    rx.update(&PODS, |own| own.remove(pod));
}

/// `GetMirrorPodByPod`
pub(crate) fn get_mirror_pod_by_pod(rx: Rx, pod: &Object) -> Option<Object> {
    if !is_static_pod(pod) {
        return None;
    }
    rx.look(&PODS, |own| own.mirror_of(&full_name(pod)).cloned())
}

/// `GetPodAndMirrorPod`: the pod, if there is one, its mirror pod, and was it that?
pub(crate) fn get_pod_and_mirror_pod(
    rx: Rx,
    pod: &Object,
) -> (Option<Object>, Option<Object>, bool) {
    if is_mirror_pod(pod) {
        let found = rx.look(&PODS, |own| {
            let uid = own.by_full_name.get(&full_name(pod))?;
            own.pods.get(uid).cloned()
        });
        return (found, Some(pod.clone()), true);
    }
    (Some(pod.clone()), get_mirror_pod_by_pod(rx, pod), false)
}

/// Upstream's `GetPodsAndMirrorPods`: the UIDs of mirror pods, and the full names of those that no pod stands for.
pub(crate) fn get_mirror_pods(rx: Rx) -> (Vec<Uid>, Vec<Arc<str>>) {
    rx.look(&PODS, |own| {
        let names = own.mirrors_by_full_name.keys();
        let orphans = names.filter(|name| !own.by_full_name.contains_key(*name));
        let orphans = orphans.cloned().collect();
        (own.mirrors.keys().cloned().collect(), orphans)
    })
}

/// `GetStaticPodToMirrorPodMap`
pub(crate) fn get_static_pod_to_mirror_pod_map(rx: Rx) -> Vec<(Object, Option<Object>)> {
    rx.look(&PODS, |own| {
        let all = own.pods.values().filter(|pod| is_static_pod(pod));
        let all = all.map(|pod| (pod.clone(), own.mirror_of(&full_name(pod)).cloned()));
        all.collect()
    })
}

/// `TranslatePodUID`
pub(crate) fn translate_pod_uid(rx: Rx, uid: &str) -> Uid {
    rx.look(&PODS, |own| own.translation.get(uid).cloned())
        .unwrap_or_else(|| uid.into())
}

/// `GetUIDTranslations`
pub(crate) fn get_uid_translations(rx: Rx) -> (ToMirror, FromMirror) {
    rx.look(&PODS, |own| {
        let statics = own.pods.iter().filter(|(_, pod)| is_static_pod(pod));
        let mut to: ToMirror = statics.map(|(uid, _)| (uid.clone(), None)).collect();
        for (mirror, uid) in &own.translation {
            to.insert(uid.clone(), Some(mirror.clone()));
        }
        (to, own.translation.clone())
    })
}
