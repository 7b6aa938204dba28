//! The algorithm (`pkg/controller/serviceaccount/serviceaccounts_controller.go`): the default ServiceAccount of a namespace is
//! made if the caches show the namespace and not the account.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use wavetank_api::kinds::{NAMESPACES, SERVICE_ACCOUNTS};
use wavetank_api::{Method, Reason, Request, json};
use wavetank_client::informer::{HandlerSpec, Lister, Notice};
use wavetank_client::leader_election::Leading;
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_client::{Failure, RestClient};
use wavetank_components::elected::process_next_work_item;
use wavetank_engine::{Name, NotState, Rx};
use wavetank_version::Set;

use super::defects::ServiceAccountDefect;
use super::notes::MakesAccount;
use crate::controller::{Controller, ControllerContext, Work};

/// Its name in `--controllers`, and the service account that it works as.
pub(super) const CONTROLLER: &str = "serviceaccount-controller";
pub(super) const ACCOUNT: &str = "service-account-controller";
/// Upstream's `DefaultServiceAccountsControllerOptions`: the one that is to be in each namespace.
pub(super) const DEFAULT: &str = "default";

const QUEUE: WorkQueue = WorkQueue::new(Name::new(CONTROLLER), "serviceaccount");

/// The fix of finding 74: so long after it was made an account is looked for in the cache.
const UNSEEN_FOR: Duration = Duration::from_secs(5);

/// The controller.
#[derive(Debug)]
struct ServiceAccountsController {
    rest: RestClient,
    defects: Set<ServiceAccountDefect>,
    accounts: Lister,
    namespaces: Lister,
}

/// `serviceAccountDeleted`
fn service_account_deleted(rx: Rx, notice: &Notice, defects: Set<ServiceAccountDefect>) {
    let Notice::Deleted(gone) = notice else {
        return;
    };
    let is_ignored = defects.has(ServiceAccountDefect::DeletedStayAway);
    if let Some((namespace, _)) = gone.key.split_once('/').filter(|_| !is_ignored) {
        QUEUE.add(rx, namespace.into());
    }
}

/// Upstream's `namespaceAdded`, `namespaceUpdated`
fn namespace_changed(rx: Rx, notice: &Notice) {
    if !matches!(notice, Notice::Deleted(_)) {
        QUEUE.add(rx, notice.key());
    }
}

impl ServiceAccountsController {
    /// Upstream's `NewServiceAccountsController`
    fn new(cx: &mut ControllerContext) -> ServiceAccountsController {
        let defects: Set<ServiceAccountDefect> = cx.defects.of();
        let mut accounts = cx.informers.informer_for(&SERVICE_ACCOUNTS);
        accounts.add_event_handler(HandlerSpec {
            on: NotState(Arc::new(move |rx, _, notice| {
                service_account_deleted(rx, notice, defects);
            })),
            ..HandlerSpec::new("serviceaccount")
        });
        let accounts = accounts.lister();
        let mut namespaces = cx.informers.informer_for(&NAMESPACES);
        namespaces.add_event_handler(HandlerSpec {
            on: NotState(Arc::new(|rx, _, notice| namespace_changed(rx, notice))),
            ..HandlerSpec::new("serviceaccount")
        });
        ServiceAccountsController {
            rest: cx.rest.clone(),
            defects,
            accounts,
            namespaces: namespaces.lister(),
        }
    }

    /// `syncNamespace`
    async fn sync_namespace(&self, rx: Rx, key: Item) -> Result<(), Failure> {
        let Some(namespace) = self.namespaces.get(rx, &key) else {
            return Ok(());
        };
        if json::text(namespace.object.json(), &["status", "phase"]) != "Active" {
            // Nothing is made in a namespace that is not.
            return Ok(());
        }
        if self.accounts.get(rx, &format!("{key}/{DEFAULT}")).is_some() {
            return Ok(());
        }
        rx.note(MakesAccount {
            namespace: key.clone(),
        });
        let account = json!({
            "apiVersion": SERVICE_ACCOUNTS.api_version(),
            "kind": SERVICE_ACCOUNTS.kind,
            "metadata": {"name": DEFAULT, "namespace": &*key},
        });
        let post = Request::new(Method::Post, SERVICE_ACCOUNTS.path(&key, ""));
        let made = match self.rest.request(rx, post.with(account)).await {
            Err(error) if error.is(Reason::AlreadyExists) => Ok(()),
            Err(error) if self.is_ignored(&error) => return Ok(()),
            made => made.map(drop),
        };
        if made.is_ok()
            && self
                .defects
                .has(ServiceAccountDefect::FixLookForMadeAccounts)
        {
            QUEUE.add_after(rx, key, UNSEEN_FOR);
        }
        made
    }

    /// That the namespace is terminating is ignored. With the fix it is not, since the cache has shown that it is not, and the server
    /// may have in mind a namespace of this name that was there before: the next look at the cache tells.
    fn is_ignored(&self, error: &Failure) -> bool {
        let cause = "NamespaceTerminating";
        let is_terminating = matches!(error, Failure::Status(status) if status.has_cause(cause));
        let is_fixed = self
            .defects
            .has(ServiceAccountDefect::FixMakeInNewNamespaces);
        is_terminating && !is_fixed || self.defects.has(ServiceAccountDefect::FailuresAreForgotten)
    }
}

impl Controller for ServiceAccountsController {
    fn name(&self) -> &'static str {
        CONTROLLER
    }

    fn queues(&self) -> Vec<WorkQueue> {
        vec![QUEUE]
    }

    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a> {
        Box::pin(async move {
            self.accounts.wait_for_cache_sync(rx).await;
            self.namespaces.wait_for_cache_sync(rx).await;
            let sync = |namespace| self.sync_namespace(rx, namespace);
            process_next_work_item(rx, leading, QUEUE, sync).await
        })
    }
}

/// For the descriptor.
pub(super) fn new(cx: &mut ControllerContext) -> Arc<dyn Controller> {
    Arc::new(ServiceAccountsController::new(cx))
}
