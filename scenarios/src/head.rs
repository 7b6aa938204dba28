//! What stands at the beginning of a trace: enough to build its world again, in any build. No path,
//! host, date or number of jobs.

use serde::{Deserialize, Serialize};
use wavetank_engine::drive::replay::Fit;

use crate::case::{Case, Options};

/// The head of a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Head {
    /// The case's name.
    pub case: String,
    /// What makes it this case: enough to open it again.
    pub identity: serde_json::Value,
    /// What was decided before the first event.
    pub options: Options,
    /// The seed that the run began with.
    pub seed: u64,
    /// The build that wrote the trace.
    pub build: String,
    /// It was made smaller, so its seed alone does not lead here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shrunk: bool,
}

impl Head {
    /// The head of what `case` does under a seed and the options derived from it.
    pub fn new(case: &dyn Case, seed: u64, options: Options) -> Head {
        Head {
            case: case.name().to_owned(),
            identity: case.identity(),
            options,
            seed,
            build: build().to_owned(),
            shrunk: false,
        }
    }

    /// As JSON.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("a head has nothing but strings, numbers and JSON")
    }

    /// How exactly this build must follow the trace.
    pub fn fit(&self) -> Fit {
        match self.build == build() {
            true => Fit::Strict,
            false => Fit::ByName,
        }
    }
}

/// This build: the version, and where they are at hand a hash of the sources.
pub fn build() -> &'static str {
    concat!(env!("CARGO_PKG_VERSION"), env!("WAVETANK_SOURCES"))
}
