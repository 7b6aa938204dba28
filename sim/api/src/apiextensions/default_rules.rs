//! Defaults are valid values, with no fields that would be pruned (`schema/defaulting/validation.go`, `prune.go`).

use serde_json::json;

use super::object_meta::{self, CoerceOptions};
use super::openapi;
use super::props::Props;
use super::pruning::prune;
use crate::json::{self, Json};
use crate::validation::ErrorList;

/// The way from the root of an object to a value in it (`SurroundingObjectFunc`).
#[derive(Clone, Debug, Default)]
struct Surrounding(Vec<Step>);

#[derive(Clone, Debug)]
enum Step {
    Child(String),
    Index,
}

impl Surrounding {
    fn with(&self, step: Step) -> Surrounding {
        let mut all = self.0.clone();
        all.push(step);
        Surrounding(all)
    }

    /// An object that has the value there.
    fn object(&self, value: &Json) -> Json {
        let around = |inner: Json, step: &Step| match step {
            Step::Child(name) => json!({name: inner}),
            Step::Index => json!([inner]),
        };
        self.0.iter().rev().fold(value.clone(), around)
    }

    /// What an object has there.
    fn value<'a>(&self, object: &'a Json) -> Option<&'a Json> {
        self.0.iter().try_fold(object, |json, step| match step {
            Step::Child(name) => json.get(name),
            Step::Index => json.get(0),
        })
    }
}

/// `PruneDefaults`
pub(super) fn prune_defaults(schema: &mut Props) {
    let root = schema.clone();
    prune_defaults_in(schema, &root, &Surrounding::default());
}

fn prune_defaults_in(schema: &mut Props, root: &Props, way: &Surrounding) {
    if let Some(default) = &schema.default {
        let mut object = way.object(default);
        let options = CoerceOptions {
            drop_invalid_fields: true,
        };
        let coerced = object_meta::coerce("", &mut object, &root.as_root(), options);
        if coerced.is_ok() {
            prune(&mut object, Some(root), true);
            schema.default = way.value(&object).cloned();
        }
    }
    if let Some(or) = &mut schema.additional_properties
        && let Some(inner) = &mut or.schema
    {
        prune_defaults_in(inner, root, &way.with(Step::Child("*".to_owned())));
    }
    if let Some(super::props::Items::Schema(item)) = &mut schema.items {
        prune_defaults_in(item, root, &way.with(Step::Index));
    }
    for (name, property) in &mut schema.properties {
        prune_defaults_in(property, root, &way.with(Step::Child(name.clone())));
    }
}

/// `ValidateDefaults`
pub(super) fn validate_defaults(path: &str, schema: &Props, require_pruned: bool) -> ErrorList {
    let root = schema.as_root();
    let mut rules = Rules {
        require_pruned,
        errors: ErrorList::default(),
    };
    rules.schema(path, &root, &root, &Surrounding::default(), false);
    rules.errors
}

struct Rules {
    require_pruned: bool,
    errors: ErrorList,
}

impl Rules {
    fn schema(
        &mut self,
        path: &str,
        schema: &Props,
        root: &Props,
        way: &Surrounding,
        inside_meta: bool,
    ) {
        let nowhere = Surrounding::default();
        let (inside_meta, way, root) = match schema.embedded_resource {
            true => (false, &nowhere, schema),
            false => (inside_meta, way, root),
        };
        if let Some(default) = &schema.default {
            let path = format!("{path}.default");
            match inside_meta {
                true => self.in_meta(&path, default, schema, root, way),
                false => self.value(&path, default, schema),
            }
        }
        if let Some(item) = schema.item() {
            let way = way.with(Step::Index);
            self.schema(&format!("{path}.items"), item, root, &way, inside_meta);
        }
        for (name, property) in &schema.properties {
            let is_meta = matches!(name.as_str(), "metadata" | "apiVersion" | "kind");
            let inside = inside_meta || (schema.embedded_resource && is_meta);
            let way = way.with(Step::Child(name.clone()));
            let path = format!("{path}.properties[{name}]");
            self.schema(&path, property, root, &way, inside);
        }
    }

    fn in_meta(
        &mut self,
        path: &str,
        default: &Json,
        schema: &Props,
        root: &Props,
        way: &Surrounding,
    ) {
        let mut object = way.object(default);
        for (field, text) in [("kind", "Validation"), ("apiVersion", "validation/v1")] {
            if object.get(field).is_none() {
                json::set(&mut object, &[field], text);
            }
        }
        let options = CoerceOptions {
            drop_invalid_fields: false,
        };
        let root = root.as_root();
        if let Err(error) = object_meta::coerce("", &mut object, &root, options) {
            let why = format!("must result in valid metadata: {error}");
            return self.errors.invalid(path, default, why);
        }
        let mut wrong = ErrorList::default();
        object_meta::validate("", &object, &root, &mut wrong);
        if !wrong.is_empty() {
            let why = format!("must result in valid metadata: {wrong}");
            return self.errors.invalid(path, default, why);
        }
        self.errors
            .extend(openapi::validate(path, default, schema, None));
    }

    fn value(&mut self, path: &str, default: &Json, schema: &Props) {
        if self.require_pruned {
            let mut pruned = default.clone();
            prune(&mut pruned, Some(schema), schema.embedded_resource);
            if pruned != *default {
                self.errors
                    .invalid(path, default, "must not have unknown fields");
            }
        }
        let options = CoerceOptions {
            drop_invalid_fields: false,
        };
        let mut coerced = default.clone();
        if let Err(error) = object_meta::coerce(path, &mut coerced, schema, options) {
            return self.errors.add(error.error, error.field, error.detail);
        }
        let mut wrong = ErrorList::default();
        object_meta::validate(path, &coerced, schema, &mut wrong);
        if wrong.is_empty() {
            wrong = openapi::validate(path, &coerced, schema, None);
        }
        self.errors.extend(wrong);
    }
}
