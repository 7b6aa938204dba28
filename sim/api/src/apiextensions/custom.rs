//! The rules of one version of a kind that a definition makes (`registry/customresource/strategy.go`,
//! `status_strategy.go`, `validator.go`), and how its objects are read and written (`customresource_handler.go`,
//! `unstructuredSchemaCoercer` and the codecs around it).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::apply_types::{self, Types};
use super::columns::Columns;
use super::object_meta::{self, CoerceOptions};
use super::openapi::{self, Correlated};
use super::props::Props;
use super::scale::CustomScale;
use super::webhook::{Asked, Conversion, Webhook};
use super::{list_type, paths, pruning};
use crate::json::{self, Json};
use crate::kinds::pods::{count_generation, keep};
use crate::metadata;
use crate::names;
use crate::quote;
use crate::smd::schema::{Schema, TypeRef};
use crate::strategy::{Context, Part, Strategy};
use crate::validation::{Bad, ErrorList};

/// One version of a custom kind.
#[derive(Debug)]
pub struct CustomVersion {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
    pub(super) list_kind: String,
    pub(super) namespaced: bool,
    /// As it was written: what values are validated by.
    pub(super) schema: Option<Props>,
    /// The structural schemas of all versions, with pruned defaults.
    pub(super) structural: BTreeMap<String, Props>,
    /// Has it the subresource `status`?
    pub(super) status: bool,
    pub(super) scale: Option<CustomScale>,
    /// The fields that selectors may name, without their dots.
    pub(super) selectable: Vec<String>,
    /// `additionalPrinterColumns`
    pub(super) columns: Columns,
    /// The version that is stored.
    pub(super) storage: String,
    /// What converts its versions, if they differ in more than their names.
    pub(super) webhook: Option<Webhook>,
    /// `spec.preserveUnknownFields`
    pub(super) preserves: bool,
    /// What tells it apart from the same version of another definition.
    pub(super) revision: u64,
    pub(super) types: OnceLock<Types>,
}

/// How objects are coerced (`unstructuredSchemaCoercer`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Coercion {
    /// What a client sends.
    Request,
    /// What is stored: it must be readable.
    Stored,
}

fn text<'a>(object: &'a Json, path: &[&str]) -> &'a str {
    json::text(object, path)
}

impl CustomVersion {
    /// Its Scale, if it has that subresource.
    pub fn scale(&self) -> Option<&CustomScale> {
        self.scale.as_ref()
    }

    /// What tables show of its objects.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// `status.acceptedNames.listKind`
    pub fn list_kind(&self) -> &str {
        &self.list_kind
    }

    fn structural(&self) -> Option<&Props> {
        self.structural.get(&self.version)
    }

    fn is_of_kind(&self, object: &Json) -> bool {
        let group = text(object, &["apiVersion"]).split_once('/');
        let group = group.map_or("", |(group, _)| group);
        (group, text(object, &["kind"])) == (&self.group, &self.kind)
    }

    fn schema_of(&self, object: &Json) -> Option<&Props> {
        let version = text(object, &["apiVersion"]);
        let version = version
            .split_once('/')
            .map_or(version, |(_, version)| version);
        self.structural.get(version)
    }

    fn api_version_of(&self, version: &str) -> String {
        format!("{}/{version}", self.group)
    }

    /// Upstream's `unstructuredSchemaCoercer.apply`: prunes, and reads metadata as its type. Returns the unknown fields.
    fn coerce(&self, object: &mut Json, coercion: Coercion) -> Result<Vec<String>, String> {
        let is_stored = coercion == Coercion::Stored;
        let read = object_meta::get_object_meta_with_options(object, is_stored)?;
        let (mut meta, strict) = read.unzip();
        let mut unknown = object_meta::unknown_at_root(&strict.unwrap_or_default());
        if self.is_of_kind(object) {
            let schema = self.schema_of(object);
            if !self.preserves {
                unknown.extend(pruning::prune(object, schema, true));
                pruning::prune_non_nullable_nulls_without_defaults(object, schema);
            }
            if let Some(schema) = schema {
                let options = CoerceOptions {
                    drop_invalid_fields: is_stored,
                };
                let inside = object_meta::coerce("", object, schema, options);
                unknown.extend(inside.map_err(|error| error.to_string())?);
            }
            if let Some(meta) = &mut meta
                && is_stored
                && meta["generation"].as_i64().unwrap_or(0) == 0
            {
                meta["generation"] = 1.into();
            }
        }
        if let Some(meta) = meta {
            json::set(object, &["metadata"], meta);
        }
        Ok(unknown)
    }

    /// What a client has sent, coerced; with the fields that nobody knows.
    ///
    /// # Errors
    /// The decoder's.
    pub fn coerce_request(&self, object: &mut Json) -> Result<Vec<String>, String> {
        self.coerce(object, Coercion::Request)
    }

    /// What converts its versions, if they differ in more than their names.
    pub fn webhook(&self) -> Option<&Webhook> {
        self.webhook.as_ref()
    }

    /// Upstream's `ConvertToVersion`: by the converter that changes nothing but the version, or by a webhook.
    fn convert(&self, mut object: Json, version: &str) -> Result<Conversion, String> {
        let from = text(&object, &["apiVersion"]);
        if self.schema_of(&object).is_none() {
            return Err(format!(
                "request to convert CR from an invalid group/version: {from}"
            ));
        }
        let desired = self.api_version_of(version);
        if self.webhook.is_some() && from != desired {
            return Ok(Conversion::ByWebhook(Asked { object, desired }));
        }
        json::set(&mut object, &["apiVersion"], desired);
        self.prune_converted(object).map(Conversion::Done)
    }

    /// What its coercion leaves of a converted object.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn prune_converted(&self, mut object: Json) -> Result<Json, String> {
        self.coerce(&mut object, Coercion::Request)?;
        Ok(object)
    }

    /// An object as this version shows it, of one that is stored.
    ///
    /// # Errors
    /// It is of a version that the definition does not have.
    pub fn decode(&self, stored: &Json) -> Result<Conversion, String> {
        let mut object = stored.clone();
        self.coerce(&mut object, Coercion::Stored)?;
        self.set_defaults(&mut object);
        self.convert(object, &self.version)
    }

    /// The object as it is to be stored, but for how numbers are written.
    ///
    /// # Errors
    /// It is of no version of the definition.
    pub fn encode(&self, object: &Json) -> Result<Conversion, String> {
        // Upstream's `doEncode`: what is of that version already is written as it is.
        if text(object, &["apiVersion"]) == self.api_version_of(&self.storage) {
            return Ok(Conversion::Done(object.clone()));
        }
        self.convert(object.clone(), &self.storage)
    }

    /// Upstream's `unstructuredDefaulter.Default`
    fn set_defaults(&self, object: &mut Json) {
        if !self.is_of_kind(object) {
            return;
        }
        if let Some(schema) = self.schema_of(object).cloned() {
            pruning::default(object, &schema);
        }
    }

    /// Another version of the same object, as managers of its fields see it.
    pub(crate) fn at_version(&self, object: &Json, api_version: &str) -> Option<Json> {
        let (group, version) = api_version.split_once('/')?;
        if group != self.group || !self.structural.contains_key(version) {
            return None;
        }
        let mut object = object.clone();
        json::set(&mut object, &["apiVersion"], api_version);
        Some(object)
    }

    /// The types of all versions, by which apply merges.
    pub(crate) fn types(&self) -> &Schema {
        &self.merged_by().schema
    }

    /// The type of a version among [`CustomVersion::types`].
    pub(crate) fn type_at(&self, api_version: &str) -> &TypeRef {
        let version = api_version
            .split_once('/')
            .map_or(api_version, |(_, version)| version);
        self.merged_by()
            .versions
            .get(version)
            .unwrap_or(&TypeRef::None)
    }

    fn merged_by(&self) -> &Types {
        self.types
            .get_or_init(|| apply_types::types(&self.structural))
    }

    /// `ValidateTypeMeta`
    fn validate_type_meta(&self, object: &Json) -> ErrorList {
        let mut errors = ErrorList::default();
        for (field, wanted) in [
            ("kind", self.kind.clone()),
            ("apiVersion", self.api_version_of(&self.version)),
        ] {
            let is = text(object, &[field]);
            if is != wanted {
                errors.invalid(field, is, format!("must be {wanted}"));
            }
        }
        errors
    }

    fn replicas(&self, object: &Json, path: &str, errors: &mut ErrorList) {
        const MOST: i64 = i32::MAX as i64;
        match paths::nested_int64(object, path) {
            Err(error) => errors.invalid(path, 0, error),
            Ok(replicas) => {
                let replicas = replicas.unwrap_or(0);
                if replicas < 0 {
                    errors.invalid(path, replicas, "should be a non-negative integer");
                } else if replicas > MOST {
                    let why = format!("should be less than or equal to {MOST}");
                    errors.invalid(path, replicas, why);
                }
            }
        }
    }

    /// `ValidateScaleSpec`
    fn validate_scale_spec(&self, object: &Json, errors: &mut ErrorList) {
        if let Some(scale) = &self.scale {
            self.replicas(object, scale.spec(), errors);
        }
    }

    /// `ValidateScaleStatus`
    fn validate_scale_status(&self, object: &Json, errors: &mut ErrorList) {
        let Some(scale) = &self.scale else { return };
        self.replicas(object, scale.status(), errors);
        let path = scale.selector();
        if !path.is_empty()
            && let Err(error) = paths::nested_string(object, path)
        {
            errors.invalid(path, Bad::from(""), error);
        }
    }

    /// The rules of values, of an object that may have been another one before.
    fn validate_values(&self, object: &Json, old: Option<&Json>, errors: &mut ErrorList) {
        let schema = self.schema.as_ref();
        if let Some(schema) = schema {
            let correlated = old.map(|old| Correlated {
                new: object,
                old,
                schema,
            });
            errors.extend(openapi::validate("", object, schema, correlated));
        }
        self.validate_scale_spec(object, errors);
        self.validate_scale_status(object, errors);
    }

    /// Upstream's `schemaobjectmeta.Validate` and the lists that are sets and maps.
    fn validate_structure(&self, object: &Json, old: Option<&Json>, errors: &mut ErrorList) {
        let Some(schema) = self.structural() else {
            return;
        };
        object_meta::validate("", object, schema, errors);
        let lists = |object: &Json| list_type::validate_list_sets_and_maps("", schema, object);
        // What was twice before may stay so.
        if old.is_none_or(|old| lists(old).is_empty()) {
            errors.extend(lists(object));
        }
    }
}

impl Strategy for CustomVersion {
    fn custom(&'static self) -> Option<&'static CustomVersion> {
        Some(self)
    }

    fn revision(&self) -> u64 {
        self.revision
    }

    fn get_reset_fields(&self, part: Part) -> &'static [&'static [&'static str]] {
        match part {
            Part::Status => &[&["metadata"], &["spec"]],
            _ if self.status => &[&["status"]],
            _ => &[],
        }
    }

    fn default(&self, object: &mut Json) {
        self.set_defaults(object);
    }

    fn prepare_for_create(&self, _cx: &Context, object: &mut Json) {
        if self.status {
            json::remove(object, &["status"]);
        }
        json::set(object, &["metadata", "generation"], 1);
    }

    fn validate(&self, _cx: &Context, object: &Json) -> ErrorList {
        let mut errors = self.validate_type_meta(object);
        if errors.is_empty() {
            let name = &names::name_is_dns_subdomain;
            errors = metadata::validate_object_meta_accessor(object, self.namespaced, name);
            self.validate_values(object, None, &mut errors);
        }
        self.validate_structure(object, None, &mut errors);
        errors
    }

    fn prepare_for_update(&self, _cx: &Context, part: Part, object: &mut Json, old: &Json) {
        if part == Part::Status {
            let status = object.get("status").cloned();
            let managed = json::at(object, &["metadata", "managedFields"]).cloned();
            *object = old.clone();
            match managed {
                Some(managed) => json::set(object, &["metadata", "managedFields"], managed),
                None => {
                    json::remove(object, &["metadata", "managedFields"]);
                }
            }
            match status {
                Some(status) => json::set(object, &["status"], status),
                None => {
                    json::remove(object, &["status"]);
                }
            }
            return;
        }
        if self.status {
            keep(object, old, &["status"]);
        }
        let rest = |object: &Json| {
            let mut rest = object.clone();
            json::remove(&mut rest, &["metadata"]);
            rest
        };
        if rest(object) != rest(old) {
            count_generation(object, old);
        }
    }

    fn validate_update(&self, _cx: &Context, part: Part, object: &Json, old: &Json) -> ErrorList {
        let mut errors = self.validate_type_meta(object);
        if errors.is_empty() {
            errors = metadata::validate_common_update(object, old);
            match part {
                Part::Status => {
                    let schema = self.schema.as_ref();
                    let schema = schema.and_then(|schema| schema.properties.get("status"));
                    if let (Some(schema), Some(new)) = (schema, object.get("status")) {
                        let old = old.get("status").unwrap_or(&Json::Null);
                        let correlated = Correlated { new, old, schema };
                        errors.extend(openapi::validate("status", new, schema, Some(correlated)));
                    }
                    self.validate_scale_status(object, &mut errors);
                }
                _ => self.validate_values(object, Some(old), &mut errors),
            }
        }
        self.validate_structure(object, Some(old), &mut errors);
        errors
    }

    fn warnings(&self, _cx: &Context, object: &Json, old: Option<&Json>) -> Vec<String> {
        object_meta::finalizer_warnings(object, old)
    }

    /// A float without a fraction is written like a whole number.
    fn canonicalize(&self, object: &mut Json) {
        json::go_numbers(object);
    }

    fn convert_field_label<'a>(&self, label: &'a str) -> Result<&'a str, String> {
        let is_own = match label {
            "metadata.name" => true,
            "metadata.namespace" => self.namespaced,
            label => self.selectable.iter().any(|own| own == label),
        };
        match is_own {
            true => Ok(label),
            false => Err(format!("field label not supported: {label}")),
        }
    }

    fn field<'a>(&self, object: &'a Json, field: &str) -> Cow<'a, str> {
        let path: Vec<&str> = field.split('.').collect();
        match json::at(object, &path) {
            Some(Json::String(text)) => Cow::Borrowed(text),
            None | Some(Json::Null) => Cow::Borrowed(""),
            Some(value) => Cow::Owned(quote::go_plain(value)),
        }
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }

    fn has(&self, part: Part) -> bool {
        part == Part::Whole || (part == Part::Status && self.status)
    }
}
