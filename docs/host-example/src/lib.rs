//! An operator as people write them: for each `Shop` it keeps a page, a theme and an archive of its editions as ConfigMaps
//! that the shop owns, and an entry in a directory, which is nobody's and goes with a finalizer. One replica leads.
//!
//! [`correct`] does all of it. Three others each make a mistake that operators are known for: [`stale`] trusts what it
//! sees of a shop, [`halfway`] does not come back to what a crash cut off, [`intermediate`] must see every edition.

pub mod correct;
mod election;
pub mod halfway;
pub mod intermediate;
mod parts;
pub mod stale;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::controller::Action;
use kube::runtime::{Controller, watcher};
use kube::{Api, Client, CustomResource};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A shop.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Shop",
    namespaced,
    status = "ShopStatus"
)]
pub struct ShopSpec {
    /// What stands on its page.
    pub title: String,
    /// How often it was edited.
    pub edition: u32,
}

/// How far the operator is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShopStatus {
    /// The edition that is on its page.
    pub edition: u32,
}

/// Why a shop could not be made as it should be.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The cluster says no, or nothing.
    #[error("{0}")]
    Kube(#[from] kube::Error),
    /// Another replica leads.
    #[error("the lease is lost")]
    Deposed,
}

/// What a reconciler works with.
pub struct Context {
    /// The cluster.
    pub client: Client,
}

/// Waits for the lease, does what is to be done first, and runs a controller of shops for as long as this replica leads.
pub async fn run<F>(
    client: Client,
    pod: String,
    first: impl AsyncFnOnce(&Client) -> Result<(), Error>,
    reconcile: impl FnMut(Arc<Shop>, Arc<Context>) -> F,
) -> Result<(), Error>
where
    F: Future<Output = Result<Action, Error>> + Send + 'static,
{
    election::acquire(&client, &pod).await;
    first(&client).await?;
    let shops = Api::<Shop>::default_namespaced(client.clone());
    let pages = Api::<ConfigMap>::default_namespaced(client.clone());
    let context = Arc::new(Context {
        client: client.clone(),
    });
    let again = |_: Arc<Shop>, _: &Error, _: Arc<Context>| Action::requeue(Duration::from_secs(5));
    let controller = Controller::new(shops, watcher::Config::default())
        .owns(pages, watcher::Config::default())
        .run(reconcile, again, context)
        .for_each(|_| std::future::ready(()));
    tokio::select! {
        () = controller => Ok(()),
        () = election::hold(&client, &pod) => Err(Error::Deposed),
    }
}
