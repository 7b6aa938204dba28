//! What a component of a simulated cluster declares, and the words that it is declared in. A component is a kind of
//! process (a server, a controller, a client) or a part of one; [`Component`] is all that the rest of Wavetank knows
//! of it. Scenario files, their JSON schema, worlds, faults, attribution, shrinking and stories are composed from
//! these declarations.
//!
//! - [`Component`]: the declaration. [`Replicas`], [`Load`], [`Hit`], [`PropertyInfo`] are its parts.
//! - [`Part`]: keys of a scenario file, as a type; [`Number`] one that is a number; [`Given`] what a file says, [`Drawn`] what a seed decides.
//! - [`Spec`] is what a world is composed for; [`Setup`] the same with what a seed has decided; [`Wiring`] takes the
//!   processes.
//! - [`Apart`]: where worlds are simulated whose processes are no values.
//! - [`BeginsAs`]: what a scenario says so that a world begins with the content of another.
//! - [`View`]: what a process holds of objects, for somebody who looks.
//! - [`Mistakes`]: what types cannot say of a scenario, with the place in the file.
//! - [`values`]: durations, ranges and choices, as files write them. [`file`](mod@file): how text becomes values.
//!
//! Nothing here names a component, and nothing here runs.

mod apart;
mod begins_as;
mod component;
mod description;
mod drawn;
pub mod file;
mod given;
mod hit;
mod load;
mod mistakes;
mod number;
mod part;
mod property;
mod replicas;
mod setup;
pub mod values;
mod view;
mod wiring;

pub use apart::Apart;
pub use begins_as::BeginsAs;
pub use component::Component;
pub use description::{Description, Stored};
pub use drawn::{Draw, Drawn};
pub use file::path::Path;
pub use file::tree::Focus;
pub use given::Given;
pub use hit::Hit;
pub use load::{Load, Often};
pub use mistakes::{Finding, Mistakes};
pub use number::Number;
pub use part::{Keys, Part, Section};
pub use property::{Entry, Need, PropertyInfo};
pub use replicas::Replicas;
pub use setup::{Setup, Spec};
pub use view::{Held, Holds, View};
pub use wiring::Wiring;
