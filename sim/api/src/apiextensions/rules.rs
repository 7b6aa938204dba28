//! What a definition may say (`apis/apiextensions/validation/validation.go`), of its internal form.

use super::conditions::{
    ApiApprovalState, KUBE_API_APPROVED_ANNOTATION, get_api_approval_state, is_crd_condition_true,
    is_protected_community_group,
};
use super::field_rules::{
    at_root_with_status, is_accepted, validate_conversion_review_versions,
    validate_custom_resource_column_definition, validate_custom_resource_definition_names,
    validate_deprecation_warning, webhook_client_config,
};
use super::internal::internal_spec;
use super::props::Props;
use super::schema_rules::{self, Options as SchemaOptions};
use super::{default_rules, openapi, paths, shown, structural};
use crate::json::{self, Json};
use crate::metadata;
use crate::names;
use crate::render;
use crate::validation::{Bad, ErrorList};

/// `validationOptions`: what is stored already may break rules that came later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Options {
    recognized_review_version: bool,
    immutable_names: bool,
    open_api_schema: bool,
    structural_schema: bool,
    pruned_defaults: bool,
    schema: SchemaOptions,
}

impl Options {
    const OF_CREATE: Options = Options {
        recognized_review_version: true,
        immutable_names: false,
        open_api_schema: true,
        structural_schema: true,
        pruned_defaults: true,
        schema: SchemaOptions {
            valid_types: true,
            atomic_sets: true,
            map_list_keys: true,
        },
    };

    fn of_update(old: &Json) -> Options {
        let spec = internal_spec(&old["spec"]);
        let schemas = schemas_of(&spec);
        let none = |has: &dyn Fn(&Props) -> bool| !schemas.iter().any(has);
        let is_structural = |schema: &Props| {
            let structural = structural::new_structural(schema);
            structural.is_ok_and(|s| structural::validate_structural("", &s).is_empty())
        };
        let is_unpruned = |schema: &Props| {
            let mut pruned = schema.clone();
            default_rules::prune_defaults(&mut pruned);
            is_structural(schema) && pruned != *schema
        };
        let versions = json::list(&old["spec"], &["versions"]);
        let has_schema =
            |version: &Json| json::at(version, &["schema", "openAPIV3Schema"]).is_some();
        let reviews = json::list(&spec, &["conversion", "conversionReviewVersions"]);
        Options {
            recognized_review_version: reviews.is_empty() || reviews.iter().any(is_accepted),
            immutable_names: is_crd_condition_true(old, "Established"),
            open_api_schema: versions.iter().all(has_schema),
            structural_schema: schemas.iter().all(is_structural),
            pruned_defaults: none(&is_unpruned),
            schema: SchemaOptions {
                valid_types: none(&schema_rules::schema_has_invalid_types),
                atomic_sets: none(&schema_rules::has_non_atomic_set_type),
                map_list_keys: none(&schema_rules::has_invalid_map_list_keys_map_set),
            },
        }
    }
}

/// All schemas of a spec in its internal form.
pub(super) fn schemas_of(spec: &Json) -> Vec<Props> {
    let shared = json::at(spec, &["validation", "openAPIV3Schema"]);
    let versions = json::list(spec, &["versions"]).iter();
    let own = versions.filter_map(|version| json::at(version, &["schema", "openAPIV3Schema"]));
    shared.into_iter().chain(own).map(Props::of).collect()
}

/// `ValidateCustomResourceDefinition`
pub(super) fn validate_custom_resource_definition(crd: &Json) -> ErrorList {
    let wanted = format!(
        "{}.{}",
        json::text(crd, &["spec", "names", "plural"]),
        json::text(crd, &["spec", "group"])
    );
    let name_errors = |name: &str, prefix: bool| {
        let mut errors = names::name_is_dns_subdomain(name, prefix);
        if name != wanted {
            errors.push("must be spec.names.plural+\".\"+spec.group".to_owned());
        }
        errors
    };
    let mut errors = metadata::validate_object_meta_accessor(crd, false, &name_errors);
    let spec = internal_spec(&crd["spec"]);
    Rules::check(&spec, Options::OF_CREATE, &mut errors);
    validate_custom_resource_definition_status(crd, &mut errors);
    validate_custom_resource_definition_stored_versions(crd, &mut errors);
    validate_api_approval(crd, None, &mut errors);
    validate_preserve_unknown_fields(crd, None, &mut errors);
    errors
}

/// `ValidateCustomResourceDefinitionUpdate`
pub(super) fn validate_custom_resource_definition_update(crd: &Json, old: &Json) -> ErrorList {
    let options = Options::of_update(old);
    let mut errors = metadata::validate_common_update(crd, old);
    let spec = internal_spec(&crd["spec"]);
    Rules::check(&spec, options, &mut errors);
    let mut immutable = |path: &[&str], field: &str| {
        let (new, old) = (
            json::text(&crd["spec"], path),
            json::text(&old["spec"], path),
        );
        if new != old {
            errors.invalid(format!("spec.{field}"), new, metadata::IMMUTABLE);
        }
    };
    if options.immutable_names {
        immutable(&["scope"], "scope");
        immutable(&["names", "kind"], "names.kind");
    }
    immutable(&["group"], "group");
    immutable(&["names", "plural"], "names.plural");
    validate_custom_resource_definition_status(crd, &mut errors);
    validate_custom_resource_definition_stored_versions(crd, &mut errors);
    validate_api_approval(crd, Some(old), &mut errors);
    validate_preserve_unknown_fields(crd, Some(old), &mut errors);
    errors
}

/// `ValidateUpdateCustomResourceDefinitionStatus`
pub(super) fn validate_update_custom_resource_definition_status(
    crd: &Json,
    old: &Json,
) -> ErrorList {
    let mut errors = metadata::validate_common_update(crd, old);
    validate_custom_resource_definition_status(crd, &mut errors);
    errors
}

/// `ValidateCustomResourceDefinitionStatus`
fn validate_custom_resource_definition_status(crd: &Json, errors: &mut ErrorList) {
    let names = &crd["status"]["acceptedNames"];
    validate_custom_resource_definition_names(names, "status.acceptedNames", errors);
}

/// `ValidateCustomResourceDefinitionStoredVersions`
fn validate_custom_resource_definition_stored_versions(crd: &Json, errors: &mut ErrorList) {
    const FIELD: &str = "status.storedVersions";
    let value = &crd["status"]["storedVersions"];
    let stored = json::list(crd, &["status", "storedVersions"]);
    let shown = || Bad::shown(render::sorted(value));
    if stored.is_empty() {
        return errors.invalid(FIELD, shown(), "must have at least one stored version");
    }
    let versions = json::list(crd, &["spec", "versions"]);
    for version in versions {
        let name = &version["name"];
        if version["storage"] == true && !stored.contains(name) {
            let name = name.as_str().unwrap_or_default();
            errors.invalid(
                FIELD,
                shown(),
                format!("must have the storage version {name}"),
            );
        }
    }
    for (at, name) in stored.iter().enumerate() {
        if versions.iter().any(|version| version["name"] == *name) {
            continue;
        }
        let text = name.as_str().unwrap_or_default();
        let why = format!(
            "missing from spec.versions; {text} was previously a storage version, and must remain \
             in spec.versions until a storage migration ensures no data remains persisted in {text} \
             and removes {text} from status.storedVersions"
        );
        errors.invalid(format!("{FIELD}[{at}]"), text, why);
    }
}

/// `validateAPIApproval`
fn validate_api_approval(crd: &Json, old: Option<&Json>, errors: &mut ErrorList) {
    if !is_protected_community_group(json::text(crd, &["spec", "group"])) {
        return;
    }
    let (state, reason) = get_api_approval_state(crd);
    if old.is_some_and(|old| get_api_approval_state(old).0 == state) {
        return;
    }
    let field = format!("metadata.annotations[{KUBE_API_APPROVED_ANNOTATION}]");
    match state {
        ApiApprovalState::Missing => errors.required(field, reason),
        ApiApprovalState::Invalid => {
            let path = ["metadata", "annotations", KUBE_API_APPROVED_ANNOTATION];
            errors.invalid(field, json::text(crd, &path), reason);
        }
        ApiApprovalState::Approved | ApiApprovalState::Bypassed => {}
    }
}

/// `validatePreserveUnknownFields`
fn validate_preserve_unknown_fields(crd: &Json, old: Option<&Json>, errors: &mut ErrorList) {
    let preserves = |crd: &Json| crd["spec"]["preserveUnknownFields"] == true;
    if preserves(crd) && !old.is_some_and(preserves) {
        errors.invalid(
            "spec.preserveUnknownFields",
            true,
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
             spec.versions[*].schema instead",
        );
    }
}

/// `validateEnumStrings`, of a value that must be there.
fn validate_enum_strings(field: &str, value: &str, accepted: &[&str], errors: &mut ErrorList) {
    match value {
        "" => errors.required(field, ""),
        value if accepted.contains(&value) => {}
        value => errors.not_supported(field, value, accepted),
    }
}

struct Rules<'a> {
    spec: &'a Json,
    options: Options,
    errors: &'a mut ErrorList,
}

impl Rules<'_> {
    /// Upstream's `validateCustomResourceDefinitionSpec`
    fn check(spec: &Json, options: Options, errors: &mut ErrorList) {
        let mut rules = Rules {
            spec,
            options,
            errors,
        };
        rules.group();
        let scopes = ["Cluster", "Namespaced"];
        validate_enum_strings(
            "spec.scope",
            json::text(spec, &["scope"]),
            &scopes,
            rules.errors,
        );
        rules.schemas_are_there();
        rules.defaults_and_extensions();
        rules.versions();
        rules.required_names();
        validate_custom_resource_definition_names(&spec["names"], "spec.names", rules.errors);
        let any_status = rules.any_status();
        rules.validation(&spec["validation"], any_status, "spec.validation");
        rules.subresources(&spec["subresources"], "spec.subresources");
        rules.columns(spec, "spec");
        rules.selectable_fields(spec, "validation", "spec");
        rules.conversion();
    }

    fn preserves(&self) -> bool {
        self.spec["preserveUnknownFields"] == true
    }

    fn group(&mut self) {
        let group = json::text(self.spec, &["group"]);
        let wrong = names::is_dns1123_subdomain(group);
        if group.is_empty() {
            self.errors.required("spec.group", "");
        } else if !wrong.is_empty() {
            self.errors.invalid("spec.group", group, wrong.join(","));
        } else if !group.contains('.') {
            let why = "should be a domain with at least one dot";
            self.errors.invalid("spec.group", group, why);
        }
    }

    fn schemas_are_there(&mut self) {
        if !self.preserves() {
            self.options.structural_schema = true;
        }
        if json::at(self.spec, &["validation", "openAPIV3Schema"]).is_some() {
            return;
        }
        for (at, version) in json::list(self.spec, &["versions"]).iter().enumerate() {
            if json::at(version, &["schema", "openAPIV3Schema"]).is_some() {
                continue;
            }
            let field = format!("spec.versions[{at}].schema.openAPIV3Schema");
            if self.options.open_api_schema {
                self.errors.required(field, "");
            } else if !self.preserves() && version["served"] == true {
                let why = "because otherwise all fields are pruned";
                self.errors.required(field, why);
            }
        }
    }

    /// Upstream's `specHasDefaults` and `specHasKubernetesExtensions`: what they find wants structural schemas, and defaults
    /// want unknown fields to be pruned.
    fn defaults_and_extensions(&mut self) {
        let schemas = schemas_of(self.spec);
        let any = |has: &dyn Fn(&Props) -> bool| {
            let mut schemas = schemas.iter();
            schemas.any(|schema| schema.schema_has(&mut |schema| has(schema)))
        };
        let defaults = any(&|schema| schema.default.is_some());
        if defaults && self.preserves() {
            let why = "must be false in order to use defaults in the schema";
            self.errors.invalid("spec.preserveUnknownFields", true, why);
        }
        if defaults || any(&schema_rules::has_kubernetes_extensions) {
            self.options.structural_schema = true;
        }
    }

    fn versions(&mut self) {
        let versions = json::list(self.spec, &["versions"]);
        let mut seen: Vec<&str> = Vec::new();
        let mut unique = true;
        for (at, version) in versions.iter().enumerate() {
            let field = format!("spec.versions[{at}]");
            let name = json::text(version, &["name"]);
            unique &= !seen.contains(&name);
            seen.push(name);
            let wrong = names::is_dns1035_label(name);
            if !wrong.is_empty() {
                self.errors
                    .invalid(format!("{field}.name"), name, wrong.join(","));
            }
            self.version(version, &field);
        }
        let shown = || Bad::shown(shown::versions(&self.spec["versions"]));
        if !unique {
            let why = "must contain unique version names";
            self.errors.invalid("spec.versions", shown(), why);
        }
        if versions
            .iter()
            .filter(|version| version["storage"] == true)
            .count()
            != 1
        {
            let why = "must have exactly one version marked as storage version";
            self.errors.invalid("spec.versions", shown(), why);
        }
        let version = json::text(self.spec, &["version"]);
        let wrong = names::is_dns1035_label(version);
        if !version.is_empty() && !wrong.is_empty() {
            self.errors
                .invalid("spec.version", version, wrong.join(","));
        }
    }

    /// Upstream's `validateCustomResourceDefinitionVersion`
    fn version(&mut self, version: &Json, field: &str) {
        let is_deprecated = version["deprecated"] == true;
        if let Some(warning) = version["deprecationWarning"].as_str() {
            let found = validate_deprecation_warning(is_deprecated, warning);
            let path = format!("{field}.deprecationWarning");
            self.errors.invalid_each(&path, warning, found);
        }
        let own = version.get("subresources");
        let subresources = own.unwrap_or(&self.spec["subresources"]);
        let has_status = subresources.get("status").is_some();
        self.validation(&version["schema"], has_status, &format!("{field}.schema"));
        self.subresources(&version["subresources"], &format!("{field}.subresources"));
        self.columns(version, field);
        self.selectable_fields(version, "schema", field);
    }

    fn any_status(&self) -> bool {
        let versions = json::list(self.spec, &["versions"]).iter();
        let mut all = std::iter::once(self.spec).chain(versions);
        all.any(|of| json::at(of, &["subresources", "status"]).is_some())
    }

    fn required_names(&mut self) {
        for name in ["plural", "singular", "kind", "listKind"] {
            if json::text(self.spec, &["names", name]).is_empty() {
                self.errors.required(format!("spec.names.{name}"), "");
            }
        }
    }

    /// Upstream's `validateCustomResourceDefinitionValidation`
    fn validation(&mut self, validation: &Json, has_status: bool, field: &str) {
        let Some(schema) = validation.get("openAPIV3Schema") else {
            return;
        };
        let schema = Props::of(schema);
        let path = format!("{field}.openAPIV3Schema");
        let mut errors = ErrorList::default();
        if has_status {
            at_root_with_status(&schema, &path, &mut errors);
        }
        if schema.nullable {
            errors.forbidden(
                format!("{path}.nullable"),
                "nullable cannot be true at the root",
            );
        }
        let mut unstructural = None;
        if self.options.structural_schema {
            match structural::new_structural(&schema) {
                Err(error) => unstructural = Some(error),
                Ok(structural) => {
                    let mut found = structural::validate_structural(&path, &structural);
                    if found.is_empty() {
                        let pruned = self.options.pruned_defaults;
                        found = default_rules::validate_defaults(&path, &structural, pruned);
                    }
                    errors.extend(found);
                }
            }
        }
        let options = self.options.schema;
        errors.extend(
            schema_rules::validate_custom_resource_definition_open_api_schema(
                &path, &schema, options,
            ),
        );
        if let Some(error) = unstructural
            && errors.is_empty()
        {
            errors.invalid(path, "", error);
        }
        self.errors.extend(errors);
    }

    /// Upstream's `ValidateCustomResourceDefinitionSubresources`
    fn subresources(&mut self, subresources: &Json, field: &str) {
        let Some(scale) = subresources.get("scale") else {
            return;
        };
        let errors = &mut *self.errors;
        for (name, under) in [
            ("specReplicasPath", ".spec"),
            ("statusReplicasPath", ".status"),
        ] {
            let (path, field) = (json::text(scale, &[name]), format!("{field}.scale.{name}"));
            if path.is_empty() {
                errors.required(field, "");
            } else if paths::validate_simple_json_path(path, &field, errors)
                && !path.starts_with(&format!("{under}."))
            {
                errors.invalid(field, path, format!("should be a json path under {under}"));
            }
        }
        let path = json::text(scale, &["labelSelectorPath"]);
        let field = format!("{field}.scale.labelSelectorPath");
        if !path.is_empty()
            && paths::validate_simple_json_path(path, &field, errors)
            && !path.starts_with(".spec.")
            && !path.starts_with(".status.")
        {
            let why = "should be a json path under either .spec or .status";
            errors.invalid(field, path, why);
        }
    }

    fn columns(&mut self, of: &Json, field: &str) {
        for (at, column) in json::list(of, &["additionalPrinterColumns"])
            .iter()
            .enumerate()
        {
            let field = format!("{field}.additionalPrinterColumns[{at}]");
            validate_custom_resource_column_definition(column, &field, self.errors);
        }
    }

    /// Upstream's `ValidateCustomResourceSelectableFields`
    fn selectable_fields(&mut self, of: &Json, schema: &str, field: &str) {
        const MOST: usize = 8;
        let selectable = json::list(of, &["selectableFields"]);
        let field = format!("{field}.selectableFields");
        if selectable.is_empty() {
            return;
        }
        let Some(schema) = json::at(of, &[schema, "openAPIV3Schema"]).map(Props::of) else {
            let why = match schema {
                "schema" => "may only be set when `version.schema.openAPIV3Schema` is not included",
                _ => "may only be set when validations.schema is included",
            };
            return self.errors.invalid(field, "", why);
        };
        let mut unique: Vec<&str> = Vec::new();
        for (at, one) in selectable.iter().enumerate() {
            let path = json::text(one, &["jsonPath"]);
            let field = format!("{field}[{at}].jsonPath");
            if path.is_empty() {
                self.errors.required(field, "");
                continue;
            }
            let found = match paths::valid_field_path(path, &schema) {
                Ok(found) => found,
                Err(error) => {
                    let why = format!("is an invalid path: {error}");
                    self.errors.invalid(field, path, why);
                    continue;
                }
            };
            if path.starts_with(".metadata") {
                let why = "must not point to fields in metadata";
                self.errors.invalid(&field, path, why);
            }
            if !matches!(found.ty.as_str(), "string" | "boolean" | "integer") {
                let why = "must point to a field of type string, boolean or integer. Enum string \
                           fields and strings with formats are allowed.";
                self.errors.invalid(&field, path, why);
            }
            match unique.contains(&path) {
                true => self.errors.duplicate(field, path),
                false => unique.push(path),
            }
        }
        if unique.len() > MOST {
            self.errors.too_many(field, unique.len(), MOST);
        }
    }

    /// Upstream's `validateCustomResourceConversion`
    fn conversion(&mut self) {
        const FIELD: &str = "spec.conversion";
        let Some(conversion) = self.spec.get("conversion") else {
            return;
        };
        let preserves = self.preserves();
        let errors = &mut *self.errors;
        let strategy = json::text(conversion, &["strategy"]);
        if strategy != "None" && preserves {
            let why = "must be None if spec.preserveUnknownFields is true";
            errors.invalid(format!("{FIELD}.strategy"), strategy, why);
        }
        let known = ["None", "Webhook"];
        validate_enum_strings(&format!("{FIELD}.strategy"), strategy, &known, errors);
        let config = conversion.get("webhookClientConfig");
        let reviews = json::list(conversion, &["conversionReviewVersions"]);
        let (of_config, of_reviews) = (
            format!("{FIELD}.webhookClientConfig"),
            format!("{FIELD}.conversionReviewVersions"),
        );
        if strategy != "Webhook" {
            let why = "should not be set when strategy is not set to Webhook";
            if config.is_some() {
                errors.forbidden(of_config, why);
            }
            if !reviews.is_empty() {
                errors.forbidden(of_reviews, why);
            }
            return;
        }
        match config {
            None => errors.required(of_config, "required when strategy is set to Webhook"),
            Some(config) => webhook_client_config(config, &of_config, errors),
        }
        let recognized = self.options.recognized_review_version;
        validate_conversion_review_versions(reviews, recognized, &of_reviews, errors);
    }
}

/// `getUnrecognizedFormatsInCRD`
pub(super) fn get_unrecognized_formats_in_crd(crd: &Json) -> Vec<String> {
    let mut found = Vec::new();
    for schema in schemas_of(&internal_spec(&crd["spec"])) {
        schema.schema_has(&mut |schema| {
            if !openapi::is_recognized(schema) {
                found.push(schema.format.clone());
            }
            false
        });
    }
    found
}

#[cfg(test)]
mod tests;
