//! Objects whose type is a schema: they are read as trees, and then coerced (`UnstructuredJSONScheme`,
//! `schemaCoercingDecoder`).

use super::{
    FieldValidation, Format, Refusal, Said, bytes, interpret, negotiate_input_serializer,
    strict_decoding_error, text, transform_decode_error, yaml_to_json,
};
use crate::apiextensions::CustomVersion;
use crate::http::Body;
use crate::json::{self, Json};
use crate::kinds::Resource;
use crate::patch::duplicates;
use crate::quote;
use crate::status::Status;

/// An object out of the body of a create or an update, with warnings.
pub(super) fn object(
    body: &Body,
    content_type: Option<&str>,
    resource: &Resource,
    custom: &CustomVersion,
    validation: FieldValidation,
) -> Result<(Json, Vec<String>), Status> {
    let format = negotiate_input_serializer(content_type)?;
    let refused = |refusal| transform_decode_error(refusal, resource.kind, body);
    let (json, strict) = read(body, format).map_err(refused)?;
    let (json, said, mut all) = coerced(json, body, custom).map_err(refused)?;
    all.splice(0..0, strict);
    match validation {
        FieldValidation::Ignore => all.clear(),
        FieldValidation::Strict if !all.is_empty() => {
            return Err(refused((Some(said), strict_decoding_error(&all))));
        }
        FieldValidation::Strict | FieldValidation::Warn => {}
    }
    Ok((json, all))
}

/// `AcceptsGroupVersion`: is an object that was read of the version that is served? What else is in it may be wrong too,
/// and was told.
///
/// # Errors
/// 400.
pub fn accepts_group_version(resource: &'static Resource, object: &Json) -> Result<(), Status> {
    if resource.strategy.custom().is_none() {
        return Ok(());
    }
    let (is, expected) = (json::text(object, &["apiVersion"]), resource.api_version());
    match is == expected {
        true => Ok(()),
        false => Err(Status::new_bad_request(format!(
            "the API version in the data ({is}) does not match the expected API version ({expected})"
        ))),
    }
}

/// The tree in a body, with the fields that come twice in it.
fn read(body: &Body, format: Format) -> Result<(Json, Vec<String>), Refusal> {
    let mut twice = Vec::new();
    let json = match (body, format) {
        (Body::Json(json), _) => (**json).clone(),
        (_, Format::Json) => {
            let node = text::parse(bytes(body)).map_err(|error| (None, super::no_kind(&error)))?;
            duplicates(&node, "", &mut twice);
            node.json()
        }
        (_, Format::Yaml) => yaml_to_json(bytes(body)).map_err(|error| (None, error))?,
    };
    Ok((json, twice))
}

/// The object that a tree is, with its unknown fields.
fn coerced(
    mut json: Json,
    body: &Body,
    custom: &CustomVersion,
) -> Result<(Json, Said, Vec<String>), Refusal> {
    let said = interpret(&json).map_err(|error| (None, error))?;
    let shown = || match body {
        Body::Json(json) => json.to_string(),
        body => String::from_utf8_lossy(bytes(body)).into_owned(),
    };
    if said.kind.is_empty() {
        return Err((None, format!("Object 'Kind' is missing in '{}'", shown())));
    }
    if said.api_version.is_empty() {
        return Err((
            None,
            format!("Object 'apiVersion' is missing in '{}'", shown()),
        ));
    }
    match custom.coerce_request(&mut json) {
        Ok(unknown) => Ok((json, said, told(&unknown))),
        Err(error) => Err((Some(said), error)),
    }
}

fn told(unknown: &[String]) -> Vec<String> {
    let of = |field: &String| format!("unknown field {}", quote::quote(field));
    unknown.iter().map(of).collect()
}

/// Reads what a patch has made; with its unknown fields.
///
/// # Errors
/// The decoder's.
pub(crate) fn reread(json: &Json, custom: &CustomVersion) -> Result<(Json, Vec<String>), String> {
    let mut json = json.clone();
    let unknown = custom.coerce_request(&mut json)?;
    Ok((json, told(&unknown)))
}
