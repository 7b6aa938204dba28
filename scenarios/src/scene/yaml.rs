//! JSON as YAML that people read and edit: mappings in lines, and what is short in one line.

use serde_json::{Map, Value as Json};

/// What is no longer than this stands in one line.
const SHORT: usize = 100;

/// The order of the keys of a scenario file; what else components say comes after them.
const ORDER: [&str; 12] = [
    "name",
    "about",
    "release",
    "topology",
    "options",
    "workload",
    "storm",
    "calm",
    "scene",
    "plan",
    "properties",
    "expect",
];

/// Keys that say which one of several it is.
const TITLES: [&str; 6] = ["at", "key", "event", "nth", "process", "begin"];

/// A scenario file. Keys that say nothing are left out.
pub fn to_yaml(scenario: &Json) -> String {
    let mut text = String::new();
    let Some(all) = scenario.as_object() else {
        return text;
    };
    let said = |key: &&String| !matches!(&all[*key], Json::Null) && !is_nothing(&all[*key]);
    let place = |key: &str| ORDER.iter().position(|own| *own == key);
    let mut keys: Vec<&String> = all.keys().filter(said).collect();
    keys.sort_by_key(|key| place(key).unwrap_or(ORDER.len()));
    for key in keys {
        entry(&mut text, 0, key, &all[key]);
    }
    text
}

fn is_nothing(value: &Json) -> bool {
    match value {
        Json::Object(all) => all.is_empty(),
        Json::Array(all) => all.is_empty(),
        _ => false,
    }
}

fn entry(text: &mut String, depth: usize, key: &str, value: &Json) {
    text.push_str(&format!("{}{}:", "  ".repeat(depth), scalar(key)));
    block(text, depth, value);
}

/// A value behind what introduces it.
fn block(text: &mut String, depth: usize, value: &Json) {
    let line = flow(value);
    let is_short = line.chars().count() + 2 * depth <= SHORT;
    match value {
        Json::Object(all) if !all.is_empty() && (depth == 0 || !is_short) => {
            text.push('\n');
            for (key, value) in ordered(all) {
                entry(text, depth + 1, key, value);
            }
        }
        Json::Array(all) if !all.is_empty() && (!is_short || all.iter().any(Json::is_object)) => {
            text.push('\n');
            for item in all {
                self::item(text, depth + 1, item);
            }
        }
        _ => {
            text.push(' ');
            text.push_str(&line);
            text.push('\n');
        }
    }
}

/// One item of a list.
fn item(text: &mut String, depth: usize, value: &Json) {
    let line = flow(value);
    let is_short = line.chars().count() + 2 * depth <= SHORT;
    let dash = format!("{}- ", "  ".repeat(depth));
    match value {
        Json::Object(all) if !is_short && !all.is_empty() => {
            let mut inner = String::new();
            for (key, value) in ordered(all) {
                entry(&mut inner, depth + 1, key, value);
            }
            // The first key stands behind the dash.
            text.push_str(&dash);
            text.push_str(inner.trim_start());
        }
        _ => {
            text.push_str(&dash);
            text.push_str(&line);
            text.push('\n');
        }
    }
}

/// What says which one it is comes first.
fn ordered(all: &Map<String, Json>) -> Vec<(&String, &Json)> {
    let mut entries: Vec<(&String, &Json)> = all.iter().collect();
    entries.sort_by_key(|(key, _)| !TITLES.contains(&key.as_str()));
    entries
}

/// In one line.
fn flow(value: &Json) -> String {
    match value {
        Json::Object(all) => {
            let entries = ordered(all).into_iter();
            let entries = entries.map(|(key, value)| format!("{}: {}", scalar(key), flow(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        Json::Array(all) => {
            let items: Vec<String> = all.iter().map(flow).collect();
            format!("[{}]", items.join(", "))
        }
        Json::String(text) => scalar(text),
        other => other.to_string(),
    }
}

/// A text, in quotes where it could be read as something else.
fn scalar(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_/.".contains(c);
    let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    let is_time = text.starts_with(|c: char| c.is_ascii_digit())
        && text.ends_with(|c: char| c.is_ascii_lowercase())
        && !text.contains(['-', '/', '_']);
    let is_reserved = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
        .contains(&text.to_ascii_lowercase().as_str());
    match (is_word || is_time) && text.chars().all(plain) && !is_reserved {
        true => text.to_owned(),
        false => Json::from(text).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_long_stands_in_lines() {
        let text = to_yaml(&json!({
            "scene": {"from": "20s", "options": {}},
            "name": "a",
            "plan": [{"at": "1m20.5s", "tell": {"process": "s1", "what": "on"}}],
            "search": null,
            "store": {"content": [{"key": "/a/b", "object": {"kind": "true", "text": "x".repeat(99)}}]},
        }));
        let long = "x".repeat(99);
        let expected = format!(
            "name: a\nscene:\n  from: 20s\n  options: {{}}\nplan:\n  - {{at: 1m20.5s, tell: {{process: s1, what: \"on\"}}}}\nstore:\n  content:\n    - key: /a/b\n      object:\n        kind: \"true\"\n        text: {long}\n"
        );
        assert_eq!(text, expected);
    }
}
