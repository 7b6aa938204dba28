//! The mutants that are declared in the text of a source file. The build lists them.

/// A mutant: the number of its line, its name, and what it does.
pub type Declared<'a> = (usize, &'a str, &'a str);

/// What a declaration begins with.
const BEGINS: &str = "mutant!(";

/// The mutants of a file, in its order.
///
/// # Panics
/// If a declaration is not `mutant!("name", "what it does")`.
pub fn declared(text: &str) -> Vec<Declared<'_>> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(BEGINS) {
        let line = text[..at].rsplit('\n').next().unwrap_or_default();
        if line.trim_start().starts_with("//") {
            continue;
        }
        let number = text[..at].matches('\n').count() + 1;
        let mut strings = text[at + BEGINS.len()..].split('"');
        let parts = [
            strings.next(),
            strings.next(),
            strings.next(),
            strings.next(),
        ];
        match parts {
            [Some(before), Some(name), Some(between), Some(what)]
                if before.trim().is_empty() && between.trim() == "," =>
            {
                found.push((number, name, what));
            }
            _ => panic!(
                "line {number}: a mutant is declared by `mutant!(\"name\", \"what it does\")`"
            ),
        }
    }
    found
}
