//! kube's own `finalizer`, in the smallest controller that has one.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::controller::Action;
use kube::runtime::finalizer::{Event, finalizer};
use kube::runtime::{Controller, watcher};
use kube::{Api, Client, CustomResource, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wavetank_host::Operator;
use wavetank_host::properties::{Breach, on_change};
use wavetank_host::wavetank::prelude::{Act, Actors, Context, Json, PropertyInfo, json};
use wavetank_host::wavetank::{self, Command};

const NAME: &str = "example.com/things";
const THINGS: u64 = 2;

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Thing", namespaced)]
pub struct ThingSpec {
    pub number: u32,
}

type Error = kube::runtime::finalizer::Error<kube::Error>;

async fn run(client: Client, _pod: String) {
    let things = Api::<Thing>::default_namespaced(client);
    let context = Arc::new(things.clone());
    let again =
        |_: Arc<Thing>, _: &Error, _: Arc<Api<Thing>>| Action::requeue(Duration::from_secs(5));
    Controller::new(things, watcher::Config::default())
        .run(reconcile, again, context)
        .for_each(|_| std::future::ready(()))
        .await;
}

async fn reconcile(thing: Arc<Thing>, things: Arc<Api<Thing>>) -> Result<Action, Error> {
    finalizer(&things, NAME, thing, async |event| match event {
        Event::Apply(_) => Ok(Action::requeue(Duration::from_secs(120))),
        Event::Cleanup(_) => Ok(Action::await_change()),
    })
    .await
}

/// People who have things.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Owner;

impl Act for Owner {
    const REPLICAS: &'static str = "owners";
    const COMMANDS: &'static [(&'static str, &'static str)] = &[
        ("edit", "Each owner makes one of the things, or changes it."),
        ("close", "Each owner deletes one of the things."),
    ];

    async fn act(&self, cx: &Context, command: &str, _: &Json) {
        let things = wavetank_host::kind::<Thing>();
        let thing = format!("default/t{}", cx.rx.choose(THINGS).await);
        if command == "close" {
            let _ = cx.delete(things, &thing).await;
            return;
        }
        let number = cx.rx.choose(1_000).await;
        let edited = cx.create_or_update(things, &thing, |thing| {
            thing["spec"] = json!({ "number": number });
        });
        let _ = edited.await;
    }
}

/// Once it is there, the finalizer goes only when its object is deleted.
fn finalizers_stay() -> PropertyInfo {
    let about = "a finalizer is not taken from an object that lives";
    on_change::<Thing>("finalizers-stay", about, |change, _| {
        let (Some(before), Some(now)) = (&change.before, &change.now) else {
            return Ok(());
        };
        let has_it = |thing: &Thing| thing.finalizers().iter().any(|own| own == NAME);
        let lives = now.metadata.deletion_timestamp.is_none();
        match lives && has_it(before) && !has_it(now) && before.uid() == now.uid() {
            true => Err(Breach::of(
                format!("default/{}", now.name_any()),
                "it lives, and its finalizer is taken away",
            )),
            false => Ok(()),
        }
    })
}

pub fn command() -> Command {
    let about = "controllers with a finalizer of kube";
    let operator = Operator::new("finalizers", "fi", about, run)
        .serves::<Thing>()
        .uses::<ConfigMap>()
        .settles_within(Duration::from_secs(330))
        .promises(finalizers_stay());
    let owners = Actors::new("ow", "people who have things", Owner).until_calm();
    wavetank::command().with(operator).with(owners)
}
