//! One value over another (`typed/merge.go`): what the right side says wins, and nothing is removed. Lists that both sides
//! change keep the order of the right side, with what only the left side has between.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::helpers::{
    Handled, ValidationErrors, deduce_atom, deref_list, deref_map, entry_type,
    list_item_to_path_element, resolve, validate_scalar,
};
use crate::json::{Json, Map as JsonMap};
use crate::smd::fieldpath::PathElement;
use crate::smd::schema::{ElementRelationship, List, Map, Schema, TypeRef};

/// `merge`, with `ruleKeepRHS`.
///
/// # Errors
/// What cannot be merged.
pub(super) fn merge(
    schema: &Schema,
    ty: &TypeRef,
    lhs: &Json,
    rhs: &Json,
) -> Result<Json, ValidationErrors> {
    let walker = Walker { schema };
    let merged = walker.merge(ty, Some(lhs), Some(rhs))?;
    Ok(merged.unwrap_or_default())
}

/// What a merge comes to: nothing is left of empty containers that are merged.
type Merged = Result<Option<Json>, ValidationErrors>;

/// `mergingWalker`
struct Walker<'a> {
    schema: &'a Schema,
}

/// `ruleKeepRHS`
fn rule_keep_rhs(lhs: Option<&Json>, rhs: Option<&Json>) -> Option<Json> {
    rhs.or(lhs).cloned()
}

impl<'a> Walker<'a> {
    fn merge(&self, ty: &'a TypeRef, lhs: Option<&Json>, rhs: Option<&Json>) -> Merged {
        if lhs.is_none() && rhs.is_none() {
            return Err(ValidationErrors::of(
                "at least one of lhs and rhs must be provided",
            ));
        }
        let atom = resolve(self.schema, ty)?;
        let left = deduce_atom(atom, lhs);
        let right = deduce_atom(atom, rhs);
        if rhs.is_none() {
            return self.handle(left.handle_atom(ty)?, lhs, rhs);
        }
        if lhs.is_none() || left.is_as(right) {
            return self.handle(right.handle_atom(ty)?, lhs, rhs);
        }
        // A value of another kind takes its place, if both can be walked.
        self.handle(left.handle_atom(ty)?, lhs, rhs)?;
        self.handle(right.handle_atom(ty)?, lhs, rhs)
    }

    fn handle(&self, as_what: Handled<'a>, lhs: Option<&Json>, rhs: Option<&Json>) -> Merged {
        match as_what {
            Handled::Scalar(scalar) => {
                let left = validate_scalar(scalar, lhs, "lhs: ");
                let right = validate_scalar(scalar, rhs, "rhs: ");
                if let (Err(mut left), Err(right)) = (left, right) {
                    left.extend(right);
                    return Err(left);
                }
                Ok(rule_keep_rhs(lhs, rhs))
            }
            Handled::List(list) => {
                let (left, right) = (deref_list(lhs), deref_list(rhs));
                let (left, right) = (left.unwrap_or_default(), right.unwrap_or_default());
                // A leaf keeps null and empty apart.
                let leaf = left.is_empty() && right.is_empty();
                match leaf || list.element_relationship == ElementRelationship::Atomic {
                    true => Ok(rule_keep_rhs(lhs, rhs)),
                    false => self.visit_list_items(list, left, right),
                }
            }
            Handled::Map(map) => {
                let (left, right) = (deref_map(lhs), deref_map(rhs));
                let is_empty = |side: Option<&JsonMap>| side.is_none_or(JsonMap::is_empty);
                let leaf = is_empty(left) && is_empty(right);
                match leaf || map.element_relationship == ElementRelationship::Atomic {
                    true => Ok(rule_keep_rhs(lhs, rhs)),
                    false => self.visit_map_items(map, left, right),
                }
            }
        }
    }

    fn visit_map_items(
        &self,
        map: &'a Map,
        lhs: Option<&JsonMap>,
        rhs: Option<&JsonMap>,
    ) -> Merged {
        let mut errors = ValidationErrors::default();
        let mut out = JsonMap::new();
        let names: BTreeSet<&String> = lhs.into_iter().chain(rhs).flat_map(JsonMap::keys).collect();
        for name in names {
            let (left, right) = (
                lhs.and_then(|of| of.get(name)),
                rhs.and_then(|of| of.get(name)),
            );
            match self.merge(entry_type(map, name), left, right) {
                Ok(Some(merged)) => {
                    out.insert(name.clone(), merged);
                }
                Ok(None) => {}
                Err(inside) => {
                    errors.extend(inside.with_lazy_prefix(&PathElement::field_name_element(name)))
                }
            }
        }
        errors.into_result()?;
        Ok((!out.is_empty()).then_some(Json::Object(out)))
    }

    fn visit_list_items(&self, list: &'a List, lhs: &[Json], rhs: &[Json]) -> Merged {
        let right = self.index_list_path_elements(list, rhs, Duplicate::Refused);
        let left = self.index_list_path_elements(list, lhs, Duplicate::Nothing);
        let (right, left) = match (right, left) {
            (Ok(right), Ok(left)) => (right, left),
            (Err(mut errors), Err(more)) => {
                errors.extend(more);
                return Err(errors);
            }
            (Err(errors), _) | (_, Err(errors)) => return Err(errors),
        };
        let is_shared = |element: &&PathElement| left.observed.contains_key(*element);
        let mut shared: VecDeque<&PathElement> = right.elements.iter().filter(is_shared).collect();
        let mut next_shared = shared.pop_front();
        let mut merged: BTreeSet<&PathElement> = BTreeSet::new();
        let mut out = Vec::new();
        let (mut l, mut r) = (0, 0);
        while l < left.elements.len() || r < right.elements.len() {
            if let (Some(element), Some(other)) = (left.elements.get(l), right.elements.get(r)) {
                if element == other {
                    merged.insert(element);
                    out.extend(self.merge_list_item(
                        list,
                        element,
                        left.get(element),
                        right.get(element),
                    ));
                    (l, r) = (l + 1, r + 1);
                    next_shared = shared.pop_front();
                    continue;
                }
                let is_another = next_shared.is_some_and(|next| next != element);
                if right.observed.contains_key(element) && is_another {
                    l += 1;
                    continue;
                }
            }
            if let Some(element) = left.elements.get(l) {
                if !right.observed.contains_key(element) {
                    out.extend(self.merge_list_item(list, element, lhs.get(l), None));
                    l += 1;
                    continue;
                }
                if merged.contains(element) {
                    l += 1;
                }
            }
            if let Some(element) = right.elements.get(r) {
                merged.insert(element);
                out.extend(self.merge_list_item(
                    list,
                    element,
                    left.get(element),
                    right.get(element),
                ));
                r += 1;
                if next_shared == Some(element) {
                    next_shared = shared.pop_front();
                }
            }
        }
        Ok((!out.is_empty()).then_some(Json::Array(out)))
    }

    /// Upstream forgets what is wrong inside an element.
    fn merge_list_item(
        &self,
        list: &'a List,
        element: &PathElement,
        lhs: Option<&Json>,
        rhs: Option<&Json>,
    ) -> Option<Json> {
        let merged = self.merge(&list.element_type, lhs, rhs);
        let merged = merged.map_err(|errors| errors.with_lazy_prefix(element));
        merged.ok().flatten()
    }

    fn index_list_path_elements<'v>(
        &self,
        list: &List,
        items: &'v [Json],
        duplicate: Duplicate,
    ) -> Result<Indexed<'v>, ValidationErrors> {
        const NOTHING: &Json = &Json::Null;
        let mut errors = ValidationErrors::default();
        let mut indexed = Indexed {
            elements: Vec::new(),
            observed: BTreeMap::new(),
        };
        for (at, child) in items.iter().enumerate() {
            let element = match list_item_to_path_element(self.schema, list, child) {
                Ok(element) => element,
                Err(why) => {
                    errors.extend(ValidationErrors::of(format!("element {at}: {why}")));
                    continue;
                }
            };
            if indexed.observed.contains_key(&element) {
                if duplicate == Duplicate::Refused {
                    let why = format!("duplicate entries for key {element}");
                    errors.extend(ValidationErrors::of(why));
                    continue;
                }
                indexed.observed.insert(element.clone(), NOTHING);
            } else {
                indexed.observed.insert(element.clone(), child);
            }
            indexed.elements.push(element);
        }
        errors.into_result()?;
        Ok(indexed)
    }
}

/// What becomes of an element that comes twice.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Duplicate {
    Refused,
    /// It is merged with nothing.
    Nothing,
}

/// The elements of a list, and what chooses them.
struct Indexed<'v> {
    elements: Vec<PathElement>,
    observed: BTreeMap<PathElement, &'v Json>,
}

impl<'v> Indexed<'v> {
    fn get(&self, element: &PathElement) -> Option<&'v Json> {
        self.observed.get(element).copied()
    }
}
