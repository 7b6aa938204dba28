//! "Did you mean ...?"

use strsim::osa_distance;

/// The known name that a misspelt one most likely meant; of equally near ones the first.
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let bound = (word.chars().count() / 3).max(1);
    let near = known.iter().map(|name| (osa_distance(word, name), *name));
    near.filter(|(distance, _)| *distance <= bound)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// A help that suggests the nearest name, or else lists all after `otherwise`.
pub fn help(word: &str, known: &[&str], otherwise: &str) -> String {
    match nearest(word, known) {
        Some(name) => format!("did you mean `{name}`?"),
        None if known.is_empty() => format!("{otherwise}: none"),
        None => format!("{otherwise}: {}", list(known)),
    }
}

/// The names in backticks, with commas.
pub fn list(names: &[impl AsRef<str>]) -> String {
    let quoted: Vec<String> = names
        .iter()
        .map(|name| format!("`{}`", name.as_ref()))
        .collect();
    quoted.join(", ")
}
