//! Kubelets, one a node, each with the container runtime of its node.
//!
//! - `kubelet`: the process; `sync_loop` its loop and housekeeping, `pod_manager` which pods it has, `config` how it comes to know
//!   of them, `config_file` those of its disk, `mirror_pods` what the API shows of these.
//! - `workers`: the pod workers; `sync_pod` what they do, `kuberuntime` what they ask the runtime for, `init_containers` in which
//!   order that begins, `termination_order` and ends, `back_off` when, `pleg` how they hear of it.
//! - `admission`: which pods it takes; `nodeshutdown`: what becomes of pods when the machine of their node goes off, `eviction`
//!   when it runs out of memory.
//! - `status_manager`, `pod_status`, `phase`, `conditions`: what is told of pods; `prober` readiness and liveness; `gc` what is removed.
//! - `runtime`: the process that runs containers, with the machine that is below. It outlives its kubelet.
//! - `defects`, `gates`, `notes`, `properties`: mistakes, what is said, what is promised; `users`, `manifests`, `shapes`: who makes
//!   pods, and which.
//!
//! It is a component like the others, and a crate of its own, as controller managers are: it is built beside them.

mod admission;
mod back_off;
mod component;
mod conditions;
mod config;
mod config_file;
mod defects;
mod eviction;
pub mod gates;
mod gc;
mod init_containers;
mod kubelet;
mod kuberuntime;
mod manifests;
mod mirror_pods;
mod nodeshutdown;
mod notes;
mod options;
mod phase;
mod pleg;
mod pod;
mod pod_manager;
mod pod_status;
mod prober;
mod properties;
pub mod runtime;
mod shapes;
mod status_manager;
mod sync_loop;
mod sync_pod;
mod termination_order;
mod users;
mod workers;

pub use component::{ContainerRuntimes, KubeletUsers, Kubelets, NAME};
pub use defects::KubeletDefect;
pub use kubelet::Kubelet;
