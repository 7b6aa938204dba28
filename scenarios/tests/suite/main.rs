//! The tests of this crate that use it as others do: one program, so that it is linked once and its tests
//! run side by side.

mod bundled;
mod by_hand;
mod central;
mod check;
mod command;
mod defects;
mod determinism;
mod etcd_defects;
mod exact;
mod first_hour;
mod first_hour_files;
mod first_hour_flags;
mod helper;
mod kept;
mod leader_defects;
mod matrix;
mod names;
mod operator_example;
mod own_component;
mod pins;
mod reduction;
mod schema;
mod scopes;
mod service_defects;
mod simpler;
mod soundness;
mod stale;
mod stories;
mod support;
mod sweeps;
mod traces;
mod two_elections;
mod used_kinds;
mod versions;
mod watch_defects;
