//! A value without some of its fields, or with no others (`typed/remove.go`).

use super::helpers::{Handled, deduce_atom, entry_type, list_item_to_path_element, resolve};
use crate::json::{Json, Map as JsonMap};
use crate::smd::fieldpath::{PathElement, Set};
use crate::smd::schema::{ElementRelationship, List, Map, Schema, TypeRef};

/// `removeItemsWithSchema`: without the items, or with `extracts` with them alone. What is left empty is null, unless
/// something inside was removed.
pub(super) fn remove_items_with_schema(
    value: &Json,
    items: Option<&Set>,
    schema: &Schema,
    ty: &TypeRef,
    extracts: bool,
) -> Json {
    static NONE: Set = Set {
        members: std::collections::BTreeSet::new(),
        children: std::collections::BTreeMap::new(),
    };
    let walker = Walker {
        schema,
        items: items.unwrap_or(&NONE),
        extracts,
    };
    let handled =
        resolve(schema, ty).and_then(|atom| deduce_atom(atom, Some(value)).handle_atom(ty));
    match (handled, value) {
        (Ok(Handled::Scalar(_)), value) => value.clone(),
        (Ok(Handled::List(list)), Json::Array(items)) => walker.list(list, items),
        (Ok(Handled::Map(map)), Json::Object(fields)) => walker.map(map, fields),
        _ => Json::Null,
    }
}

/// `removingWalker`
struct Walker<'a> {
    schema: &'a Schema,
    items: &'a Set,
    extracts: bool,
}

impl Walker<'_> {
    /// What is empty or all or nothing is taken whole, and never removed in part.
    fn whole(&self, value: Json) -> Json {
        match self.extracts {
            true => value,
            false => Json::Null,
        }
    }

    /// What of a child is left when something below it goes: a container stays, empty.
    fn inside(&self, child: &Json, below: &Set, ty: &TypeRef) -> Json {
        let left = remove_items_with_schema(child, Some(below), self.schema, ty, self.extracts);
        match (left, child) {
            (Json::Null, Json::Object(_)) if !self.extracts => Json::Object(JsonMap::new()),
            (Json::Null, Json::Array(_)) if !self.extracts => Json::Array(Vec::new()),
            (left, _) => left,
        }
    }

    fn list(&self, list: &List, items: &[Json]) -> Json {
        if items.is_empty() || list.element_relationship == ElementRelationship::Atomic {
            return self.whole(Json::Array(items.to_vec()));
        }
        let mut left = Vec::new();
        let mut had_matches = false;
        for item in items {
            let Ok(element) = list_item_to_path_element(self.schema, list, item) else {
                continue;
            };
            let exact = self.items.members.contains(&element);
            let below = self.items.with_prefix(&element);
            match below {
                _ if exact && !self.extracts => {}
                Some(below) => {
                    had_matches = true;
                    left.push(self.inside(item, below, &list.element_type));
                }
                None if exact || !self.extracts => left.push(item.clone()),
                None => {}
            }
        }
        match left.is_empty() && (self.extracts || !had_matches) {
            true => Json::Null,
            false => Json::Array(left),
        }
    }

    fn map(&self, map: &Map, fields: &JsonMap) -> Json {
        if fields.is_empty() || map.element_relationship == ElementRelationship::Atomic {
            return self.whole(Json::Object(fields.clone()));
        }
        let mut left = JsonMap::new();
        let mut had_matches = false;
        for (name, value) in fields {
            let element = PathElement::field_name_element(name);
            let ty = entry_type(map, name);
            if self.items.members.contains(&element) {
                if self.extracts {
                    let taken =
                        remove_items_with_schema(value, Some(self.items), self.schema, ty, true);
                    left.insert(name.clone(), taken);
                }
                continue;
            }
            match self.items.with_prefix(&element) {
                Some(below) => {
                    had_matches = true;
                    left.insert(name.clone(), self.inside(value, below, ty));
                }
                None if self.extracts => {}
                None => {
                    left.insert(name.clone(), value.clone());
                }
            }
        }
        match left.is_empty() && (self.extracts || !had_matches) {
            true => Json::Null,
            false => Json::Object(left),
        }
    }
}
