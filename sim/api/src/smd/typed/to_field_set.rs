//! Which fields a value mentions (`typed/tofieldset.go`).

use std::collections::BTreeSet;

use super::TypedValue;
use super::helpers::{
    Handled, ValidationErrors, deduce_atom, deref_list, deref_map, entry_type,
    list_item_to_path_element, resolve,
};
use crate::json::{Json, Map as JsonMap};
use crate::smd::fieldpath::{Path, PathElement, Set};
use crate::smd::schema::{ElementRelationship, List, Map, Schema, TypeRef};

impl TypedValue<'_> {
    /// `ToFieldSet`: its leaves, and the elements of its lists.
    ///
    /// # Errors
    /// A type that fits nothing.
    pub(crate) fn to_field_set(&self) -> Result<Set, ValidationErrors> {
        let mut walker = Walker {
            schema: self.schema,
            set: Set::default(),
            path: Path::new(),
            errors: ValidationErrors::default(),
        };
        walker.walk(&self.value, self.type_ref);
        walker.errors.into_result()?;
        Ok(walker.set)
    }
}

/// `toFieldSetWalker`
struct Walker<'a> {
    schema: &'a Schema,
    set: Set,
    path: Path,
    errors: ValidationErrors,
}

impl<'a> Walker<'a> {
    fn walk(&mut self, value: &Json, ty: &'a TypeRef) {
        let handled = resolve(self.schema, ty)
            .and_then(|atom| deduce_atom(atom, Some(value)).handle_atom(ty));
        match handled {
            Err(errors) => self.errors.extend(errors),
            Ok(Handled::Scalar(_)) => self.set.insert(&self.path),
            Ok(Handled::List(list)) if list.element_relationship == ElementRelationship::Atomic => {
                self.set.insert(&self.path);
            }
            Ok(Handled::List(list)) => {
                self.visit_list_items(list, deref_list(Some(value)).unwrap_or_default())
            }
            Ok(Handled::Map(map)) if map.element_relationship == ElementRelationship::Atomic => {
                self.set.insert(&self.path);
            }
            Ok(Handled::Map(map)) => {
                if let Some(fields) = deref_map(Some(value)) {
                    self.visit_map_items(map, fields);
                }
            }
        }
    }

    /// Of elements that come twice the list is owned, not what is in them.
    fn visit_list_items(&mut self, list: &'a List, items: &[Json]) {
        let element = |child| list_item_to_path_element(self.schema, list, child).ok();
        let items: Vec<(PathElement, &Json)> = items
            .iter()
            .filter_map(|child| Some((element(child)?, child)))
            .collect();
        let mut seen: BTreeSet<&PathElement> = BTreeSet::new();
        let twice = items.iter().filter(|(element, _)| !seen.insert(element));
        let duplicates: BTreeSet<&PathElement> = twice.map(|(element, _)| element).collect();
        for (element, child) in &items {
            self.path.push(element.clone());
            if !duplicates.contains(element) {
                self.walk(child, &list.element_type);
            }
            self.set.insert(&self.path);
            self.path.pop();
        }
    }

    fn visit_map_items(&mut self, map: &'a Map, fields: &JsonMap) {
        for (name, value) in fields {
            self.path.push(PathElement::field_name_element(name));
            self.walk(value, entry_type(map, name));
            let is_empty = value.is_null() || value.as_object().is_some_and(JsonMap::is_empty);
            if is_empty || map.find_field(name).is_none() {
                self.set.insert(&self.path);
            }
            self.path.pop();
        }
    }
}
