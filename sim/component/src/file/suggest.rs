//! "Did you mean ...?"

use strsim::osa_distance;

/// The known name that a misspelt one most likely meant; of equally near ones the first.
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let bound = (word.chars().count() / 3).max(1);
    let near = known.iter().map(|name| (osa_distance(word, name), *name));
    let near = near.filter(|(distance, _)| *distance <= bound);
    let nearest = near.min_by_key(|(distance, _)| *distance);
    nearest.map_or_else(|| of_the_same_parts(word, known), |(_, name)| Some(name))
}

/// The one that has most parts in common with a word of several, if that is half of them, and no other has as many.
fn of_the_same_parts<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let parts: Vec<&str> = word.split('-').collect();
    let common = |name: &str| name.split('-').filter(|part| parts.contains(part)).count();
    let most = known.iter().map(|name| common(name)).max()?;
    let mut alike = known.iter().filter(|name| common(name) == most);
    let found = alike.next().filter(|_| alike.next().is_none())?;
    (most >= 2 && 2 * most >= parts.len()).then_some(*found)
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
