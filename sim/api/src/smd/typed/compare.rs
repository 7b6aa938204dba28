//! What differs between two values (`typed/compare.go`).

use std::collections::{BTreeMap, BTreeSet};

use super::helpers::{
    Handled, ValidationErrors, deduce_atom, deref_list, deref_map, entry_type,
    list_item_to_path_element, resolve, validate_scalar,
};
use crate::json::{Json, Map as JsonMap};
use crate::smd::fieldpath::{Path, PathElement, Set};
use crate::smd::schema::{ElementRelationship, List, Map, Schema, TypeRef};
use crate::smd::value;

/// `Comparison`: no field is in two of the sets.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Comparison {
    /// Only the left side has them.
    pub(crate) removed: Set,
    /// Both have them, and not alike.
    pub(crate) modified: Set,
    /// Only the right side has them.
    pub(crate) added: Set,
}

impl Comparison {
    /// `IsSame`
    #[cfg(test)]
    pub(crate) fn is_same(&self) -> bool {
        self.removed.is_empty() && self.modified.is_empty() && self.added.is_empty()
    }

    /// `FilterFields`, with a filter that takes fields out.
    #[must_use]
    pub(crate) fn filter_fields(&self, fields: &Set) -> Comparison {
        Comparison {
            removed: self.removed.recursive_difference(fields),
            modified: self.modified.recursive_difference(fields),
            added: self.added.recursive_difference(fields),
        }
    }
}

/// `Compare`
///
/// # Errors
/// What cannot be compared.
pub(super) fn compare(
    schema: &Schema,
    ty: &TypeRef,
    lhs: &Json,
    rhs: &Json,
) -> Result<Comparison, ValidationErrors> {
    let mut walker = Walker {
        schema,
        path: Path::new(),
        comparison: Comparison::default(),
    };
    walker.compare(ty, Some(lhs), Some(rhs)).into_result()?;
    Ok(walker.comparison)
}

/// `compareWalker`
struct Walker<'a> {
    schema: &'a Schema,
    path: Path,
    comparison: Comparison,
}

/// Was this compared as a whole?
type InLeaf = bool;

impl<'a> Walker<'a> {
    fn compare(
        &mut self,
        ty: &'a TypeRef,
        lhs: Option<&Json>,
        rhs: Option<&Json>,
    ) -> ValidationErrors {
        if lhs.is_none() && rhs.is_none() {
            return ValidationErrors::of("at least one of lhs and rhs must be provided");
        }
        let atom = match resolve(self.schema, ty) {
            Ok(atom) => atom,
            Err(errors) => return errors,
        };
        let left = deduce_atom(atom, lhs);
        let right = deduce_atom(atom, rhs);
        let mut errors = ValidationErrors::default();
        let mut handle = |walker: &mut Walker<'a>,
                          as_what: Result<Handled<'a>, ValidationErrors>| {
            let handled = as_what.map(|as_what| walker.handle(as_what, lhs, rhs));
            let (in_leaf, more) = handled.unwrap_or_else(|errors| (false, errors));
            errors.extend(more);
            in_leaf
        };
        let in_leaf = if rhs.is_none() {
            handle(self, left.handle_atom(ty))
        } else if lhs.is_none() || left.is_as(right) {
            handle(self, right.handle_atom(ty))
        } else {
            handle(self, left.handle_atom(ty));
            handle(self, right.handle_atom(ty))
        };
        if !in_leaf {
            match (lhs, rhs) {
                (None, _) => self.comparison.added.insert(&self.path),
                (_, None) => self.comparison.removed.insert(&self.path),
                _ => {}
            }
        }
        errors
    }

    fn handle(
        &mut self,
        as_what: Handled<'a>,
        lhs: Option<&Json>,
        rhs: Option<&Json>,
    ) -> (InLeaf, ValidationErrors) {
        match as_what {
            Handled::Scalar(scalar) => {
                let left = validate_scalar(scalar, lhs, "lhs: ");
                let right = validate_scalar(scalar, rhs, "rhs: ");
                if let (Err(mut left), Err(right)) = (left, right) {
                    left.extend(right);
                    return (false, left);
                }
                self.do_leaf(lhs, rhs)
            }
            Handled::List(list) => {
                let (left, right) = (deref_list(lhs), deref_list(rhs));
                let (left, right) = (left.unwrap_or_default(), right.unwrap_or_default());
                let leaf = left.is_empty() && right.is_empty();
                match leaf || list.element_relationship == ElementRelationship::Atomic {
                    true => self.do_leaf(lhs, rhs),
                    false => (false, self.visit_list_items(list, left, right)),
                }
            }
            Handled::Map(map) => {
                let (left, right) = (deref_map(lhs), deref_map(rhs));
                let is_empty = |side: Option<&JsonMap>| side.is_none_or(JsonMap::is_empty);
                let leaf = is_empty(left) && is_empty(right);
                match leaf || map.element_relationship == ElementRelationship::Atomic {
                    true => self.do_leaf(lhs, rhs),
                    false => (false, self.visit_map_items(map, left, right)),
                }
            }
        }
    }

    fn do_leaf(&mut self, lhs: Option<&Json>, rhs: Option<&Json>) -> (InLeaf, ValidationErrors) {
        match (lhs, rhs) {
            (None, _) => self.comparison.added.insert(&self.path),
            (_, None) => self.comparison.removed.insert(&self.path),
            (Some(lhs), Some(rhs)) if !value::equals(lhs, rhs) => {
                self.comparison.modified.insert(&self.path)
            }
            _ => {}
        }
        (true, ValidationErrors::default())
    }

    fn visit_map_items(
        &mut self,
        map: &'a Map,
        lhs: Option<&JsonMap>,
        rhs: Option<&JsonMap>,
    ) -> ValidationErrors {
        let mut errors = ValidationErrors::default();
        let names: BTreeSet<&String> = lhs.into_iter().chain(rhs).flat_map(JsonMap::keys).collect();
        for name in names {
            let (left, right) = (
                lhs.and_then(|of| of.get(name)),
                rhs.and_then(|of| of.get(name)),
            );
            let element = PathElement::field_name_element(name);
            errors.extend(self.descend(&element, entry_type(map, name), left, right));
        }
        errors
    }

    fn descend(
        &mut self,
        element: &PathElement,
        ty: &'a TypeRef,
        lhs: Option<&Json>,
        rhs: Option<&Json>,
    ) -> ValidationErrors {
        self.path.push(element.clone());
        let errors = self.compare(ty, lhs, rhs);
        self.path.pop();
        errors.with_lazy_prefix(element)
    }

    fn index<'v>(
        &self,
        list: &List,
        items: &'v [Json],
        errors: &mut ValidationErrors,
    ) -> BTreeMap<PathElement, Vec<&'v Json>> {
        let mut indexed: BTreeMap<PathElement, Vec<&Json>> = BTreeMap::new();
        for (at, child) in items.iter().enumerate() {
            match list_item_to_path_element(self.schema, list, child) {
                Ok(element) => indexed.entry(element).or_default().push(child),
                Err(why) => errors.extend(ValidationErrors::of(format!("element {at}: {why}"))),
            }
        }
        indexed
    }

    fn visit_list_items(&mut self, list: &'a List, lhs: &[Json], rhs: &[Json]) -> ValidationErrors {
        let mut errors = ValidationErrors::default();
        let left = self.index(list, lhs, &mut errors);
        let right = self.index(list, rhs, &mut errors);
        let elements: BTreeSet<&PathElement> = left.keys().chain(right.keys()).collect();
        let ty = &*list.element_type;
        for element in elements {
            let side =
                |side: &BTreeMap<PathElement, Vec<&Json>>| side.get(element).map_or(0, Vec::len);
            let (many_left, many_right) = (side(&left) >= 2, side(&right) >= 2);
            let (l, r) = (left.get(element), right.get(element));
            let (l, r) = (
                l.map_or(&[][..], Vec::as_slice),
                r.map_or(&[][..], Vec::as_slice),
            );
            let (first_l, first_r) = (l.first().copied(), r.first().copied());
            match (many_left, many_right) {
                (false, false) => errors.extend(self.descend(element, ty, first_l, first_r)),
                // Compared as if they were atomic.
                (true, true) => {
                    let alike =
                        l.len() == r.len() && l.iter().zip(r).all(|(l, r)| value::equals(l, r));
                    if !alike {
                        self.mark(element, |comparison| &mut comparison.modified);
                    }
                }
                (true, false) => {
                    if first_r.is_some() {
                        errors.extend(self.descend(element, ty, None, first_r));
                    }
                    self.mark(element, |comparison| &mut comparison.removed);
                }
                (false, true) => {
                    if first_l.is_some() {
                        errors.extend(self.descend(element, ty, first_l, None));
                    }
                    self.mark(element, |comparison| &mut comparison.added);
                }
            }
        }
        errors
    }

    fn mark(&mut self, element: &PathElement, set: impl Fn(&mut Comparison) -> &mut Set) {
        self.path.push(element.clone());
        set(&mut self.comparison).insert(&self.path);
        self.path.pop();
    }
}
