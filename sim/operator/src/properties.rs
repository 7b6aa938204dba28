//! What most operators promise, as properties: an object is not made twice, and what people ask for is not undone.

use std::collections::{BTreeMap, BTreeSet};

use wavetank_api::{Object, Resource, json};
use wavetank_component::{Need, PropertyInfo};
use wavetank_engine::{Check, NotState, Note, Property, World};

use crate::written::{Written, violated, written};

/// Of the objects of a resource that have this label, no two in a namespace have the same value of it at a time.
pub fn one_for_each(
    name: &'static str,
    about: &'static str,
    resource: &'static Resource,
    label: &'static str,
) -> PropertyInfo {
    PropertyInfo::new(name, about, Need::NOTHING, move |_| {
        Box::new(OneForEach {
            name,
            resource: NotState(resource),
            label,
            objects: BTreeMap::new(),
        })
    })
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct OneForEach {
    name: &'static str,
    resource: NotState<&'static Resource>,
    label: &'static str,
    /// The names of the objects, by namespace and label.
    objects: BTreeMap<(String, String), BTreeSet<String>>,
}

impl Property for OneForEach {
    fn name(&self) -> &'static str {
        self.name
    }

    fn note(&mut self, _: &World, note: &Note) -> Check {
        let mut check = Check::Idle;
        for Written { before, now } in written(note, &self.resource) {
            if let Some(object) = before {
                self.remove(object);
            }
            let Some(object) = now.filter(|object| !self.value(object).is_empty()) else {
                continue;
            };
            let value = self.value(object).to_owned();
            let key = (object.namespace().to_owned(), value.clone());
            let names = self.objects.entry(key).or_default();
            names.insert(object.name().to_owned());
            if names.len() > 1 {
                let all: Vec<&str> = names.iter().map(String::as_str).collect();
                let (count, all) = (all.len(), all.join(" and "));
                let message = format!("{value} has {count} {}: {all}", self.resource.plural);
                return violated(self.resource.kind, &value, message);
            }
            check = Check::Held;
        }
        check
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let none = written(note, &self.resource).next().is_none();
        none.then_some(Check::Idle)
    }
}

impl OneForEach {
    fn value<'a>(&self, object: &'a Object) -> &'a str {
        json::text(object.json(), &["metadata", "labels", self.label])
    }

    fn remove(&mut self, object: &Object) {
        let key = (object.namespace().to_owned(), self.value(object).to_owned());
        if let Some(names) = self.objects.get_mut(&key) {
            names.remove(object.name());
            if names.is_empty() {
                self.objects.remove(&key);
            }
        }
    }
}

/// A number in the objects of a resource, which people only count up, never falls.
pub fn never_falls(
    name: &'static str,
    about: &'static str,
    resource: &'static Resource,
    path: &'static [&'static str],
) -> PropertyInfo {
    PropertyInfo::new(name, about, Need::NOTHING, move |_| {
        let resource = NotState(resource);
        Box::new(NeverFalls {
            name,
            resource,
            path,
        })
    })
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct NeverFalls {
    name: &'static str,
    resource: NotState<&'static Resource>,
    path: &'static [&'static str],
}

impl Property for NeverFalls {
    fn name(&self) -> &'static str {
        self.name
    }

    fn glance(&self, _: &World, note: &Note) -> Option<Check> {
        let number = |object: &Object| json::number(object.json(), self.path);
        let mut check = Check::Idle;
        for Written { before, now } in written(note, &self.resource) {
            let (Some(before), Some(now)) = (before, now) else {
                continue;
            };
            if number(now) < number(before) {
                let shown = |object| number(object).map_or("none".to_owned(), |n| n.to_string());
                let (field, name) = (self.path.join("."), now.name());
                let (was, is) = (shown(before), shown(now));
                let message = format!("{field} of {name} was {was} and is {is} again");
                return Some(violated(self.resource.kind, name, message));
            }
            check = Check::Held;
        }
        Some(check)
    }
}
