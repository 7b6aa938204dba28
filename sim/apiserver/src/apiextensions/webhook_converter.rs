//! Conversion by a webhook (`pkg/apiserver/conversion/webhook_converter.go`, v1.36.2): each object that is read or written in
//! another version than it has is sent to a process, which answers with what it makes of it. That takes as long as it takes, and
//! may fail: then nothing of that kind can be read. What is asked and what an answer must be is in `wavetank_api::apiextensions`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::defects::{CustomDefect, DEFECTS};
use wavetank_api::apiextensions::{Asked, CustomVersion};
use wavetank_api::json::Json;
use wavetank_engine::{Cell, Keepalive, Name, Payload, ProcId, Rx, Transport};

/// `setGlobalDefaults` of `webhook/authentication.go`: how long a webhook may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// HTTP/1.1 (`hookClientConfig`). Who gives a request up closes its connection there, which is told so: a connection from
/// which nothing comes while it is asked is given up just before the request is.
static WEBHOOK: Transport = Transport {
    name: Name::new("webhook"),
    dial_timeout: TIMEOUT,
    keepalive: Some(Keepalive {
        after: Duration::from_secs(15),
        limit: Duration::from_secs(14),
        idle: false,
    }),
    window: None,
};

/// The processes that are webhooks, by the hosts of their URLs, for who is not told the server's configuration.
pub(super) static HOSTS: Cell<Arc<BTreeMap<Arc<str>, ProcId>>> = Cell::new("crd-webhooks");
/// How many were asked in this life of the server.
static ASKED: Cell<u64> = Cell::new("crd-webhooks-asked");

/// What a webhook is sent: a ConversionReview with a request. The answer is one with a response.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ConversionReview(pub wavetank_api::Object);

impl ConversionReview {
    /// Of a tree.
    pub fn new(review: Json) -> ConversionReview {
        ConversionReview(wavetank_api::Object::new(review))
    }
}

/// Upstream's `Convert`, of one object that is of another version.
///
/// # Errors
/// As the server words them.
pub(crate) async fn convert(
    rx: Rx,
    custom: &'static CustomVersion,
    asked: &Asked,
) -> Result<Json, String> {
    let webhook = custom
        .webhook()
        .ok_or_else(|| asked.failed("there is none"))?;
    let number = rx.update(&ASKED, |number| {
        *number += 1;
        *number
    });
    let review = asked.review(&webhook.review_versions, &format!("conversion-{number}"))?;
    let Some(host) = webhook.host.as_deref() else {
        return Err(asked.failed("it has no URL"));
    };
    let post = |why: &str| asked.failed(&format!("Post \"https://{host}\": {why}"));
    let Some(to) = rx.look(&HOSTS, |all| all.get(host).copied()) else {
        return Err(post(&format!("dial tcp: lookup {host}: no such host")));
    };
    let sent = ConversionReview::new(review.clone());
    let call = rx.call(&WEBHOOK, to, Payload::new(sent));
    match rx.timeout(TIMEOUT, call).await {
        Some(Ok(answer)) => {
            let answer = &answer.expect::<ConversionReview>().0;
            let believes = || {
                let defects = rx.read(&DEFECTS);
                defects.has(CustomDefect::WebhookChangesMetadata)
            };
            asked.converted(&review, answer.json(), believes)
        }
        Some(Err(error)) => Err(post(&error.to_string())),
        None => Err(post("context deadline exceeded")),
    }
}
