//! GET of an object or a collection (`endpoints/handlers/get.go`).

use wavetank_api::http::List;
use wavetank_api::{Content, Request, Response, Status};
use wavetank_engine::Rx;

use crate::door::{Api, query, registry};
use crate::server::Config;

/// GET of one object.
///
/// # Errors
/// A Status.
pub async fn get(
    rx: Rx,
    config: &Config,
    request: &Request,
    api: &Api,
) -> Result<Response, Status> {
    let asked = request.query.get("resourceVersion").unwrap_or_default();
    let at_least = query::revision(asked)?;
    let name = api.name.as_deref().unwrap_or_default();
    let stored = registry(rx, config, api, false)
        .get(rx, name, at_least)
        .await?;
    Ok(ok(Content::One(stored)))
}

/// GET of a collection.
///
/// # Errors
/// A Status.
pub async fn list(
    rx: Rx,
    config: &Config,
    request: &Request,
    api: &Api,
) -> Result<Response, Status> {
    let (options, _) = query::list_options(&request.query, api.resource, None, config.release)?;
    let listed = registry(rx, config, api, false).list(rx, &options).await?;
    Ok(ok(Content::List(List {
        of: api.resource,
        items: listed.items,
        resource_version: listed.revision,
        continues: listed.continues,
        remaining: listed.remaining,
    })))
}

fn ok(content: Content) -> Response {
    Response {
        code: 200,
        content,
        warnings: Vec::new(),
        retry_after: None,
    }
}
