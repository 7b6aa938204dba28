//! Requests and answers, from kube's types to those of the simulated servers and back.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, IF_NONE_MATCH, USER_AGENT};
use http_body_util::BodyExt;
use tower::BoxError;
use wavetank_api::http::{Content, Header, Query};
use wavetank_api::{Method, Request, Response};

/// What an answer begins with.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Head {
    code: u16,
    headers: Vec<(&'static str, String)>,
}

impl Head {
    /// Of a watch that is accepted.
    pub fn of_watch() -> Head {
        let headers = vec![("content-type", "application/json".to_owned())];
        Head { code: 200, headers }
    }

    /// Of an answer.
    pub fn of(response: &Response) -> Head {
        let mut headers = vec![("content-type", response.content_type().to_owned())];
        let warnings = response.warnings.iter();
        headers.extend(warnings.map(|text| ("warning", format!("299 - \"{text}\""))));
        headers.extend(
            response
                .retry_after
                .map(|after| ("retry-after", after.to_string())),
        );
        let own = [("etag", &response.e_tag), ("location", &response.location)];
        for (name, Header(value)) in own {
            headers.extend(value.as_ref().map(|value| (name, value.to_string())));
        }
        let code = response.code;
        Head { code, headers }
    }

    /// With this body.
    pub fn response<B>(self, body: B) -> http::Response<B> {
        let headers = self.headers.iter();
        let builder = headers.fold(
            http::Response::builder().status(self.code),
            |builder, (name, value)| builder.header(*name, value),
        );
        builder
            .body(body)
            .expect("servers send headers that are some")
    }
}

/// The body of an answer.
pub(crate) fn body(response: &Response) -> Bytes {
    match &response.content {
        Content::Text(text) | Content::Yaml(text) => Bytes::copy_from_slice(text.as_bytes()),
        _ => serde_json::to_vec(&response.json())
            .expect("it is JSON")
            .into(),
    }
}

/// A request of a program.
pub(crate) async fn request<B>(request: http::Request<B>) -> io::Result<Request>
where
    B: http_body::Body,
    B::Error: Into<BoxError>,
{
    let (parts, body) = request.into_parts();
    let collected = body.collect().await;
    let bytes = collected
        .map_err(|error| io::Error::other(error.into()))?
        .to_bytes();
    let method = method(&parts.method)?;
    let text = |name: HeaderName| text(&parts.headers, name);
    Ok(Request {
        query: Query::parse(parts.uri.query().unwrap_or_default()),
        content_type: text(CONTENT_TYPE),
        accept: text(ACCEPT),
        user_agent: text(USER_AGENT).unwrap_or_else(|| "".into()),
        body: match bytes.is_empty() {
            true => wavetank_api::http::Body::Empty,
            false => wavetank_api::http::Body::Bytes(Arc::from(&bytes[..])),
        },
        if_none_match: Header(text(IF_NONE_MATCH)),
        ..Request::new(method, parts.uri.path())
    })
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<Arc<str>> {
    let value = headers.get(name)?;
    value.to_str().ok().map(Into::into)
}

fn method(method: &http::Method) -> io::Result<Method> {
    Ok(match *method {
        http::Method::GET => Method::Get,
        http::Method::HEAD => Method::Head,
        http::Method::POST => Method::Post,
        http::Method::PUT => Method::Put,
        http::Method::PATCH => Method::Patch,
        http::Method::DELETE => Method::Delete,
        http::Method::OPTIONS => Method::Options,
        ref other => return Err(io::Error::other(format!("no server knows {other}"))),
    })
}

/// Does it ask for a watch?
pub(crate) fn is_watch(request: &Request) -> bool {
    let asked = request.query.get("watch");
    request.method == Method::Get && matches!(asked, Some("" | "1" | "true" | "True" | "t" | "T"))
}
