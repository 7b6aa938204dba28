//! Opens what the command line names.

use std::ffi::OsStr;
use std::path::Path;

use crate::case::Case;
use crate::catalogue::{Catalogue, Composition, Listed};
use crate::trace_file::{self, Trace, why};

use super::exit::Problem;
use super::found::this_command;

/// The case of a scenario file or of a bundled scenario.
pub(super) fn scenario(
    catalogue: &dyn Catalogue,
    name: &str,
    composition: &Composition,
) -> Result<Box<dyn Case>, Problem> {
    if catalogue.scope_names().iter().any(|scope| scope == name) {
        return Err(Problem::new(format!(
            "`{name}` is a scope, which is searched: `{} check {name}`",
            this_command()
        )));
    }
    let bundled = catalogue.scenario_names();
    named(catalogue, name, composition, "scenario", bundled)
}

/// The case of a scope file or of a bundled scope.
pub(super) fn scope(
    catalogue: &dyn Catalogue,
    name: &str,
    composition: &Composition,
) -> Result<Box<dyn Case>, Problem> {
    let scopes = catalogue.scope_names();
    let scenarios = catalogue.scenario_names();
    if scenarios.iter().any(|scenario| scenario == name) {
        return Err(Problem::new(format!(
            "`{name}` is a scenario, which is run under seeds: `{} run {name}`; the bundled scopes are: {}",
            this_command(),
            scopes.join(", ")
        )));
    }
    named(catalogue, name, composition, "scope", scopes)
}

/// The case of a file, or of a bundled scenario or scope.
pub(super) fn either(
    catalogue: &dyn Catalogue,
    name: &str,
    composition: &Composition,
) -> Result<Box<dyn Case>, Problem> {
    let bundled = [catalogue.scenario_names(), catalogue.scope_names()].concat();
    named(catalogue, name, composition, "scenario or scope", bundled)
}

fn named(
    catalogue: &dyn Catalogue,
    name: &str,
    composition: &Composition,
    kind: &str,
    bundled: Vec<String>,
) -> Result<Box<dyn Case>, Problem> {
    if is_path(name) {
        let path = Path::new(name);
        let checked = match path.is_dir() {
            true => Err(std::io::ErrorKind::IsADirectory.into()),
            false => std::fs::metadata(path).map(drop),
        };
        checked.map_err(|error| Problem::new(format!("{name}: {}", why(&error))))?;
    } else if !bundled.iter().any(|listed| listed == name) {
        let bundled = bundled.into_iter().map(|name| Listed::new(name, ""));
        let bundled: Vec<Listed> = bundled.collect();
        let help = help(name, &bundled, &format!("the bundled {kind}s are"));
        return Err(Problem::new(format!(
            "there is no {kind} `{name}`; {help}\n\
             (a {kind} file's name ends in .yaml or has a / in it)"
        )));
    }
    catalogue.open(name, composition).map_err(Problem::new)
}

fn is_path(name: &str) -> bool {
    let extension = Path::new(name).extension().and_then(OsStr::to_str);
    name.contains(['/', '\\']) || matches!(extension, Some("yaml" | "yml"))
}

/// The listed name that a misspelt one most likely meant.
pub fn near<'a>(name: &str, listed: &'a [Listed]) -> Option<&'a str> {
    let bound = (name.chars().count() / 3).max(1);
    listed
        .iter()
        .map(|l| (strsim::osa_distance(name, &l.name), l.name.as_str()))
        .filter(|(distance, _)| *distance <= bound)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// More names than these nobody reads.
const MOST_LISTED: usize = 40;

/// Suggests the listed name that a misspelt one most likely meant, else those that it is a part of, or lists all.
pub fn help(name: &str, listed: &[Listed], otherwise: &str) -> String {
    if let Some(name) = near(name, listed) {
        return format!("did you mean `{name}`?");
    }
    let of = |is: &dyn Fn(&str) -> bool| -> Vec<&str> {
        let all = listed.iter().map(|l| l.name.as_str());
        all.filter(|own| is(own)).collect()
    };
    let (all, with) = (of(&|_| true), of(&|own| own.contains(name)));
    match (all.as_slice(), with.as_slice()) {
        ([], _) => format!("{otherwise}: none"),
        (_, [one]) => format!("did you mean `{one}`?"),
        (_, [_, ..]) if !name.is_empty() && with.len() <= MOST_LISTED => {
            format!("names with it are: {}", with.join(", "))
        }
        _ if all.len() > MOST_LISTED => format!(
            "{otherwise}: {} and {} more, which `list` has",
            all[..MOST_LISTED].join(", "),
            all.len() - MOST_LISTED
        ),
        _ => format!("{otherwise}: {}", all.join(", ")),
    }
}

/// A trace from disk.
pub(super) fn trace(path: &Path) -> Result<Trace, Problem> {
    trace_file::read(path).map_err(|error| Problem::new(error.to_string()))
}

/// A trace from disk, and its case.
pub(super) fn traced(
    catalogue: &dyn Catalogue,
    path: &Path,
) -> Result<(Trace, Box<dyn Case>), Problem> {
    let trace = trace(path)?;
    let case = reopen(catalogue, &trace)
        .map_err(|why| Problem::new(format!("{}: {why}", path.display())))?;
    Ok((trace, case))
}

/// The case of a trace.
pub(super) fn reopen(catalogue: &dyn Catalogue, trace: &Trace) -> Result<Box<dyn Case>, String> {
    let name = &trace.head.case;
    let case = catalogue
        .reopen(&trace.head.identity)
        .map_err(|why| format!("its scenario, `{name}`, cannot be opened: {why}"))?;
    match case.name() == name {
        true => Ok(case),
        false => Err(format!(
            "its head says `{name}`, but what it describes is `{}`",
            case.name()
        )),
    }
}
