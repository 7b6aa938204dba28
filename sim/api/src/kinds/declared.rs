//! Rules of a kind that are a declaration: what counts as a generation, which parts it has, its defaults, and the
//! checks of its own. It says in a few lines what upstream's `strategy.go` of most kinds says in a hundred.

use super::pods::{count_generation, keep};
use crate::decode::typed;
use crate::discovery::Shown;
use crate::json::{self, Json};
use crate::metadata;
use crate::names;
use crate::schema;
use crate::strategy::{Context, Part, Strategy};
use crate::validation::ErrorList;
use crate::versions::Versioned;

/// Which changes `metadata.generation` counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Generation {
    /// None: the kind has no generation.
    None,
    /// None, but an object begins with 1.
    Begins,
    /// Changes of these fields.
    Counts(&'static [&'static [&'static str]]),
    /// Changes of these fields; an object begins without one.
    CountsOnly(&'static [&'static [&'static str]]),
}

/// Changes of the spec count.
pub(super) const OF_SPEC: Generation = Generation::Counts(&[&["spec"]]);

/// The rules of a kind.
#[derive(Clone, Copy)]
pub(super) struct Declared {
    /// How discovery shows it.
    pub(super) shown: Shown,
    /// Do its objects lie in namespaces?
    pub(super) namespaced: bool,
    /// Has it the subresource `status`?
    pub(super) status: bool,
    /// What counts as a generation.
    pub(super) generation: Generation,
    /// `ValidateName`
    pub(super) name: fn(&str, bool) -> Vec<String>,
    /// `AllowUnconditionalUpdate`
    pub(super) unconditional: bool,
    /// `AllowCreateOnUpdate`
    pub(super) creates_on_update: bool,
    /// `GetResetFields` of a status beside the spec.
    pub(super) status_resets: &'static [&'static [&'static str]],
    /// The defaults.
    pub(super) default: fn(&mut Json),
    /// `PrepareForCreate`, after the status is emptied and the generation is set.
    pub(super) create: fn(&Context, &mut Json),
    /// `PrepareForUpdate`, before changes are counted.
    pub(super) update: fn(&Context, Part, &mut Json, &Json),
    /// What is checked of the object beside its metadata.
    pub(super) validate: fn(&Json, &mut ErrorList),
    /// What is checked of an update beside the object.
    pub(super) validate_update: fn(&Json, &Json, &mut ErrorList),
    /// What is checked of an update of the status.
    pub(super) validate_status: fn(&Json, &Json, &mut ErrorList),
    /// The resource in whose version it is stored, if that is another one.
    pub(super) versioned: Option<&'static Versioned>,
    /// `ConvertFieldLabel` of labels beside the name and the namespace.
    pub(super) labels: &'static [&'static str],
    /// Does a deletion answer with the object?
    pub(super) returns_deleted: bool,
}

impl Declared {
    /// Of objects in namespaces, without a status or a generation.
    pub(super) const NAMESPACED: Declared = Declared {
        shown: Shown::PLAIN,
        namespaced: true,
        status: false,
        generation: Generation::None,
        name: names::name_is_dns_subdomain,
        unconditional: true,
        creates_on_update: false,
        status_resets: &[&["spec"]],
        default: |_| {},
        create: |_, _| {},
        update: |_, _, _, _| {},
        validate: |_, _| {},
        validate_update: |_, _, _| {},
        validate_status: |_, _, _| {},
        versioned: None,
        labels: &[],
        returns_deleted: false,
    };

    /// Of objects of the cluster, without a status or a generation.
    pub(super) const CLUSTER: Declared = Declared {
        namespaced: false,
        ..Declared::NAMESPACED
    };
}

/// The zero value of a field of a kind, as it is written; nothing if the kind has no such field.
fn zero_of(object: &Json, field: &str) -> Option<Json> {
    let text = |field| json::text(object, &[field]);
    let id = schema::kind(text("apiVersion"), text("kind"))?;
    let (_, field) = schema::of(id).field(field)?;
    Some(typed::zero(&field.ty, None))
}

impl Strategy for Declared {
    fn default(&self, object: &mut Json) {
        (self.default)(object);
    }

    fn prepare_for_create(&self, cx: &Context, object: &mut Json) {
        if self.status
            && let Some(zero) = zero_of(object, "status")
        {
            json::set(object, &["status"], zero);
        }
        if matches!(self.generation, Generation::Begins | Generation::Counts(_)) {
            json::set(object, &["metadata", "generation"], 1);
        }
        (self.create)(cx, object);
    }

    fn validate(&self, _cx: &Context, object: &Json) -> ErrorList {
        let mut errors = metadata::validate_object_meta(object, self.namespaced, &self.name);
        (self.validate)(object, &mut errors);
        errors
    }

    fn prepare_for_update(&self, cx: &Context, part: Part, object: &mut Json, old: &Json) {
        if part == Part::Status {
            for path in self.status_resets {
                keep(object, old, path);
            }
            return (self.update)(cx, part, object, old);
        }
        if self.status {
            keep(object, old, &["status"]);
        }
        (self.update)(cx, part, object, old);
        if let Generation::Counts(fields) | Generation::CountsOnly(fields) = self.generation {
            let differs = |path: &&[&str]| json::at(object, path) != json::at(old, path);
            if fields.iter().any(differs) {
                count_generation(object, old);
            }
        }
    }

    fn validate_update(&self, _cx: &Context, part: Part, object: &Json, old: &Json) -> ErrorList {
        let mut errors = metadata::validate_object_meta_update(object, old);
        match part {
            Part::Status => (self.validate_status)(object, old, &mut errors),
            _ => {
                (self.validate)(object, &mut errors);
                (self.validate_update)(object, old, &mut errors);
            }
        }
        errors
    }

    fn name_errors(&self, name: &str, prefix: bool) -> Vec<String> {
        (self.name)(name, prefix)
    }

    fn get_reset_fields(&self, part: Part) -> &'static [&'static [&'static str]] {
        match part {
            Part::Status => self.status_resets,
            _ if self.status => &[&["status"]],
            _ => &[],
        }
    }

    fn convert_field_label<'a>(&self, label: &'a str) -> Result<&'a str, String> {
        match label {
            "metadata.name" | "metadata.namespace" => Ok(label),
            label if self.labels.contains(&label) => Ok(label),
            label => Err(format!(
                "{} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
                crate::quote::quote(label)
            )),
        }
    }

    fn allow_create_on_update(&self) -> bool {
        self.creates_on_update
    }

    fn allow_unconditional_update(&self) -> bool {
        self.unconditional
    }

    fn returns_deleted_object(&self) -> bool {
        self.returns_deleted
    }

    fn has(&self, part: Part) -> bool {
        part == Part::Whole || (part == Part::Status && self.status)
    }

    fn shown(&self) -> Shown {
        self.shown
    }

    fn versioned(&self) -> Option<&'static Versioned> {
        self.versioned
    }
}

/// Puts a default in a field of an object inside; makes no object for it.
pub(super) fn fill(object: &mut Json, path: &[&str], value: impl Into<Json>) {
    let (field, parents) = path.split_last().expect("a path names a field");
    let mut here = object;
    for parent in parents {
        match here.get_mut(parent) {
            Some(next) if next.is_object() => here = next,
            _ => return,
        }
    }
    if let Some(map) = here.as_object_mut() {
        super::pod_spec::default(map, field, value);
    }
}

/// The objects of a list inside.
pub(super) fn each<'a>(object: &'a mut Json, path: &[&str]) -> impl Iterator<Item = &'a mut Json> {
    let mut here = Some(object);
    for field in path {
        here = here.and_then(|here| here.get_mut(field));
    }
    let list = here.and_then(Json::as_array_mut);
    list.into_iter().flatten().filter(|item| item.is_object())
}

/// What may not change after an object is made.
pub(super) fn immutable(new: &Json, old: &Json, path: &[&str], errors: &mut ErrorList) {
    let (value, before) = (json::at(new, path), json::at(old, path));
    if value != before {
        let bad = value.cloned().unwrap_or_default();
        errors.invalid(path.join("."), &bad, metadata::IMMUTABLE);
    }
}
