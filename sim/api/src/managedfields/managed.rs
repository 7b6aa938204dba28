//! Entries of managedFields, read and written (`managedfields/internal/managedfields.go`).

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::json::{self, Json, Map};
use crate::render;
use crate::smd::fieldpath::{ManagedFields, Set, VersionedSet};

/// `ManagedInterface`: managers, and when each wrote last.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Managed {
    pub(super) fields: ManagedFields,
    /// In whole seconds.
    pub(super) times: BTreeMap<String, String>,
}

/// What tells managers apart, and is written into an entry.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Identifier {
    pub(super) manager: String,
    pub(super) applies: bool,
    pub(super) api_version: String,
    pub(super) subresource: String,
}

impl Identifier {
    /// `BuildManagerIdentifier`: an applier is the same in all versions.
    pub(super) fn build(&self) -> String {
        let (operation, api_version) = match self.applies {
            true => ("Apply", ""),
            false => ("Update", self.api_version.as_str()),
        };
        let fields = [
            ("manager", self.manager.as_str()),
            ("operation", operation),
            ("apiVersion", api_version),
            ("subresource", &self.subresource),
        ];
        let mut out = String::from("{");
        for (name, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
            let comma = if out.len() > 1 { "," } else { "" };
            let _ = write!(out, "{comma}\"{name}\":");
            render::string(value, &mut out);
        }
        out + "}"
    }

    /// Out of what [`build`](Self::build) made.
    pub(super) fn parse(text: &str) -> Option<Identifier> {
        let tree: Json = serde_json::from_str(text).ok()?;
        let field = |name| json::text(&tree, &[name]).to_owned();
        Some(Identifier {
            manager: field("manager"),
            applies: field("operation") == "Apply",
            api_version: field("apiVersion"),
            subresource: field("subresource"),
        })
    }
}

/// The entries of an object.
pub(super) fn entries(object: &Json) -> &[Json] {
    json::list(object, &["metadata", "managedFields"])
}

/// `RemoveObjectManagedFields`
pub(super) fn remove_object_managed_fields(object: &mut Json) {
    json::remove(object, &["metadata", "managedFields"]);
}

/// `EncodeObjectManagedFields`
pub(super) fn encode_object_managed_fields(object: &mut Json, managed: &Managed) {
    let entries = encode_managed_fields(managed);
    match entries.is_empty() {
        true => remove_object_managed_fields(object),
        false => json::set(object, &["metadata", "managedFields"], entries),
    }
}

/// `DecodeManagedFields`
///
/// # Errors
/// What is wrong with an entry.
pub(super) fn decode_managed_fields(entries: &[Json]) -> Result<Managed, String> {
    let mut managed = Managed::default();
    for (at, entry) in entries.iter().enumerate() {
        let text = |name| json::text(entry, &[name]);
        let applied = match text("operation") {
            "Apply" => true,
            "Update" => false,
            _ => return Err("operation must be `Apply` or `Update`".to_owned()),
        };
        if text("apiVersion").is_empty() {
            return Err("apiVersion must not be empty".to_owned());
        }
        match text("fieldsType") {
            "FieldsV1" => {}
            "" => return Err(format!("missing fieldsType in managed fields entry {at}")),
            other => {
                return Err(format!(
                    "invalid fieldsType {other:?} in managed fields entry {at}"
                ));
            }
        }
        let identifier = Identifier {
            manager: text("manager").to_owned(),
            applies: applied,
            api_version: text("apiVersion").to_owned(),
            subresource: text("subresource").to_owned(),
        };
        let set = entry
            .get("fieldsV1")
            .map_or_else(|| Ok(Set::default()), Set::from_json);
        let set = set.map_err(|why| {
            format!("error decoding versioned set from {entry}: error decoding set: {why}")
        })?;
        let of = VersionedSet {
            set,
            api_version: identifier.api_version.clone(),
            applied,
        };
        let key = identifier.build();
        if !text("time").is_empty() {
            managed.times.insert(key.clone(), text("time").to_owned());
        }
        managed.fields.insert(key, of);
    }
    Ok(managed)
}

/// `encodeManagedFields`
pub(super) fn encode_managed_fields(managed: &Managed) -> Vec<Json> {
    let mut all: Vec<(SortKey, Json)> = Vec::new();
    for (key, of) in &managed.fields {
        let identifier = Identifier::parse(key).unwrap_or_default();
        let operation = if identifier.applies || of.applied {
            "Apply"
        } else {
            "Update"
        };
        let time = managed.times.get(key).cloned().unwrap_or_default();
        let mut entry = Map::new();
        let texts = [
            ("manager", identifier.manager.as_str()),
            ("operation", operation),
            ("apiVersion", &of.api_version),
            ("time", &time),
            ("fieldsType", "FieldsV1"),
            ("subresource", &identifier.subresource),
        ];
        for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
            entry.insert(name.to_owned(), text.into());
        }
        entry.insert("fieldsV1".to_owned(), of.set.to_json());
        let sort = (
            operation.to_owned(),
            time,
            identifier.manager,
            of.api_version.clone(),
            identifier.subresource,
        );
        all.push((sort, Json::Object(entry)));
    }
    all.sort_by(|(l, _), (r, _)| l.cmp(r));
    all.into_iter().map(|(_, entry)| entry).collect()
}

/// `sortEncodedManagedFields`: by operation, time, manager, version and subresource. Times are written alike, and one that
/// is absent comes first.
type SortKey = (String, String, String, String, String);
