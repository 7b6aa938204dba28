//! Is a clean verdict true? Random worlds are searched twice, by the project's search and by a naive one,
//! and everything is compared that a verdict rests on. `docs/SOUNDNESS.md` says what follows from it.
//!
//! - `description` is a world as data, `strategy` and `bounds` draw one for each number, `toy`, `steps` and `rules` are
//!   what its processes do and are held to, `build` makes the model of it;
//! - `naive` is the other search; `compare` holds every step and state of the two against each other,
//!   `searches` the verdicts, `findings` is what comes of it; `smallest` makes a world in which they disagree as
//!   small as it can be.
//!
//! What must not be here: threads, files, clocks. How many worlds are compared at a time, and where a
//! disagreement is written, is for whoever asks.

mod bounds;
mod build;
mod compare;
pub mod description;
mod findings;
mod naive;
mod rules;
mod searches;
mod smallest;
mod steps;
mod strategy;
mod toy;

pub use build::model;
pub use compare::compare;
pub use description::Description;
pub use findings::{Compared, Disagreement, Figures, Kind};
pub use smallest::{Smallest, Worlds};
