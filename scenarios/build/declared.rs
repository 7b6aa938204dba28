//! Functions in the text of a source file, and the upstream names that their comments open with. The build lists them, and
//! a test compares the two.

/// The upstream name that a comment opens with, in backquotes and with a capital letter somewhere.
pub fn opens_with(comment: &str) -> Option<&str> {
    let (name, _) = comment.strip_prefix('`')?.split_once('`')?;
    let name = name.strip_suffix("()").unwrap_or(name);
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "._".contains(letter);
    let named = name.chars().all(is_name) && name.contains(|letter: char| letter.is_uppercase());
    named.then_some(name)
}

/// The function that is declared in this line.
fn declared(line: &str) -> Option<&str> {
    let mut words = line.trim_start().split([' ', '(']);
    let qualifiers = ["pub", "const", "async", "super)", "crate)"];
    let first = words.find(|word| !qualifiers.contains(word))?;
    let name = (first == "fn").then(|| words.next())??;
    name.split('<').next()
}

/// The functions of a file: the number of the line, the name, and the upstream name that the comment opens with.
pub fn functions(text: &str) -> Vec<(usize, &str, Option<&str>)> {
    let mut found = Vec::new();
    let mut opening: Option<&str> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim_start();
        if let Some(comment) = line.strip_prefix("///") {
            opening = opening.or(Some(comment.trim_start()));
            continue;
        }
        if line.starts_with("#[") {
            continue;
        }
        let upstream = opening.take().and_then(opens_with);
        if let Some(name) = declared(line) {
            found.push((number, name, upstream));
        }
    }
    found
}
