//! One turn for an account or for a Secret: is it to be tried again?

use serde_json::json;
use wavetank_api::kinds::{SECRETS, SERVICE_ACCOUNTS};
use wavetank_api::{Content, Method, Object, Reason, Request, Stored};
use wavetank_client::Failure;
use wavetank_client::workqueue::Item;
use wavetank_engine::Rx;

use super::controller::TokensController;
use super::defects::TokensDefect;
use super::keys::{AccountKey, SecretKey, parse_secret_queue_key, parse_service_account_key};
use super::notes::{Acts, Deleted, Does};
use super::token_secrets::is_service_account_token;

/// The UID has to be this one, if one is given.
fn fits(uid: &str, object: &Object) -> bool {
    uid.is_empty() || uid == object.uid()
}

impl TokensController {
    /// `syncServiceAccount`
    pub(super) async fn sync_service_account(&self, rx: Rx, key: &Item) -> bool {
        let Some(key) = parse_service_account_key(key) else {
            return false;
        };
        let (namespace, name) = (&*key.namespace, &*key.name);
        let cached = self.cached_account(rx, namespace, name, &key.uid);
        if cached.is_some() || self.has(TokensDefect::AccountsKeepTokens) {
            return false;
        }
        self.delete_tokens(rx, &key).await
    }

    /// `syncSecret`
    pub(super) async fn sync_secret(&self, rx: Rx, key: &Item) -> bool {
        let Some(key) = parse_secret_queue_key(key) else {
            return false;
        };
        let Some(secret) = self.get_secret(rx, &key) else {
            return self.secret_is_gone(rx, &key).await;
        };
        match self.account_of(rx, &key, &secret).await {
            Err(_) => true,
            Ok(None) => {
                self.delete_token(rx, &secret.object, &key.account, &key.uid)
                    .await
            }
            Ok(Some(account)) => {
                let retry = self.generate_token_if_needed(rx, &account, &secret).await;
                if !self.is_cached(rx, &account) && self.has(TokensDefect::FixUnseenAccounts) {
                    self.look_again(rx, &secret.object);
                }
                retry
            }
        }
    }

    /// Does the cache show this very account?
    fn is_cached(&self, rx: Rx, account: &Object) -> bool {
        let (namespace, name) = (account.namespace(), account.name());
        self.cached_account(rx, namespace, name, account.uid())
            .is_some()
    }

    /// The account of a Secret that is there. With the fix nothing is written for an account that only the cache shows.
    async fn account_of(
        &self,
        rx: Rx,
        key: &SecretKey,
        secret: &Stored,
    ) -> Result<Option<Object>, Failure> {
        let (namespace, name) = (&*key.namespace, &*key.account);
        let is_written = self.secret_update_needed(secret.object.json()).is_any();
        if is_written && self.has(TokensDefect::FixLivingAccounts) {
            return self
                .live_account(rx, namespace, name, &key.account_uid)
                .await;
        }
        self.get_service_account(rx, namespace, name, &key.account_uid)
            .await
    }

    /// `deleteTokens`
    async fn delete_tokens(&self, rx: Rx, account: &AccountKey) -> bool {
        let mut retry = false;
        for token in self.list_token_secrets(rx, account) {
            let uid = token.object.uid();
            retry |= self
                .delete_token(rx, &token.object, &account.name, uid)
                .await;
        }
        retry
    }

    /// `deleteToken`
    async fn delete_token(&self, rx: Rx, secret: &Object, account: &str, uid: &str) -> bool {
        let (namespace, name) = (secret.namespace(), secret.name());
        rx.note(Acts {
            does: Does::Deletes,
            secret: format!("{namespace}/{name}").into(),
            uid: uid.into(),
            account: account.into(),
        });
        let mut delete = Request::new(Method::Delete, SECRETS.path(namespace, name));
        if !self.has(TokensDefect::DeletesByName) {
            delete = delete.with(json!({
                "kind": "DeleteOptions",
                "apiVersion": "v1",
                "preconditions": {"uid": uid},
            }));
        }
        match self.rest.request(rx, delete).await {
            Ok(answer) => {
                if let Content::Status(status) = &answer.content
                    && let Some(details) = &status.details
                {
                    rx.note(Deleted {
                        secret: name.into(),
                        meant: uid.into(),
                        gone: details.uid.as_str().into(),
                    });
                }
                false
            }
            Err(error) if error.is(Reason::NotFound) || error.is(Reason::Conflict) => false,
            Err(_) => true,
        }
    }

    /// `getServiceAccount` with a live look (`fetchOnCacheMiss`)
    async fn get_service_account(
        &self,
        rx: Rx,
        namespace: &str,
        name: &str,
        uid: &str,
    ) -> Result<Option<Object>, Failure> {
        let cached = self.cached_account(rx, namespace, name, uid);
        if cached.is_some() || self.has(TokensDefect::TrustsCachedAccounts) {
            return Ok(cached);
        }
        self.live_account(rx, namespace, name, uid).await
    }

    /// The same without one.
    pub(super) fn cached_account(
        &self,
        rx: Rx,
        namespace: &str,
        name: &str,
        uid: &str,
    ) -> Option<Object> {
        let found = self
            .service_accounts
            .get(rx, &format!("{namespace}/{name}"));
        found.map(|own| own.object).filter(|own| fits(uid, own))
    }

    pub(super) async fn live_account(
        &self,
        rx: Rx,
        namespace: &str,
        name: &str,
        uid: &str,
    ) -> Result<Option<Object>, Failure> {
        let get = Request::new(Method::Get, SERVICE_ACCOUNTS.path(namespace, name));
        match self.rest.object(rx, get).await {
            Ok(found) => Ok(Some(found.object).filter(|own| fits(uid, own))),
            Err(error) if error.is(Reason::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// `getSecret`
    fn get_secret(&self, rx: Rx, key: &SecretKey) -> Option<Stored> {
        let path = format!("{}/{}", key.namespace, key.name);
        let found = self.secrets.get(rx, &path);
        found.filter(|own| fits(&key.uid, &own.object))
    }

    /// `listTokenSecrets`
    fn list_token_secrets(&self, rx: Rx, account: &AccountKey) -> Vec<Stored> {
        let mut all = self.secrets.list(rx);
        all.retain(|own| {
            own.object.namespace() == account.namespace
                && is_service_account_token(&own.object, &account.name, &account.uid)
        });
        all
    }
}
