//! Sets of fields (`fieldpath/set.go`): a tree whose nodes say which of their children are members, and which have members
//! below them. A member is not the parent of its children: either may be in a set without the other.

use std::collections::{BTreeMap, BTreeSet};

use crate::smd::fieldpath::{Path, PathElement};
use crate::smd::schema::{Schema, TypeRef};

/// `Set`
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Set {
    /// `Members`
    pub(crate) members: BTreeSet<PathElement>,
    /// `Children`: what is below them is in the set, not they.
    pub(crate) children: BTreeMap<PathElement, Set>,
}

impl Set {
    /// `NewSet`
    pub(crate) fn of(paths: impl IntoIterator<Item = Path>) -> Set {
        let mut set = Set::default();
        for path in paths {
            set.insert(&path);
        }
        set
    }

    /// `Insert`: this field and not its parents. The object as a whole is nobody's.
    pub(crate) fn insert(&mut self, path: &[PathElement]) {
        let Some((last, parents)) = path.split_last() else {
            return;
        };
        let mut here = self;
        for parent in parents {
            here = here.children.entry(parent.clone()).or_default();
        }
        here.members.insert(last.clone());
    }

    /// `Has`
    pub(crate) fn has(&self, path: &[PathElement]) -> bool {
        let Some((last, parents)) = path.split_last() else {
            return false;
        };
        let here = parents
            .iter()
            .try_fold(self, |here, parent| here.children.get(parent));
        here.is_some_and(|here| here.members.contains(last))
    }

    /// `Empty`
    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.values().all(Set::is_empty)
    }

    /// `Size`
    pub(crate) fn size(&self) -> usize {
        self.members.len() + self.children.values().map(Set::size).sum::<usize>()
    }

    /// `Union`
    #[must_use]
    pub(crate) fn union(&self, other: &Set) -> Set {
        let mut union = self.clone();
        union.add(other);
        union
    }

    /// The same in place.
    pub(crate) fn add(&mut self, other: &Set) {
        self.members.extend(other.members.iter().cloned());
        for (element, below) in &other.children {
            self.children.entry(element.clone()).or_default().add(below);
        }
    }

    /// `Intersection`
    #[must_use]
    pub(crate) fn intersection(&self, other: &Set) -> Set {
        let both = |(element, below): (&PathElement, &Set)| {
            let both = below.intersection(other.children.get(element)?);
            (!both.is_empty()).then(|| (element.clone(), both))
        };
        Set {
            members: self.members.intersection(&other.members).cloned().collect(),
            children: self.children.iter().filter_map(both).collect(),
        }
    }

    /// `Difference`: without the members of the other. A parent is no part of its children, nor are they of it.
    #[must_use]
    pub(crate) fn difference(&self, other: &Set) -> Set {
        let left = |(element, below): (&PathElement, &Set)| match other.children.get(element) {
            None => Some((element.clone(), below.clone())),
            Some(without) => {
                let left = below.difference(without);
                (!left.is_empty()).then(|| (element.clone(), left))
            }
        };
        Set {
            members: self.members.difference(&other.members).cloned().collect(),
            children: self.children.iter().filter_map(left).collect(),
        }
    }

    /// `RecursiveDifference`: without the members of the other and all that is below them.
    #[must_use]
    pub(crate) fn recursive_difference(&self, other: &Set) -> Set {
        let left = |(element, below): (&PathElement, &Set)| {
            if other.members.contains(element) {
                return None;
            }
            match other.children.get(element) {
                None => Some((element.clone(), below.clone())),
                Some(without) => {
                    let left = below.recursive_difference(without);
                    (!left.is_empty()).then(|| (element.clone(), left))
                }
            }
        };
        Set {
            members: self.members.difference(&other.members).cloned().collect(),
            children: self.children.iter().filter_map(left).collect(),
        }
    }

    /// `WithPrefix`: what is below this child.
    pub(crate) fn with_prefix(&self, element: &PathElement) -> Option<&Set> {
        self.children.get(element).filter(|below| !below.is_empty())
    }

    /// `EnsureNamedFieldsAreMembers`: fields that a struct names are members as soon as something below them is; entries
    /// of maps and elements of lists are not.
    #[must_use]
    pub(crate) fn ensure_named_fields_are_members(&self, schema: &Schema, ty: &TypeRef) -> Set {
        let atom = schema.resolve(ty);
        let map = atom.and_then(|atom| atom.map.as_ref());
        let list = atom.and_then(|atom| atom.list.as_ref());
        let mut set = Set {
            members: self.members.clone(),
            children: BTreeMap::new(),
        };
        for (element, below) in &self.children {
            let mut ty = &TypeRef::None;
            match (element, map, list) {
                (PathElement::FieldName(name), Some(map), _) => {
                    ty = &map.element_type;
                    if let Some(field) = map.find_field(name) {
                        ty = &field.ty;
                        set.members.insert(element.clone());
                    }
                }
                (PathElement::Key(_), _, Some(list)) => ty = &list.element_type,
                _ => {}
            }
            let below = below.ensure_named_fields_are_members(schema, ty);
            set.children.insert(element.clone(), below);
        }
        set
    }

    /// `Iterate`: all paths, a parent before its children.
    pub(crate) fn paths(&self) -> Vec<Path> {
        let mut all = Vec::new();
        self.iterate_prefix(&mut Path::new(), &mut all);
        all
    }

    fn iterate_prefix(&self, prefix: &mut Path, all: &mut Vec<Path>) {
        for member in &self.members {
            prefix.push(member.clone());
            all.push(prefix.clone());
            prefix.pop();
        }
        for (element, below) in &self.children {
            prefix.push(element.clone());
            below.iterate_prefix(prefix, all);
            prefix.pop();
        }
    }
}
