//! What kubelets and runtimes say of themselves, for properties and stories.

use std::sync::Arc;

use wavetank_component::Description;
use wavetank_engine::Note;

use crate::runtime::cri::{Id, PodRef};

/// A container of a runtime starts.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Starts {
    /// Its name at the runtime.
    pub container: Id,
    /// Whose it is.
    pub pod: PodRef,
    /// Its name in the pod.
    pub name: Arc<str>,
}

/// A container ends.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Exits {
    /// Its name at the runtime.
    pub container: Id,
    /// Whose it is.
    pub pod: PodRef,
    /// Its name in the pod.
    pub name: Arc<str>,
    /// With this exit code.
    pub code: i64,
}

/// Somebody removes a container that has succeeded from a runtime.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Prunes {
    /// Its name at the runtime.
    pub container: Id,
    /// Whose it is.
    pub pod: PodRef,
    /// Its name in the pod.
    pub name: Arc<str>,
}

/// A file of the disk of a node now has a manifest of a static pod with this hash, or is gone.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ManifestChanges {
    /// The file.
    pub file: Arc<str>,
    /// The pod that it means: its UID is the hash.
    pub pod: Option<PodRef>,
}

/// A kubelet makes a mirror pod in the API.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MakesMirror(pub PodRef);

/// A kubelet deletes a mirror pod from the API: the one of this full name.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DeletesMirror(pub Arc<str>);

/// A static pod waits until the one of its full name has ended.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct WaitsInLine(pub PodRef);

/// A runtime has made a sandbox.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MakesSandbox(pub PodRef);

/// A user deletes a pod without waiting for its kubelet.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DeletesByForce(pub PodRef);

/// The node of a runtime has started anew.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Rebooted;

/// A pod worker stops the containers of a pod, with this grace period in seconds.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Terminates {
    /// The pod.
    pub pod: PodRef,
    /// Its grace period.
    pub grace: i64,
}

/// A sync of a pod that is to stay stops all of its containers, with this grace period in seconds: it gets a new sandbox, or none
/// of them is to go on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct StopsAll {
    /// The pod.
    pub pod: PodRef,
    /// The grace period.
    pub grace: i64,
}

/// A kubelet stops what it finds of a pod that it does not know.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct StopsOrphan(pub PodRef);

/// All containers of a pod have stopped.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Terminated(pub PodRef);

/// A kubelet deletes a pod from the API: its containers have stopped.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DeletesPod(pub PodRef);

/// A kubelet stops a container since a probe of it fails.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct KillsContainer {
    /// Its name at the runtime.
    pub container: Id,
    /// Whose it is.
    pub pod: PodRef,
    /// Its name in the pod.
    pub name: Arc<str>,
    /// Which probe.
    pub failed: &'static str,
}

/// A kubelet waits before it starts a container again.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct BacksOff {
    /// The pod.
    pub pod: PodRef,
    /// The container.
    pub name: Arc<str>,
    /// How long since it ended, in seconds.
    pub seconds: u64,
}

/// The machine of a runtime is told to go off, or that is cancelled.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ShutdownComes(pub bool);

/// It goes off: nothing runs any more.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct GoesOff;

/// It comes up again.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ComesUp;

/// A kubelet hears that its machine is about to go off, or not any more.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct IsTold(pub bool);

/// It begins to kill its pods.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct BeginsShutdown;

/// It lets its machine go off.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct EndsShutdown {
    /// The pods that ran when it began, static ones aside.
    pub pods: Vec<PodRef>,
    /// It has taken less time than there was.
    pub is_in_time: bool,
}

/// A kubelet kills a pod, since its node needs that.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct KillsPod {
    /// The pod.
    pub pod: PodRef,
    /// What its status is to say.
    pub reason: &'static str,
    /// In a shutdown: the number of the group that its priority, or its class, belongs to,
    pub group: usize,
    /// and for how many seconds others wait for it at most.
    pub seconds: i64,
}

/// A kubelet evicts a pod.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Evicts {
    /// The pod.
    pub pod: PodRef,
    /// How much memory it has seen to be left, in Mi.
    pub available: i64,
    /// How many seconds the pod has to end.
    pub grace: i64,
}

/// A kubelet sees that its node runs out of memory.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SeesPressure;

/// A kubelet says no longer that its node runs out of memory.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PressureEnds;

/// A kubelet does not take a pod.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Rejects {
    /// The pod.
    pub pod: PodRef,
    /// Why.
    pub reason: &'static str,
}

/// A pod that is known by its UID in stories.
fn about(pod: &PodRef) -> Vec<String> {
    vec![
        format!("{}/{}", pod.namespace, pod.name),
        pod.uid.to_string(),
    ]
}

fn told(text: String, pod: &PodRef) -> Option<Description> {
    Some(Description {
        text,
        about: about(pod),
    })
}

/// In words.
pub(crate) fn describe(note: &Note) -> Option<Description> {
    if let Some(Starts {
        container,
        pod,
        name,
    }) = note.body.get()
    {
        return told(
            format!(
                "starts the container {name} ({container}) of the pod {}",
                pod.name
            ),
            pod,
        );
    }
    if let Some(Exits {
        container,
        pod,
        name,
        code,
    }) = note.body.get()
    {
        let text = format!(
            "the container {name} ({container}) of the pod {} ends with the exit code {code}",
            pod.name
        );
        return told(text, pod);
    }
    if note.body.get::<Rebooted>().is_some() {
        let text = "the node starts anew".to_owned();
        return Some(Description {
            text,
            about: Vec::new(),
        });
    }
    if let Some(Terminates { pod, grace }) = note.body.get() {
        return told(format!("stops the pod {} within {grace} s", pod.name), pod);
    }
    if let Some(StopsAll { pod, grace }) = note.body.get() {
        return told(
            format!("stops what runs of the pod {} within {grace} s", pod.name),
            pod,
        );
    }
    if let Some(StopsOrphan(pod)) = note.body.get() {
        return told(
            format!("stops the pod {}, which it does not know", pod.name),
            pod,
        );
    }
    if let Some(Terminated(pod)) = note.body.get() {
        return told(format!("has stopped the pod {}", pod.name), pod);
    }
    if let Some(DeletesPod(pod)) = note.body.get() {
        return told(
            format!(
                "asks for the end of the pod {}, which has stopped",
                pod.name
            ),
            pod,
        );
    }
    if let Some(MakesSandbox(pod)) = note.body.get() {
        return told(format!("makes a sandbox for the pod {}", pod.name), pod);
    }
    if let Some(DeletesByForce(pod)) = note.body.get() {
        return told(format!("deletes the pod {} by force", pod.name), pod);
    }
    describe_removal(note)
        .or_else(|| describe_shutdown(note))
        .or_else(|| describe_static(note))
        .or_else(|| describe_back_off(note))
}

fn describe_removal(note: &Note) -> Option<Description> {
    if let Some(KillsContainer {
        container,
        pod,
        name,
        failed,
    }) = note.body.get()
    {
        let text = format!(
            "stops the container {name} ({container}) of the pod {}, whose {failed} probe fails",
            pod.name
        );
        return told(text, pod);
    }
    if let Some(Prunes {
        container,
        pod,
        name,
    }) = note.body.get()
    {
        let text = format!(
            "the container {name} ({container}) of the pod {} has succeeded, and somebody removes it",
            pod.name
        );
        return told(text, pod);
    }
    None
}

fn describe_shutdown(note: &Note) -> Option<Description> {
    if let Some(Evicts {
        pod,
        available,
        grace,
    }) = note.body.get()
    {
        let text = format!(
            "evicts the pod {}, which has {grace} s: {available}Mi of memory are left",
            pod.name
        );
        return told(text, pod);
    }
    if let Some(KillsPod { pod, reason, .. }) = note.body.get() {
        return told(format!("kills the pod {}: {reason}", pod.name), pod);
    }
    if let Some(Rejects { pod, reason }) = note.body.get() {
        return told(format!("refuses the pod {}: {reason}", pod.name), pod);
    }
    let sees = note.body.get::<SeesPressure>().is_some();
    if sees || note.body.get::<PressureEnds>().is_some() {
        let text = match sees {
            true => "sees that its node runs out of memory",
            false => "says no longer that its node runs out of memory",
        };
        return Some(Description {
            text: text.to_owned(),
            about: Vec::new(),
        });
    }
    let text = match note.body.get::<ShutdownComes>().map(|own| own.0) {
        Some(true) => "the machine is told to go off",
        Some(false) => "the machine does not go off after all",
        None if note.body.get::<GoesOff>().is_some() => "the machine goes off",
        None if note.body.get::<ComesUp>().is_some() => "the machine comes up again",
        None => match note.body.get::<IsTold>().map(|own| own.0) {
            Some(true) => "hears that its machine is about to go off",
            Some(false) => "hears that its machine does not go off",
            None => match note.body.get::<EndsShutdown>()?.is_in_time {
                true => "lets its machine go off",
                false => "lets its machine go off, since the time is up",
            },
        },
    };
    Some(Description {
        text: text.to_owned(),
        about: Vec::new(),
    })
}

fn describe_static(note: &Note) -> Option<Description> {
    if let Some(ManifestChanges { file, pod }) = note.body.get() {
        return match pod {
            Some(pod) => told(
                format!("the file {file} means the pod {} ({})", pod.name, pod.uid),
                pod,
            ),
            None => Some(Description {
                text: format!("the file {file} is gone"),
                about: Vec::new(),
            }),
        };
    }
    if let Some(MakesMirror(pod)) = note.body.get() {
        return told(format!("makes the mirror pod {}", pod.name), pod);
    }
    if let Some(DeletesMirror(name)) = note.body.get() {
        return Some(Description {
            text: format!("deletes the mirror pod {name}"),
            about: vec![name.to_string()],
        });
    }
    let WaitsInLine(pod) = note.body.get()?;
    let text = format!("the static pod {} ({}) has to wait", pod.name, pod.uid);
    told(text, pod)
}

fn describe_back_off(note: &Note) -> Option<Description> {
    let BacksOff { pod, name, seconds } = note.body.get()?;
    let text = format!(
        "waits {seconds} s since the container {name} of the pod {} ended",
        pod.name
    );
    told(text, pod)
}
