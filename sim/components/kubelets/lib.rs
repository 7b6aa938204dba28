//! Kubelets, one a node, each with the container runtime of its node.
//!
//! - `kubelet`: the process; `sync_loop` its loop and housekeeping, `pod_manager` which pods it has, `workers` the pod workers,
//!   `sync_pod` what they do, `kuberuntime` what they ask the runtime for, `back_off` when, `pleg` how they hear of it.
//! - `status_manager`, `pod_status`: what is told of pods; `prober` readiness and liveness; `gc` what is removed.
//! - `runtime`: the process that runs containers. It outlives its kubelet.
//! - `defects`, `gates`, `notes`, `properties`, `users`: mistakes, what is said, what is promised, who makes pods.
//!
//! It is a component like the others, and a crate of its own, as controller managers are: it is built beside them.

mod back_off;
mod component;
mod defects;
pub mod gates;
mod gc;
mod kubelet;
mod kuberuntime;
mod notes;
mod pleg;
mod pod;
mod pod_manager;
mod pod_status;
mod prober;
mod properties;
pub mod runtime;
mod status_manager;
mod sync_loop;
mod sync_pod;
mod users;
mod workers;

pub use component::{ContainerRuntimes, KubeletUsers, Kubelets, NAME};
pub use defects::KubeletDefect;
pub use kubelet::Kubelet;
