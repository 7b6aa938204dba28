//! One event, and what it says about the properties.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use wavetank_engine::drive::{MOST, overgrown, stuck};
use wavetank_engine::trace::FoundViolation;
use wavetank_engine::{Check, Class, Event, Memo, Time, World};

/// What an event did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stepped {
    /// It was no fault, or one that found its target.
    pub injected: bool,
    /// What is simulated panicked: the world is of no use any more.
    pub panicked: bool,
    /// The first guarantee that was violated.
    pub violated: Option<Box<FoundViolation>>,
    /// Properties that held when they were put to the test, by index, one bit each.
    pub held: u128,
    /// How long each frame takes that was sent, in nanoseconds.
    pub delays: Vec<u64>,
}

/// Applies an event under nominal latencies, with the help of what is known of earlier steps.
///
/// # Panics
/// If the event does not fit the world, which is the searcher's own mistake.
pub fn step(memo: &mut Memo, world: &mut World, at: Time, event: Event<'_>) -> Stepped {
    let applied = catch_unwind(AssertUnwindSafe(|| world.apply_known(memo, at, event)));
    let mut report = match applied {
        // A fault that no world knows must not look like one that does no harm.
        Ok(fits) => fits.unwrap_or_else(|error| panic!("the search's own mistake: {error}")),
        Err(panic) => return broken(panic.as_ref()),
    };
    let mut stepped = Stepped {
        injected: report.injected,
        delays: std::mem::take(&mut report.delays),
        violated: stuck(&mut report)
            .or_else(|| overgrown(world, MOST))
            .map(Box::new),
        ..Stepped::default()
    };
    for (index, check) in &report.checks {
        let violation = match check {
            Check::Idle => continue,
            Check::Held => {
                stepped.held |= 1_u128.checked_shl((*index).into()).unwrap_or(0);
                continue;
            }
            Check::Violated(violation) => violation,
        };
        let property = world.properties().nth((*index).into()).expect("its index");
        if property.class() == Class::Guarantee && stepped.violated.is_none() {
            stepped.violated = Some(Box::new(FoundViolation {
                property: property.name().to_owned(),
                kind: violation.kind.to_owned(),
                object: violation.object.clone(),
                message: violation.message.clone(),
            }));
        }
    }
    World::recycle(report);
    stepped
}

fn broken(panic: &(dyn Any + Send)) -> Stepped {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    Stepped {
        injected: true,
        panicked: true,
        violated: Some(Box::new(FoundViolation {
            property: "no-panic".to_owned(),
            kind: "simulation".to_owned(),
            object: String::new(),
            message: text.unwrap_or("without a message").to_owned(),
        })),
        ..Stepped::default()
    }
}
