//! Requests and answers of the world, as bytes.

use std::io::Read as _;
use std::str::FromStr as _;

use tiny_http::{Header, StatusCode};
use wavetank_api::http;
use wavetank_api::{Body, Content, Json, Method, Query, Request, Response, Status, json};

/// A body is not larger (`MaxRequestBodyBytes` upstream).
const LARGEST: u64 = 3 << 20;

/// Does a request name this machine as its host? A page of another origin whose name leads here does not.
pub(super) fn is_local(request: &tiny_http::Request) -> bool {
    let mut all = request.headers().iter();
    let host = all.find(|own| own.field.equiv("Host"));
    host.is_some_and(|host| is_loopback(host.value.as_str()))
}

fn is_loopback(host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    matches!(name, "127.0.0.1" | "localhost")
}

/// A request as the world has it.
pub(super) fn request(from: &mut tiny_http::Request) -> Result<Request, Status> {
    let method = match from.method() {
        tiny_http::Method::Get => Method::Get,
        tiny_http::Method::Head => Method::Head,
        tiny_http::Method::Post => Method::Post,
        tiny_http::Method::Put => Method::Put,
        tiny_http::Method::Patch => Method::Patch,
        tiny_http::Method::Delete => Method::Delete,
        tiny_http::Method::Options => Method::Options,
        other => {
            let message = format!("{other} is no method that a kube-apiserver knows");
            return Err(Status::new_bad_request(message));
        }
    };
    let header = |name: &'static str| {
        let mut all = from.headers().iter();
        let found = all.find(|own| own.field.equiv(name));
        found.map(|own| own.value.as_str().into())
    };
    let url = from.url().to_owned();
    let (path, query) = url.split_once('?').unwrap_or((&url, ""));
    let mut request = Request {
        query: Query::parse(query),
        content_type: header("Content-Type"),
        accept: header("Accept"),
        user_agent: header("User-Agent").unwrap_or_default(),
        if_none_match: http::Header(header("If-None-Match")),
        ..Request::new(method, path)
    };
    let mut bytes = Vec::new();
    let read = from.as_reader().take(LARGEST + 1).read_to_end(&mut bytes);
    read.map_err(|error| Status::new_bad_request(format!("the body cannot be read: {error}")))?;
    if bytes.len() as u64 > LARGEST {
        return Err(Status::new_bad_request(format!(
            "the body has more than {LARGEST} bytes"
        )));
    }
    if !bytes.is_empty() {
        request.body = Body::Bytes(bytes.into());
    }
    Ok(request)
}

/// `Content-Type` of an answer: lists of discovery say which they are, or client-go takes them for the old ones.
fn content_type(response: &Response, body: &Json) -> String {
    let kind = json::text(body, &["kind"]);
    let version = json::text(body, &["apiVersion"]);
    match (kind, version.split_once('/')) {
        ("APIGroupDiscoveryList", Some((group, version))) => {
            format!("application/json;g={group};v={version};as={kind}")
        }
        _ => response.content_type().to_owned(),
    }
}

/// Sends an answer. Whoever has gone does not miss it.
pub(super) fn respond(to: tiny_http::Request, response: &Response) {
    let json = response.json();
    let text = match &response.content {
        Content::Text(text) | Content::Yaml(text) => text.to_string(),
        _ => format!("{json}\n"),
    };
    let mut answer = tiny_http::Response::from_data(text.into_bytes())
        .with_status_code(StatusCode(response.code))
        .with_header(header("Cache-Control", "no-cache, private"));
    // Who keeps what is not modified takes over what is said of it.
    if response.code != 304 {
        answer.add_header(header("Content-Type", &content_type(response, &json)));
    }
    for warning in &response.warnings {
        answer.add_header(header("Warning", warning));
    }
    if let Some(seconds) = response.retry_after {
        answer.add_header(header("Retry-After", &seconds.to_string()));
    }
    if let Some(tag) = &response.e_tag.0 {
        answer.add_header(header("ETag", tag));
    }
    if let Some(location) = &response.location.0 {
        answer.add_header(header("Location", location));
    }
    let _ = to.respond(answer);
}

/// A header; what cannot stand in one is left out.
pub(super) fn header(name: &str, value: &str) -> Header {
    let plain: String = value.chars().filter(|c| (' '..='~').contains(c)).collect();
    Header::from_str(&format!("{name}: {plain}")).expect("printable ASCII")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nobody_else_is_this_machine() {
        assert!(is_loopback("127.0.0.1:8001") && is_loopback("localhost"));
        assert!(!is_loopback("wavetank.example:8001") && !is_loopback("127.0.0.1.example"));
    }

    #[test]
    fn discovery_says_what_it_is() {
        let of = |body: Json| {
            let response = Response::of(200, Content::Tree(body.clone().into()));
            content_type(&response, &body)
        };
        let list = json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2"});
        let expected = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        assert_eq!(of(list), expected);
        assert_eq!(
            of(json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1"})),
            "application/json"
        );
        assert_eq!(header("Warning", "a\r\nb: ä!").value.as_str(), "ab: !");
    }
}
