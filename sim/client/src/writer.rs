//! A client that writes: it makes objects, updates and deletes them, and makes them again, through any
//! apiserver. Informers have something to see where there are some of these. What it does next is
//! drawn by the driver; nobody is told what comes of it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value as Json, json};
use wavetank_api::kinds::{CONFIG_MAPS, PODS, Resource, SECRETS};
use wavetank_api::{Method, Request};
use wavetank_apiserver::FRONT_DOOR;
use wavetank_engine::{
    Caller, Cx, Name, Outcome, Payload, ProcId, Process, RoutineFuture, Rx, Task,
};

const WRITE: Name = Name::new("write");

/// How long a request may take.
const LIMIT: Duration = Duration::from_secs(10);
/// So few objects that they are deleted and made again.
const NAMES: u64 = 5;
/// The namespace of everything.
const NAMESPACE: &str = "default";
/// The values of the label `app`.
const APPS: [&str; 2] = ["x", "y"];

/// A writer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Writer {
    /// The apiservers.
    pub servers: Arc<Vec<ProcId>>,
}

impl Process for Writer {
    fn boot(&mut self, _: &mut Cx<'_>) {}

    fn request(&mut self, _: &mut Cx<'_>, _: Caller, body: &Payload) {
        unreachable!("nobody asks a client: {body:?}");
    }

    /// `write {}`: one object, in some way.
    fn tell(&mut self, cx: &mut Cx<'_>, what: &str, _: &Json) -> Result<(), String> {
        if what != "write" {
            return Err(format!("knows `write`, not `{what}`"));
        }
        cx.spawn(Task::new(WRITE, self.servers.clone()));
        Ok(())
    }

    fn crash(&mut self) {}

    fn routine(&self, task: &Task) -> RoutineFuture {
        let servers = task.args::<Arc<Vec<ProcId>>>().clone();
        Box::pin(write(Rx::new(), servers))
    }
}

/// What is written how often. Secrets are all but quiet.
fn resource(drawn: u64) -> &'static Resource {
    match drawn {
        0..22 => &CONFIG_MAPS,
        22..29 => &PODS,
        _ => &SECRETS,
    }
}

async fn write(rx: Rx, servers: Arc<Vec<ProcId>>) -> Outcome {
    let server = servers[rx.choose(servers.len() as u64).await as usize];
    let resource = resource(rx.choose(30).await);
    let name = format!("o{}", rx.choose(NAMES).await);
    let app = APPS[rx.choose(APPS.len() as u64).await as usize];
    let path = |name: &str| resource.path(NAMESPACE, name);
    let object = object(resource, &name, app, rx.choose(1 << 20).await);
    let request = match rx.choose(6).await {
        0 => Request::new(Method::Delete, path(&name)).ask(&[("gracePeriodSeconds", "0")]),
        1..3 => Request::new(Method::Post, path("")).with(object),
        _ => Request::new(Method::Put, path(&name)).with(object),
    };
    let call = rx.call(&FRONT_DOOR, server, Payload::new(request));
    // Whatever comes of it.
    let _ = rx.timeout(LIMIT, call).await;
    Outcome::Done
}

fn object(resource: &Resource, name: &str, app: &str, number: u64) -> Json {
    let mut object = json!({
        "apiVersion": resource.api_version(),
        "kind": resource.kind,
        "metadata": {
            "name": name,
            "labels": {"app": app},
            "annotations": {"number": number.to_string()},
        },
    });
    if resource.kind == PODS.kind {
        let container = json!({"name": "main", "image": "image"});
        object["spec"] = json!({"containers": [container]});
    }
    object
}
