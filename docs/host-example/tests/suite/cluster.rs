//! The operator as a component, those who use it, and what must hold.

use std::future::Future;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Client, ResourceExt};
use shop_operator::{Error, Shop};
use wavetank_host::Operator;
use wavetank_host::properties::{Breach, Cluster, on_change, stable};
use wavetank_host::wavetank;
use wavetank_host::wavetank::Command;
use wavetank_host::wavetank::prelude::*;

/// So many shops there are that are closed and opened again,
const SHOPS: u64 = 3;
/// and so many that are kept.
const KEPT: u64 = 8;

/// So often an owner tries to edit a shop.
const TRIES: u32 = 5;

/// What an owner hangs up in a new shop.
fn banner(shop: &Object) -> Json {
    let uid = json::text(shop.json(), &["metadata", "uid"]);
    let owner = json!({
        "apiVersion": "example.com/v1", "kind": "Shop", "name": shop.name(), "uid": uid, "controller": true,
    });
    json!({
        "metadata": {
            "namespace": shop.namespace(),
            "generateName": format!("{}-banner-", shop.name()),
            "ownerReferences": [owner],
        },
        "data": {"text": "now open"},
    })
}

/// Who has shops.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Owner;

impl Act for Owner {
    const REPLICAS: &'static str = "owners";
    const COMMANDS: &'static [(&'static str, &'static str)] = &[
        ("edit", "Each owner opens or edits one of the shops."),
        ("close", "Each owner closes one of the shops."),
        (
            "keep",
            "Each owner opens or edits one of the shops that nobody closes.",
        ),
    ];

    async fn act(&self, cx: &Context, command: &str, _: &Json) {
        let shops = wavetank_host::kind::<Shop>();
        let shop = match command {
            "keep" => format!("default/kept{}", cx.rx.choose(KEPT).await),
            _ => format!("default/shop{}", cx.rx.choose(SHOPS).await),
        };
        // Whether it succeeds or not, the next one goes on from what is there.
        if command == "close" {
            let _ = cx.delete(shops, &shop).await;
            return;
        }
        let mut tries = 0;
        let edited = loop {
            tries += 1;
            let edited = cx.create_or_update(shops, &shop, |shop| {
                let edition = json::number(shop, &["spec", "edition"]).unwrap_or(0) + 1;
                let title = format!("Edition {edition}");
                shop["spec"] = json!({"edition": edition, "title": title});
            });
            match edited.await {
                // The operator was faster.
                Err(error) if error.is(Reason::Conflict) && tries < TRIES => {}
                edited => break edited,
            }
        };
        if let Ok(stored) = edited
            && json::number(stored.object.json(), &["spec", "edition"]) == Some(1)
        {
            let _ = cx.create(&kinds::CONFIG_MAPS, banner(&stored.object)).await;
        }
    }
}

fn controlled_by(map: &ConfigMap, shop: &Shop) -> bool {
    let mut owners = map.owner_references().iter();
    owners.any(|owner| {
        owner.controller == Some(true) && Some(&owner.uid) == shop.metadata.uid.as_ref()
    })
}

/// As stories name it.
fn shown(shop: &Shop) -> String {
    format!(
        "{}/{}",
        shop.namespace().unwrap_or_default(),
        shop.name_any()
    )
}

fn lives(shop: &Shop) -> bool {
    shop.metadata.deletion_timestamp.is_none()
}

fn text(map: &ConfigMap) -> Option<&String> {
    map.data.as_ref()?.get("text")
}

/// What a shop that lives owns is not deleted, nor is its entry in the directory.
fn parts_stay() -> PropertyInfo {
    let about = "what belongs to a shop that lives is not deleted";
    on_change::<ConfigMap>("parts-stay", about, |change, cluster| {
        let (Some(gone), None) = (&change.before, &change.now) else {
            return Ok(());
        };
        let shops = cluster.all::<Shop>();
        let is_its = |shop: &&Shop| {
            let is_entry = gone.name_any() == format!("directory-{}", shop.name_any());
            lives(shop)
                && (controlled_by(gone, shop)
                    || (is_entry && text(gone) == shop.metadata.uid.as_ref()))
        };
        match shops.iter().find(is_its) {
            None => Ok(()),
            Some(shop) => {
                let map = format!(
                    "{}/{}",
                    gone.namespace().unwrap_or_default(),
                    gone.name_any()
                );
                Err(Breach::of(
                    shown(shop),
                    format!("{map} is deleted, and its shop lives"),
                ))
            }
        }
    })
}

/// What a shop lacks.
fn lacking(shop: &Shop, cluster: Cluster<'_>) -> Option<String> {
    let (namespace, name) = (shop.namespace().unwrap_or_default(), shop.name_any());
    let owned = |part: &str| {
        let map = cluster.get::<ConfigMap>(&namespace, &format!("{name}-{part}"));
        map.filter(|map| controlled_by(map, shop))
    };
    let editions = (1..=shop.spec.edition).map(|edition| format!("edition-{edition}"));
    let parts = ["page".to_owned(), "theme".to_owned()]
        .into_iter()
        .chain(editions);
    let mut missing = parts.filter(|part| owned(part).is_none());
    if let Some(part) = missing.next() {
        return Some(part);
    }
    let shown = owned("page").and_then(|page| text(&page).cloned());
    (shown.as_ref() != Some(&shop.spec.title)).then(|| "its title on the page".to_owned())
}

/// In the end each shop has all that belongs to it, and keeps it.
fn shops_are_complete() -> PropertyInfo {
    stable(
        "shops-are-complete",
        "each shop has all its parts",
        |cluster| {
            for shop in cluster.all::<Shop>().iter().filter(|shop| lives(shop)) {
                if let Some(part) = lacking(shop, cluster) {
                    return Err(Breach::of(shown(shop), format!("has no {part}")));
                }
            }
            Ok(())
        },
    )
}

/// The command, over a cluster that may have this operator.
pub fn command<F>(run: impl Fn(Client, String) -> F + Send + Sync + 'static) -> Command
where
    F: Future<Output = Result<(), Error>> + 'static,
{
    let operator = Operator::new("shop-operators", "so", "operators of shops", run)
        .serves::<Shop>()
        .uses::<ConfigMap>()
        .uses::<Lease>()
        .settles_within(Duration::from_secs(330))
        .promises(parts_stay())
        .promises(shops_are_complete());
    let owners = Actors::new("ow", "people who have shops", Owner).until_calm();
    wavetank::command().with(operator).with(owners)
}
