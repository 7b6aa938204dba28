//! The tests of this crate that use it as others do: one program, so that it is linked once and its tests
//! run side by side.

/// As `wavetank` has it: a search allocates all the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod built_once;
mod bundled;
mod by_hand;
mod campaign;
mod central;
mod check;
mod cleanup_defects;
mod collector_writes;
mod command;
mod controller_stories;
mod crd_defects;
mod cron_defects;
mod daemon_defects;
mod defects;
mod determinism;
mod disruption_defects;
mod endpoints_defects;
mod etcd_defects;
mod exact;
mod explain;
mod first_hour;
mod first_hour_files;
mod first_hour_flags;
mod helper;
mod job_defects;
mod kept;
mod kubelet_defects;
mod leader_defects;
mod manifests;
mod matrix;
mod mutants;
mod mutants_tried;
mod names;
mod node_defects;
mod operator_example;
mod own_component;
mod pages;
mod pins;
mod pod_gc_defects;
mod quota_defects;
mod reduction;
mod scenes;
mod schema;
mod scopes;
mod serve;
mod service_defects;
mod shards;
mod shell;
mod simpler;
mod soundness;
mod stale;
mod stateful_defects;
mod stories;
mod support;
mod sweeps;
mod traces;
mod two_elections;
mod used_kinds;
mod versions;
mod watch_defects;
mod whole_traces;
mod workload_defects;
