//! Models: the one [`World`](wavetank_engine::World), searched instead of simulated.
//!
//! Nothing here knows any particular system; scopes of the control plane come from above.
//! `world_model` says what can happen next within which bounds, as a stateright model; `step` is one
//! event of it. `explore` is the search for long scopes, `seen` its memory, `sketch` how many states several searches have
//! seen together, `reduction` what it may leave
//! out, `livelock` what never ends, `coverage` what it has reached, `probe` how large it is; `recovery` looks from every state into the calm. `shorten` and `path` make a trace of what
//! was found. `readable` is for looking around in stateright's Explorer, `audited` a model without
//! trust in hashes. `small` has models of single algorithms that need no world.

mod audited;
mod coverage;
mod explore;
mod livelock;
mod path;
mod probe;
mod readable;
mod recovery;
mod reduction;
mod seen;
mod shorten;
mod sketch;
pub mod small;
pub mod soundness;
mod step;
mod world_model;

pub use audited::{AUDIT, Audited};
pub use coverage::{Coverage, Reached, describe_action};
pub use explore::{Ended, Explored, Explorer, Found, Part, Progress};
pub use path::{Retraced, retrace};
pub use probe::Estimate;
pub use readable::{Readable, Shown, Step};
pub use recovery::Recovery;
pub use reduction::Reduction;
pub use seen::Seen;
pub use shorten::{Shortened, Shortening};
pub use sketch::Sketch;
pub use step::Stepped;
pub use world_model::{Bounds, Due, Move, Node, Standing, WorldModel};
