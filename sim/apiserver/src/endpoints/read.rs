//! GET of an object or a collection (`endpoints/handlers/get.go`).

use wavetank_api::http::List;
use wavetank_api::{Content, Response, Status};

use crate::endpoints::{RequestContext, query};

/// GET of one object.
///
/// # Errors
/// A Status.
pub async fn get(cx: RequestContext<'_>) -> Result<Response, Status> {
    let asked = cx.request.query.get("resourceVersion").unwrap_or_default();
    let at_least = query::parse_resource_version(asked)?;
    let name = cx.name();
    let stored = cx.registry(false).get(cx.rx, name, at_least).await?;
    Ok(ok(Content::One(stored)))
}

/// GET of a collection.
///
/// # Errors
/// A Status.
pub async fn list(cx: RequestContext<'_>) -> Result<Response, Status> {
    let (options, _) =
        query::list_options(&cx.request.query, cx.api.served(), None, cx.config.release)?;
    let listed = cx.registry(false).list_predicate(cx.rx, &options).await?;
    Ok(ok(Content::List(List {
        of: cx.api.resource,
        items: listed.items,
        resource_version: listed.revision,
        continues: listed.continues,
        remaining: listed.remaining,
    })))
}

fn ok(content: Content) -> Response {
    Response::of(200, content)
}
