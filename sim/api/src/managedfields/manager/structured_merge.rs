//! The structured merge of objects (`structuredmerge.go`, `typeconverter.go`, `versionconverter.go`). Kinds of the table are
//! served in one version, so a manager of another is one of a version that is not served.

use super::{Failure, Managed, Manager, Scope, object_gvknn};
use crate::apiextensions::CustomVersion;
use crate::decode::typed;
use crate::json::{self, Json};
use crate::smd::fieldpath::Set;
use crate::smd::merge::{ConvertError, Converter, MergeError, Updater};
use crate::smd::schema::Schema;
use crate::smd::typed::{Duplicates, TypedValue};

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

impl Converter for VersionConverter<'_> {
    fn convert<'a>(
        &self,
        object: &TypedValue<'a>,
        version: &str,
    ) -> Result<TypedValue<'a>, ConvertError> {
        if version == self.api_version && self.custom.is_none() {
            return Ok(object.clone());
        }
        let Some((custom, schema)) = self.custom else {
            return Err(ConvertError::MissingVersion);
        };
        if json::text(&object.value, &["apiVersion"]) == version {
            return Ok(object.clone());
        }
        let converted = custom.at_version(&object.value, version);
        let converted = converted.ok_or(ConvertError::MissingVersion)?;
        let ty = custom.type_at(version);
        let typed = TypedValue::as_typed(converted, schema, ty, Duplicates::Allowed);
        typed.map_err(|errors| ConvertError::Other(errors.to_string()))
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
        let mut object = typed::convert(merged, id).map_err(wrong)?.json;
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
