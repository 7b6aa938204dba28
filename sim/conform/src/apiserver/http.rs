//! HTTP to real servers: requests as recordings hold them, their answers, and streams that are read line by line.

use std::io::{BufRead as _, BufReader};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use serde_json::{Value as Json, json};
use ureq::config::AutoHeaderValue;
use ureq::http::{HeaderMap, Request, Response, header};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body, Error};

/// The longest that an answer may take: past a server's own limit.
const LONGEST: Duration = Duration::from_secs(90);

/// A server, and how it is spoken to.
pub(crate) struct Http {
    agent: Agent,
    base: String,
    token: Option<String>,
}

/// The longest that a stream is read: whoever reads lines reads on when nobody waits for them any more.
const STREAM: Duration = Duration::from_secs(180);

/// Lines that come one after another, read by a thread of their own.
pub(crate) struct Lines(Receiver<String>);

/// What reading a line came to.
pub(crate) enum Line {
    /// There was one.
    Text(String),
    /// The server has ended the stream.
    End,
    /// None came for as long as one waits.
    Quiet,
}

impl Http {
    /// Without encryption.
    pub fn plain(base: &str) -> Http {
        Http::with(base, TlsConfig::builder().build(), None)
    }

    /// To a server whose certificate, or that of its authority, is in this text, as a bearer of this token.
    pub fn trusting(base: &str, pem: &[u8], token: &str) -> Result<Http, String> {
        let mut trusted = Vec::new();
        for item in parse_pem(pem) {
            if let PemItem::Certificate(certificate) = item.map_err(|error| error.to_string())? {
                trusted.push(certificate);
            }
        }
        let tls = TlsConfig::builder().root_certs(RootCerts::new_with_certs(&trusted));
        Ok(Http::with(base, tls.build(), Some(token.to_owned())))
    }

    fn with(base: &str, tls: TlsConfig, token: Option<String>) -> Http {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .allow_non_standard_methods(true)
            .user_agent(AutoHeaderValue::None)
            .accept(AutoHeaderValue::None)
            .accept_encoding(AutoHeaderValue::None)
            .proxy(None)
            .timeout_connect(Some(Duration::from_secs(10)))
            .tls_config(tls);
        Http {
            agent: config.build().new_agent(),
            base: base.to_owned(),
            token,
        }
    }

    /// Sends a request as a recording holds it. The answer is as a recording has it, too: `code`, `body`, and `warnings`,
    /// `retryAfter` and `headers` where there are some.
    pub fn send(&self, request: &Json) -> Result<Json, String> {
        answer(self.run(request, None)?)
    }

    /// Sends a request whose answer is read line by line, once there are headers; the answer if it is none of that kind.
    /// `longest` is how long it is read, if not for a few minutes.
    pub fn open(
        &self,
        request: &Json,
        longest: Option<Duration>,
    ) -> Result<Result<Lines, Json>, String> {
        let response = self.run(request, Some(longest.unwrap_or(STREAM)))?;
        if response.status() != 200 {
            return answer(response).map(Err);
        }
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            let mut reader = BufReader::new(response.into_body().into_reader());
            let mut text = String::new();
            // What the server breaks off when it is killed ends, too.
            while reader.read_line(&mut text).is_ok_and(|read| read > 0) {
                if sender.send(std::mem::take(&mut text)).is_err() {
                    return;
                }
            }
        });
        Ok(Ok(Lines(lines)))
    }

    fn run(&self, request: &Json, stream: Option<Duration>) -> Result<Response<Body>, String> {
        let text = |field: &str| request[field].as_str();
        let path = text("path").unwrap_or_default();
        let url = format!("{}{path}{}", self.base, query(&request["query"]));
        let mut builder = Request::builder()
            .method(text("method").unwrap_or("GET"))
            .uri(&url);
        if request["headers"]["Accept"].is_null() {
            builder = builder.header(header::ACCEPT, "application/json");
        }
        if let Some(token) = &self.token {
            builder = builder.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        if let Some(kind) = text("contentType") {
            builder = builder.header(header::CONTENT_TYPE, kind);
        }
        for (name, value) in request["headers"].as_object().into_iter().flatten() {
            builder = builder.header(name, value.as_str().unwrap_or_default());
        }
        let bytes = match &request["body"] {
            Json::Null => None,
            Json::String(text) => Some(text.clone()),
            tree => Some(tree.to_string()),
        };
        let response = match bytes {
            None => builder.body(()).map_err(Error::from).and_then(|request| {
                let request = self.agent.configure_request(request);
                let request = request.timeout_recv_response(Some(LONGEST));
                self.agent
                    .run(request.timeout_recv_body(stream.or(Some(LONGEST))).build())
            }),
            Some(bytes) => builder
                .body(bytes)
                .map_err(Error::from)
                .and_then(|request| {
                    let request = self.agent.configure_request(request);
                    let request = request.timeout_recv_response(Some(LONGEST));
                    self.agent
                        .run(request.timeout_recv_body(stream.or(Some(LONGEST))).build())
                }),
        };
        response.map_err(|error| format!("{url}: {error}"))
    }
}

/// The query of a request, escaped.
fn query(query: &Json) -> String {
    let mut text = String::new();
    for (name, value) in query.as_object().into_iter().flatten() {
        let values = match value {
            Json::Array(values) => values.as_slice(),
            value => std::slice::from_ref(value),
        };
        for value in values {
            text.push(if text.is_empty() { '?' } else { '&' });
            let value = match value {
                Json::String(text) => text.clone(),
                other => other.to_string(),
            };
            text += &format!("{}={}", escaped(name), escaped(&value));
        }
    }
    text
}

fn escaped(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}

fn answer(mut response: Response<Body>) -> Result<Json, String> {
    let body = response.body_mut().read_to_vec();
    let body = body.map_err(|error| format!("the answer breaks off: {error}"))?;
    let text = String::from_utf8_lossy(&body).into_owned();
    let mut answer = json!({
        "code": response.status().as_u16(),
        "body": serde_json::from_str(&text).unwrap_or(Json::String(text)),
    });
    let headers = response.headers();
    let kind = first(headers, "Content-Type");
    if let Some(kind) = kind.filter(|kind| kind != "application/json") {
        answer["headers"] = json!({"Content-Type": kind});
    }
    let warnings: Vec<Json> = headers
        .get_all("Warning")
        .iter()
        .filter_map(|value| Some(value.to_str().ok()?.into()))
        .collect();
    if !warnings.is_empty() {
        answer["warnings"] = warnings.into();
    }
    if let Some(seconds) = first(headers, "Retry-After") {
        answer["retryAfter"] = seconds.into();
    }
    Ok(answer)
}

fn first(headers: &HeaderMap, name: &str) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_owned())
}

impl Lines {
    /// The next line, if one comes within this time.
    pub fn next(&mut self, quiet: Duration) -> Line {
        match self.0.recv_timeout(quiet) {
            Ok(text) => Line::Text(text),
            Err(RecvTimeoutError::Timeout) => Line::Quiet,
            Err(RecvTimeoutError::Disconnected) => Line::End,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_escaped_and_lists_repeat_their_name() {
        let asked = json!({"labelSelector": "a in (b,c)", "dryRun": ["All", "x"], "limit": 2});
        assert_eq!(
            query(&asked),
            "?dryRun=All&dryRun=x&labelSelector=a%20in%20%28b%2Cc%29&limit=2"
        );
        assert_eq!(query(&Json::Null), "");
    }
}
