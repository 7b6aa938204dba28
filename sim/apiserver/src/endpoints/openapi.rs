//! OpenAPI documents (`kube-openapi/pkg/handler3/handler.go`, `kube-aggregator/pkg/controllers/openapiv3`): an index that
//! names each with its hash, and one for each group version. They are made of what the server serves at this moment.

use std::sync::Arc;

use wavetank_api::discovery::Group;
use wavetank_api::openapi::{Documents, construct_server_relative_url, documents, index};
use wavetank_api::{Header, Object, Reason, Request, Response, Status};
use wavetank_engine::Rx;

use crate::apiextensions;
use crate::endpoints::discovery::serve_http_with_e_tag;
use crate::endpoints::forms::parse_accept;
use crate::gates;
use crate::server::Config;

/// Upstream's server writes OpenAPI v2 in protobuf for those who ask in that. Here nothing is written in it.
pub(super) fn v2_is_not_served() -> Status {
    let message = "OpenAPI v2 is not served here; /openapi/v3 is, by servers that have it";
    Status::of(Reason::NotFound, message)
}

/// `HandleDiscovery`
///
/// # Errors
/// 404 of a server that is too old.
pub(super) fn handle_discovery(
    rx: Rx,
    config: &Config,
    request: &Request,
    groups: &[Group],
) -> Result<Response, Status> {
    let Some(documents) = served(rx, config, groups) else {
        return Ok(not_found());
    };
    let document = index(&documents);
    let tag = wavetank_api::discovery::e_tag(&document);
    Ok(serve_http_with_e_tag(request, Arc::new(document), &tag))
}

/// `HandleGroupVersion`, of `apis/GROUP/VERSION` or `api/v1`. Who asks for another state of the document than the one
/// that there is is led to this one.
///
/// # Errors
/// 406 for those who take it in protobuf only.
pub(super) fn handle_group_version(
    rx: Rx,
    config: &Config,
    request: &Request,
    groups: &[Group],
    of: &str,
) -> Result<Response, Status> {
    let documents = served(rx, config, groups).unwrap_or_default();
    let Some(document) = documents.get(of) else {
        return Ok(not_found());
    };
    if !accepts_json(request.accept.as_deref().unwrap_or_default()) {
        let message = "OpenAPI documents are written as application/json here, and as nothing else";
        return Err(Status::of(Reason::NotAcceptable, message));
    }
    let tag = format!("\"{}\"", document.hash);
    let asked = request.query.get("hash").filter(|asked| !asked.is_empty());
    if asked.is_some_and(|asked| asked != document.hash) {
        let mut moved = Response::text(301, "");
        moved.e_tag = Header(Some(tag.into()));
        moved.location = Header(Some(
            construct_server_relative_url(of, &document.hash).into(),
        ));
        return Ok(moved);
    }
    Ok(serve_http_with_e_tag(request, document.body.clone(), &tag))
}

/// The documents of what is served; `None` of a server that has none yet.
fn served(rx: Rx, config: &Config, groups: &[Group]) -> Option<Documents> {
    if !config.release.has(gates::OPENAPI_V3) {
        return None;
    }
    let definitions = match config.serves_custom_resources() {
        Some(_) => apiextensions::definitions(config).list(rx),
        None => Vec::new(),
    };
    let definitions = definitions.iter().map(|own| &own.object);
    Some(documents(groups, definitions.map(Object::json)))
}

fn accepts_json(accept: &str) -> bool {
    let takes = |(kind, sub): (&str, &str)| {
        matches!(kind, "application" | "*") && matches!(sub, "json" | "*")
    };
    accept.is_empty()
        || parse_accept(accept)
            .iter()
            .any(|clause| takes(clause.media()))
}

fn not_found() -> Response {
    Response::text(404, "404 page not found\n")
}
