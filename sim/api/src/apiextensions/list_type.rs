//! Lists that are sets or maps have nothing twice (`schema/listtype/validation.go`).

use super::object_meta::child;
use super::props::Props;
use crate::json::{Json, Map};
use crate::validation::ErrorList;

/// `ValidateListSetsAndMaps`
pub fn validate_list_sets_and_maps(path: &str, schema: &Props, value: &Json) -> ErrorList {
    let mut errors = ErrorList::default();
    look(path, schema, value, &mut errors);
    errors
}

fn look(path: &str, schema: &Props, value: &Json, errors: &mut ErrorList) {
    match value {
        Json::Object(map) => {
            for (name, value) in map {
                if let Some(additional) = schema.additional() {
                    look(&format!("{path}[{name}]"), additional, value, errors);
                }
                if let Some(property) = schema.properties.get(name) {
                    look(&child(path, name), property, value, errors);
                }
            }
        }
        Json::Array(items) => {
            match schema.list_type.as_deref() {
                Some("set") => {
                    for at in validate_list_set(items) {
                        errors.duplicate(format!("{path}[{at}]"), &items[at]);
                    }
                }
                Some("map") => validate_list_map(path, schema, items, errors),
                _ => {}
            }
            if let Some(item) = schema.item() {
                for (at, value) in items.iter().enumerate() {
                    look(&format!("{path}[{at}]"), item, value, errors);
                }
            }
        }
        _ => {}
    }
}

/// `validateListSet`: where something comes for the second time.
fn validate_list_set(items: &[Json]) -> Vec<usize> {
    let times = |at: usize| {
        items[..at]
            .iter()
            .filter(|other| **other == items[at])
            .count()
    };
    (0..items.len()).filter(|at| times(*at) == 1).collect()
}

fn validate_list_map(path: &str, schema: &Props, items: &[Json], errors: &mut ErrorList) {
    for (at, item) in items.iter().enumerate() {
        if !item.is_null() && !item.is_object() {
            let why = "must be an object for an array of list-type map";
            return errors.invalid(format!("{path}[{at}]"), item, why);
        }
    }
    let key = |item: &Json| -> Json {
        let fields = schema.list_map_keys.iter().filter_map(|field| {
            let value = item.get(field)?;
            Some((field.clone(), value.clone()))
        });
        Json::Object(fields.collect::<Map>())
    };
    let keys: Vec<Json> = items.iter().map(key).collect();
    for at in validate_list_set(&keys) {
        errors.duplicate(format!("{path}[{at}]"), &keys[at]);
    }
}
