//! Reviews (`kubernetes/pkg/registry/authorization`, `authentication`): what is posted is answered at once.

use std::sync::Arc;

use wavetank_api::decode::{self, protobuf};
use wavetank_api::options::WriteOptions;
use wavetank_api::reviews::Review;
use wavetank_api::{Content, Method, Request, Response, Stamp, Status};
use wavetank_engine::Rx;

use crate::registry::{Warnings, warn};
use crate::server::Config;

/// POST.
///
/// # Errors
/// A Status.
pub(super) fn create(
    rx: Rx,
    config: &Config,
    review: Review,
    namespace: &str,
    request: &Request,
) -> Result<Response, Status> {
    if request.method != Method::Post {
        return Err(Status::method_not_allowed());
    }
    let written = protobuf::as_json(request)?;
    let request = written.as_ref().unwrap_or(request);
    let options = WriteOptions::of_create(&request.query, config.release)?;
    let content_type = request.content_type.as_deref();
    let body = &request.body;
    let (asked, unknown) = decode::target(body, content_type, review.target, options.reading)?;
    let answer = review.create(asked, namespace, Stamp::of(rx.clock()))?;
    let mut response = Response::of(201, Content::Tree(Arc::new(answer)));
    let mut warnings = Warnings::new();
    warn(&mut warnings, unknown);
    response.warnings = warnings;
    Ok(response)
}
