//! The namespaces of the system, looked for every minute and made where they are missing:
//! `RunKubernetesNamespaces` (`pkg/controlplane/controller.go`, v1.20) and
//! `pkg/controlplane/controller/systemnamespaces` (v1.36, which looks into the server's informer).

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use wavetank_api::kinds::NAMESPACES;
use wavetank_api::{Method, Reason, Request};
use wavetank_apiserver::{Config, NAMESPACE_LISTER};
use wavetank_client::Failure;
use wavetank_client::wait::{Every, Stop, Turn};
use wavetank_engine::{Name, Outcome, RoutineFuture, Rx, Task};

use crate::kube_apiserver::gates;

/// After the end of the run before.
const INTERVAL: Duration = Duration::from_secs(60);

const KEEP: Name = Name::new("keep-system-namespaces");
static STOP: Stop = Stop::new("system-namespaces-stop");

/// The loop of one server.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct SystemNamespaces {
    server: Arc<Config>,
}

impl SystemNamespaces {
    /// That of a server which asks for namespaces at all.
    pub fn of(server: &Arc<Config>) -> Option<SystemNamespaces> {
        server.namespace_lifecycle.then(|| SystemNamespaces {
            server: server.clone(),
        })
    }

    pub fn start(&self, rx: Rx) {
        rx.spawn(Task::new(KEEP, ()));
    }

    /// Ends the loop after its current run.
    pub fn stop(&self, rx: Rx) {
        STOP.close(rx);
    }

    pub fn routine(&self, task: &Task) -> Option<RoutineFuture> {
        let keep = task.kind() == KEEP;
        keep.then(|| Box::pin(self.clone().keep(Rx::new())) as RoutineFuture)
    }

    /// One turn of `wait.Until`. An error is logged, and the next one is looked for.
    async fn keep(self, rx: Rx) -> Outcome {
        let names: &[&str] = match self.server.release.has(gates::SYSTEM_NAMESPACES_APART) {
            true => &["kube-system", "kube-public", "default", "kube-node-lease"],
            false => &["kube-system", "kube-public", "kube-node-lease"],
        };
        let apart = self.server.release.has(gates::SYSTEM_NAMESPACES_APART);
        if apart {
            NAMESPACE_LISTER.wait_for_cache_sync(rx).await;
        }
        let turn = Every::period(INTERVAL).sliding(rx, &STOP, async {
            for name in names {
                let is_listed = || NAMESPACE_LISTER.get(rx, name).is_some();
                let _ = match apart {
                    true if is_listed() => Ok(()),
                    true => create_namespace(rx, &self.server, name).await,
                    false => create_namespace_if_needed(rx, &self.server, name).await,
                };
            }
            Turn::Again
        });
        match turn.await {
            Turn::Over => Outcome::Done,
            Turn::Again => Outcome::Become(Task::new(KEEP, ())),
        }
    }
}

/// `createNamespaceIfNeeded`
pub(crate) async fn create_namespace_if_needed(
    rx: Rx,
    server: &Config,
    name: &str,
) -> Result<(), Failure> {
    let get = Request::new(Method::Get, NAMESPACES.path("", name));
    if server.loopback().request(rx, get).await.is_ok() {
        return Ok(());
    }
    create_namespace(rx, server, name).await
}

/// One that is there by now is no error.
async fn create_namespace(rx: Rx, server: &Config, name: &str) -> Result<(), Failure> {
    let post = Request::new(Method::Post, NAMESPACES.path("", ""));
    let post = post.with(json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name},
    }));
    match server.loopback().request(rx, post).await {
        Err(error) if !error.is(Reason::AlreadyExists) => Err(error),
        _ => Ok(()),
    }
}
