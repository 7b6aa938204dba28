//! The algorithm (`pkg/controller/certificates/rootcacertpublisher/publisher.go`): the ConfigMap of a namespace is made if the
//! cache does not show it, and mended if it is not as it should be.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value as Json, json};
use wavetank_api::kinds::{CONFIG_MAPS, NAMESPACES};
use wavetank_api::{Method, Reason, Request, Stored, json};
use wavetank_client::informer::{HandlerSpec, Lister, Notice};
use wavetank_client::leader_election::Leading;
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_client::{Failure, RestClient};
use wavetank_components::elected::process_next_work_item;
use wavetank_engine::{Name, NotState, Rx};
use wavetank_version::Set;

use super::defects::PublisherDefect;
use super::notes::Publishes;
use crate::controller::{Controller, ControllerContext, Work};

/// Its name in `--controllers`, and the service account that it works as.
pub(super) const CONTROLLER: &str = "root-ca-certificate-publisher-controller";
pub(super) const ACCOUNT: &str = "root-ca-cert-publisher";
/// `RootCACertConfigMapName`
pub(super) const ROOT_CA_CERT_CONFIG_MAP_NAME: &str = "kube-root-ca.crt";
/// `DescriptionAnnotation`
pub(super) const DESCRIPTION_ANNOTATION: &str = "kubernetes.io/description";
const DESCRIPTION: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal \
                           endpoints such as the internal service IP or kubernetes.default.svc. No other usage is \
                           guaranteed across distributions of Kubernetes clusters.";
/// What `--root-ca-file` has.
pub(in crate::controllers) const ROOT_CA: &str = "the root certificate\n";

const QUEUE: WorkQueue = WorkQueue::new(Name::new(CONTROLLER), "root_ca_cert_publisher");
/// The fix of finding 74: so long after it was made a ConfigMap is looked for in the cache.
const UNSEEN_FOR: Duration = Duration::from_secs(5);

/// The controller.
#[derive(Debug)]
struct Publisher {
    rest: RestClient,
    defects: Set<PublisherDefect>,
    config_maps: Lister,
    namespaces: Lister,
}

/// The namespace of a ConfigMap of the name that matters.
fn namespace_of(notice: &Notice) -> Option<Item> {
    let key = notice.key();
    let (namespace, name) = key.split_once('/')?;
    (name == ROOT_CA_CERT_CONFIG_MAP_NAME).then(|| namespace.into())
}

/// Upstream's `configMapDeleted`, `configMapUpdated`
fn config_map_changed(rx: Rx, notice: &Notice, defects: Set<PublisherDefect>) {
    let is_ignored = match notice {
        Notice::Added { .. } => true,
        Notice::Updated { .. } => defects.has(PublisherDefect::ChangesAreNotMended),
        Notice::Deleted(_) => defects.has(PublisherDefect::DeletedStayAway),
    };
    if let Some(namespace) = namespace_of(notice).filter(|_| !is_ignored) {
        QUEUE.add(rx, namespace);
    }
}

/// Upstream's `namespaceAdded`, `namespaceUpdated`
fn namespace_changed(rx: Rx, notice: &Notice, defects: Set<PublisherDefect>) {
    let is_heard = match notice {
        Notice::Added { .. } => true,
        Notice::Updated { new, .. } => phase(new) == "Active",
        Notice::Deleted(_) => false,
    };
    if is_heard && !defects.has(PublisherDefect::NewNamespacesAreNotHeardOf) {
        QUEUE.add(rx, notice.key());
    }
}

fn phase(namespace: &Stored) -> &str {
    json::text(namespace.object.json(), &["status", "phase"])
}

/// What it is to contain.
fn data() -> Json {
    json!({"ca.crt": ROOT_CA})
}

/// Do its data and the annotation that describes it match?
pub(super) fn is_published(config_map: &Json) -> bool {
    let described = json::text(
        config_map,
        &["metadata", "annotations", DESCRIPTION_ANNOTATION],
    );
    config_map.get("data") == Some(&data()) && !described.is_empty()
}

impl Publisher {
    /// Upstream's `NewPublisher`
    fn new(cx: &mut ControllerContext) -> Publisher {
        let defects: Set<PublisherDefect> = cx.defects.of();
        let mut config_maps = cx.informers.informer_for(&CONFIG_MAPS);
        config_maps.add_event_handler(HandlerSpec {
            on: NotState(Arc::new(move |rx, _, notice| {
                config_map_changed(rx, notice, defects);
            })),
            ..HandlerSpec::new("root-ca-publisher")
        });
        let config_maps = config_maps.lister();
        let mut namespaces = cx.informers.informer_for(&NAMESPACES);
        namespaces.add_event_handler(HandlerSpec {
            on: NotState(Arc::new(move |rx, _, notice| {
                namespace_changed(rx, notice, defects);
            })),
            ..HandlerSpec::new("root-ca-publisher")
        });
        Publisher {
            rest: cx.rest.clone(),
            defects,
            config_maps,
            namespaces: namespaces.lister(),
        }
    }

    /// `syncNamespace`
    async fn sync_namespace(&self, rx: Rx, namespace: Item) -> Result<(), Failure> {
        let key = format!("{namespace}/{ROOT_CA_CERT_CONFIG_MAP_NAME}");
        let Some(found) = self.config_maps.get(rx, &key) else {
            return self.create(rx, &namespace).await;
        };
        let mut config_map = found.json();
        if is_published(&config_map) {
            return Ok(());
        }
        config_map["data"] = data();
        let annotation = ["metadata", "annotations", DESCRIPTION_ANNOTATION];
        json::set(&mut config_map, &annotation, DESCRIPTION);
        rx.note(Publishes {
            namespace: namespace.clone(),
            mends: true,
        });
        let path = CONFIG_MAPS.path(&namespace, ROOT_CA_CERT_CONFIG_MAP_NAME);
        let put = Request::new(Method::Put, path).with(config_map);
        self.rest.request(rx, put).await.map(drop)
    }

    async fn create(&self, rx: Rx, namespace: &Item) -> Result<(), Failure> {
        rx.note(Publishes {
            namespace: namespace.clone(),
            mends: false,
        });
        let config_map = json!({
            "apiVersion": CONFIG_MAPS.api_version(),
            "kind": CONFIG_MAPS.kind,
            "metadata": {
                "name": ROOT_CA_CERT_CONFIG_MAP_NAME,
                "annotations": {DESCRIPTION_ANNOTATION: DESCRIPTION},
            },
            "data": data(),
        });
        let post = Request::new(Method::Post, CONFIG_MAPS.path(namespace, ""));
        let made = self.rest.request(rx, post.with(config_map)).await;
        if made.is_ok()
            && self
                .defects
                .has(PublisherDefect::FixLookForMadeCertificates)
        {
            QUEUE.add_after(rx, namespace.clone(), UNSEEN_FOR);
        }
        match made {
            // A create is not tried again if the namespace does not exist or is terminating.
            Err(error)
                if error.is(Reason::NotFound) || self.is_terminating(rx, namespace, &error) =>
            {
                match self
                    .defects
                    .has(PublisherDefect::GoneNamespacesAreTriedAgain)
                {
                    true => Err(error),
                    false => Ok(()),
                }
            }
            Err(error)
                if error.is(Reason::AlreadyExists)
                    && self.defects.has(PublisherDefect::TakesWhatExists) =>
            {
                Ok(())
            }
            made => made.map(drop),
        }
    }

    /// Upstream's `HasStatusCause(err, NamespaceTerminatingCause)`. With the fix that is taken for granted only as long as the own
    /// cache does not show otherwise: the server may still have in mind a namespace of this name that was there before.
    fn is_terminating(&self, rx: Rx, namespace: &Item, error: &Failure) -> bool {
        let Failure::Status(status) = error else {
            return false;
        };
        let is_active = || {
            let known = self.namespaces.get(rx, namespace);
            known.is_some_and(|known| phase(&known) == "Active")
        };
        status.has_cause("NamespaceTerminating")
            && !(self.defects.has(PublisherDefect::FixPublishInNewNamespaces) && is_active())
    }
}

impl Controller for Publisher {
    fn name(&self) -> &'static str {
        CONTROLLER
    }

    fn queues(&self) -> Vec<WorkQueue> {
        vec![QUEUE]
    }

    /// Upstream waits for the cache of ConfigMaps, and not for that of namespaces.
    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a> {
        Box::pin(async move {
            self.config_maps.wait_for_cache_sync(rx).await;
            let sync = |namespace| self.sync_namespace(rx, namespace);
            process_next_work_item(rx, leading, QUEUE, sync).await
        })
    }
}

/// For the descriptor.
pub(super) fn new(cx: &mut ControllerContext) -> Arc<dyn Controller> {
    Arc::new(Publisher::new(cx))
}
