//! Wavetank simulates the Kubernetes control plane, deterministically: scenario files, sweeps over
//! seeds, traces of what was found, and the command `wavetank`.
//!
//! - A [`case`] is something that can be simulated under seeds; [`catalogue`] says which there are.
//! - [`sweep`] runs one over many seeds; [`attribution`] says what a violation is to be blamed on;
//!   [`shrink`] makes it small; [`replay`] replays it and tells its story; [`explain`] says what led to it, and needs it.
//! - [`campaign`] goes round all there is for as long as one likes, where something new is found.
//! - [`scene`] makes of a trace a scenario that begins in the middle.
//! - [`search`] is what of a case is model-checked, instead of drawn from seeds.
//! - [`soundness`] holds that search against a naive one; [`mutants`] changes the algorithms, and looks whether anything notices.
//! - [`travel`] goes to any moment of a trace, and leaves it there.
//! - [`serve`] answers clients from outside as the apiservers of such a moment would.
//! - [`livelock_cycle`] says whether a violation comes back for ever.
//! - [`trace_file`] keeps traces on disk; [`head`] is what stands at their beginning.
//! - [`testing`] makes all of that one line in a test.
//! - [`kube`] is the Kubernetes control plane as a case, with the bundled scenarios.
//! - [`cli`] is the command; [`command`] makes it with components of one's own, which [`component`] says what they are.

mod apart;
pub mod attribution;
pub mod campaign;
pub mod case;
pub mod catalogue;
pub mod cli;
mod command;
mod compared;
pub mod explain;
pub mod file;
pub mod head;
pub mod kube;
pub mod livelock_cycle;
pub mod mutants;
mod quiet;
pub mod replay;
pub mod scene;
pub mod search;
pub mod seeds;
pub mod serve;
pub mod shrink;
pub mod soundness;
mod stopwatch;
pub mod sweep;
pub mod testing;
pub mod trace_file;
pub mod travel;

pub use cli::main_with;
pub use command::{Command, command};
/// Objects, kinds and requests of the API.
pub use wavetank_api as api;
pub use wavetank_component as component;
/// Processes, routines, notes and properties.
pub use wavetank_engine as engine;
/// What an operator is written with.
pub use wavetank_operator as operator;
/// Defects, fixes and releases.
pub use wavetank_version as version;

/// What the crate of an operator uses.
pub mod prelude {
    pub use serde_json::json;
    pub use wavetank_api::json::{self, Json};
    pub use wavetank_api::kinds::{self, CustomResource};
    pub use wavetank_api::{Object, Reason, Resource, Stored};
    pub use wavetank_component::{
        Component, Load, Mistakes, Need, PropertyInfo, Replicas, Setup, Spec, Wiring,
    };
    pub use wavetank_engine::{Check, Note, Property, World};
    pub use wavetank_operator::{
        self as operator, Act, Actors, Context, Failure, Operator, Reconciler, Watch, Written,
        always, never_falls, one_for_each, violated, written,
    };
    pub use wavetank_version::{Defect, Gate, List, Listed, Set, defects};
}
