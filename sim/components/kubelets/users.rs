//! Who makes pods for kubelets in a scenario: a few names, on one node or another, again and again.

use serde_json::{Value as Json, json};
use wavetank_api::kinds::PODS;
use wavetank_api::{Method, Object, Request};
use wavetank_components::pod_runners::{FAILING_TASK, TASK};
use wavetank_components::users::{Args, Client, NAMESPACE, Use};
use wavetank_engine::Name;

use crate::manifests;
use crate::notes::DeletesByForce;
use crate::pod::{SYSTEM_CRITICAL_PRIORITY, pod_ref};
use crate::runtime::{POLITE, SLOW, STUBBORN};
use crate::shapes::{INITS, Shape, one_of};

/// So few that they are made anew.
const PODS_USED: u64 = 4;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum What {
    Create,
    Delete,
    Hurry,
    Kill,
    Overwrite,
    /// The same with init containers.
    Initialize,
    /// Deletes a mirror pod, and by force.
    Unmirror,
    UnmirrorByForce,
}

const ALL: [(&str, What); 8] = [
    ("initialize", What::Initialize),
    ("unmirror", What::Unmirror),
    ("unmirror-by-force", What::UnmirrorByForce),
    ("create", What::Create),
    ("delete", What::Delete),
    ("hurry", What::Hurry),
    ("kill", What::Kill),
    ("overwrite", What::Overwrite),
];

/// How often each is drawn.
const DRAWN: [What; 12] = [
    What::Create,
    What::Create,
    What::Create,
    What::Create,
    What::Create,
    What::Create,
    What::Create,
    What::Delete,
    What::Delete,
    What::Hurry,
    What::Kill,
    What::Overwrite,
];

/// What is drawn besides where there are static pods.
const DRAWN_BESIDES: [What; 8] = [
    What::Initialize,
    What::Initialize,
    What::Initialize,
    What::Initialize,
    What::Initialize,
    What::Initialize,
    What::Unmirror,
    What::UnmirrorByForce,
];

const IMAGES: [&str; 7] = [
    "image:1",
    "image:2",
    "image:3",
    STUBBORN,
    SLOW,
    TASK,
    FAILING_TASK,
];
const POLICIES: [&str; 3] = ["Always", "OnFailure", "Never"];
const GRACES: [i64; 3] = [4, 10, 30];
/// Which probes a container has: of readiness, of liveness as well, of its startup as well.
const PROBES: [&str; 5] = ["none", "readiness", "liveness", "startup", "startup"];
/// How long a pod may be active, in seconds; 0 for as long as it likes.
const DEADLINES: [i64; 5] = [0, 0, 0, 0, 12];

/// Its priority: most are not critical.
const PRIORITIES: [i64; 4] = [0, 0, 0, SYSTEM_CRITICAL_PRIORITY];

/// How much memory it asks for, in Mi.
const MEMORY: [i64; 3] = [0, 0, 400];

/// What it was told to do; what is not said is drawn.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Asked {
    what: Option<What>,
    pod: Option<String>,
    node: Option<String>,
    image: Option<String>,
    policy: Option<String>,
    grace: Option<i64>,
    probes: Option<String>,
    init: Option<String>,
    deadline: Option<i64>,
    priority: Option<i64>,
    memory: Option<i64>,
}

/// Uses pods.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct UsesPods {
    pub nodes: u32,
    /// Are there static pods?
    pub has_static_pods: bool,
    /// Do kubelets heed shutdowns?
    pub heed_shutdowns: bool,
    /// Do they evict pods?
    pub evict: bool,
}

impl Use for UsesPods {
    const ROUTINE: Name = Name::new("use-pod");
    type Order = Asked;

    /// `use {what?, pod?, node?, image?, policy?, grace?, probes?, init?, deadline?, priority?, memory?}`
    fn order(&self, args: &Args<'_>) -> Result<Asked, String> {
        Ok(Asked {
            what: args.named("what", &ALL)?,
            pod: args.text("pod"),
            node: args.text("node"),
            image: args.text("image"),
            policy: args.text("policy"),
            grace: args.number("grace"),
            probes: args.text("probes"),
            init: args.text("init"),
            deadline: args.number("deadline"),
            priority: args.number("priority"),
            memory: args.number("memory"),
        })
    }

    async fn work(self, client: Client, asked: Asked) {
        let what = match asked.what {
            Some(what) => what,
            None if self.has_static_pods => {
                client.one_of(&[&DRAWN[..], &DRAWN_BESIDES].concat()).await
            }
            None => client.one_of(&DRAWN).await,
        };
        if let What::Unmirror | What::UnmirrorByForce = what {
            let options = match what {
                What::Unmirror => json!({}),
                _ => json!({"gracePeriodSeconds": 0}),
            };
            let name = self.mirror_pod(&client, &asked).await;
            return delete(&client, &name, options).await;
        }
        let name = match &asked.pod {
            Some(name) => name.clone(),
            None => format!("pod{}", client.rx.choose(PODS_USED).await),
        };
        match what {
            What::Create | What::Initialize => {
                self.create(&client, &asked, &name, what == What::Initialize)
                    .await;
            }
            What::Delete => delete(&client, &name, json!({})).await,
            What::Hurry => delete(&client, &name, json!({"gracePeriodSeconds": 1})).await,
            What::Kill => kill(&client, &name).await,
            What::Overwrite => overwrite(&client, &name).await,
            What::Unmirror | What::UnmirrorByForce => {}
        }
    }
}

impl UsesPods {
    /// The name of a mirror pod, which may be there.
    async fn mirror_pod(&self, client: &Client, asked: &Asked) -> String {
        match &asked.pod {
            Some(name) => name.clone(),
            None => {
                let file = client.one_of(&manifests::FILES).await;
                format!("{file}-{}", self.node(client, asked).await)
            }
        }
    }

    async fn node(&self, client: &Client, asked: &Asked) -> String {
        match &asked.node {
            Some(node) => node.clone(),
            None => format!("n{}", client.rx.choose(u64::from(self.nodes)).await + 1),
        }
    }

    async fn create(&self, client: &Client, asked: &Asked, name: &str, draws_init: bool) {
        let node = self.node(client, asked).await;
        let image = one_of(client, asked.image.as_ref(), &IMAGES).await;
        let policy = one_of(client, asked.policy.as_ref(), &POLICIES).await;
        let grace = match asked.grace {
            Some(grace) => grace,
            None => client.one_of(&GRACES).await,
        };
        let probes = one_of(client, asked.probes.as_ref(), &PROBES).await;
        let deadline = match asked.deadline {
            Some(deadline) => deadline,
            None => client.one_of(&DEADLINES).await,
        };
        let priority = match asked.priority {
            Some(priority) => priority,
            None if self.heed_shutdowns || self.evict => client.one_of(&PRIORITIES).await,
            None => 0,
        };
        let memory = match asked.memory {
            Some(memory) => memory,
            None if self.evict => client.one_of(&MEMORY).await,
            None => 0,
        };
        // It stops in its own way where a shutdown may tell it so.
        let image = match (&*image, asked.image.is_none() && self.heed_shutdowns) {
            ("image:3", true) => POLITE.to_owned(),
            _ => image,
        };
        let init = match &asked.init {
            None if !draws_init => "none".to_owned(),
            init => one_of(client, init.as_ref(), &INITS).await,
        };
        // Else it would never come up.
        let probes = match (&*image, &*probes) {
            (SLOW, "liveness") => "startup",
            (_, probes) => probes,
        };
        let shape = Shape {
            image,
            policy,
            grace,
            probes: probes.to_owned(),
            init,
        };
        let mut spec = shape.spec();
        spec["nodeName"] = node.into();
        let mut pod = json!({
            "apiVersion": PODS.api_version(),
            "kind": PODS.kind,
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": spec,
        });
        if memory > 0 {
            let resources = json!({"requests": {"memory": format!("{memory}Mi")}});
            pod["spec"]["containers"][0]["resources"] = resources;
        }
        if priority > 0 {
            pod["spec"]["priority"] = priority.into();
        }
        if deadline > 0 {
            pod["spec"]["activeDeadlineSeconds"] = deadline.into();
        }
        let post = Request::new(Method::Post, PODS.path(NAMESPACE, ""));
        client.ask(post.with(pod)).await;
    }
}

async fn delete(client: &Client, name: &str, mut options: Json) {
    options["kind"] = "DeleteOptions".into();
    options["apiVersion"] = "v1".into();
    let delete = Request::new(Method::Delete, PODS.path(NAMESPACE, name));
    client.ask(delete.with(options)).await;
}

/// Deletes a pod by force: nobody waits for its kubelet.
async fn kill(client: &Client, name: &str) {
    let Some(pod) = client.get(&PODS, name).await else {
        return;
    };
    let pod = pod_ref(&Object::new(pod));
    let options = json!({"gracePeriodSeconds": 0, "preconditions": {"uid": *pod.uid}});
    client.rx.note(DeletesByForce(pod));
    delete(client, name, options).await;
}

/// Somebody else writes a status: the pod is not ready, and has no address.
async fn overwrite(client: &Client, name: &str) {
    let Some(mut pod) = client.get(&PODS, name).await else {
        return;
    };
    if let Some(status) = pod.get_mut("status").and_then(Json::as_object_mut) {
        status.remove("podIP");
        status.remove("podIPs");
        status.remove("containerStatuses");
        let conditions = status.get_mut("conditions").and_then(Json::as_array_mut);
        for own in conditions
            .into_iter()
            .flatten()
            .filter(|own| own["type"] == "Ready")
        {
            own["status"] = "False".into();
        }
    }
    let put = Request::new(
        Method::Put,
        format!("{}/status", PODS.path(NAMESPACE, name)),
    );
    client.ask(put.with(pod)).await;
}
