//! Composes components into worlds. `list` has those that are built in, a line each; `components` is the list with what
//! is composed of it (keys of scenario files, what a seed decides, defects, properties), `world` builds, `describe` tells, `messages` says what requests read and write.
//!
//! What a component is belongs to its own folder in `wavetank-components`, and nothing here names one but the list.
//! Seeds, files and flags are above.

mod components;
mod describe;
mod list;
mod messages;
mod properties;
mod world;

pub use components::Components;
pub use messages::Reading;
pub use properties::Named;
