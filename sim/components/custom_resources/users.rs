//! Who uses a custom resource: a client that makes its definition, changes and deletes it; writes, applies and deletes
//! its objects in any version, through any apiserver; watches them in both versions with informers; and looks at what an
//! apiserver serves. What it does next is drawn by the driver, where it is not said.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value as Json, json};
use wavetank_api::apiextensions::CUSTOM_RESOURCE_DEFINITIONS;
use wavetank_api::apiextensions::conditions::is_crd_condition_true;
use wavetank_api::{Content, Method, Request, Resource, Response};
use wavetank_client::informer::{InformerSpec, Informers};
use wavetank_client::{HTTPS, InformerDefect, RestClient};
use wavetank_engine::{
    Caller, Cell, Cx, Name, Outcome, Payload, ProcId, Process, RoutineFuture, Rx, Task, Timer,
};
use wavetank_version::Set;

use super::definition::{DEFINITION, DRAWN, EXTRA, THINGS, VARIANTS};

const DEFINE: Name = Name::new("define");
const WRITE: Name = Name::new("write-custom-object");
const APPLY: Name = Name::new("apply");
const ESTABLISH: Name = Name::new("establish");
const LOOK: Name = Name::new("look");

/// How long a request may take.
const LIMIT: Duration = Duration::from_secs(10);
/// Who waits for a definition asks so often, every so often.
const POLLS: u32 = 100;
const POLL: Duration = Duration::from_millis(200);
/// So few objects that they are deleted and made again.
const OBJECTS: u64 = 3;
const NAMESPACE: &str = "default";
/// What some objects wait for when they are deleted.
const FINALIZER: &str = "storm.example/cleans-up";

/// How many values it has applied.
static APPLIED: Cell<u64> = Cell::new("applied-values");

/// What it is told, with what is not drawn.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Asked {
    what: Option<String>,
    variant: Option<usize>,
    object: Option<String>,
    version: Option<usize>,
    server: Option<usize>,
    size: Option<u64>,
}

/// A user asks for its value of an object to be applied.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Applying {
    /// The object.
    pub object: String,
    /// The value.
    pub value: u64,
}

/// It was applied.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Applied {
    /// The object.
    pub object: String,
    /// Its uid.
    pub uid: String,
    /// The value.
    pub value: u64,
}

/// A user has looked at all objects of a version.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Looked {
    /// At this server.
    pub server: ProcId,
    /// The version.
    pub version: &'static str,
    /// The code of the answer.
    pub code: u16,
    /// An object that shows the field `extra`.
    pub extra: Option<String>,
    /// Had it seen that the definition was established?
    pub established: bool,
}

/// A user.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct User {
    /// Its name; the manager of its fields.
    name: Arc<str>,
    servers: Arc<Vec<ProcId>>,
    informers: Arc<Informers>,
    /// The URL of the webhook that its definitions name.
    webhook: Option<Arc<str>>,
}

/// Where the objects of a version are.
fn path(resource: &Resource, name: &str) -> String {
    resource.path(NAMESPACE, name)
}

/// The key of an object among all.
pub(super) fn key(object: &str) -> wavetank_etcd::Key {
    THINGS[0].key(NAMESPACE, object)
}

fn thing(resource: &Resource, name: &str, spec: Json) -> Json {
    json!({
        "apiVersion": resource.api_version(),
        "kind": resource.kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    })
}

impl User {
    /// A user with this name, of these apiservers; its informers reach them by `rest`.
    pub(super) fn new(
        name: &str,
        servers: Arc<Vec<ProcId>>,
        rest: RestClient,
        defects: Set<InformerDefect>,
        webhook: Option<Arc<str>>,
    ) -> User {
        let informers = Informers {
            scope: Name::new("custom-resource-user"),
            rest,
            defects,
            specs: THINGS.map(InformerSpec::of).to_vec(),
        };
        User {
            name: name.into(),
            servers,
            informers: Arc::new(informers),
            webhook,
        }
    }

    /// One of the servers, if it is not said which.
    async fn server(&self, rx: Rx, asked: &Asked) -> ProcId {
        let at = match asked.server {
            Some(at) => at % self.servers.len(),
            None => rx.choose(self.servers.len() as u64).await as usize,
        };
        self.servers[at]
    }

    /// Asks once; `None` if there is no answer in time.
    async fn ask(&self, rx: Rx, asked: &Asked, request: Request) -> Option<Response> {
        let server = self.server(rx, asked).await;
        let call = rx.call(&HTTPS, server, Payload::new(request));
        let answer = rx.timeout(LIMIT, call).await?.ok()?;
        Some(answer.expect::<Response>().clone())
    }

    /// The object at a path, as a server shows it.
    async fn get(&self, rx: Rx, asked: &Asked, path: String) -> Option<Json> {
        let get = Request::new(Method::Get, path);
        match self.ask(rx, asked, get).await?.content {
            Content::One(stored) => Some(stored.json()),
            _ => None,
        }
    }

    /// Makes the definition, changes it or deletes it.
    async fn define(self, rx: Rx, asked: Asked) -> Outcome {
        let what = match &asked.what {
            Some(what) => what.clone(),
            None => ["create", "create", "change", "change", "change", "delete"]
                [rx.choose(6).await as usize]
                .to_owned(),
        };
        let variant = match asked.variant {
            Some(variant) => variant % VARIANTS.len(),
            None if what == "delete" => 0,
            None => rx.choose(DRAWN as u64).await as usize,
        };
        let own = CUSTOM_RESOURCE_DEFINITIONS.path("", DEFINITION);
        let request = match what.as_str() {
            "create" => {
                let all = CUSTOM_RESOURCE_DEFINITIONS.path("", "");
                Request::new(Method::Post, all)
                    .with(VARIANTS[variant].definition(self.webhook.as_deref()))
            }
            "delete" => Request::new(Method::Delete, own),
            _ => {
                let Some(mut crd) = self.get(rx, &asked, own.clone()).await else {
                    return Outcome::Done;
                };
                crd["spec"] = VARIANTS[variant].spec(self.webhook.as_deref());
                Request::new(Method::Put, own).with(crd)
            }
        };
        self.ask(rx, &asked, request).await;
        Outcome::Done
    }

    /// Makes the definition, waits until it is established, and looks at the server that was named.
    async fn establish(self, rx: Rx, asked: Asked) -> Outcome {
        let at_first = Asked {
            server: Some(0),
            ..Asked::default()
        };
        let all = CUSTOM_RESOURCE_DEFINITIONS.path("", "");
        let post =
            Request::new(Method::Post, all).with(VARIANTS[0].definition(self.webhook.as_deref()));
        self.ask(rx, &at_first, post).await;
        for _ in 0..POLLS {
            let own = CUSTOM_RESOURCE_DEFINITIONS.path("", DEFINITION);
            let crd = self.get(rx, &at_first, own).await;
            if crd.is_some_and(|crd| is_crd_condition_true(&crd, "Established")) {
                return self.look(rx, asked, true).await;
            }
            rx.sleep(POLL).await;
        }
        Outcome::Done
    }

    async fn object(&self, rx: Rx, asked: &Asked) -> (&'static Resource, String) {
        let version = match asked.version {
            Some(version) => version % THINGS.len(),
            None => rx.choose(THINGS.len() as u64).await as usize,
        };
        let name = match &asked.object {
            Some(name) => name.clone(),
            None => format!("o{}", rx.choose(OBJECTS).await),
        };
        (THINGS[version], name)
    }

    /// Makes an object, changes what nobody applies, or deletes it.
    async fn write(self, rx: Rx, asked: Asked) -> Outcome {
        let (resource, name) = self.object(rx, &asked).await;
        let what = match &asked.what {
            Some(what) => what.clone(),
            None => ["create", "update", "update", "patch", "delete"][rx.choose(5).await as usize]
                .to_owned(),
        };
        let size = match asked.size {
            Some(size) => size,
            None => rx.choose(40).await,
        };
        let own = path(resource, &name);
        let request = match what.as_str() {
            "create" => {
                let mut made = thing(resource, &name, json!({"size": size, EXTRA: "x"}));
                if size % 4 == 3 {
                    made["metadata"]["finalizers"] = json!([FINALIZER]);
                }
                Request::new(Method::Post, path(resource, "")).with(made)
            }
            "delete" => Request::new(Method::Delete, own),
            "patch" => {
                let patch = json!({"metadata": {"finalizers": null}, "spec": {"size": size}});
                Request {
                    content_type: Some("application/merge-patch+json".into()),
                    ..Request::new(Method::Patch, own).with(patch)
                }
            }
            _ => {
                let Some(mut thing) = self.get(rx, &asked, own.clone()).await else {
                    return Outcome::Done;
                };
                thing["spec"]["size"] = size.into();
                // As a controller does that has cleaned up behind an object.
                if !thing["metadata"]["deletionTimestamp"].is_null() {
                    thing["metadata"]["finalizers"] = Json::Null;
                }
                Request::new(Method::Put, own).with(thing)
            }
        };
        self.ask(rx, &asked, request).await;
        Outcome::Done
    }

    /// Applies its own field and its own item of an object, with its next value.
    async fn apply(self, rx: Rx, asked: Asked) -> Outcome {
        let (resource, object) = self.object(rx, &asked).await;
        let value = rx.update(&APPLIED, |count| {
            *count += 1;
            *count
        });
        let me = &*self.name;
        let spec = json!({"fields": {me: value}, "items": [{"name": me, "value": value}]});
        let patch = Request::new(Method::Patch, path(resource, &object));
        let patch = Request {
            content_type: Some("application/apply-patch+yaml".into()),
            ..patch.with(thing(resource, &object, spec))
        };
        let patch = patch.ask(&[("fieldManager", me), ("force", "true")]);
        rx.note(Applying {
            object: object.clone(),
            value,
        });
        if let Some(response) = self.ask(rx, &asked, patch).await
            && let Content::One(stored) = response.content
        {
            rx.note(Applied {
                object,
                uid: stored.object.uid().to_owned(),
                value,
            });
        }
        Outcome::Done
    }

    /// Looks at all objects of a version.
    async fn look(self, rx: Rx, asked: Asked, established: bool) -> Outcome {
        let version = match asked.version {
            Some(version) => version % THINGS.len(),
            None => rx.choose(THINGS.len() as u64).await as usize,
        };
        let resource = THINGS[version];
        let server = self.server(rx, &asked).await;
        let list = Request::new(Method::Get, path(resource, ""));
        let call = rx.call(&HTTPS, server, Payload::new(list));
        let Some(Ok(answer)) = rx.timeout(LIMIT, call).await else {
            return Outcome::Done;
        };
        let response = answer.expect::<Response>();
        let items = match &response.content {
            Content::List(list) => list.items.as_slice(),
            _ => &[],
        };
        let shows = |item: &&wavetank_api::Stored| !item.object.json()["spec"][EXTRA].is_null();
        let extra = items.iter().find(shows);
        rx.note(Looked {
            server,
            version: resource.version,
            code: response.code,
            extra: extra.map(|item| item.object.name().to_owned()),
            established,
        });
        Outcome::Done
    }
}

impl Process for User {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        self.informers.boot(cx);
    }

    fn request(&mut self, _: &mut Cx<'_>, _: Caller, body: &Payload) {
        unreachable!("nobody asks a client: {body:?}");
    }

    fn timer(&mut self, cx: &mut Cx<'_>, timer: Timer) {
        let known = self.informers.timer(cx, timer);
        assert!(known, "an unknown timer: {timer:?}");
    }

    /// `define {what?, variant?, server?}`: create, change or delete the definition. `write {what?, object?, version?,
    /// server?, size?}`: create, update, patch or delete an object. `establish {server?, version?}`: makes the definition at any
    /// server, waits there until it is established, and looks at this one. `apply {object?, version?, server?}`. `look {version?,
    /// server?}`. What is not said is drawn.
    fn command(&mut self, cx: &mut Cx<'_>, what: &str, args: &Json) -> Result<(), String> {
        let (task, known): (_, &[&str]) = match what {
            "define" => (DEFINE, &["create", "change", "delete"]),
            "write" => (WRITE, &["create", "update", "patch", "delete"]),
            "apply" => (APPLY, &[]),
            "establish" => (ESTABLISH, &[]),
            "look" => (LOOK, &[]),
            other => {
                return Err(format!(
                    "knows `define`, `establish`, `write`, `apply` and `look`, not `{other}`"
                ));
            }
        };
        let asked = match args {
            Json::Null => Asked::default(),
            Json::Object(_) => serde_json::from_value::<Asked>(args.clone())
                .map_err(|error| format!("what stands in `with` of `{what}`: {error}"))?,
            other => {
                return Err(format!(
                    "`with` is a map, such as {{server: 0}}, not {other}"
                ));
            }
        };
        if let Some(what) = asked.what.as_deref().filter(|what| !known.contains(what)) {
            return Err(match known {
                [] => format!("has nothing to choose by `what`, and is given `{what}`"),
                known => format!("`what` is one of {}, not `{what}`", known.join(", ")),
            });
        }
        cx.spawn(Task::new(task, asked));
        Ok(())
    }

    fn crash(&mut self) {}

    fn routine(&self, task: &Task) -> RoutineFuture {
        if let Some(future) = self.informers.routine(task) {
            return future;
        }
        let (own, rx) = (self.clone(), Rx::new());
        let asked = task.args::<Asked>().clone();
        match task.kind() {
            kind if kind == DEFINE => Box::pin(own.define(rx, asked)),
            kind if kind == WRITE => Box::pin(own.write(rx, asked)),
            kind if kind == APPLY => Box::pin(own.apply(rx, asked)),
            kind if kind == ESTABLISH => Box::pin(own.establish(rx, asked)),
            _ => Box::pin(own.look(rx, asked, false)),
        }
    }
}
