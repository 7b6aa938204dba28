//! Scenario files: what a user writes, read into values, with every mistake pointed at.
//!
//! A text goes through four steps: `tree` of `wavetank-component` keeps the YAML with its places, `format` reads the
//! types of `scenario` and the keys of components from it (going on after a mistake), `check`
//! looks at what types cannot say, and `report` shows what was wrong.

mod check;
mod explain;
mod faults;
mod format;
mod network;
mod plan;
mod properties;
mod report;
mod scenario;
mod scene;
mod search;

#[cfg(test)]
mod tests;

pub use faults::{ClockJump, ClockRate, EVERYWHERE, Faults, Moment, Outage, SlowLink, Spell};
pub use format::Format;
pub use network::{Network, Tail};
pub use report::{Mistake, Report};
pub use scenario::{Directed, Held, Hold, Scenario, Told};
pub use scene::{Answered, Occurrence, Scene, Switches, Taken};
pub use search::{Search, told};
pub use wavetank_component::values::{Choices, Duration, Range, Release, Written, Wrong};

use report::Source;
use wavetank_cluster::Components;
use wavetank_component::Finding;
use wavetank_component::file::path::Path;
use wavetank_component::file::tree::{self, Node, Shape};

/// Reads a scenario from YAML text.
///
/// `name` is shown in the report. If it ends in `.yaml` or `.yml` it is taken for a path, and
/// the scenario's own name must be that file's stem.
pub fn parse(name: &str, text: &str, components: &Components) -> Result<Scenario, Report> {
    match parse_misnamed(name, text, components)? {
        (scenario, None) => Ok(scenario),
        (_, Some(misnamed)) => Err(misnamed),
    }
}

/// The same, of a scenario in which nothing but its name is wrong as well: then what is wrong with it is the report.
pub fn parse_misnamed(
    name: &str,
    text: &str,
    components: &Components,
) -> Result<(Scenario, Option<Report>), Report> {
    let source = Source { name, text };
    let mut tree = tree::parse(text).map_err(|error| source.report([explain::yaml(&error)]))?;
    let format = Format::new(components);
    let (scenario, errors) = format.read(&mut tree);
    let misread = errors
        .iter()
        .map(|error| explain::reading(&format, &source, &tree, error));
    // The checks would raise false alarms about what could not be read, but for that of the name.
    let Some(scenario) = scenario.filter(|_| errors.is_empty()) else {
        let misnamed = match tree.sound("name").map(|entry| &entry.node.shape) {
            Some(Shape::Text(own)) => check::misnamed(own, stem(name)).found(),
            _ => Vec::new(),
        };
        let misnamed = misnamed
            .iter()
            .map(|finding| explain::finding(&tree, finding));
        return Err(source.report(misread.chain(misnamed)));
    };
    let findings = check::check(&scenario, stem(name), components);
    if findings.is_empty() {
        return Ok((scenario, None));
    }
    let report = source.report(
        findings
            .iter()
            .map(|finding| explain::finding(&tree, finding)),
    );
    let is_name = |finding: &Finding| finding.path == Path::of("name");
    match findings.iter().all(is_name) {
        true => Ok((scenario, Some(report))),
        false => Err(report),
    }
}

/// Reads a scenario from the head of a trace.
///
/// # Errors
/// The first thing that is no part of a scenario.
pub fn from_json(json: &serde_json::Value, components: &Components) -> Result<Scenario, String> {
    let mut tree = Node::from(json);
    match Format::new(components).read(&mut tree) {
        (Some(scenario), errors) if errors.is_empty() => Ok(scenario),
        (_, errors) => Err(match errors.first() {
            Some(error) => error.to_string(),
            None => "it is no scenario".to_owned(),
        }),
    }
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
