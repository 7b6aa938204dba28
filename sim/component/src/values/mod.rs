//! Values that scenario files have, with their text and their schema.

mod choices;
mod duration;
mod range;
mod release;
pub mod text;

pub use choices::Choices;
pub use duration::Duration;
pub use range::Range;
pub use release::Release;
pub use text::{Written, Wrong};
