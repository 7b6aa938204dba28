//! Puts mistakes into words.

use serde_saphyr::Location;
use wavetank_component::Finding;
use wavetank_component::file::path::{Path, Step};
use wavetank_component::file::read::{Error, Kind};
use wavetank_component::file::suggest;
use wavetank_component::file::tree::{Focus, Node, Shape};

use super::faults::Faults;
use super::format::Format;
use super::report::{Note, Source};

/// Values longer than this are named by their kind.
const MOST_QUOTED: usize = 40;

/// A text that is not YAML.
pub(super) fn yaml(error: &serde_saphyr::Error) -> Note {
    use serde_saphyr::Error::{MergeKeyNotAllowed, MultipleDocuments};
    let location = error.location().unwrap_or(Location::UNKNOWN);
    let (message, help) = match error {
        MultipleDocuments { .. } => (
            "more than one YAML document".into(),
            "a file holds one scenario: remove the `---`",
        ),
        MergeKeyNotAllowed { .. } => (
            "merge keys (`<<`) cannot be used here".into(),
            "write the keys themselves",
        ),
        _ if is_too_much(error) => (
            "more, or more deeply nested, than any scenario is".into(),
            "is this the right file?",
        ),
        _ => {
            let text = error.to_string();
            // The place is shown anyway.
            let words = text.split(" at line ").next().unwrap_or_default();
            (
                format!("not valid YAML: {words}"),
                "check indentation, quotes and brackets here and above",
            )
        }
    };
    Note {
        location,
        message,
        help: help.into(),
    }
}

/// Is it one of the reader's limits that was reached?
fn is_too_much(error: &serde_saphyr::Error) -> bool {
    let text = error.to_string();
    ["budget breached", "recursion limit"]
        .iter()
        .any(|limit| text.contains(limit))
}

/// YAML that is not a scenario.
pub(super) fn reading(format: &Format, source: &Source, tree: &Node, error: &Error) -> Note {
    let path = error.path();
    let focus = match error.kind {
        Kind::UnknownKey { .. } | Kind::Missing { .. } => Focus::Key,
        _ => Focus::Value,
    };
    let location = match error.kind {
        Kind::Twice { again, .. } => again,
        _ => tree.place(&path, focus),
    };
    let (message, help) = words(format, source, tree, &path, &error.kind);
    Note {
        location,
        message,
        help,
    }
}

/// A scenario that makes no sense.
pub(super) fn finding(tree: &Node, finding: &Finding) -> Note {
    let location = tree.place(&finding.path, finding.focus);
    Note {
        location,
        message: finding.message.clone(),
        help: finding.help.clone(),
    }
}

fn words(
    format: &Format,
    source: &Source,
    tree: &Node,
    path: &Path,
    kind: &Kind,
) -> (String, String) {
    match kind {
        Kind::UnknownKey { key, known } => (format!("unknown key `{key}`"), key_help(key, known)),
        Kind::Twice { key, .. } => {
            let first = tree.place(path, Focus::Key).line();
            (
                format!("`{key}` is given twice"),
                format!("it is already given on line {first}: remove one"),
            )
        }
        Kind::Missing { owner, keys } => missing(format, path, owner, keys),
        Kind::UnknownValue { known } => {
            let value = source.excerpt(tree.place(path, Focus::Value));
            let help = suggest::help(value.trim_matches(['"', '\'']), known, "the values are");
            let message = format!("unknown value {} for `{path}`", found(source, tree, path));
            (message, help)
        }
        Kind::Unfit { expected } => unfit(source, tree, path, expected),
        Kind::Other(text) => {
            let (message, help) = text.split_once('\n').unwrap_or((text, "check the value"));
            (message.into(), help.into())
        }
    }
}

fn key_help(key: &str, known: &[String]) -> String {
    if key == "lasts" {
        return format!(
            "such a fault happens at one instant; the keys here are: {}",
            suggest::list(known)
        );
    }
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    suggest::help(key, &known, "the keys here are")
}

fn missing(format: &Format, path: &Path, owner: &str, keys: &[String]) -> (String, String) {
    let noun = if keys.len() == 1 { "key" } else { "keys" };
    let place = if path.0.is_empty() {
        String::new()
    } else {
        format!(" in `{path}`")
    };
    let line = |key: &String| match format.meaning(owner, key) {
        Some(meaning) => format!("`{key}`: {meaning}"),
        None => format!("add `{key}`"),
    };
    let help = keys.iter().map(line).collect::<Vec<_>>().join("\n");
    (
        format!("missing {noun} {}{place}", suggest::list(keys)),
        help,
    )
}

/// Serde's words for what it expected, in words for people: what, and how to write it.
fn plain(expected: &str) -> (&str, &str) {
    match expected {
        "u32" => ("a whole number", "a whole number from 0 to 4294967295"),
        "f64" => ("a number", "a number such as `0.5`"),
        "a string" => ("text", "text"),
        "a sequence" => ("a list", "a list such as `[one, two]`"),
        "a map" => MAPPING,
        name if name.starts_with("struct ") => MAPPING,
        other => other.split_once(": ").unwrap_or((other, other)),
    }
}

const MAPPING: (&str, &str) = ("a mapping", "keys and values such as `{key: value}`");

/// What is there instead: the text itself if it is short.
fn found(source: &Source, tree: &Node, path: &Path) -> String {
    let Some(node) = tree.get(path) else {
        return "nothing".into();
    };
    match node.shape {
        Shape::Empty => "nothing".into(),
        Shape::List(_) => "a list".into(),
        Shape::Map(_) => "a mapping".into(),
        Shape::Text(ref text) if text.contains('\n') || text.chars().count() > MOST_QUOTED => {
            "a text".into()
        }
        _ => format!("`{}`", source.excerpt(node.location)),
    }
}

/// A fault in `faults` as it is written, if that is what stands here.
fn budget(path: &Path) -> Option<String> {
    match &path.0[..] {
        [Step::Key(section), Step::Key(kind)] if section == "faults" => Faults::example(kind),
        _ => None,
    }
}

fn unfit(source: &Source, tree: &Node, path: &Path, expected: &str) -> (String, String) {
    let (what, how) = plain(expected);
    let is_root = path.0.is_empty();
    let subject = if is_root {
        "the scenario".into()
    } else {
        format!("`{path}`")
    };
    let found = found(source, tree, path);
    let message = format!("{subject} must be {what}, not {found}");
    let example = budget(path).map(|example| format!("for example `{example}`"));
    let how = example.unwrap_or_else(|| how.to_owned());
    match tree.get(path).map(|node| &node.shape) {
        Some(Shape::Empty) if is_root => (
            format!("{subject} is empty"),
            "begin with `name: ...`".into(),
        ),
        Some(Shape::Empty) => (
            format!("{subject} is empty"),
            format!("write {how}, or leave the key out"),
        ),
        Some(Shape::Bool(_) | Shape::Natural(_) | Shape::Negative(_) | Shape::Float(_))
            if what == "text" =>
        {
            (message, "put it in quotes".into())
        }
        _ => (message, format!("write {how}")),
    }
}
