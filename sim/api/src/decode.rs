//! From the body of a request to an object: what the server's decoder accepts, refuses and warns of
//! (`apimachinery/pkg/runtime/serializer/json/json.go`, `serializer/versioning/versioning.go`,
//! `apiserver/pkg/endpoints/handlers/create.go`, `rest.go`).
//!
//! What the fields mean does not belong here; that is `kinds`.

pub mod base64;
pub(crate) mod custom;
mod forget;
pub mod protobuf;
pub(crate) mod text;
pub(crate) mod typed;
pub(crate) mod values;
mod yaml;

use serde_json::json;
use wavetank_version::Version;

use crate::http::Body;
use crate::json::{self, Json};
use crate::kinds::Resource;
use crate::quote;
use crate::schema::{self, StructId};
use crate::status::{Reason, Status};
use crate::versions;
pub use custom::accepts_group_version;
use text::Node;
use typed::Tree;
pub(crate) use yaml::yaml_to_json;

/// Reads JSON; the error is Go's.
///
/// # Errors
/// `SyntaxError` of `encoding/json`.
pub fn json(bytes: &[u8]) -> Result<Json, String> {
    text::parse(bytes).map(|node| node.json())
}

/// `fieldValidation`: what becomes of fields that are unknown or come twice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum FieldValidation {
    /// They are dropped.
    Ignore,
    /// They are dropped with a warning.
    #[default]
    Warn,
    /// The request is refused.
    Strict,
}

/// What a body is to be read as: the kind of a resource, or of a subresource.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Target {
    /// `apiVersion`
    pub api_version: &'static str,
    /// `kind`
    pub kind: &'static str,
}

/// `v1` Binding
pub const BINDING: Target = Target {
    api_version: "v1",
    kind: "Binding",
};
/// `policy/v1` Eviction
pub const EVICTION: Target = Target {
    api_version: "policy/v1",
    kind: "Eviction",
};
/// `autoscaling/v1` Scale
pub const SCALE: Target = Target {
    api_version: "autoscaling/v1",
    kind: "Scale",
};

/// Kinds of the server that have no table here: a body of one is of the wrong kind, not of an
/// unknown one.
const OTHER_KINDS: [(&str, &str); 3] =
    [("v1", "ComponentStatus"), ("v1", "List"), ("v1", "Status")];

/// The scheme that objects are registered in.
pub(crate) const SCHEME: &str = "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30";
/// The scheme of `DeleteOptions`.
const META_SCHEME: &str = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27";

/// What a body says it is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Said {
    api_version: String,
    kind: String,
}

impl Said {
    /// The version without its group.
    fn version(&self) -> &str {
        let parts = self.api_version.split_once('/');
        parts.map_or(&self.api_version, |(_, version)| version)
    }
}

/// Why a body was refused: what it says it is, if that could be read, and the decoder's error.
type Refusal = (Option<Said>, String);

/// How a body is read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Reading {
    /// What becomes of fields that are unknown.
    pub validation: FieldValidation,
    /// The release whose fields are known; `None` stands for the newest.
    pub release: Option<Version>,
}

impl Reading {
    /// As a server of this release reads it.
    pub fn of(release: Version, validation: FieldValidation) -> Reading {
        Reading {
            validation,
            release: Some(release),
        }
    }

    /// As the newest release does.
    pub fn newest(validation: FieldValidation) -> Reading {
        Reading {
            validation,
            release: None,
        }
    }
}

/// An object of this resource out of the body of a create or an update, with warnings. It is as the
/// server would write it, with its defaults.
pub fn object(
    body: &Body,
    content_type: Option<&str>,
    resource: &'static Resource,
    reading: Reading,
) -> Result<(Json, Vec<String>), Status> {
    let api_version = resource.api_version();
    let own = match resource.strategy.custom() {
        Some(custom) => custom::object(body, content_type, resource, custom, reading.validation),
        None => kind(body, content_type, &api_version, resource.kind, reading),
    };
    let (mut json, warnings) = match own {
        Ok(read) => read,
        // It is of the kind in another version: it converts, and is not what was asked for.
        Err(refusal) => match of_another_version(body, content_type, resource) {
            Some(said) => {
                return Err(Status::new_bad_request(format!(
                    "the API version in the data ({said}) does not match the expected API version ({api_version})"
                )));
            }
            None => return Err(refusal),
        },
    };
    default(resource, &mut json, reading.release);
    Ok((json, warnings))
}

/// What a server of a release adds to what it has read.
pub(crate) fn default(resource: &Resource, json: &mut Json, release: Option<Version>) {
    resource.strategy.default(json);
    if let Some(id) = schema::kind(&resource.api_version(), resource.kind) {
        forget::forget(json, id, release);
    }
}

/// The version that a body says it is of, if it is another one of the same kind.
fn of_another_version(
    body: &Body,
    content_type: Option<&str>,
    resource: &Resource,
) -> Option<String> {
    let said = match (body, negotiate_input_serializer(content_type).ok()?) {
        (Body::Json(json), _) => interpret(&**json).ok()?,
        (_, Format::Json) => interpret(&text::parse(bytes(body)).ok()?).ok()?,
        (_, Format::Yaml) => interpret(&yaml_to_json(bytes(body)).ok()?).ok()?,
    };
    let hub = |of: &'static Resource| versions::hub_of(of);
    let mut all = Resource::ALL.into_iter();
    let own = all.find(|of| *of == resource).map(hub)?;
    let mut all = Resource::ALL.into_iter();
    let other = all.find(|of| of.kind == said.kind && of.api_version() == said.api_version);
    let other = other.filter(|other| *other != resource && hub(other) == own);
    other.map(|_| said.api_version)
}

/// An object of a subresource's kind, [`SCALE`], [`BINDING`] or [`EVICTION`], with warnings.
pub fn target(
    body: &Body,
    content_type: Option<&str>,
    target: Target,
    reading: Reading,
) -> Result<(Json, Vec<String>), Status> {
    let Target { api_version, kind } = target;
    self::kind(body, content_type, api_version, kind, reading)
}

fn kind(
    body: &Body,
    content_type: Option<&str>,
    api_version: &str,
    kind: &str,
    reading: Reading,
) -> Result<(Json, Vec<String>), Status> {
    let release = reading.release;
    let format = negotiate_input_serializer(content_type)?;
    let refused = |refusal| transform_decode_error(refusal, kind, body);
    let read = match (body, format) {
        (Body::Json(json), _) => tree(&**json, api_version, kind, release),
        (_, Format::Json) => text::parse(bytes(body))
            .map_err(|error| (None, no_kind(&error)))
            .and_then(|node| tree(&node, api_version, kind, release)),
        (_, Format::Yaml) => yaml_to_json(bytes(body))
            .map_err(|error| (None, error))
            .and_then(|json| tree(&json, api_version, kind, release)),
    };
    let (json, said, strict) = read.map_err(refused)?;
    match reading.validation {
        FieldValidation::Ignore => Ok((json, Vec::new())),
        FieldValidation::Warn => Ok((json, strict)),
        FieldValidation::Strict if strict.is_empty() => Ok((json, strict)),
        FieldValidation::Strict => Err(refused((Some(said), strict_decoding_error(&strict)))),
    }
}

/// `transformDecodeError`
fn transform_decode_error((said, error): Refusal, kind: &str, body: &Body) -> Status {
    match said {
        Some(said) => Status::new_bad_request(format!(
            "{} in version {} cannot be handled as a {kind}: {error}",
            said.kind,
            quote::quote(said.version()),
        )),
        None => Status::new_bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {error} ({})",
            summarize_data(body)
        )),
    }
}

/// `strictDecodingError`
pub(crate) fn strict_decoding_error(errors: &[String]) -> String {
    format!("strict decoding error: {}", errors.join(", "))
}

fn no_kind(error: &str) -> String {
    format!("couldn't get version/kind; json parse error: {error}")
}

fn bytes(body: &Body) -> &[u8] {
    match body {
        Body::Bytes(bytes) => bytes,
        Body::Empty | Body::Json(_) => &[],
    }
}

/// `summarizeData`
fn summarize_data(body: &Body) -> String {
    const LENGTH: usize = 30;
    let text;
    let data = match body {
        Body::Json(json) => {
            text = json.to_string();
            text.as_bytes()
        }
        body => bytes(body),
    };
    let start = &data[..data.len().min(LENGTH)];
    let shown = match data.first() {
        None => return "<empty>".to_owned(),
        Some(b'{') => String::from_utf8_lossy(start).into_owned(),
        Some(_) => start.iter().map(|byte| format!("{byte:02x}")).collect(),
    };
    let more = if data.len() > LENGTH { " ..." } else { "" };
    shown + more
}

/// Reads a tree as a kind; what it says about itself decides as what, and must convert.
fn tree<T: Tree>(
    tree: &T,
    api_version: &str,
    kind: &str,
    release: Option<Version>,
) -> Result<(Json, Said, Vec<String>), Refusal> {
    let (mut json, said, strict) = decode(tree, api_version, kind, SCHEME, release)?;
    if (said.kind.as_str(), said.api_version.as_str()) != (kind, api_version) {
        let error = format!(
            "converting (v1.{}) to ({}.{kind}): unknown conversion",
            said.kind,
            internal_package(api_version),
        );
        return Err((Some(said), error));
    }
    if let Some(map) = json.as_object_mut() {
        map.insert("apiVersion".to_owned(), api_version.into());
        map.insert("kind".to_owned(), kind.into());
    }
    Ok((json, said, strict))
}

/// Reads an object that a patch has made, as its kind; with fields that are unknown.
pub(crate) fn reread(
    json: &Json,
    api_version: &str,
    kind: &str,
    release: Option<Version>,
) -> Result<(Json, Vec<String>), String> {
    let read = tree(json, api_version, kind, release).map_err(|(_, error)| error)?;
    let (json, _, strict) = read;
    Ok((json, strict))
}

/// The Go package of the internal type.
fn internal_package(api_version: &str) -> &str {
    match api_version.split_once('/') {
        None | Some(("events.k8s.io", _)) => "core",
        Some((group, _)) => group.split_once('.').map_or(group, |(first, _)| first),
    }
}

/// `Serializer.Decode`: reads a tree as what it says it is, or else as what is expected.
fn decode<T: Tree>(
    tree: &T,
    api_version: &str,
    kind: &str,
    scheme: &str,
    release: Option<Version>,
) -> Result<(Json, Said, Vec<String>), Refusal> {
    let mut said = interpret(tree).map_err(|error| (None, error))?;
    if said.kind.is_empty() {
        said.kind = kind.to_owned();
    }
    if said.api_version.is_empty() {
        said.api_version = api_version.to_owned();
    }
    let is_expected = said.api_version == api_version && said.kind == kind;
    let id = match is_expected {
        true => schema::kind_or_custom(api_version, kind),
        false => known(&said),
    };
    let Some(id) = id else {
        let other = (
            said.api_version.as_str(),
            said.kind.trim_end_matches("List"),
        );
        let known = schema::kind(other.0, other.1).is_some() || OTHER_KINDS.contains(&other);
        if known && scheme == SCHEME {
            let zero = json!({});
            return Ok((zero, said, Vec::new()));
        }
        let error = format!(
            "no kind {} is registered for version {} in scheme {}",
            quote::quote(&said.kind),
            quote::quote(&said.api_version),
            quote::quote(scheme),
        );
        return Err((Some(said), error));
    };
    let of_meta = said.kind == "DeleteOptions";
    if scheme == META_SCHEME && !of_meta {
        let error = format!(
            "no kind {} is registered for version {} in scheme {}",
            quote::quote(&said.kind),
            quote::quote(&said.api_version),
            quote::quote(scheme),
        );
        return Err((Some(said), error));
    }
    match typed::read(tree, id, release) {
        Ok(read) => Ok((read.json, said, read.strict)),
        Err(error) => Err((Some(said), error)),
    }
}

fn known(said: &Said) -> Option<StructId> {
    if said.kind == "DeleteOptions" {
        // Every group has them.
        return schema::kind("v1", "DeleteOptions");
    }
    schema::kind(&said.api_version, &said.kind)
}

/// `SimpleMetaFactory.Interpret`: kind and apiVersion, whose names are read without regard to case.
fn interpret<T: Tree>(tree: &T) -> Result<Said, String> {
    const GO: &str = "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \
                      \"json:\\\"kind,omitempty\\\"\" }";
    let mut said = Said::default();
    let mut error = None;
    let fields = match tree.view() {
        typed::View::Object(fields) => fields,
        typed::View::Null => return Ok(said),
        view => {
            let name = typed::value_name(&view);
            let error = format!("json: cannot unmarshal {name} into Go value of type {GO}");
            return Err(no_kind(&error));
        }
    };
    for (name, value) in fields {
        let (field, slot) = match name {
            name if name.eq_ignore_ascii_case("kind") => ("kind", &mut said.kind),
            name if name.eq_ignore_ascii_case("apiVersion") => {
                ("apiVersion", &mut said.api_version)
            }
            _ => continue,
        };
        match value.view() {
            typed::View::String(text) => *slot = text.to_owned(),
            typed::View::Null => {}
            view => {
                let name = typed::value_name(&view);
                error.get_or_insert_with(|| {
                    format!(
                        "json: cannot unmarshal {name} into Go struct field .{field} of type string"
                    )
                });
            }
        }
    }
    if let Some(error) = error {
        return Err(no_kind(&error));
    }
    match said.api_version.matches('/').count() {
        0 | 1 => {}
        _ => {
            return Err(format!(
                "unexpected GroupVersion string: {}",
                said.api_version
            ));
        }
    }
    said.api_version = said.api_version.trim_start_matches('/').to_owned();
    Ok(said)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Format {
    Json,
    Yaml,
}

/// `NegotiateInputSerializer`
fn negotiate_input_serializer(content_type: Option<&str>) -> Result<Format, Status> {
    match media_type(content_type.unwrap_or_default()).as_str() {
        "" | "application/json" => Ok(Format::Json),
        "application/yaml" => Ok(Format::Yaml),
        _ => Err(Status::of(
            Reason::UnsupportedMediaType,
            "the body of the request was in an unknown format - accepted media types include: \
             application/json, application/yaml, application/vnd.kubernetes.protobuf",
        )),
    }
}

/// A media type without its parameters.
pub(crate) fn media_type(content_type: &str) -> String {
    let kind = content_type.split(';').next().unwrap_or_default();
    kind.trim().to_ascii_lowercase()
}

/// Does the body say that nobody manages the object: by an empty list, of which a type keeps nothing?
pub fn resets_managed_fields(body: &Body) -> bool {
    const FIELDS: [&str; 2] = ["metadata", "managedFields"];
    let is_empty = |json: &Json| json::at(json, &FIELDS) == Some(&json!([]));
    match body {
        Body::Json(json) => is_empty(json),
        body if !may_name(bytes(body), FIELDS[1]) => false,
        body => yaml_to_json(bytes(body)).is_ok_and(|json| is_empty(&json)),
    }
}

/// May there be a field of this name? It stands in the text as it is, unless something is escaped or has a tag. To look for
/// it is faster than to read YAML, and hardly anybody names it.
fn may_name(text: &[u8], field: &str) -> bool {
    let has = |part: &[u8]| text.windows(part.len()).any(|of| of == part);
    has(field.as_bytes()) || has(b"\\") || has(b"!")
}

/// The options in the body of a deletion; `None` if it is empty and they are in the query.
pub fn delete_options(
    body: &Body,
    content_type: Option<&str>,
    release: Option<Version>,
) -> Result<Option<Json>, Status> {
    let empty = match body {
        Body::Empty => true,
        Body::Bytes(bytes) => bytes.is_empty(),
        Body::Json(_) => false,
    };
    if empty {
        return Ok(None);
    }
    let read = match (body, negotiate_input_serializer(content_type)?) {
        (Body::Json(json), _) => decode(&**json, "v1", "DeleteOptions", META_SCHEME, release),
        (_, Format::Json) => text::parse(bytes(body))
            .map_err(|error| (None, no_kind(&error)))
            .and_then(|node: Node| decode(&node, "v1", "DeleteOptions", META_SCHEME, release)),
        (_, Format::Yaml) => yaml_to_json(bytes(body))
            .map_err(|error| (None, error))
            .and_then(|json| decode(&json, "v1", "DeleteOptions", META_SCHEME, release)),
    };
    let (options, ..) = read.map_err(|(_, error)| Status::new_bad_request(error))?;
    Ok(Some(options))
}

/// The object as the server would write it: only what its type knows, nothing that is zero.
/// The error is what the decoder would say of it.
pub fn canonical(resource: &Resource, object: &Json) -> Result<Json, String> {
    let api_version = resource.api_version();
    let id = schema::kind_or_custom(&api_version, resource.kind)
        .ok_or_else(|| format!("no table of {}", resource.kind))?;
    let mut read = typed::read(object, id, None)?.json;
    json::set(&mut read, &["apiVersion"], api_version);
    json::set(&mut read, &["kind"], resource.kind);
    Ok(read)
}

#[cfg(test)]
mod tests;
