//! The bundled scenarios and scopes, embedded in the binary.

use wavetank_cluster::Components;

use crate::file::Scenario;

// `FILES` and `SCOPES`: what lies in the folders, by name.
include!(concat!(env!("OUT_DIR"), "/bundled.rs"));

/// The text of a bundled scenario or scope.
pub fn text(name: &str) -> Option<&'static str> {
    let mut all = FILES.iter().chain(SCOPES);
    let found = all.find(|(bundled, _)| *bundled == name)?;
    Some(found.1)
}

/// The names of all bundled scenarios, which are those of their files.
pub fn scenario_names() -> Vec<String> {
    names(FILES)
}

/// The names of all bundled scopes.
pub fn scope_names() -> Vec<String> {
    names(SCOPES)
}

/// All bundled scenarios.
///
/// # Panics
/// If one is wrong; a test reads them all.
pub fn bundled(components: &Components) -> Vec<Scenario> {
    parsed(FILES, components)
}

/// The texts of all bundled scenarios and scopes.
pub fn texts() -> impl Iterator<Item = &'static str> {
    FILES.iter().chain(SCOPES).map(|(_, text)| *text)
}

/// All bundled scopes.
///
/// # Panics
/// If one is wrong; a test reads them all.
pub fn scopes(components: &Components) -> Vec<Scenario> {
    parsed(SCOPES, components)
}

fn names(files: &[(&str, &str)]) -> Vec<String> {
    files.iter().map(|(name, _)| (*name).to_owned()).collect()
}

fn parsed(files: &[(&str, &str)], components: &Components) -> Vec<Scenario> {
    let parse = |(name, text): &(&str, &str)| {
        let read = super::read(&format!("{name}.yaml"), text, components);
        read.unwrap_or_else(|report| panic!("{report}"))
    };
    files.iter().map(parse).collect()
}
