//! What is put into a Secret: a token, the root certificate, the namespace, and which account it is for.

use wavetank_api::decode::base64;
use wavetank_api::kinds::SECRETS;
use wavetank_api::{Method, Object, Reason, Request, Stored, json};
use wavetank_engine::Rx;

use super::super::root_ca_publisher::ROOT_CA;
use super::controller::TokensController;
use super::defects::TokensDefect;
use super::notes::{Acts, Does};
use super::token_secrets::{NAME_KEY, NAMESPACE_KEY, ROOT_CA_KEY, TOKEN, UID_KEY, data, token};

/// What a Secret lacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Needs {
    ca: bool,
    namespace: bool,
    token: bool,
}

impl Needs {
    pub(super) fn is_any(self) -> bool {
        self.ca || self.namespace || self.token
    }
}

/// Has it the root certificate?
pub(super) fn has_root_ca(secret: &json::Json) -> bool {
    data(secret, ROOT_CA_KEY) == base64::encode(ROOT_CA.as_bytes())
}

impl TokensController {
    /// `secretUpdateNeeded`
    pub(super) fn secret_update_needed(&self, secret: &json::Json) -> Needs {
        let is_filled_in = |key| !data(secret, key).is_empty();
        let has_ca = has_root_ca(secret)
            || is_filled_in(TOKEN) && self.has(TokensDefect::CertificatesAreNotMended);
        Needs {
            ca: !has_ca,
            namespace: !is_filled_in(NAMESPACE_KEY),
            token: !is_filled_in(TOKEN),
        }
    }

    /// `generateTokenIfNeeded`
    pub(super) async fn generate_token_if_needed(
        &self,
        rx: Rx,
        account: &Object,
        cached: &Stored,
    ) -> bool {
        if !self.secret_update_needed(cached.object.json()).is_any() {
            return false;
        }
        let path = SECRETS.path(cached.object.namespace(), cached.object.name());
        let live = match self
            .rest
            .object(rx, Request::new(Method::Get, &*path))
            .await
        {
            Ok(live) => live,
            Err(error) => return !error.is(Reason::NotFound),
        };
        if live.resource_version != cached.resource_version {
            // The cache is to hear of another change.
            return false;
        }
        let needs = self.secret_update_needed(live.object.json());
        if !needs.is_any() {
            return false;
        }
        let (namespace, name) = (live.object.namespace(), live.object.name());
        let mut secret = live.json();
        let mut fill = |key: &str, text: &str| {
            json::set(&mut secret, &["data", key], base64::encode(text.as_bytes()));
        };
        if needs.ca {
            fill(ROOT_CA_KEY, ROOT_CA);
        }
        if needs.namespace {
            fill(NAMESPACE_KEY, namespace);
        }
        if needs.token {
            fill(TOKEN, &token(account, name));
        }
        let annotations = ["metadata", "annotations"];
        for (key, text) in [(NAME_KEY, account.name()), (UID_KEY, account.uid())] {
            json::set(&mut secret, &[annotations[0], annotations[1], key], text);
        }
        rx.note(Acts {
            does: Does::FillsIn,
            secret: format!("{namespace}/{name}").into(),
            uid: live.object.uid().into(),
            account: account.name().into(),
        });
        let put = Request::new(Method::Put, path).with(secret);
        match self.rest.request(rx, put).await {
            Ok(_) => false,
            Err(error) if error.is(Reason::NotFound) || error.is(Reason::Conflict) => false,
            Err(_) => !self.has(TokensDefect::FailuresAreForgotten),
        }
    }
}
