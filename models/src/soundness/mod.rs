//! Is a clean verdict true? Random worlds are searched twice, by the project's search and by a naive one,
//! and everything is compared that a verdict rests on. `docs/SOUNDNESS.md` says what follows from it.
//!
//! - `description` is a world as data, `strategy` draws one for each number, `toy`, `steps` and `rules` are
//!   what its processes do and are held to, `build` makes the model of it;
//! - `naive` is the other search, `compare` holds the two against each other, `smallest` makes a world in
//!   which they disagree as small as it can be.
//!
//! What must not be here: threads, files, clocks. How many worlds are compared at a time, and where a
//! disagreement is written, is for whoever asks.

mod build;
mod compare;
pub mod description;
mod naive;
mod rules;
mod smallest;
mod steps;
mod strategy;
mod toy;

pub use build::model;
pub use compare::{Compared, Disagreement, Figures, Kind, compare};
pub use description::Description;
pub use smallest::{Smallest, Worlds};
