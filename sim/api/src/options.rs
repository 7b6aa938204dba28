//! The parameters of requests: what queries say, and what is wrong with it
//! (`apimachinery/pkg/apis/meta/v1/zz_generated.conversion.go`, `v1/validation/validation.go`,
//! `internalversion/defaults.go`, `internalversion/validation/validation.go`).

use std::sync::Arc;

use wavetank_version::Version;

use crate::decode::{self, FieldValidation, Reading};
use crate::gates;
use crate::http::{Body, Query};
use crate::json::{self, Json};
use crate::kinds::Resource;
use crate::metadata;
use crate::patch::PatchKind;
use crate::quote;
use crate::selector::{FieldSelector, FieldTerm, LabelSelector};
use crate::status::Status;
use crate::validation::{Bad, ErrorList};

/// `resourceVersionMatch`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "they are upstream's")]
pub enum VersionMatch {
    Exact,
    NotOlderThan,
}

/// `ListOptions`
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ListOptions {
    /// `labelSelector`
    pub labels: LabelSelector,
    /// `fieldSelector`, and the name in the path of a watch.
    pub fields: FieldSelector,
    /// `watch`
    pub watch: bool,
    /// `allowWatchBookmarks`
    pub bookmarks: bool,
    /// `resourceVersion`, as sent.
    pub resource_version: Arc<str>,
    /// `resourceVersionMatch`
    pub version_match: Option<VersionMatch>,
    /// `timeoutSeconds`
    pub timeout: Option<i64>,
    /// `limit`
    pub limit: i64,
    /// `continue`
    pub continues: Arc<str>,
    /// `sendInitialEvents`; a watch from nowhere sends them without being asked.
    pub initial_events: Option<bool>,
}

/// `CreateOptions` and `UpdateOptions`
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct WriteOptions {
    /// `dryRun=All`
    pub dry_run: bool,
    /// `fieldManager`
    pub field_manager: Arc<str>,
    /// `force`, of an apply.
    pub force: bool,
    /// `fieldValidation`
    pub reading: Reading,
}

/// `propagationPolicy`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "they are upstream's")]
pub enum Propagation {
    Foreground,
    Background,
    Orphan,
}

/// `DeleteOptions`
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct DeleteOptions {
    /// `gracePeriodSeconds`
    pub grace: Option<i64>,
    /// `preconditions.uid`
    pub uid: Option<Arc<str>>,
    /// `preconditions.resourceVersion`
    pub resource_version: Option<Arc<str>>,
    /// `orphanDependents`
    pub orphan: Option<bool>,
    /// `propagationPolicy`
    pub propagation: Option<Propagation>,
    /// `dryRun=All`
    pub dry_run: bool,
}

/// `Convert_Slice_string_To_bool`: anything but `0` and `false` is true.
fn bool(text: &str) -> bool {
    text != "0" && !text.eq_ignore_ascii_case("false")
}

/// `strconv.ParseInt`
fn int(text: &str) -> Result<i64, Status> {
    parse_int(text).map_err(Status::new_bad_request)
}

/// `strconv.ParseInt` with its error.
pub fn parse_int(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| number_error("ParseInt", text, 1))
}

/// `strconv.ParseUint` with its error: what becomes of a resourceVersion that is no number.
pub fn parse_uint(text: &str) -> Result<u64, String> {
    let plus = text.starts_with('+');
    let parsed = text.parse().ok().filter(|_| !plus);
    parsed.ok_or_else(|| number_error("ParseUint", text, 0))
}

fn number_error(function: &str, text: &str, signs: usize) -> String {
    let digits = match text.strip_prefix(['-', '+']) {
        Some(digits) if signs > 0 => digits,
        _ => text,
    };
    let numeric = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let why = if numeric {
        "value out of range"
    } else {
        "invalid syntax"
    };
    format!("strconv.{function}: parsing {}: {why}", quote::quote(text))
}

fn invalid(kind: &str, errors: &ErrorList) -> Result<(), Status> {
    if errors.is_empty() {
        return Ok(());
    }
    Err(Status::new_invalid(kind, "meta.k8s.io", "", errors))
}

impl ListOptions {
    /// Of a query; `name` stands in the path of a watch of one object.
    pub fn of(
        query: &Query,
        resource: &Resource,
        name: Option<&str>,
        release: Version,
    ) -> Result<ListOptions, Status> {
        let text = |parameter| query.get(parameter).unwrap_or_default();
        let modern = release.has(gates::WATCH_LIST);
        let mut options = ListOptions {
            watch: query.get("watch").is_some_and(bool),
            bookmarks: query.get("allowWatchBookmarks").is_some_and(bool),
            resource_version: text("resourceVersion").into(),
            continues: text("continue").into(),
            timeout: query.get("timeoutSeconds").map(int).transpose()?,
            limit: query.get("limit").map(int).transpose()?.unwrap_or(0),
            initial_events: query.get("sendInitialEvents").map(bool).filter(|_| modern),
            ..ListOptions::default()
        };
        options.labels =
            LabelSelector::parse(text("labelSelector")).map_err(Status::new_bad_request)?;
        options.fields =
            FieldSelector::parse(text("fieldSelector")).map_err(Status::new_bad_request)?;
        let mut version_match = match release.has(gates::RESOURCE_VERSION_MATCH) {
            true => text("resourceVersionMatch"),
            false => "",
        };
        let from_nowhere = matches!(&*options.resource_version, "" | "0");
        let unsaid = options.initial_events.is_none() && version_match.is_empty();
        if modern && unsaid && options.watch && from_nowhere {
            options.initial_events = Some(true);
            version_match = "NotOlderThan";
        }
        let errors = options.errors(version_match, modern);
        invalid("ListOptions", &errors)?;
        options.version_match = match version_match {
            "Exact" => Some(VersionMatch::Exact),
            "NotOlderThan" => Some(VersionMatch::NotOlderThan),
            _ => None,
        };
        options.fields = options
            .fields
            .convert(resource.strategy)
            .map_err(Status::new_bad_request)?;
        if let Some(name) = name {
            if options.fields.0.is_empty() {
                options.fields.0.push(FieldTerm {
                    field: "metadata.name".into(),
                    equal: true,
                    value: name.into(),
                });
            } else if options.fields.exactly("metadata.name") != Some(name) {
                let message = "fieldSelector metadata.name doesn't match requested name";
                return Err(Status::new_bad_request(message));
            }
        }
        Ok(options)
    }

    fn errors(&self, version_match: &str, modern: bool) -> ErrorList {
        const MATCH: &str = "resourceVersionMatch";
        let mut errors = ErrorList::default();
        let continues = |errors: &mut ErrorList| {
            if !self.continues.is_empty() {
                let detail = "resourceVersionMatch is forbidden when continue is provided";
                errors.forbidden(MATCH, detail);
            }
        };
        if modern && self.watch {
            if self.initial_events.is_some() && version_match != "NotOlderThan" {
                let detail =
                    "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
                errors.forbidden(MATCH, detail);
            }
            if !version_match.is_empty() {
                if self.initial_events.is_none() {
                    let detail = "resourceVersionMatch is forbidden for watch unless \
                                  sendInitialEvents is provided";
                    errors.forbidden(MATCH, detail);
                }
                if version_match != "NotOlderThan" {
                    errors.not_supported(MATCH, version_match, &["NotOlderThan"]);
                }
                continues(&mut errors);
            }
            return errors;
        }
        if !version_match.is_empty() {
            if self.watch {
                errors.forbidden(MATCH, "resourceVersionMatch is forbidden for watch");
            }
            if self.resource_version.is_empty() {
                let detail = "resourceVersionMatch is forbidden unless resourceVersion is provided";
                errors.forbidden(MATCH, detail);
            }
            continues(&mut errors);
            if !matches!(version_match, "Exact" | "NotOlderThan") {
                errors.not_supported(MATCH, version_match, &["Exact", "NotOlderThan", ""]);
            }
            if version_match == "Exact" && &*self.resource_version == "0" {
                let detail =
                    "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
                errors.forbidden(MATCH, detail);
            }
        }
        if self.initial_events.is_some() {
            errors.forbidden(
                "sendInitialEvents",
                "sendInitialEvents is forbidden for list",
            );
        }
        errors
    }
}

impl WriteOptions {
    /// Of the query of a create.
    pub fn of_create(query: &Query, release: Version) -> Result<WriteOptions, Status> {
        WriteOptions::of("CreateOptions", query, release, ErrorList::default())
    }

    /// Of the query of an update.
    pub fn of_update(query: &Query, release: Version) -> Result<WriteOptions, Status> {
        WriteOptions::of("UpdateOptions", query, release, ErrorList::default())
    }

    /// Of the query of a patch.
    pub fn of_patch(
        query: &Query,
        kind: PatchKind,
        release: Version,
    ) -> Result<WriteOptions, Status> {
        let mut errors = ErrorList::default();
        match kind {
            PatchKind::Apply => {
                if query.get("fieldManager").unwrap_or_default().is_empty() {
                    errors.required("fieldManager", "is required for apply patch");
                }
            }
            _ => {
                if query.get("force").is_some() {
                    errors.forbidden("force", "may not be specified for non-apply patch");
                }
            }
        }
        WriteOptions::of("PatchOptions", query, release, errors)
    }

    fn of(
        kind: &str,
        query: &Query,
        release: Version,
        mut errors: ErrorList,
    ) -> Result<WriteOptions, Status> {
        let manager = query.get("fieldManager").unwrap_or_default();
        metadata::validate_field_manager(manager, "fieldManager", &mut errors);
        let dry_run: Vec<&str> = query.all("dryRun").collect();
        validate_dry_run(&dry_run, &mut errors);
        // Before, nobody asked, and fields were dropped in silence.
        let validation = match release.has(gates::FIELD_VALIDATION) {
            true => query.get("fieldValidation").unwrap_or_default(),
            false => "Ignore",
        };
        let supported = ["", "Ignore", "Strict", "Warn"];
        if !supported.contains(&validation) {
            errors.not_supported("fieldValidation", validation, &supported);
        }
        invalid(kind, &errors)?;
        Ok(WriteOptions {
            dry_run: !dry_run.is_empty(),
            field_manager: manager.into(),
            force: query.get("force").is_some_and(bool),
            reading: Reading::of(
                release,
                match validation {
                    "Ignore" => FieldValidation::Ignore,
                    "Strict" => FieldValidation::Strict,
                    _ => FieldValidation::Warn,
                },
            ),
        })
    }
}

/// `ValidateDryRun`
fn validate_dry_run(values: &[&str], errors: &mut ErrorList) {
    if values.iter().any(|value| *value != "All") {
        let shown: Json = values.iter().copied().collect();
        errors.not_supported("dryRun", &shown, &["All"]);
    }
}

impl DeleteOptions {
    /// Of the body of a deletion, or else of its query.
    pub fn of(
        query: &Query,
        body: &Body,
        content_type: Option<&str>,
        release: Version,
    ) -> Result<DeleteOptions, Status> {
        let json = match decode::delete_options(body, content_type, Some(release))? {
            Some(json) => json,
            None => DeleteOptions::of_query(query)?,
        };
        DeleteOptions::of_json(&json)
    }

    /// Of `deleteOptions` inside another object, an Eviction.
    pub fn of_json(json: &Json) -> Result<DeleteOptions, Status> {
        let mut errors = ErrorList::default();
        let text = |path: &[&str]| json::at(json, path).and_then(Json::as_str);
        let orphan = json.get("orphanDependents").and_then(Json::as_bool);
        let policy = text(&["propagationPolicy"]);
        if let (Some(_), Some(policy)) = (orphan, policy) {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            errors.invalid("propagationPolicy", Bad::from(policy), detail);
        }
        let propagation = match policy {
            None => None,
            Some("Foreground") => Some(Propagation::Foreground),
            Some("Background") => Some(Propagation::Background),
            Some("Orphan") => Some(Propagation::Orphan),
            Some(other) => {
                let supported = ["Foreground", "Background", "Orphan", "nil"];
                errors.not_supported("propagationPolicy", other, &supported);
                None
            }
        };
        let dry_run = json::list(json, &["dryRun"])
            .iter()
            .filter_map(Json::as_str);
        let dry_run: Vec<&str> = dry_run.collect();
        validate_dry_run(&dry_run, &mut errors);
        invalid("DeleteOptions", &errors)?;
        Ok(DeleteOptions {
            grace: json::number(json, &["gracePeriodSeconds"]),
            uid: text(&["preconditions", "uid"]).map(Arc::from),
            resource_version: text(&["preconditions", "resourceVersion"]).map(Arc::from),
            orphan,
            propagation,
            dry_run: !dry_run.is_empty(),
        })
    }

    fn of_query(query: &Query) -> Result<Json, Status> {
        let mut json = Json::Object(json::Map::new());
        if let Some(grace) = query.get("gracePeriodSeconds") {
            json::set(&mut json, &["gracePeriodSeconds"], int(grace)?);
        }
        if let Some(orphan) = query.get("orphanDependents") {
            json::set(&mut json, &["orphanDependents"], bool(orphan));
        }
        if let Some(policy) = query.get("propagationPolicy") {
            json::set(&mut json, &["propagationPolicy"], policy);
        }
        for field in ["uid", "resourceVersion"] {
            let value = query.get(field).filter(|value| !value.is_empty());
            if let Some(value) = value {
                json::set(&mut json, &["preconditions", field], value);
            }
        }
        let dry_run: Vec<&str> = query.all("dryRun").collect();
        json::set(&mut json, &["dryRun"], dry_run);
        Ok(json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds;
    use wavetank_releases::V1_36;

    fn list(query: &str) -> Result<ListOptions, String> {
        let query = Query::parse(query);
        ListOptions::of(&query, &kinds::CONFIG_MAPS, None, V1_36).map_err(|status| status.message)
    }

    #[test]
    fn lists_are_asked_for() {
        let options = list("labelSelector=a%3Db&limit=2&fieldSelector=metadata.name%3Dx");
        let options = options.expect("options");
        assert_eq!(
            (options.limit, options.fields.exactly("metadata.name")),
            (2, Some("x"))
        );
        let watch = list("watch=1&resourceVersion=0").expect("options");
        assert_eq!(watch.initial_events, Some(true));
        assert_eq!(watch.version_match, Some(VersionMatch::NotOlderThan));
        for (query, expected) in [
            (
                "limit=abc",
                "strconv.ParseInt: parsing \"abc\": invalid syntax",
            ),
            (
                "resourceVersionMatch=Exact",
                "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: \
                 resourceVersionMatch is forbidden unless resourceVersion is provided",
            ),
            (
                "fieldSelector=data.k%3Dv",
                "\"data.k\" is not a known field selector: only \"metadata.name\", \
                 \"metadata.namespace\"",
            ),
            (
                "watch=true&resourceVersion=5&resourceVersionMatch=Exact",
                "ListOptions.meta.k8s.io \"\" is invalid: [resourceVersionMatch: Forbidden: \
                 resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided, \
                 resourceVersionMatch: Unsupported value: \"Exact\": supported values: \
                 \"NotOlderThan\"]",
            ),
        ] {
            assert_eq!(list(query), Err(expected.to_owned()), "{query}");
        }
    }

    #[test]
    fn writes_are_asked_for() {
        let create = |query: &str| WriteOptions::of_create(&Query::parse(query), V1_36);
        assert!(create("dryRun=All").expect("options").dry_run);
        assert_eq!(
            create("dryRun=Some").expect_err("refused").message,
            "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"Some\"]: \
             supported values: \"All\""
        );
        let delete =
            |query: &str| DeleteOptions::of(&Query::parse(query), &Body::Empty, None, V1_36);
        let options = delete("gracePeriodSeconds=0&uid=x").expect("options");
        assert_eq!(
            (options.grace, options.uid.as_deref()),
            (Some(0), Some("x"))
        );
        assert_eq!(
            delete("propagationPolicy=Orphan&orphanDependents=true")
                .expect_err("refused")
                .message,
            "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Invalid value: \
             \"Orphan\": orphanDependents and deletionPropagation cannot be both set"
        );
        assert_eq!(
            parse_uint("-1"),
            Err("strconv.ParseUint: parsing \"-1\": invalid syntax".into())
        );
        assert!(
            parse_uint("18446744073709551616")
                .expect_err("big")
                .ends_with("out of range")
        );
    }
}
