//! Drivers: whoever chooses the next event. All of them step the one [`World`].
//!
//! - [`Run`] steps in virtual-time order and asks a [`Choices`] for everything else: [`seeded`]
//!   draws it from a seed, [`plan`] takes it from a plan.
//! - [`replay`] steps as a trace says.
//! - [`near`] draws what a plan leaves open.
//! - [`Bench`] is stepped by hand, in tests.
//! - [`shrink`] makes a failing plan smaller; [`story`] tells why a run failed, [`causes`] what each event follows from.

mod bench;
pub mod causes;
pub mod near;
mod places;
pub mod plan;
pub mod random;
pub mod replay;
mod run;
pub mod seeded;
pub mod shrink;
pub mod story;
mod turned;

pub use bench::{Bench, Stepped};
pub use places::places;
pub use run::{
    Applying, Choices, Ending, Limits, MOST, Missed, Outcome, Run, Tallies, Turn, deadlocked,
    livelocked, overgrown, stuck,
};
pub use turned::Turned;
