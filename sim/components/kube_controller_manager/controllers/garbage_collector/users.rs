//! Who makes owners and dependents in a scenario: a client that makes objects with owners, gives them others, lets them go,
//! and deletes them in each way. Each object may be owned by those with a smaller number, so that nobody owns himself by
//! way of others. Some references are wrong: to another namespace, with another kind, or to what never was.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use wavetank_api::kinds::{CONFIG_MAPS, PODS, REPLICA_SETS};
use wavetank_api::{Method, Request, Resource, Stored};
use wavetank_engine::Name;

use wavetank_components::users::{Args, Client, Use};

/// The objects, by number. Pods own nobody: there are none after them.
const KINDS: [&Resource; 6] = [
    &CONFIG_MAPS,
    &REPLICA_SETS,
    &CONFIG_MAPS,
    &REPLICA_SETS,
    &CONFIG_MAPS,
    &PODS,
];
/// The second is seldom used.
const NAMESPACES: [&str; 4] = ["default", "default", "default", "kube-public"];
const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// A user asks for the deletion of the object with this UID.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct AsksToDelete(pub Arc<str>);

/// What is done to an object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum What {
    Create,
    Adopt,
    Release,
    Touch,
    Delete,
    Recreate,
}

const ALL: [(&str, What); 6] = [
    ("create", What::Create),
    ("adopt", What::Adopt),
    ("release", What::Release),
    ("touch", What::Touch),
    ("delete", What::Delete),
    ("recreate", What::Recreate),
];

/// How often each is drawn.
const DRAWN: [What; 12] = [
    What::Create,
    What::Create,
    What::Create,
    What::Create,
    What::Create,
    What::Adopt,
    What::Release,
    What::Touch,
    What::Delete,
    What::Delete,
    What::Delete,
    What::Recreate,
];

/// How a reference is made.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Shape {
    Right,
    OtherNamespace,
    OtherKind,
    Unknown,
}

const SHAPES: [(&str, Shape); 4] = [
    ("right", Shape::Right),
    ("other-namespace", Shape::OtherNamespace),
    ("other-kind", Shape::OtherKind),
    ("unknown", Shape::Unknown),
];

/// How often each is drawn.
const DRAWN_SHAPES: [Shape; 10] = [
    Shape::Right,
    Shape::Right,
    Shape::Right,
    Shape::Right,
    Shape::Right,
    Shape::Right,
    Shape::Right,
    Shape::OtherNamespace,
    Shape::OtherKind,
    Shape::Unknown,
];

const POLICIES: [(&str, &str); 3] = [
    ("background", "Background"),
    ("foreground", "Foreground"),
    ("orphan", "Orphan"),
];

/// What it was told to do; what is not said is drawn.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Asked {
    what: Option<What>,
    object: Option<u64>,
    namespace: Option<String>,
    /// The numbers of its owners.
    owners: Option<Vec<u64>>,
    shape: Option<Shape>,
    blocks: Option<bool>,
    policy: Option<&'static str>,
}

/// Uses owners and dependents.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct UsesOwners;

impl Use for UsesOwners {
    const ROUTINE: Name = Name::new("use-owners");
    type Order = Asked;

    /// `use {what?, object?, namespace?, owners?, shape?, blocks?, policy?}`
    fn order(&self, args: &Args<'_>) -> Result<Asked, String> {
        let owners: Option<Vec<u64>> =
            args.list("owners", "a list of numbers of objects", Json::as_u64);
        let object = args.count("object");
        let numbers = [
            ("object", object.as_slice()),
            ("owners", owners.as_deref().unwrap_or_default()),
        ];
        for (name, numbers) in numbers {
            if numbers.iter().any(|number| *number >= KINDS.len() as u64) {
                return Err(format!(
                    "numbers of objects, as in `{name}`, are less than {}",
                    KINDS.len()
                ));
            }
        }
        Ok(Asked {
            what: args.named("what", &ALL)?,
            object,
            namespace: args.text("namespace"),
            owners,
            shape: args.named("shape", &SHAPES)?,
            blocks: args.flag("blocks"),
            policy: args.named("policy", &POLICIES)?,
        })
    }

    async fn work(self, client: Client, asked: Asked) {
        let what = match asked.what {
            Some(what) => what,
            None => client.one_of(&DRAWN).await,
        };
        let number = match asked.object {
            Some(number) => number,
            None => client.rx.choose(KINDS.len() as u64).await,
        };
        let namespace = match &asked.namespace {
            Some(namespace) => namespace.clone(),
            None => client.one_of(&NAMESPACES).await.to_owned(),
        };
        let one = One { number, namespace };
        match what {
            What::Create => create(&client, &one, &asked).await,
            What::Adopt => adopt(&client, &one, &asked).await,
            What::Release => release(&client, &one).await,
            What::Touch => {
                let drawn = client.rx.choose(1 << 10).await.to_string();
                let patch = json!({"metadata": {"labels": {"touched": drawn}}});
                one.patch(&client, patch).await;
            }
            What::Delete => delete(&client, &one, &asked).await,
            What::Recreate => {
                delete(&client, &one, &asked).await;
                create(&client, &one, &asked).await;
            }
        }
    }
}

/// An object by its number.
#[derive(Clone)]
struct One {
    number: u64,
    namespace: String,
}

impl One {
    fn resource(&self) -> &'static Resource {
        KINDS[self.number as usize]
    }

    fn name(&self) -> String {
        format!("o{}", self.number)
    }

    fn path(&self) -> String {
        self.resource().path(&self.namespace, &self.name())
    }

    async fn get(&self, client: &Client) -> Option<Stored> {
        client.object(&self.path()).await.ok()
    }

    async fn patch(&self, client: &Client, patch: Json) {
        let mut request = Request::new(Method::Patch, self.path()).with(patch);
        request.content_type = Some(STRATEGIC.into());
        client.ask(request).await;
    }
}

/// The owners that it is to have, as they are now.
async fn owners(client: &Client, of: &One, asked: &Asked, most: u64) -> Vec<Json> {
    let numbers = match &asked.owners {
        Some(numbers) => numbers.clone(),
        None if of.number == 0 => Vec::new(),
        None => {
            let count = client.rx.choose(most + 1).await;
            let mut numbers = Vec::new();
            for _ in 0..count {
                let number = client.rx.choose(of.number).await;
                if !numbers.contains(&number) {
                    numbers.push(number);
                }
            }
            numbers
        }
    };
    let mut owners = Vec::new();
    for number in numbers {
        let shape = match asked.shape {
            Some(shape) => shape,
            None => client.one_of(&DRAWN_SHAPES).await,
        };
        let blocks = match asked.blocks {
            Some(blocks) => blocks,
            None => client.rx.choose(4).await != 0,
        };
        let owner = One {
            number,
            ..of.clone()
        };
        owners.extend(reference(client, owner, shape, blocks).await);
    }
    owners
}

/// A reference to an object; none if it is not there, or goes.
async fn reference(client: &Client, mut owner: One, shape: Shape, blocks: bool) -> Option<Json> {
    if shape == Shape::OtherNamespace {
        owner.namespace = match owner.namespace.as_str() {
            "default" => "kube-public".to_owned(),
            _ => "default".to_owned(),
        };
    }
    let mut resource = owner.resource();
    let uid = match shape {
        Shape::Unknown => "11111111-2222-3333-4444-555555555555".to_owned(),
        _ => {
            let found = owner.get(client).await?;
            let goes = found.object.is_being_deleted();
            Some(found.object.uid().to_owned()).filter(|_| !goes)?
        }
    };
    if shape == Shape::OtherKind {
        resource = match *resource == CONFIG_MAPS {
            true => &REPLICA_SETS,
            false => &CONFIG_MAPS,
        };
    }
    Some(json!({
        "apiVersion": resource.api_version(),
        "kind": resource.kind,
        "name": owner.name(),
        "uid": uid,
        "blockOwnerDeletion": blocks,
    }))
}

async fn create(client: &Client, one: &One, asked: &Asked) {
    let owners = owners(client, one, asked, 2).await;
    let mut object = json!({
        "apiVersion": one.resource().api_version(),
        "kind": one.resource().kind,
        "metadata": {"name": one.name(), "namespace": one.namespace, "ownerReferences": owners},
    });
    let labels = json!({"app": one.name()});
    let container = json!({"name": "main", "image": "image"});
    if *one.resource() == REPLICA_SETS {
        object["spec"] = json!({
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        });
    } else if *one.resource() == PODS {
        object["spec"] = json!({"containers": [container]});
    }
    let path = one.resource().path(&one.namespace, "");
    client
        .ask(Request::new(Method::Post, path).with(object))
        .await;
}

/// One more owner, or another answer to whether it blocks.
async fn adopt(client: &Client, one: &One, asked: &Asked) {
    let owners = owners(client, one, asked, 1).await;
    if owners.is_empty() {
        return;
    }
    if let Some(found) = one.get(client).await {
        let uid = found.object.uid();
        let patch = json!({"metadata": {"uid": uid, "ownerReferences": owners}});
        one.patch(client, patch).await;
    }
}

/// One owner less.
async fn release(client: &Client, one: &One) {
    let Some(found) = one.get(client).await else {
        return;
    };
    let owners = wavetank_api::json::list(found.object.json(), &["metadata", "ownerReferences"]);
    if owners.is_empty() {
        return;
    }
    let owner = client.one_of(owners).await;
    let patch = json!({"metadata": {
        "uid": found.object.uid(),
        "ownerReferences": [{"$patch": "delete", "uid": owner["uid"]}],
    }});
    one.patch(client, patch).await;
}

async fn delete(client: &Client, one: &One, asked: &Asked) {
    let policy = match asked.policy {
        Some(policy) => policy,
        None => client.one_of(&POLICIES).await.1,
    };
    let Some(found) = one.get(client).await else {
        return;
    };
    // Who changes his mind about what becomes of dependents gets what he asks for.
    if found.object.is_being_deleted() {
        return;
    }
    let uid = found.object.uid();
    client.rx.note(AsksToDelete(uid.into()));
    let options = json!({
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "propagationPolicy": policy,
        "preconditions": {"uid": uid},
    });
    let delete = Request::new(Method::Delete, one.path()).with(options);
    client.ask(delete).await;
}
