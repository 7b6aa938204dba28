//! The arguments of commands that tell what there is.

use clap::{Args, ValueEnum};

use super::Format;

#[derive(Debug, Args)]
pub(in crate::cli) struct ListArgs {
    /// What to list
    pub what: What,
    /// Only what concerns this scenario or scope, bundled or a file: its processes' defects, what it is held to
    #[arg(long = "for", value_name = "SCENARIO")]
    pub scenario: Option<String>,
    /// How it is printed
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct DescribeArgs {
    /// The name of a property, a defect, a fix, a kind of fault, or a bundled scenario or scope
    pub name: String,
    /// How it is printed
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct CompletionsArgs {
    /// Which shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum What {
    /// Bundled scenarios
    Scenarios,
    /// Bundled scopes of `check`
    Scopes,
    /// Kinds of processes and their parts
    Components,
    /// Properties that are checked
    Properties,
    /// Known bugs and their fixes, as switches
    Defects,
    /// Releases whose algorithms there are
    Releases,
}
