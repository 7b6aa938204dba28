//! Tables: the columns and cells of each kind, as a server prints them for those who ask
//! (`kubernetes/pkg/printers/internalversion/printers.go`, `apiserver/pkg/registry/rest/table.go`), and objects without
//! anything but their metadata (`apimachinery/pkg/api/meta/table`, `metav1.PartialObjectMetadata`).
//!
//! - `columns.txt`: the columns of each kind;
//! - `cells`: the cells of kinds, and which kind has which;
//! - `pods`, `workloads`, `network`, `storage`, `cluster`, `metrics`: kinds whose cells take longer to say;
//! - `duration`: how long something has been so.

mod cells;
mod cluster;
mod duration;
mod metrics;
mod network;
mod pods;
mod storage;
mod workloads;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::json;

use crate::apiextensions::Columns;
use crate::json::{self, Json};
use crate::status::{Reason, Status};
use crate::times::Stamp;

pub(crate) use duration::since as translate_timestamp_since;

/// `includeObject`: what of the object stands in a row.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum IncludeObject {
    /// Its metadata.
    #[default]
    Metadata,
    /// All of it.
    Object,
    /// Nothing.
    None,
}

impl IncludeObject {
    /// Of the query (`ValidateTableOptions`).
    ///
    /// # Errors
    /// 400.
    pub fn of(text: &str) -> Result<IncludeObject, Status> {
        match text {
            "" | "Metadata" => Ok(IncludeObject::Metadata),
            "Object" => Ok(IncludeObject::Object),
            "None" => Ok(IncludeObject::None),
            other => Err(Status::new_bad_request(format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: {}: must be \
                 'Metadata', 'Object', 'None', or empty",
                crate::quote::quote(other)
            ))),
        }
    }
}

/// How a table is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TableOptions<'a> {
    /// The version of meta.k8s.io.
    pub version: &'a str,
    /// What of the object stands in a row.
    pub include: IncludeObject,
    /// Are there no columns: the first event of a watch had them?
    pub no_headers: bool,
    /// What a definition says of its objects.
    pub columns: Option<&'a Columns>,
    /// What time it is.
    pub now: Stamp,
}

/// A row: its object as clients see it, and as the hub of its versions has it, which is what is printed.
#[derive(Clone, Debug)]
pub struct Row {
    /// As clients see it.
    pub shown: Json,
    /// As the hub has it.
    pub printed: Json,
}

static COLUMNS: LazyLock<BTreeMap<&str, Vec<Json>>> =
    LazyLock::new(|| columns(include_str!("printers/columns.txt")));

/// Reads the table.
pub(crate) fn prepare() {
    LazyLock::force(&COLUMNS);
}

fn columns(text: &str) -> BTreeMap<&str, Vec<Json>> {
    let mut of_kind: BTreeMap<&str, Vec<Json>> = BTreeMap::new();
    let mut kind = "";
    for line in text.lines() {
        match line.strip_prefix("  ") {
            Some(column) => of_kind.entry(kind).or_default().push(definition(column)),
            None => kind = line,
        }
    }
    of_kind
}

/// A column: name, type, format and priority. It says nothing about itself, where upstream's has a sentence.
fn definition(column: &str) -> Json {
    let mut parts = column.split('|');
    let mut next = || parts.next().unwrap_or_default();
    let (name, ty, format, priority) = (next(), next(), next(), next());
    json!({
        "name": name,
        "type": ty,
        "format": format,
        "description": "",
        "priority": priority.parse::<i64>().unwrap_or(0),
    })
}

/// The columns of a kind; of one that has none of its own those that all have.
fn column_definitions(kind: &str, custom: Option<&Columns>) -> Json {
    if let Some(custom) = custom {
        let name = std::iter::once(definition("Name|string|name|0"));
        return name.chain(custom.definitions()).collect();
    }
    let own = COLUMNS.get(kind).filter(|_| cells::of(kind).is_some());
    match own {
        Some(own) => own.as_slice().into(),
        None => json!([
            definition("Name|string|name|0"),
            definition("Created At|date||0")
        ]),
    }
}

/// A table of these objects; `list` is the metadata of the list that they are of, if they are.
pub fn table(kind: &str, rows: &[Row], list: Option<&Json>, options: &TableOptions<'_>) -> Json {
    let api_version = format!("meta.k8s.io/{}", options.version);
    let print = cells::of(kind);
    let row = |row: &Row| {
        let (cells, conditions) = match (options.columns, print) {
            (Some(columns), _) => (columns.cells(&row.printed, options.now), None),
            (None, Some(print)) => print(&row.printed, options.now),
            (None, None) => {
                let text = |field| json::text(&row.printed, &["metadata", field]);
                (
                    vec![text("name").into(), text("creationTimestamp").into()],
                    None,
                )
            }
        };
        let object = match options.include {
            IncludeObject::None => Json::Null,
            IncludeObject::Object => row.shown.clone(),
            IncludeObject::Metadata => partial_object_metadata(&row.shown, options.version),
        };
        let mut row = json!({"cells": cells, "object": object});
        if let Some(conditions) = conditions {
            row["conditions"] = conditions;
        }
        row
    };
    let own = |rows: &[Row]| match rows {
        [only] => {
            let version = json::text(&only.shown, &["metadata", "resourceVersion"]);
            match version {
                "" => json!({}),
                version => json!({"resourceVersion": version}),
            }
        }
        _ => json!({}),
    };
    let mut sorted: Vec<&Row> = rows.iter().collect();
    if kind == "FlowSchema" {
        // `printFlowSchemaList`: as they are matched.
        let precedence = |row: &&Row| json::number(&row.printed, &["spec", "matchingPrecedence"]);
        let name = |row: &&Row| json::text(&row.printed, &["metadata", "name"]).to_owned();
        sorted.sort_by_key(|row| (precedence(row), name(row)));
    }
    // Go shows a list that was never made as null.
    let shown: Json = match (rows, print, options.columns) {
        ([], None, None) => Json::Null,
        _ => sorted.into_iter().map(row).collect(),
    };
    json!({
        "kind": "Table",
        "apiVersion": api_version,
        "metadata": list.cloned().unwrap_or_else(|| own(rows)),
        "columnDefinitions": match options.no_headers {
            true => Json::Null,
            false => column_definitions(kind, options.columns),
        },
        "rows": shown,
    })
}

/// Upstream's `AsPartialObjectMetadata`
pub fn partial_object_metadata(object: &Json, version: &str) -> Json {
    let mut partial = json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": object.get("metadata").cloned().unwrap_or_else(|| json!({})),
    });
    if json::text(object, &["kind"]) == "DaemonSet" {
        // It is of the internal object, where this is a field of the spec.
        const ANNOTATIONS: [&str; 2] = ["metadata", "annotations"];
        let generation = "deprecated.daemonset.template.generation";
        json::remove(
            &mut partial,
            &[ANNOTATIONS.as_slice(), &[generation]].concat(),
        );
        if json::at(&partial, &ANNOTATIONS) == Some(&json!({})) {
            json::remove(&mut partial, &ANNOTATIONS);
        }
    }
    partial
}

/// `PartialObjectMetadataList`; `list` is the metadata of the list that it is of.
pub fn partial_object_metadata_list<'a>(
    objects: impl Iterator<Item = &'a Json>,
    list: &Json,
    version: &str,
) -> Json {
    // Its items name their kind, unlike those of other lists.
    let items: Vec<Json> = objects
        .map(|object| partial_object_metadata(object, version))
        .collect();
    json!({
        "kind": "PartialObjectMetadataList",
        "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": list,
        "items": items,
    })
}

/// Upstream's `NewNotAcceptableError`, and what else cannot be shown as it was asked for.
pub fn not_acceptable(message: impl Into<String>) -> Status {
    Status::of(Reason::NotAcceptable, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Resource;

    #[test]
    fn a_kind_with_columns_of_its_own_has_as_many_cells() {
        let now = Stamp::parse("2026-01-01T00:00:00Z").expect("an instant");
        for resource in Resource::ALL {
            let Some(print) = cells::of(resource.kind) else {
                let all = column_definitions(resource.kind, None);
                assert_eq!(all[1]["name"], "Created At", "{}", resource.kind);
                continue;
            };
            let bare = json!({"kind": resource.kind, "metadata": {"name": "n"}});
            let (cells, _) = print(&bare, now);
            let columns = column_definitions(resource.kind, None);
            let columns = columns.as_array().map_or(0, Vec::len);
            // Upstream has forgotten a column.
            let forgotten = usize::from(resource.kind == "IPAddress");
            assert_eq!(cells.len(), columns + forgotten, "{}", resource.kind);
        }
    }

    #[test]
    fn what_cannot_be_included_is_refused() {
        assert_eq!(IncludeObject::of("Object"), Ok(IncludeObject::Object));
        let wrong = IncludeObject::of("Bogus").expect_err("there is no such");
        assert_eq!(wrong.code, 400);
    }
}
