//! Scenario files: what a user writes, read into types, with every mistake pointed at.
//!
//! A text goes through four steps, one file each: `tree` keeps the YAML with its places,
//! `gather` reads the types of `scenario` from it (going on after a mistake), `check`
//! looks at what types cannot say, and `report` shows what was wrong.

mod check;
mod choices;
mod cluster;
mod duration;
mod etcd;
mod explain;
mod faults;
mod front;
mod gather;
mod path;
mod plan;
mod properties;
mod published;
mod range;
mod read;
mod release;
mod report;
mod scenario;
mod schema;
mod search;
mod services;
mod suggest;
mod text;
mod topology;
mod tree;
mod workload;

#[cfg(test)]
mod tests;

pub use choices::Choices;
pub use cluster::{
    Apiserver, Apiservers, Network, Options, ReconcilerType, ResourceLock, Tail, Topology,
};
pub use duration::Duration;
pub use etcd::{Etcd, EtcdRelease};
pub use faults::{ClockJump, ClockRate, Faults, Moment, Outage, SlowLink, Spell};
pub use front::{Balancer, BeforeRollout, Existing, Rollout};
pub use published::{AdditionalPort, Family};
pub use range::Range;
pub use release::Release;
pub use report::{Mistake, Report};
pub use scenario::{Directed, Held, Hold, Scenario, Told};
pub use schema::json_schema;
pub use search::{Search, told};
pub use services::{Cidrs, PortRange};
pub use text::{Written, Wrong};
pub use workload::{Connect, EtcdOperations, Often, Workload};

use report::Source;

/// The names that a scenario may refer to, but that the rest of Wavetank defines.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    /// Names of the properties of the control plane: they need apiservers.
    pub control_plane: &'a [&'a str],
    /// Names of the properties of etcd: they need clients of it.
    pub etcd: &'a [&'a str],
    /// Names of the properties of informers: they need some.
    pub informers: &'a [&'a str],
    /// Names of the properties of Services: apiservers must have something to give them.
    pub services: &'a [&'a str],
    /// Names of the properties of elections: there must be controller managers.
    pub leaders: &'a [&'a str],
    /// Resources of which each client with informers has one.
    pub informed: &'a [&'a str],
    /// Resources of which each apiserver has a watch cache.
    pub cached: &'a [&'a str],
}

/// Reads a scenario from YAML text.
///
/// `name` is shown in the report. If it ends in `.yaml` or `.yml` it is taken for a path, and
/// the scenario's own name must be that file's stem.
pub fn parse(name: &str, text: &str, known: &Known) -> Result<Scenario, Report> {
    let source = Source { name, text };
    let mut tree = tree::parse(text).map_err(|error| source.report([explain::yaml(&error)]))?;
    let (scenario, errors) = gather::read::<Scenario>(&mut tree);
    let misread = errors
        .iter()
        .map(|error| explain::reading(&source, &tree, error));
    // The checks would raise false alarms about what could not be read.
    let Some(scenario) = scenario.filter(|_| errors.is_empty()) else {
        return Err(source.report(misread));
    };
    let findings = check::check(&scenario, stem(name), known);
    if findings.is_empty() {
        return Ok(scenario);
    }
    Err(source.report(
        findings
            .iter()
            .map(|finding| explain::finding(&tree, finding)),
    ))
}

/// Points at what processes are told and do not understand: `why` says what is wrong with it, if anything is.
pub fn understood(
    name: &str,
    text: &str,
    scenario: &Scenario,
    why: impl Fn(&Told) -> Option<String>,
) -> Result<(), Report> {
    let findings = plan::misunderstood(scenario, why);
    if findings.is_empty() {
        return Ok(());
    }
    let source = Source { name, text };
    let tree = tree::parse(text).map_err(|error| source.report([explain::yaml(&error)]))?;
    let all = findings
        .iter()
        .map(|finding| explain::finding(&tree, finding));
    Err(source.report(all))
}

/// The stem of a scenario file's path, or nothing if the name is not one.
fn stem(name: &str) -> Option<&str> {
    let file = name.rsplit(['/', '\\']).next()?;
    file.strip_suffix(".yaml")
        .or_else(|| file.strip_suffix(".yml"))
}
