//! How a command ends.

use std::process::ExitCode;

/// What an exit code means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Clean, or all is well.
    Clean = 0,
    /// A guarantee is violated (of `diff`: the traces differ).
    Violation = 1,
    /// Bad input, or a file system that does not play along.
    CouldNotRun = 2,
    /// A trace does not fit.
    ApplyError = 3,
    /// Nothing was violated, but not everything was put to the test.
    Incomplete = 4,
    /// Interrupted, and nothing was violated until then.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// Why a command gives up, and with which code.
#[derive(Debug)]
pub(super) struct Problem {
    pub exit: Exit,
    pub message: String,
}

impl Problem {
    /// It could not run.
    pub fn new(message: impl Into<String>) -> Problem {
        Problem {
            exit: Exit::CouldNotRun,
            message: message.into(),
        }
    }

    /// A trace does not fit.
    pub fn misfit(message: impl Into<String>) -> Problem {
        Problem {
            exit: Exit::ApplyError,
            message: message.into(),
        }
    }
}
