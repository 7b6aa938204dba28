//! The structured merge of objects (`structuredmerge.go`, `typeconverter.go`, `versionconverter.go`). Objects of a kind in
//! several versions are converted for the managers of each: those of the table through their hub, custom ones by their
//! definition. A manager of a version that is not served is forgotten.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::{Failure, Managed, Manager, Scope, object_gvknn};
use crate::apiextensions::CustomVersion;
use crate::decode::typed;
use crate::json::{self, Json};
use crate::kinds::Resource;
use crate::smd::fieldpath::Set;
use crate::smd::merge::{ConvertError, Converter, MergeError, Updater};
use crate::smd::schema::{SCHEMA, Schema, TypeRef, type_name};
use crate::smd::typed::{Duplicates, TypedValue};
use crate::versions;

/// `structuredMergeManager`
pub(in crate::managedfields) struct StructuredMerge {
    pub(in crate::managedfields) scope: Scope,
    /// `resetFields`
    pub(in crate::managedfields) reset: Option<Set>,
}

/// `versionConverter`
struct VersionConverter<'s> {
    api_version: &'s str,
    /// The versions of a kind that a definition has made, with the types of all of them.
    custom: Option<(&'static CustomVersion, &'static Schema)>,
}

/// The types of kinds in several versions, by kind and version.
static TYPES: LazyLock<BTreeMap<(&'static str, String), TypeRef>> = LazyLock::new(|| {
    let versioned = Resource::ALL.into_iter().filter(|resource| {
        let hub = versions::hub_of(resource);
        Resource::ALL
            .into_iter()
            .any(|other| other != *resource && versions::hub_of(other) == hub)
    });
    let with_type = versioned.filter_map(|resource| {
        let api_version = resource.api_version();
        let name = type_name(&api_version, resource.kind)?.to_owned();
        Some(((resource.kind, api_version), TypeRef::Named(name)))
    });
    with_type.collect()
});

/// Finds the types.
pub(crate) fn prepare() {
    LazyLock::force(&TYPES);
}

/// An object of a kind that a definition has made, in another version of it.
fn convert_custom<'a>(
    custom: &'static CustomVersion,
    schema: &'static Schema,
    object: &TypedValue<'a>,
    version: &str,
) -> Result<TypedValue<'a>, ConvertError> {
    if json::text(&object.value, &["apiVersion"]) == version {
        return Ok(object.clone());
    }
    let converted = custom.at_version(&object.value, version);
    let converted = converted.ok_or(ConvertError::MissingVersion)?;
    let ty = custom.type_at(version);
    let typed = TypedValue::as_typed(converted, schema, ty, Duplicates::Allowed);
    typed.map_err(|errors| ConvertError::Other(errors.to_string()))
}

impl VersionConverter<'_> {
    /// An object of a kind of the table, in another version of it.
    fn convert_through_hub<'a>(
        &self,
        object: &TypedValue<'a>,
        version: &str,
    ) -> Result<TypedValue<'a>, ConvertError> {
        // What it is of is told by its type: on the way it may have been converted already.
        let mut types = TYPES.iter();
        let source = types
            .find(|(_, ty)| *ty == object.type_ref)
            .map(|(key, _)| key);
        let Some((kind, source)) = source else {
            return match version == self.api_version {
                true => Ok(object.clone()),
                false => Err(ConvertError::MissingVersion),
            };
        };
        if source == version {
            return Ok(object.clone());
        }
        let of = |version: &str| {
            let mut all = Resource::ALL.into_iter();
            let found = all.find(|own| own.kind == *kind && own.api_version() == version);
            found.ok_or(ConvertError::MissingVersion)
        };
        let (own, other) = (of(source)?, of(version)?);
        if versions::hub_of(own) != versions::hub_of(other) {
            return Err(ConvertError::MissingVersion);
        }
        let type_ref = TYPES.get(&(other.kind, version.to_owned()));
        let type_ref = type_ref.ok_or(ConvertError::MissingVersion)?;
        let stored = versions::convert_to_hub(own, object.value.clone());
        let value = versions::convert_from_hub(other, stored);
        let converted = TypedValue::as_typed(value, &SCHEMA, type_ref, Duplicates::Allowed);
        converted.map_err(|errors| ConvertError::Other(errors.to_string()))
    }
}

impl Converter for VersionConverter<'_> {
    fn convert<'a>(
        &self,
        object: &TypedValue<'a>,
        version: &str,
    ) -> Result<TypedValue<'a>, ConvertError> {
        match self.custom {
            Some((custom, schema)) => convert_custom(custom, schema, object, version),
            None => self.convert_through_hub(object, version),
        }
    }
}

/// `ObjectToTyped`
pub(super) fn object_to_typed<'s>(
    scope: &'s Scope,
    object: &Json,
    duplicates: Duplicates,
) -> Result<TypedValue<'s>, String> {
    let typed = TypedValue::as_typed(object.clone(), scope.schema(), &scope.ty, duplicates);
    typed.map_err(|errors| errors.to_string())
}

impl From<MergeError> for Failure {
    fn from(error: MergeError) -> Failure {
        match error {
            MergeError::Conflicts(conflicts) => Failure::Conflicts(conflicts),
            MergeError::Other(why) => Failure::Other(why),
        }
    }
}

impl StructuredMerge {
    fn updater(&self) -> Updater<VersionConverter<'_>> {
        Updater {
            converter: VersionConverter {
                api_version: &self.scope.api_version,
                custom: self.scope.custom().map(|custom| (custom, custom.types())),
            },
            ignored: self.reset.clone(),
        }
    }

    fn typed(
        &self,
        object: &Json,
        duplicates: Duplicates,
        what: &str,
    ) -> Result<TypedValue<'_>, Failure> {
        let typed = object_to_typed(&self.scope, object, duplicates);
        typed.map_err(|why| Failure::Other(format!("{what}: {why}")))
    }

    /// What a merge has made, read as its kind and with its defaults.
    fn to_versioned(&self, merged: &Json, config: &Json) -> Result<Json, Failure> {
        let Scope {
            api_version,
            kind,
            resource,
            ..
        } = &self.scope;
        let wrong = |why: String| {
            let of = object_gvknn(config);
            Failure::Other(format!(
                "failed to convert new object ({of}) to proper version: {why}"
            ))
        };
        self.scope.converts(config, "new")?;
        if let (Some(resource), Some(_)) = (resource, self.scope.custom()) {
            let mut object = merged.clone();
            resource.strategy.default(&mut object);
            return Ok(object);
        }
        let id = crate::schema::kind_or_custom(api_version, kind);
        let id = id.ok_or_else(|| wrong(format!("no table of {kind}")))?;
        let mut object = typed::convert(merged, id, None).map_err(wrong)?.json;
        json::set(&mut object, &["apiVersion"], api_version.as_str());
        json::set(&mut object, &["kind"], *kind);
        if let Some(resource) = resource {
            resource.strategy.default(&mut object);
        }
        Ok(object)
    }
}

impl Manager for StructuredMerge {
    fn update(
        &self,
        live: &Json,
        new: Json,
        managed: Managed,
        manager: &str,
    ) -> Result<(Json, Managed), Failure> {
        let Managed { fields, times } = managed;
        let of = |object: &Json, which: &str| {
            let what = format!(
                "failed to convert {which} object ({}) to smd typed",
                object_gvknn(object)
            );
            self.typed(object, Duplicates::Allowed, &what)
        };
        let (new_typed, live_typed) = (of(&new, "new")?, of(live, "live")?);
        let version = &self.scope.api_version;
        let updated = self
            .updater()
            .update(&live_typed, &new_typed, version, fields, manager);
        let fields = updated.map_err(|error| {
            let doing = format!("failed to update ManagedFields ({})", object_gvknn(&new));
            Failure::from(error).because(&doing)
        })?;
        Ok((new, Managed { fields, times }))
    }

    fn apply(
        &self,
        live: &Json,
        config: &Json,
        managed: Managed,
        manager: &str,
        force: bool,
    ) -> Result<(Option<Json>, Managed), Failure> {
        let Managed { fields, times } = managed;
        if json::at(config, &["metadata", "managedFields"]).is_some_and(Json::is_array) {
            return Err(Failure::bad_request("metadata.managedFields must be nil"));
        }
        let what = format!(
            "failed to create typed patch object ({})",
            object_gvknn(config)
        );
        let config_typed = self.typed(config, Duplicates::Refused, &what)?;
        let what = format!(
            "failed to create typed live object ({})",
            object_gvknn(live)
        );
        let live_typed = self.typed(live, Duplicates::Allowed, &what)?;
        let version = &self.scope.api_version;
        let applied =
            self.updater()
                .apply(&live_typed, &config_typed, version, fields, manager, force)?;
        let (object, fields) = applied;
        let object = object
            .map(|object| self.to_versioned(&object.value, config))
            .transpose()?;
        Ok((object, Managed { fields, times }))
    }
}
