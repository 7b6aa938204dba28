//! An account refers to Secrets that pods may use. One with a token that is gone is taken out of these.

use std::time::Duration;

use wavetank_api::kinds::SERVICE_ACCOUNTS;
use wavetank_api::{Method, Reason, Request, json};
use wavetank_client::Failure;
use wavetank_client::wait::{Steps, retry_on_conflict};
use wavetank_engine::Rx;

use super::controller::TokensController;
use super::defects::TokensDefect;
use super::keys::SecretKey;
use super::notes::{Acts, Does};
use super::token_secrets::get_secret_references;

/// `RemoveTokenBackoff`
const REMOVE_TOKEN_BACKOFF: Steps = Steps {
    steps: 10,
    duration: Duration::from_millis(100),
    factor: 1,
    jitter: 1000,
};

impl TokensController {
    /// What `syncSecret` does about a Secret that the cache does not show. What fails is not tried again, and an account that the
    /// cache does not show is passed over.
    pub(super) async fn secret_is_gone(&self, rx: Rx, key: &SecretKey) -> bool {
        let (namespace, name, uid) = (&*key.namespace, &*key.account, &*key.account_uid);
        let cached = self.cached_account(rx, namespace, name, uid);
        if cached.is_none() && !self.has(TokensDefect::FixReferences) {
            return false;
        }
        let stays = |error: &Failure| {
            error.is(Reason::Conflict) && self.has(TokensDefect::ConflictingReferencesStay)
        };
        let is_conflict = |error: &Failure| error.is(Reason::Conflict) && !stays(error);
        let removed = retry_on_conflict(rx, REMOVE_TOKEN_BACKOFF, is_conflict, || {
            self.remove_secret_reference(rx, key)
        });
        // The mistake comes before the fix, or that would hide it.
        let failed = removed.await.is_err_and(|error| !stays(&error));
        failed && self.has(TokensDefect::FixReferences)
    }

    /// `removeSecretReference`
    async fn remove_secret_reference(&self, rx: Rx, key: &SecretKey) -> Result<(), Failure> {
        let path = SERVICE_ACCOUNTS.path(&key.namespace, &key.account);
        let found = match self
            .rest
            .object(rx, Request::new(Method::Get, &*path))
            .await
        {
            Err(error) if error.is(Reason::NotFound) => return Ok(()),
            found => found?,
        };
        if !key.account_uid.is_empty() && key.account_uid != found.object.uid() {
            return Ok(());
        }
        if !get_secret_references(found.object.json()).contains(&&*key.name) {
            return Ok(());
        }
        let mut account = found.json();
        if let Some(secrets) = account["secrets"].as_array_mut() {
            secrets.retain(|own| json::text(own, &["name"]) != key.name);
        }
        rx.note(Acts {
            does: Does::Unrefers,
            secret: format!("{}/{}", key.namespace, key.name).into(),
            uid: key.uid.as_str().into(),
            account: key.account.as_str().into(),
        });
        let put = Request::new(Method::Put, path).with(account);
        match self.rest.request(rx, put).await {
            Err(error) if error.is(Reason::NotFound) => Ok(()),
            written => written.map(drop),
        }
    }
}
