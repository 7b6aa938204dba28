//! Who keeps Endpoints in a scenario: a client that makes Services without a selector and Endpoints for them, changes the addresses
//! and ports of these, says that they are not to be mirrored or are a lock, gives the Service a selector and takes it away, and
//! deletes all of that and makes it anew; and that changes, deletes and hands over the slices that mirror them, and gives them
//! finalizers.

use serde_json::{Value as Json, json};
use wavetank_api::kinds::{ENDPOINTS, SERVICES};
use wavetank_api::{Method, Request, json};
use wavetank_engine::Name;

use super::controller::MANAGER;
use super::mirrored::{LABEL_SKIP_MIRROR, LAST_APPLIED, LEADER};
use crate::endpoint_utils::{CLUSTER_IP_NONE, SliceAct, act_on_slice};
use wavetank_components::users::{Args, Client, NAMESPACE, Use};

/// So few that they are made again.
const SERVICES_USED: u64 = 2;

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum What {
    CreateService,
    DeleteService,
    Select,
    Unselect,
    Create,
    Change,
    Delete,
    Recreate,
    Skip,
    Mirror,
    Lock,
    Unlock,
    Apply,
    Label,
    OfSlice(SliceAct),
}

const ALL: [(&str, What); 19] = [
    ("create-service", What::CreateService),
    ("delete-service", What::DeleteService),
    ("select", What::Select),
    ("unselect", What::Unselect),
    ("create", What::Create),
    ("change", What::Change),
    ("delete", What::Delete),
    ("recreate", What::Recreate),
    ("skip", What::Skip),
    ("mirror", What::Mirror),
    ("lock", What::Lock),
    ("unlock", What::Unlock),
    ("apply", What::Apply),
    ("label", What::Label),
    ("change-slice", What::OfSlice(SliceAct::Change)),
    ("delete-slice", What::OfSlice(SliceAct::Delete)),
    ("take-slice", What::OfSlice(SliceAct::Take)),
    ("hold-slice", What::OfSlice(SliceAct::Hold)),
    ("let-slice-go", What::OfSlice(SliceAct::LetGo)),
];

/// How often each is drawn: what keeps Endpoints from being mirrored is taken back more often than it is done.
const DRAWN: [What; 33] = [
    What::CreateService,
    What::CreateService,
    What::CreateService,
    What::DeleteService,
    What::Select,
    What::Unselect,
    What::Unselect,
    What::Create,
    What::Create,
    What::Create,
    What::Change,
    What::Change,
    What::Change,
    What::Change,
    What::Change,
    What::Delete,
    What::Recreate,
    What::Recreate,
    What::Skip,
    What::Mirror,
    What::Mirror,
    What::Lock,
    What::Unlock,
    What::Unlock,
    What::Apply,
    What::Label,
    What::OfSlice(SliceAct::Change),
    What::OfSlice(SliceAct::Delete),
    What::OfSlice(SliceAct::Delete),
    What::OfSlice(SliceAct::Take),
    What::OfSlice(SliceAct::Hold),
    What::OfSlice(SliceAct::Hold),
    What::OfSlice(SliceAct::LetGo),
];

/// What Endpoints list.
const KINDS: [&str; 9] = [
    "one", "more", "six", "both", "crossed", "apart", "many", "bare", "none",
];

/// What it was told to do; what is not said is drawn.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Asked {
    what: Option<What>,
    endpoints: Option<String>,
    kind: Option<String>,
}

/// Keeps Endpoints.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct UsesEndpoints;

impl Use for UsesEndpoints {
    const ROUTINE: Name = Name::new("use-endpoints");
    type Order = Asked;

    /// `use {what?, endpoints?, kind?}`
    fn order(&self, args: &Args<'_>) -> Result<Asked, String> {
        let kinds = KINDS.map(|kind| (kind, kind));
        Ok(Asked {
            what: args.named("what", &ALL)?,
            endpoints: args.text("endpoints"),
            kind: args.named("kind", &kinds)?.map(str::to_owned),
        })
    }

    async fn work(self, client: Client, asked: Asked) {
        let what = match asked.what {
            Some(what) => what,
            None => client.one_of(&DRAWN).await,
        };
        let name = match &asked.endpoints {
            Some(name) => name.clone(),
            None => format!("own{}", client.rx.choose(SERVICES_USED).await),
        };
        let makes = matches!(what, What::Create | What::Change);
        let kind = match asked.kind {
            Some(kind) => kind,
            None if makes => client.one_of(&KINDS).await.to_owned(),
            None => String::new(),
        };
        act(&client, what, &name, &kind).await;
    }
}

async fn act(client: &Client, what: What, name: &str, kind: &str) {
    let service = SERVICES.path(NAMESPACE, name);
    let endpoints = ENDPOINTS.path(NAMESPACE, name);
    let label = async |key: &str, value: &str| {
        let field = ["metadata", "labels", key];
        client.change(&ENDPOINTS, name, &field, value.into()).await;
    };
    let annotate = async |key: &str, value: &str| {
        let field = ["metadata", "annotations", key];
        client.change(&ENDPOINTS, name, &field, value.into()).await;
    };
    match what {
        What::CreateService => {
            let post = Request::new(Method::Post, SERVICES.path(NAMESPACE, ""));
            client.ask(post.with(service_without_selector(name))).await;
        }
        What::DeleteService => client.ask(Request::new(Method::Delete, service)).await,
        What::Select => {
            let selector = json!({ "app": name });
            client
                .change(&SERVICES, name, &["spec", "selector"], selector)
                .await;
        }
        What::Unselect => unselect(client, name).await,
        What::Create => create(client, endpoints_of(name, subsets(kind))).await,
        // As they were (`kubectl replace --force`).
        What::Recreate => {
            if let Some(now) = client.get(&ENDPOINTS, name).await {
                client.ask(Request::new(Method::Delete, endpoints)).await;
                create(client, endpoints_of(name, now["subsets"].clone())).await;
            }
        }
        What::Change => {
            client
                .change(&ENDPOINTS, name, &["subsets"], subsets(kind))
                .await;
        }
        What::Delete => client.ask(Request::new(Method::Delete, endpoints)).await,
        What::Skip => label(LABEL_SKIP_MIRROR, "true").await,
        What::Mirror => label(LABEL_SKIP_MIRROR, "false").await,
        What::Label => label("tier", "back").await,
        What::Lock => annotate(LEADER, "{}").await,
        What::Unlock => unlock(client, name).await,
        What::Apply => {
            annotate(LAST_APPLIED, "{}").await;
            annotate("example.com/note", "applied").await;
        }
        What::OfSlice(what) => act_on_slice(client, what, MANAGER, name).await,
    }
}

/// The Service selects no pods any more.
async fn unselect(client: &Client, name: &str) {
    if let Some(mut service) = client.get(&SERVICES, name).await {
        json::remove(&mut service, &["spec", "selector"]);
        let put = Request::new(Method::Put, SERVICES.path(NAMESPACE, name));
        client.ask(put.with(service)).await;
    }
}

/// The Endpoints are no lock any more.
async fn unlock(client: &Client, name: &str) {
    if let Some(mut endpoints) = client.get(&ENDPOINTS, name).await {
        json::remove(&mut endpoints, &["metadata", "annotations", LEADER]);
        let put = Request::new(Method::Put, ENDPOINTS.path(NAMESPACE, name));
        client.ask(put.with(endpoints)).await;
    }
}

/// A Service without an address of its own: nothing is allocated.
fn service_without_selector(name: &str) -> Json {
    json!({
        "apiVersion": SERVICES.api_version(),
        "kind": SERVICES.kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "clusterIP": CLUSTER_IP_NONE,
            // Without it one that has no selector is of both families, and cannot get one where there is one range.
            "ipFamilyPolicy": "SingleStack",
            "ports": [{"port": 80}],
        },
    })
}

async fn create(client: &Client, endpoints: Json) {
    let post = Request::new(Method::Post, ENDPOINTS.path(NAMESPACE, ""));
    client.ask(post.with(endpoints)).await;
}

fn endpoints_of(name: &str, subsets: Json) -> Json {
    json!({
        "apiVersion": ENDPOINTS.api_version(),
        "kind": ENDPOINTS.kind,
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"app": name}},
        "subsets": subsets,
    })
}

/// One address, some of which one is not ready, one of the other type, both types; one address in two subsets with other ports; two
/// subsets of the same ports, with more addresses than may be mirrored where that is three; so many in one subset; one without
/// ports; none.
fn subsets(kind: &str) -> Json {
    let ips = |all: &[&str]| -> Vec<Json> { all.iter().map(|ip| json!({ "ip": ip })).collect() };
    let ports = |all: &[u16]| -> Vec<Json> {
        let one = |port: &u16| json!({"name": format!("p{port}"), "port": port, "protocol": "TCP"});
        all.iter().map(one).collect()
    };
    let ready =
        |addresses: &[&str], all: &[u16]| json!({"addresses": ips(addresses), "ports": ports(all)});
    match kind {
        "one" => json!([ready(&["10.1.0.1"], &[80])]),
        "more" => json!([{
            "addresses": ips(&["10.1.0.1", "10.1.0.2"]),
            "notReadyAddresses": ips(&["10.1.0.3"]),
            "ports": ports(&[80, 81]),
        }]),
        "six" => json!([ready(&["fd00::1"], &[80])]),
        "both" => json!([ready(&["10.1.0.1", "fd00::1"], &[81])]),
        "crossed" => json!([
            ready(&["10.1.0.1"], &[80]),
            ready(&["10.1.0.1", "10.1.0.2"], &[81]),
        ]),
        "apart" => json!([
            {"notReadyAddresses": ips(&["10.1.0.1", "10.1.0.2", "10.1.0.3"]), "ports": ports(&[80])},
            ready(&["10.1.0.4"], &[80]),
        ]),
        "many" => json!([ready(
            &["10.1.0.1", "10.1.0.2", "10.1.0.3", "10.1.0.4"],
            &[80]
        )]),
        "bare" => json!([{"addresses": ips(&["10.1.0.1"])}]),
        _ => json!([]),
    }
}
