//! What reconcilers and actors ask: their cache, and apiservers.

use std::time::Duration;

use serde_json::json;
use wavetank_api::json::Json;
use wavetank_api::{Method, Object, Reason, Request, Resource, Stored};
use wavetank_client::informer::Informers;
use wavetank_client::{EventRecorder, EventType, Failure, Report, RestClient};
use wavetank_engine::{Message, Name, Rx};

use crate::watch::Watch;

/// How long a request may take.
const LIMIT: Duration = Duration::from_secs(10);

/// The client of a reconciler or an actor.
#[derive(Clone, Debug)]
pub struct Context {
    /// What routines of the simulated world wait, draw and tell by.
    pub rx: Rx,
    pub(crate) rest: RestClient,
    pub(crate) scope: Name,
    pub(crate) watches: &'static [Watch],
    pub(crate) recorder: Option<EventRecorder>,
}

impl Context {
    /// The object in the cache, which may be stale; of `namespace/name`, or `name`.
    ///
    /// # Panics
    /// If the resource is not watched.
    pub fn cached(&self, resource: &Resource, key: &str) -> Option<Stored> {
        Informers::look(self.rx, self.scope, self.at(resource), |informer| {
            informer.indexer.get(key).cloned()
        })
    }

    /// All objects in the cache of which this is true, in the order of their keys. The cache may be stale.
    ///
    /// # Panics
    /// If the resource is not watched.
    pub fn cached_list(
        &self,
        resource: &Resource,
        selects: impl Fn(&Object) -> bool,
    ) -> Vec<Stored> {
        Informers::look(self.rx, self.scope, self.at(resource), |informer| {
            let all = informer.indexer.iter().map(|(_, stored)| stored);
            let selected = all.filter(|stored| selects(&stored.object));
            selected.cloned().collect::<Vec<_>>()
        })
    }

    fn at(&self, resource: &Resource) -> u32 {
        let found = self
            .watches
            .iter()
            .position(|watch| watch.resource == resource);
        let found = found.unwrap_or_else(|| panic!("{} is not watched", resource.qualified()));
        found as u32
    }

    /// GET: the object as it is stored now.
    ///
    /// # Errors
    /// What the server says, or that it was not reached.
    pub async fn get(&self, resource: &Resource, key: &str) -> Result<Stored, Failure> {
        self.send(Request::new(Method::Get, path(resource, key)))
            .await
    }

    /// POST: `apiVersion` and `kind` may be left out.
    ///
    /// # Errors
    /// What the server says, or that it was not reached: then it may be done all the same.
    pub async fn create(&self, resource: &Resource, mut object: Json) -> Result<Stored, Failure> {
        object["apiVersion"] = resource.api_version().into();
        object["kind"] = resource.kind.into();
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
        let path = resource.path(namespace, "");
        self.send(Request::new(Method::Post, path).with(object))
            .await
    }

    /// PUT: the object takes the place of the one with its name, if that has its resourceVersion.
    ///
    /// # Errors
    /// What the server says, or that it was not reached: then it may be done all the same.
    pub async fn update(&self, resource: &Resource, object: Json) -> Result<Stored, Failure> {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        let path = resource.path(text("namespace"), text("name"));
        self.send(Request::new(Method::Put, path).with(object))
            .await
    }

    /// PATCH by a merge patch.
    ///
    /// # Errors
    /// What the server says, or that it was not reached: then it may be done all the same.
    pub async fn patch(
        &self,
        resource: &Resource,
        key: &str,
        patch: Json,
    ) -> Result<Stored, Failure> {
        let mut request = Request::new(Method::Patch, path(resource, key)).with(patch);
        request.content_type = Some("application/merge-patch+json".into());
        self.send(request).await
    }

    /// PATCH of the subresource `status` by a merge patch.
    ///
    /// # Errors
    /// What the server says, or that it was not reached: then it may be done all the same.
    pub async fn patch_status(
        &self,
        resource: &Resource,
        key: &str,
        status: Json,
    ) -> Result<Stored, Failure> {
        let path = format!("{}/status", path(resource, key));
        let mut request = Request::new(Method::Patch, path).with(json!({ "status": status }));
        request.content_type = Some("application/merge-patch+json".into());
        self.send(request).await
    }

    /// `CreateOrUpdate` (`controllerutil`): reads the object with this key, changes it and writes it back; one that is
    /// not there is made of what the change leaves of an empty one. Nothing is written if nothing changes.
    ///
    /// # Errors
    /// What the server says, or that it was not reached: then it may be done all the same. Who was slower than another
    /// writer gets a conflict.
    pub async fn create_or_update(
        &self,
        resource: &Resource,
        key: &str,
        change: impl FnOnce(&mut Json) + Send,
    ) -> Result<Stored, Failure> {
        match self.get(resource, key).await {
            Ok(stored) => {
                let mut object = stored.json();
                change(&mut object);
                match object == stored.json() {
                    true => Ok(stored),
                    false => self.update(resource, object).await,
                }
            }
            Err(error) if error.is(Reason::NotFound) => {
                let (namespace, name) = key.split_once('/').unwrap_or(("", key));
                let mut object = json!({"metadata": {"namespace": namespace, "name": name}});
                change(&mut object);
                self.create(resource, object).await
            }
            Err(error) => Err(error),
        }
    }

    /// DELETE.
    ///
    /// # Errors
    /// What the server says, or that it was not reached: then it may be done all the same.
    pub async fn delete(&self, resource: &Resource, key: &str) -> Result<(), Failure> {
        let request = Request::new(Method::Delete, path(resource, key));
        let sent = self.rest.request(self.rx, request);
        match self.rx.timeout(LIMIT, sent).await {
            Some(answer) => answer.map(drop),
            None => Err(Failure::Net(wavetank_engine::NetError::Cancelled)),
        }
    }

    async fn send(&self, request: Request) -> Result<Stored, Failure> {
        self.rest.object_within(self.rx, request, LIMIT).await
    }

    /// Reports an Event of an object; written later and by somebody else. Actors report none.
    pub fn event(&self, about: &Stored, reason: &'static str, note: impl Into<String>) {
        if let Some(recorder) = &self.recorder {
            let report = Report {
                event_type: EventType::Normal,
                reason,
                action: "Reconcile",
                note: note.into(),
            };
            recorder.eventf(self.rx, &about.json(), report);
        }
    }

    /// Tells properties and stories something.
    #[track_caller]
    pub fn note(&self, what: impl Message + Clone + Eq + std::hash::Hash) {
        self.rx.note(what);
    }
}

fn path(resource: &Resource, key: &str) -> String {
    let (namespace, name) = key.split_once('/').unwrap_or(("", key));
    resource.path(namespace, name)
}
