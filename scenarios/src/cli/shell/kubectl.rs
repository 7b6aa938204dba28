//! Objects as kubectl prints them: tables with the columns of a server, YAML, and how two texts differ.

use wavetank_api::apiextensions::CustomVersion;
use wavetank_api::printers::{self, IncludeObject, Row, TableOptions};
use wavetank_api::{Json, Resource, Stamp, json};
use wavetank_component::Held;
use wavetank_engine::Time;

/// What of a table is printed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Columns {
    /// `-A`: the namespace comes first.
    pub namespace: bool,
    /// `-o wide`: those of a lower priority, too.
    pub wide: bool,
}

/// `kubectl get`: a row an object.
pub(super) fn table(
    resource: &'static Resource,
    objects: &[&Held],
    now: Time,
    columns: Columns,
) -> Vec<Vec<String>> {
    let rows: Vec<Row> = objects
        .iter()
        .map(|held| Row {
            shown: held.object.json(),
            printed: held.object.json(),
        })
        .collect();
    let options = TableOptions {
        version: "v1",
        include: IncludeObject::None,
        no_headers: false,
        columns: resource.strategy.custom().map(CustomVersion::columns),
        now: Stamp::of(now),
    };
    let table = printers::table(resource.kind, &rows, None, &options);
    let none = Vec::new();
    let definitions = table["columnDefinitions"].as_array().unwrap_or(&none);
    let is_shown = |definition: &&Json| {
        columns.wide || json::number(definition, &["priority"]).unwrap_or(0) == 0
    };
    let shown: Vec<usize> = (0..definitions.len())
        .filter(|at| is_shown(&&definitions[*at]))
        .collect();
    let namespaced = columns.namespace && resource.namespaced;
    let names = shown.iter();
    let names = names.map(|at| json::text(&definitions[*at], &["name"]).to_uppercase());
    let namespace = namespaced.then(|| "NAMESPACE".to_owned());
    let mut lines: Vec<Vec<String>> = vec![namespace.into_iter().chain(names).collect()];
    let printed = table["rows"].as_array().unwrap_or(&none);
    for (row, held) in printed.iter().zip(objects) {
        let cells = shown.iter().map(|at| cell(&row["cells"][*at]));
        let namespace = namespaced.then(|| held.object.object.namespace().to_owned());
        lines.push(namespace.into_iter().chain(cells).collect());
    }
    lines
}

fn cell(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Null => "<none>".to_owned(),
        value => value.to_string(),
    }
}

/// Cells as kubectl aligns them: three spaces between columns.
pub(super) fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let cells = line.iter().zip(&widths);
        let cells: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        text += cells.join("   ").trim_end();
        text.push('\n');
    }
    text
}

/// A tree as YAML.
pub(super) fn yaml(value: &Json) -> Vec<String> {
    let mut lines = Vec::new();
    write(value, "", &mut lines);
    lines
}

fn write(value: &Json, indent: &str, lines: &mut Vec<String>) {
    match value {
        Json::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                nested(&format!("{name}:"), value, indent, lines);
            }
        }
        Json::Array(items) if !items.is_empty() => {
            for item in items {
                let begun = lines.len();
                write(item, &format!("{indent}  "), lines);
                if let Some(first) = lines.get_mut(begun) {
                    first.replace_range(indent.len()..indent.len() + 1, "-");
                }
            }
        }
        plain => lines.push(format!("{indent}{}", scalar(plain))),
    }
}

fn nested(name: &str, value: &Json, indent: &str, lines: &mut Vec<String>) {
    match value {
        Json::Object(fields) if !fields.is_empty() => {
            lines.push(format!("{indent}{name}"));
            write(value, &format!("{indent}  "), lines);
        }
        Json::Array(items) if !items.is_empty() => {
            lines.push(format!("{indent}{name}"));
            write(value, indent, lines);
        }
        plain => lines.push(format!("{indent}{name} {}", scalar(plain))),
    }
}

/// A text stands bare where it is a text anyway.
fn scalar(value: &Json) -> String {
    let Json::String(text) = value else {
        return value.to_string();
    };
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    let means_another = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let is_plain = begins
        && text.chars().all(is_word)
        && !means_another.contains(&text.to_lowercase().as_str());
    match is_plain {
        true => text.clone(),
        false => value.to_string(),
    }
}

/// The lines of two texts: those of both with a space, those of the one with `-`, of the other with `+`.
pub(super) fn diff(before: &[String], after: &[String]) -> Vec<String> {
    let wide = after.len() + 1;
    // The longest common part of what is left.
    let mut longest = vec![0_u32; (before.len() + 1) * wide];
    for i in (0..before.len()).rev() {
        for j in (0..after.len()).rev() {
            longest[i * wide + j] = match before[i] == after[j] {
                true => longest[(i + 1) * wide + j + 1] + 1,
                false => longest[(i + 1) * wide + j].max(longest[i * wide + j + 1]),
            };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < before.len() || j < after.len() {
        let is_same = i < before.len() && j < after.len() && before[i] == after[j];
        let goes = i < before.len()
            && (j == after.len() || longest[(i + 1) * wide + j] >= longest[i * wide + j + 1]);
        if is_same {
            lines.push(format!("  {}", before[i]));
            (i, j) = (i + 1, j + 1);
        } else if goes {
            lines.push(format!("- {}", before[i]));
            i += 1;
        } else {
            lines.push(format!("+ {}", after[j]));
            j += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_tree_is_yaml() {
        let tree = json!({
            "a": {"b": "text", "n": "5", "none": {}, "yes": "no"},
            "l": [{"x": 1, "y": [2]}, "s"],
        });
        let expected = "\
a:
  b: text
  n: \"5\"
  none: {}
  yes: \"no\"
l:
- x: 1
  y:
  - 2
- s";
        assert_eq!(yaml(&tree).join("\n"), expected);
    }

    #[test]
    fn a_diff_has_what_went_and_what_came() {
        let lines = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let shown = diff(&lines("a b c d"), &lines("a x c e d"));
        assert_eq!(shown, ["  a", "- b", "+ x", "  c", "+ e", "  d"]);
        assert!(diff(&[], &[]).is_empty());
    }

    #[test]
    fn columns_are_as_wide_as_they_have_to_be() {
        let line = |cells: &[&str]| cells.iter().map(|&cell| cell.to_owned()).collect();
        let text = aligned(&[line(&["NAME", "AGE"]), line(&["kubernetes", "5s"])]);
        assert_eq!(text, "NAME         AGE\nkubernetes   5s\n");
    }
}
