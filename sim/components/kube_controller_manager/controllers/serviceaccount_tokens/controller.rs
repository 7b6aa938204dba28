//! What wakes the controller, and what it works with: two queues, of accounts and of Secrets, and workers for each.

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::Object;
use wavetank_api::kinds::{SECRETS, SERVICE_ACCOUNTS};
use wavetank_client::RestClient;
use wavetank_client::informer::{HandlerSpec, Lister, Notice};
use wavetank_client::leader_election::Leading;
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_components::elected::process_next_work_item_with;
use wavetank_engine::{Name, NotState, Rx};
use wavetank_version::Set;

use super::defects::TokensDefect;
use super::keys::{make_secret_queue_key, make_service_account_key};
use super::notes::{Begins, HearsOfDeletion};
use super::token_secrets::{account_name, account_uid, is_token_secret};
use crate::controller::{Constructed, Controller, ControllerContext, Work};

/// Its name in `--controllers`, and what its client is called: it works as the manager itself.
pub(super) const CONTROLLER: &str = "serviceaccount-token-controller";
pub(super) const ACCOUNT: &str = "tokens-controller";
/// `maxRetries`
const MAX_RETRIES: u32 = 10;
/// The fix of finding 74: so long after a Secret was looked at it is looked at again, if the cache did not show its account.
const UNSEEN_FOR: Duration = Duration::from_secs(5);

const SERVICE_ACCOUNT_QUEUE: WorkQueue =
    WorkQueue::new(Name::new(CONTROLLER), "serviceaccount_tokens_service");
/// Upstream both have the same name, which is for metrics only.
const SECRET_QUEUE: WorkQueue =
    WorkQueue::new(Name::new(CONTROLLER), "serviceaccount_tokens_secret");

/// The controller.
#[derive(Debug)]
pub(super) struct TokensController {
    pub rest: RestClient,
    pub defects: Set<TokensDefect>,
    pub service_accounts: Lister,
    pub secrets: Lister,
    /// How many of each kind there are.
    workers: u32,
}

/// Upstream's `queueServiceAccountSync`, `queueServiceAccountUpdateSync`: of an update only the new one is queued, also if that is
/// another account of the same name.
fn service_account_changed(rx: Rx, notice: &Notice, defects: Set<TokensDefect>) {
    let add = |account: &Object| SERVICE_ACCOUNT_QUEUE.add(rx, make_service_account_key(account));
    match notice {
        Notice::Added { new, .. } => add(&new.object),
        Notice::Updated { old, new } => {
            let is_another = old.object.uid() != new.object.uid();
            if is_another && defects.has(TokensDefect::FixReplacedAccounts) {
                add(&old.object);
            }
            add(&new.object);
        }
        Notice::Deleted(gone) => {
            if let Some(last) = &gone.last
                && !(gone.unseen && defects.has(TokensDefect::UnseenAccountsKeepTokens))
            {
                add(&last.object);
            }
        }
    }
}

/// Upstream's `queueSecretSync`, `queueSecretUpdateSync`, behind a filter that knows Secrets and no tombstones.
fn secret_changed(rx: Rx, notice: &Notice, defects: Set<TokensDefect>) {
    let add = |secret: &Object| SECRET_QUEUE.add(rx, make_secret_queue_key(secret));
    let is_gone = |secret: &Object| {
        rx.note(HearsOfDeletion {
            namespace: secret.namespace().into(),
            name: secret.name().into(),
            account: account_name(secret).into(),
            account_uid: account_uid(secret).into(),
        });
    };
    match notice {
        Notice::Added { new, .. } if is_token_secret(&new.object) => add(&new.object),
        Notice::Updated { new, .. } if is_token_secret(&new.object) => add(&new.object),
        Notice::Updated { old, .. } if is_token_secret(&old.object) => {
            is_gone(&old.object);
            add(&old.object);
        }
        Notice::Deleted(gone) => {
            if let Some(last) = gone
                .last
                .as_ref()
                .filter(|last| is_token_secret(&last.object))
            {
                is_gone(&last.object);
                if !gone.unseen || defects.has(TokensDefect::FixUnseenSecrets) {
                    add(&last.object);
                }
            }
        }
        Notice::Added { .. } | Notice::Updated { .. } => {}
    }
}

impl TokensController {
    /// Upstream's `NewTokensController`
    fn new(cx: &mut ControllerContext, workers: u32) -> TokensController {
        let defects: Set<TokensDefect> = cx.defects.of();
        let mut accounts = cx.informers.informer_for(&SERVICE_ACCOUNTS);
        accounts.add_event_handler(HandlerSpec {
            on: NotState(Arc::new(move |rx, _, notice| {
                service_account_changed(rx, notice, defects);
            })),
            ..HandlerSpec::new("tokens")
        });
        let service_accounts = accounts.lister();
        let mut secrets = cx.informers.informer_for(&SECRETS);
        secrets.add_event_handler(HandlerSpec {
            on: NotState(Arc::new(move |rx, _, notice| {
                secret_changed(rx, notice, defects);
            })),
            ..HandlerSpec::new("tokens")
        });
        TokensController {
            rest: cx.rest.clone(),
            defects,
            service_accounts,
            secrets: secrets.lister(),
            workers,
        }
    }

    pub(super) fn has(&self, defect: TokensDefect) -> bool {
        self.defects.has(defect)
    }

    /// The fix of a finding: who deletes an account that the cache has not shown is not heard of.
    pub(super) fn look_again(&self, rx: Rx, secret: &Object) {
        SECRET_QUEUE.add_after(rx, make_secret_queue_key(secret), UNSEEN_FOR);
    }

    /// `retryOrForget`: what failed more than ten times in a row, within some five seconds, is forgotten.
    fn retry_or_forget(&self, rx: Rx, queue: WorkQueue, key: &Item, requeue: bool) {
        if !requeue {
            return queue.forget(rx, key);
        }
        let is_over = queue.num_requeues(rx, key) >= MAX_RETRIES;
        match is_over && self.has(TokensDefect::RetriesEnd) {
            true => queue.forget(rx, key),
            false => queue.add_rate_limited(rx, key.clone()),
        }
    }
}

impl Controller for TokensController {
    fn name(&self) -> &'static str {
        CONTROLLER
    }

    fn queues(&self) -> Vec<WorkQueue> {
        vec![SERVICE_ACCOUNT_QUEUE, SECRET_QUEUE]
    }

    fn workers(&self) -> u32 {
        2 * self.workers
    }

    /// It asks nothing of servers when it is made.
    fn construct(&self, rx: Rx) -> Option<Constructed<'_>> {
        Some(Box::pin(async move {
            rx.note(Begins);
            true
        }))
    }

    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a> {
        self.work_of(rx, leading, 0)
    }

    /// One of two workers is for accounts, the other for Secrets.
    fn work_of<'a>(&'a self, rx: Rx, leading: &'a Leading, number: u32) -> Work<'a> {
        Box::pin(async move {
            self.service_accounts.wait_for_cache_sync(rx).await;
            self.secrets.wait_for_cache_sync(rx).await;
            let queue = match number % 2 {
                0 => SERVICE_ACCOUNT_QUEUE,
                _ => SECRET_QUEUE,
            };
            let done = |key: &Item, retry| self.retry_or_forget(rx, queue, key, retry);
            let sync = |key: Item| async move {
                match number % 2 {
                    0 => self.sync_service_account(rx, &key).await,
                    _ => self.sync_secret(rx, &key).await,
                }
            };
            process_next_work_item_with(rx, leading, queue, sync, done).await
        })
    }
}

/// For the descriptor.
pub(super) fn new(cx: &mut ControllerContext, workers: u32) -> Arc<dyn Controller> {
    Arc::new(TokensController::new(cx, workers))
}
