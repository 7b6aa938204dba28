//! What a shop consists of.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::json;

use crate::{Error, Shop, ShopStatus};

/// What holds up the deletion of a shop.
const FINALIZER: &str = "example.com/directory";

/// The ConfigMaps of the operator's namespace.
pub fn maps(client: &Client) -> Api<ConfigMap> {
    Api::default_namespaced(client.clone())
}

/// The shops.
pub fn shops(client: &Client) -> Api<Shop> {
    Api::default_namespaced(client.clone())
}

fn map(name: String, data: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([("text".to_owned(), data.to_owned())])),
        ..ConfigMap::default()
    }
}

/// A ConfigMap that the shop owns.
pub fn owned(shop: &Shop, part: &str, data: &str) -> ConfigMap {
    let mut map = map(format!("{}-{part}", shop.name_any()), data);
    map.metadata.owner_references = shop.controller_owner_ref(&()).map(|owner| vec![owner]);
    map
}

/// The archive of an edition.
pub fn archived(shop: &Shop, edition: u32) -> ConfigMap {
    let (part, text) = (format!("edition-{edition}"), format!("Edition {edition}"));
    owned(shop, &part, &text)
}

/// The entry in the directory, which nobody owns.
pub fn entry(shop: &Shop) -> ConfigMap {
    map(
        format!("directory-{}", shop.name_any()),
        &shop.uid().unwrap_or_default(),
    )
}

/// Makes it as it should be, unless it is. What another shop of this name has left must go first, but what is seen of a
/// shop may be old: then what is there is that of the shop which has the name now.
pub async fn ensure(client: &Client, shop: &Shop, wanted: ConfigMap) -> Result<(), Error> {
    let (maps, name) = (maps(client), wanted.name_any());
    let Some(there) = maps.get_opt(&name).await? else {
        maps.create(&PostParams::default(), &wanted).await?;
        return Ok(());
    };
    let differs = there.data != wanted.data || !is_controlled_alike(&there, &wanted);
    if differs && is_newest(client, shop).await? {
        replace(client, there, wanted).await?;
    }
    Ok(())
}

/// Is there no newer shop of this name? That is asked of etcd, and of no cache.
async fn is_newest(client: &Client, shop: &Shop) -> Result<bool, Error> {
    let newest = shops(client).get_opt(&shop.name_any()).await?;
    Ok(newest.is_some_and(|newest| newest.metadata.uid == shop.metadata.uid))
}

fn is_controlled_alike(there: &ConfigMap, wanted: &ConfigMap) -> bool {
    let uids = |map: &ConfigMap| -> Vec<String> {
        let owners = map.owner_references().iter();
        owners.map(|owner| owner.uid.clone()).collect()
    };
    uids(there) == uids(wanted)
}

/// Makes this very object the one that is wanted, or deletes it if it is another shop's: then its end brings the shop back.
pub async fn replace(
    client: &Client,
    mut there: ConfigMap,
    wanted: ConfigMap,
) -> Result<(), Error> {
    if !is_controlled_alike(&there, &wanted) {
        return delete(client, &there).await;
    }
    let (name, params) = (wanted.name_any(), PostParams::default());
    there.data = wanted.data;
    maps(client).replace(&name, &params, &there).await?;
    Ok(())
}

/// Deletes this very object, and none that has its name by now.
pub async fn delete(client: &Client, map: &ConfigMap) -> Result<(), Error> {
    let params = DeleteParams {
        preconditions: Some(Preconditions {
            uid: map.uid(),
            resource_version: map.resource_version(),
        }),
        ..DeleteParams::default()
    };
    match maps(client).delete(&map.name_any(), &params).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        other => Ok(other.map(drop)?),
    }
}

/// Says how far it is.
pub async fn report(client: &Client, shop: &Shop) -> Result<(), Error> {
    let edition = shop.spec.edition;
    if shop.status.as_ref().map(|status| status.edition) == Some(edition) {
        return Ok(());
    }
    let status = ShopStatus { edition };
    let patch = json!({
        "metadata": {"uid": shop.metadata.uid, "resourceVersion": shop.metadata.resource_version},
        "status": status,
    });
    let params = PatchParams::default();
    shops(client)
        .patch_status(&shop.name_any(), &params, &Patch::Merge(patch))
        .await?;
    Ok(())
}

/// Is there a shop to be made, with a finalizer that holds up its end? One that lives without it gets it, and its own change
/// brings it back; one that is deleted is cleaned up after.
pub async fn is_open(client: &Client, shop: &Shop) -> Result<bool, Error> {
    let has_it = shop.finalizers().iter().any(|name| name == FINALIZER);
    match (shop.metadata.deletion_timestamp.is_some(), has_it) {
        (true, true) => cleanup(client, shop).await?,
        (true, false) => {}
        (false, true) => return Ok(true),
        (false, false) => {
            let all = [shop.finalizers(), &[FINALIZER.to_owned()]].concat();
            set_finalizers(client, shop, &all).await?;
        }
    }
    Ok(false)
}

/// The entry in the directory goes, if it is of this shop; then the shop may go.
async fn cleanup(client: &Client, shop: &Shop) -> Result<(), Error> {
    let entry = entry(shop);
    if let Some(there) = maps(client).get_opt(&entry.name_any()).await?
        && there.data == entry.data
    {
        delete(client, &there).await?;
    }
    let others = shop.finalizers().iter().filter(|name| *name != FINALIZER);
    let others: Vec<String> = others.cloned().collect();
    set_finalizers(client, shop, &others).await
}

/// Adds the finalizer, or takes it away: of this very shop, as it was seen.
async fn set_finalizers(client: &Client, shop: &Shop, finalizers: &[String]) -> Result<(), Error> {
    let patch = json!({
        "metadata": {
            "finalizers": finalizers,
            "uid": shop.metadata.uid,
            "resourceVersion": shop.metadata.resource_version,
        },
    });
    let params = PatchParams::default();
    shops(client)
        .patch(&shop.name_any(), &params, &Patch::Merge(patch))
        .await?;
    Ok(())
}
