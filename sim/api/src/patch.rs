//! Patches: what becomes of an object, and how a patch is refused
//! (`apiserver/pkg/endpoints/handlers/patch.go`).

mod merge;
mod operations;
mod strategic;

use std::borrow::Cow;

use crate::apiextensions::CustomVersion;
use crate::decode::text::{self, Node};
use crate::decode::typed::{self, Read};
use crate::decode::{self, FieldValidation, Reading};
use crate::http::Body;
use crate::json::{self, Json, Map};
use crate::kinds::Resource;
use crate::quote;
use crate::render;
use crate::schema::{self, StructId};
use crate::status::{Reason, Status};
use crate::validation::{Bad, ErrorList};
use operations::Operation;
use strategic::Failure;

/// `maxJSONPatchOperations`
const MAX_OPERATIONS: usize = 10_000;

/// How a patch is to be read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PatchKind {
    /// `application/json-patch+json`
    Json,
    /// `application/merge-patch+json`
    Merge,
    /// `application/strategic-merge-patch+json`
    Strategic,
    /// `application/apply-patch+yaml`: server-side apply, which [`crate::managedfields`] does where it is served.
    Apply,
}

impl PatchKind {
    /// By its content type; the error is that of the route, which serves no other.
    pub fn of(content_type: Option<&str>) -> Result<PatchKind, Status> {
        match decode::media_type(content_type.unwrap_or_default()).as_str() {
            "application/json-patch+json" => Ok(PatchKind::Json),
            "application/merge-patch+json" => Ok(PatchKind::Merge),
            "application/strategic-merge-patch+json" => Ok(PatchKind::Strategic),
            "application/apply-patch+yaml" => Ok(PatchKind::Apply),
            _ => Err(unsupported()),
        }
    }
}

/// Upstream's `NewUnsupportedMediaTypeError` of a handler that knows which patches it takes.
fn unsupported_of_custom() -> Status {
    Status::of(
        Reason::UnsupportedMediaType,
        "the body of the request was in an unknown format - accepted media types include: \
         application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
    )
}

fn unsupported() -> Status {
    let message = "415: Unsupported Media Type";
    let mut status = Status::of(Reason::UnsupportedMediaType, message);
    status.details = Some(Box::default());
    status
}

/// The kind of a patch of a resource, by its content type.
///
/// # Errors
/// 415, before anything is looked for: the resource takes no such patch.
pub fn kind_for(
    content_type: Option<&str>,
    resource: &'static Resource,
) -> Result<PatchKind, Status> {
    match PatchKind::of(content_type) {
        Err(_) | Ok(PatchKind::Strategic) if resource.strategy.custom().is_some() => {
            Err(unsupported_of_custom())
        }
        kind => kind,
    }
}

/// A document with a merge patch merged into it.
pub fn merged(document: Map, patch: Map) -> Map {
    merge::apply(document, patch)
}

/// The object that a patch makes of `current`, which carries its resourceVersion, with warnings.
/// Names, namespaces and preconditions are still to be compared.
pub fn apply(
    kind: PatchKind,
    current: &Json,
    patch: &Body,
    resource: &'static Resource,
    reading: Reading,
) -> Result<(Json, Vec<String>), Status> {
    let custom = resource.strategy.custom();
    // The server knows no keys by which lists of a custom kind could be merged.
    if kind == PatchKind::Strategic && resource.is_custom() {
        return Err(unsupported());
    }
    let api_version = resource.api_version();
    let (mut json, warnings) = apply_to(
        kind,
        current,
        patch,
        (&api_version, resource.kind, custom),
        reading,
    )?;
    decode::default(resource, &mut json, reading.release);
    Ok((json, warnings))
}

/// The configuration in the body of a server-side apply: a tree, of no type yet.
///
/// # Errors
/// 400 if it is no object.
pub fn apply_configuration(body: &Body) -> Result<Json, Status> {
    let read = match body {
        Body::Json(json) => Ok((**json).clone()),
        Body::Bytes(bytes) => decode::yaml_to_json(bytes),
        Body::Empty => Ok(Json::Null),
    };
    let wrong = |why: String| Status::new_bad_request(format!("error decoding YAML: {why}"));
    match read.map_err(wrong)? {
        Json::Null => Ok(Json::Object(Map::new())),
        json if json.is_object() => Ok(json),
        json => {
            let found = typed::value_name(&typed::Tree::view(&json));
            Err(wrong(format!(
                "json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
            )))
        }
    }
}

/// The same for the object of a subresource, a Scale.
pub fn apply_to_target(
    kind: PatchKind,
    current: &Json,
    patch: &Body,
    target: decode::Target,
    reading: Reading,
) -> Result<(Json, Vec<String>), Status> {
    let decode::Target {
        api_version,
        kind: of,
    } = target;
    apply_to(kind, current, patch, (api_version, of, None), reading)
}

fn apply_to(
    kind: PatchKind,
    current: &Json,
    patch: &Body,
    (api_version, of, custom): (&str, &str, Option<&CustomVersion>),
    reading: Reading,
) -> Result<(Json, Vec<String>), Status> {
    let id = schema::kind_or_custom(api_version, of)
        .ok_or_else(|| Status::untyped(format!("no table of {api_version} {of}")))?;
    let text: Cow<'_, [u8]> = match patch {
        Body::Empty => Cow::Borrowed(&[]),
        Body::Bytes(bytes) => Cow::Borrowed(bytes),
        // A tree needs no reading, but only text knows of syntax.
        Body::Json(json) => Cow::Owned(json.to_string().into_bytes()),
    };
    let request = Patch {
        text: &text,
        api_version,
        kind: of,
        id,
        custom,
        reading,
    };
    match kind {
        PatchKind::Json => request.operations(current),
        PatchKind::Merge => request.merge(current),
        PatchKind::Strategic => request.strategic(current),
        PatchKind::Apply => Err(Status::untyped("server-side apply is not served")),
    }
}

struct Patch<'a> {
    text: &'a [u8],
    api_version: &'a str,
    kind: &'a str,
    id: StructId,
    /// Its rules, if a definition has made the kind.
    custom: Option<&'a CustomVersion>,
    reading: Reading,
}

fn undecodable(error: &str) -> Status {
    Status::new_bad_request(format!("error decoding patch: {error}"))
}

/// What Go's errors call a value.
fn value_name(node: &Node) -> &'static str {
    match node {
        Node::Null => "null",
        Node::Bool(_) => "bool",
        Node::Number(_) => "number",
        Node::String(_) => "string",
        Node::Array(_) => "array",
        Node::Object(_) => "object",
    }
}

fn cannot_unmarshal(node: &Node, go: &str) -> String {
    let name = value_name(node);
    format!("json: cannot unmarshal {name} into Go value of type {go}")
}

/// `NewGenericServerResponse` of 422: it tells nobody why.
fn unprocessable() -> Status {
    let message = "the server rejected our request due to an error in our request";
    let mut status = Status::of(Reason::Invalid, message);
    status.details = Some(Box::default());
    status
}

/// What a patch came to that does not fit its kind.
fn invalid(patch: impl Into<Bad>, error: String) -> Status {
    let mut errors = ErrorList::default();
    errors.invalid("patch", patch, error);
    Status::new_invalid("", "", "", &errors)
}

impl Patch<'_> {
    fn ignores(&self) -> bool {
        self.reading.validation == FieldValidation::Ignore
    }

    fn operations(&self, current: &Json) -> Result<(Json, Vec<String>), Status> {
        let node = text::parse(self.text).map_err(|error| match self.ignores() {
            true => Status::new_bad_request(error),
            false => undecodable(&error),
        })?;
        let list = match &node {
            Node::Array(items) => items.as_slice(),
            Node::Null => &[],
            node if self.ignores() => {
                return Err(Status::new_bad_request(cannot_unmarshal(
                    node,
                    "jsonpatch.Patch",
                )));
            }
            node => {
                let error = cannot_unmarshal(node, "[]handlers.jsonPatchOp");
                return Err(undecodable(&error));
            }
        };
        let mut strict = Vec::new();
        let mut operations = Vec::new();
        for (at, node) in list.iter().enumerate() {
            operations.push(self.operation(node, at, &mut strict)?);
        }
        let strict: Vec<String> = strict.iter().map(|e| format!("json patch {e}")).collect();
        if operations.len() > MAX_OPERATIONS {
            let count = operations.len();
            return Err(Status::of(
                Reason::RequestEntityTooLarge,
                format!(
                    "Request entity is too large: The allowed maximum operations in a JSON patch is \
                     {MAX_OPERATIONS}, got {count}"
                ),
            ));
        }
        let (json, touched) =
            operations::apply(current.clone(), &operations).map_err(|_| unprocessable())?;
        self.decode(json, &touched, strict)
    }

    fn operation(
        &self,
        node: &Node,
        at: usize,
        strict: &mut Vec<String>,
    ) -> Result<Operation, Status> {
        let fields = match node {
            Node::Object(fields) => fields.as_slice(),
            Node::Null => &[],
            node if self.ignores() => {
                let error = cannot_unmarshal(node, "jsonpatch.Operation");
                return Err(Status::new_bad_request(error));
            }
            node => return Err(undecodable(&cannot_unmarshal(node, "handlers.jsonPatchOp"))),
        };
        let mut operation = Operation::default();
        let mut given: Vec<&str> = Vec::new();
        for (name, value) in fields {
            let path = |name: &str| quote::quote(&format!("[{at}].{name}"));
            let known = matches!(name.as_str(), "op" | "path" | "from" | "value");
            if !known {
                strict.push(format!("unknown field {}", path(name)));
                continue;
            }
            if given.contains(&name.as_str()) {
                strict.push(format!("duplicate field {}", path(name)));
            }
            given.push(name);
            if name == "value" {
                operation.value = Some(value.json());
                duplicates(value, &format!("[{at}].value"), strict);
                continue;
            }
            let text = match value {
                Node::String(text) => Some(text.clone()),
                Node::Null => None,
                _ if self.ignores() => None,
                value => {
                    let found = value_name(value);
                    let error = format!(
                        "json: cannot unmarshal {found} into Go struct field jsonPatchOp.{name} of \
                         type string"
                    );
                    return Err(undecodable(&error));
                }
            };
            match name.as_str() {
                "op" => operation.op = text,
                "path" => operation.path = text,
                _ => operation.from = text,
            }
        }
        Ok(operation)
    }

    fn merge(&self, current: &Json) -> Result<(Json, Vec<String>), Status> {
        let bad = || Status::new_bad_request("Invalid JSON Patch");
        let node = text::parse(self.text).map_err(|error| match self.ignores() {
            true => bad(),
            false => undecodable(&error),
        })?;
        let (patch, strict) = self.map(&node).map_err(|error| match self.ignores() {
            true => bad(),
            false => undecodable(&error),
        })?;
        if node == Node::Null {
            return Err(bad());
        }
        let touched = Json::Object(patch.clone());
        let document = current.as_object().cloned().unwrap_or_default();
        let merged = Json::Object(merge::apply(document, patch));
        self.decode(merged, &touched, strict)
    }

    /// A patch as a map, with the fields that come twice in it.
    fn map(&self, node: &Node) -> Result<(Map, Vec<String>), String> {
        let mut strict = Vec::new();
        if !self.ignores() {
            duplicates(node, "", &mut strict);
        }
        match node.json() {
            Json::Object(map) => Ok((map, strict)),
            Json::Null => Ok((Map::new(), strict)),
            _ => Err(cannot_unmarshal(node, "map[string]interface {}")),
        }
    }

    /// Reads what a patch came to, as if a client had sent it.
    fn decode(
        &self,
        json: Json,
        touched: &Json,
        strict: Vec<String>,
    ) -> Result<(Json, Vec<String>), Status> {
        let shown = || match self.custom {
            // It is a map all through.
            Some(_) => render::sorted(&json),
            None => render::patched(&json, self.id, touched),
        };
        let read = match self.custom {
            Some(custom) => decode::custom::reread(&json, custom),
            None => decode::reread(&json, self.api_version, self.kind, self.reading.release),
        };
        let (read, unknown) = read.map_err(|error| invalid(shown(), error))?;
        let mut all = strict;
        all.extend(unknown);
        match self.reading.validation {
            FieldValidation::Ignore => Ok((read, Vec::new())),
            FieldValidation::Strict if !all.is_empty() => {
                Err(invalid(shown(), decode::strict_decoding_error(&all)))
            }
            _ => Ok((read, all)),
        }
    }

    fn strategic(&self, current: &Json) -> Result<(Json, Vec<String>), Status> {
        let node = text::parse(self.text).map_err(Status::new_bad_request)?;
        let (patch, strict) = self.map(&node).map_err(Status::new_bad_request)?;
        let shown = quote::go_plain(&Json::Object(patch.clone()));
        let document = current.as_object().cloned().unwrap_or_default();
        let merged =
            strategic::apply(document, patch, self.id).map_err(|failure| match failure {
                Failure::BadRequest(text) => Status::new_bad_request(text),
                Failure::Unprocessable => unprocessable(),
                Failure::Untyped(text) => Status::untyped(text),
            })?;
        let merged = Json::Object(merged);
        let Read {
            mut json,
            strict: unknown,
        } = typed::convert(&merged, self.id, self.reading.release)
            .map_err(|error| invalid(shown.as_str(), error))?;
        json::set(&mut json, &["apiVersion"], self.api_version);
        json::set(&mut json, &["kind"], self.kind);
        let mut all = strict;
        all.extend(unknown);
        match self.reading.validation {
            FieldValidation::Ignore => Ok((json, Vec::new())),
            FieldValidation::Strict if !all.is_empty() => {
                Err(invalid(shown, decode::strict_decoding_error(&all)))
            }
            _ => Ok((json, all)),
        }
    }
}

/// Fields that come twice, wherever they are.
pub(crate) fn duplicates(node: &Node, path: &str, out: &mut Vec<String>) {
    match node {
        Node::Object(fields) => {
            let mut given: Vec<&str> = Vec::new();
            for (name, value) in fields {
                let path = match path {
                    "" => name.clone(),
                    path => format!("{path}.{name}"),
                };
                if given.contains(&name.as_str()) {
                    let error = format!("duplicate field {}", quote::quote(&path));
                    if !out.contains(&error) {
                        out.push(error);
                    }
                }
                given.push(name);
                duplicates(value, &path, out);
            }
        }
        Node::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                duplicates(item, &format!("{path}[{at}]"), out);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
