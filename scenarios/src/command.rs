//! The command as a library: with components of one's own it is one's own command.

use std::process::ExitCode;

use wavetank_component::Component;

use crate::case::Case;
use crate::catalogue::{Catalogue, Composition};
use crate::cli::main_with;
use crate::kube::Kube;

/// The whole command `wavetank`. In one's own crate:
///
/// ```no_run
/// use std::process::ExitCode;
/// use wavetank::component::Component;
///
/// struct MyOperator;
///
/// impl Component for MyOperator {
///     fn name(&self) -> &'static str {
///         "my-operator"
///     }
///
///     fn about(&self) -> &'static str {
///         "what I want to see in a storm"
///     }
/// }
///
/// fn main() -> ExitCode {
///     wavetank::command().with(MyOperator).run()
/// }
/// ```
pub fn command() -> Command {
    Command::default()
}

/// The command over the control plane, and over what is added.
#[derive(Clone, Debug, Default)]
pub struct Command {
    kube: Kube,
}

impl Command {
    /// With one more component: its keys may stand in scenario files beside ours, and faults hit it.
    ///
    /// # Panics
    /// If it has a name that another has: of itself, of a key, of a property or of a defect.
    #[must_use]
    pub fn with(self, component: impl Component) -> Command {
        let kube = self.kube.with(component);
        Command { kube }
    }

    /// The scenarios that it can open: for tests.
    pub fn catalogue(self) -> Kube {
        self.kube
    }

    /// This scenario file with all that is known fixed, as a case: for tests.
    ///
    /// # Panics
    /// If there is something wrong with the file; says what.
    pub fn fixed(self, scenario: &str) -> Box<dyn Case> {
        let fixed = Composition {
            fixed: true,
            ..Composition::default()
        };
        let case = self.kube.open(scenario, &fixed);
        case.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Does what the arguments of this process ask for.
    pub fn run(self) -> ExitCode {
        main_with(&self.kube)
    }
}
