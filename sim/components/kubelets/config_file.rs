//! Static pods: manifests on the disk of a node (`pkg/kubelet/config/file.go`, `file_linux.go` and `common.go`, v1.36.2). The
//! kubelet is told of each change of a file, and reads all of them every 20 s besides. The disk outlives kubelet and runtime.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use wavetank_api::Object;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::{PODS, pods::get_pod_qos};
use wavetank_components::users::NAMESPACE;
use wavetank_engine::{Cell, Channel, Cx, Either, Name, Outcome, Payload, Rx, Task, Timer};

use crate::config;
use crate::kubelet::Kubelet;
use crate::notes::ManifestChanges;
use crate::pod::{self, CONFIG_HASH, FILE_SOURCE, full_name};

pub(crate) const SOURCE: Name = Name::new("source-file");
/// `fileCheckFrequency`
const PERIOD: Duration = Duration::from_secs(20);
const TICK: Timer = Timer::new(Name::new("list-manifests"), 0);
const TICKS: Channel = Channel::new("list-manifests", 0);
/// `watchEvents`: names of files. Upstream's watcher waits where its buffer is full.
const EVENTS: Channel = Channel::new("manifest-events", 0);
const CAPACITY: u32 = 100;

/// A disk: manifests by the names of their files.
pub(crate) type Disk = Arc<BTreeMap<Arc<str>, Object>>;

/// `sourceFile`
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Source {
    store: BTreeMap<Arc<str>, Object>,
    /// `fileKeyMapping`
    keys: BTreeMap<Arc<str>, Arc<str>>,
}

static FILES: Cell<Source> = Cell::new("source-file");

pub(crate) fn start(cx: &mut Cx<'_>) {
    cx.make(EVENTS, CAPACITY);
    cx.make(TICKS, 1);
    cx.arm(TICK, PERIOD);
    cx.spawn(Task::new(SOURCE, true));
}

/// The ticker; false if the timer is none of these.
pub(crate) fn timer(cx: &mut Cx<'_>, timer: Timer) -> bool {
    if timer != TICK {
        return false;
    }
    cx.try_send(TICKS, ());
    cx.arm(TICK, PERIOD);
    true
}

/// FNV-1a of 128 bits, as `fnv.New128a`.
fn fnv_128a(parts: &[&str]) -> String {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let bytes = parts.iter().flat_map(|part| part.bytes());
    let hash = bytes.fold(OFFSET, |hash, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(PRIME)
    });
    format!("{hash:032x}")
}

/// `applyDefaults`: the static pod that a manifest means on a node.
pub(crate) fn apply_defaults(manifest: &Object, node: &str, file: &str) -> Object {
    let text = manifest.json().to_string();
    let uid = fnv_128a(&[&text, "host:", node, "file:", file]);
    let mut own = manifest.json().clone();
    let name = format!("{}-{node}", manifest.name());
    for (field, value) in [("uid", &*uid), ("name", &*name), ("namespace", NAMESPACE)] {
        json::set(&mut own, &["metadata", field], value);
    }
    json::set(&mut own, &["metadata", "annotations", CONFIG_HASH], &*uid);
    json::set(&mut own, &["spec", "nodeName"], node);
    let toleration = json!([{"operator": "Exists", "effect": "NoExecute"}]);
    json::set(&mut own, &["spec", "tolerations"], toleration);
    let status = json!({"phase": "Pending", "qosClass": get_pod_qos(&own)});
    json::set(&mut own, &["status"], status);
    Object::new(own)
}

/// Writes a file, or removes it, and tells who watches.
pub(crate) fn change(rx: Rx, file: &Arc<str>, manifest: Option<Json>) {
    let manifest = manifest.map(Object::new);
    let is_removed = manifest.is_none();
    let (is_new, meant) = rx.process(|own: &mut Kubelet| {
        let node = own.node.name().to_owned();
        let meant = manifest
            .as_ref()
            .map(|own| apply_defaults(own, &node, file));
        let disk = Arc::make_mut(&mut own.disk);
        let before = match manifest {
            Some(manifest) => disk.insert(file.clone(), manifest),
            None => disk.remove(file),
        };
        let now = disk.get(file);
        (before.as_ref() != now, meant.as_ref().map(pod::pod_ref))
    });
    if is_new {
        rx.note(ManifestChanges {
            file: file.clone(),
            pod: meant,
        });
        rx.try_send(EVENTS, Payload::new((file.clone(), is_removed)));
    }
}

/// The manifest of a pod, of which a file has this name.
pub(crate) fn manifest(name: &str, spec: Json) -> Json {
    json!({
        "apiVersion": PODS.api_version(),
        "kind": PODS.kind,
        "metadata": {"name": name},
        "spec": spec,
    })
}

impl Kubelet {
    /// `extractFromFile`
    fn extract_from_file(&self, rx: Rx, file: &Arc<str>) -> Option<Object> {
        let manifest = rx.process(|own: &mut Kubelet| own.disk.get(file).cloned())?;
        let pod = apply_defaults(&manifest, self.node.name(), file);
        rx.update(&FILES, |own| {
            own.keys.insert(file.clone(), full_name(&pod));
        });
        Some(pod)
    }

    /// `listConfig`: where there is no file nothing is said to the store.
    fn list_config(&self, rx: Rx) {
        let files = rx.process(|own: &mut Kubelet| {
            let files = own.disk.keys();
            files.cloned().collect::<Vec<Arc<str>>>()
        });
        if files.is_empty() {
            config::update(rx, FILE_SOURCE, std::iter::empty());
            return;
        }
        let pods = files
            .iter()
            .filter_map(|file| self.extract_from_file(rx, file));
        let pods = pods.map(|pod| (full_name(&pod), pod)).collect();
        rx.update(&FILES, |own| own.store = pods);
        send(rx);
    }

    /// `consumeWatchEvent`: a file that was written is read only now; of one that was removed the pod goes, also where the file
    /// is there again.
    fn consume_watch_event(&self, rx: Rx, (file, is_removed): &(Arc<str>, bool)) {
        if !is_removed {
            if let Some(pod) = self.extract_from_file(rx, file) {
                rx.update(&FILES, |own| {
                    own.store.insert(full_name(&pod), pod);
                });
                send(rx);
            }
            return;
        }
        let was_known = rx.update(&FILES, |own| {
            let key = own.keys.remove(file)?;
            own.store.remove(&key)
        });
        if was_known.is_some() {
            send(rx);
        }
    }
}

fn send(rx: Rx) {
    let pods = rx.look(&FILES, |own| {
        own.store.values().cloned().collect::<Vec<Object>>()
    });
    config::update(rx, FILE_SOURCE, pods.into_iter());
}

/// One turn of what `run` starts.
pub(crate) async fn run(kubelet: Arc<Kubelet>, rx: Rx, is_first: bool) -> Outcome {
    if is_first {
        kubelet.list_config(rx);
        return Outcome::Become(Task::new(SOURCE, false));
    }
    match rx.select(rx.recv(TICKS), rx.recv(EVENTS)).await {
        Either::Left(_) => kubelet.list_config(rx),
        Either::Right(None) => {}
        Either::Right(Some(event)) => kubelet.consume_watch_event(rx, event.expect()),
    }
    Outcome::Become(Task::new(SOURCE, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_static_pod_is_called_after_its_node_and_its_hash_after_all_of_it() {
        let of = |image: &str, node, file| {
            let spec = json!({"containers": [{"name": "main", "image": image}]});
            apply_defaults(&Object::new(manifest("web", spec)), node, file)
        };
        let own = of("image:1", "n1", "web.yaml");
        assert_eq!(own.name(), "web-n1");
        assert_eq!(pod::annotation(&own, CONFIG_HASH), Some(own.uid()));
        assert_eq!(own.uid(), of("image:1", "n1", "web.yaml").uid());
        for other in [
            of("image:2", "n1", "web.yaml"),
            of("image:1", "n2", "web.yaml"),
            of("image:1", "n1", "db.yaml"),
        ] {
            assert_ne!(own.uid(), other.uid());
        }
    }

    #[test]
    fn the_hash_is_that_of_go() {
        assert_eq!(fnv_128a(&["a"]), "d228cb696f1a8caf78912b704e4a8964");
    }
}
