//! The second mistake: page and theme are made together, and whoever crashed in between never makes the theme.

use std::sync::Arc;
use std::time::Duration;

use kube::runtime::controller::Action;
use kube::{Client, ResourceExt};

use crate::parts::{self, FINALIZER};
use crate::{Context, Error, Shop};

/// Runs it.
///
/// # Errors
/// When another replica leads.
pub async fn run(client: Client, pod: String) -> Result<(), Error> {
    crate::run(client, pod, async |_| Ok(()), reconcile).await
}

async fn reconcile(shop: Arc<Shop>, context: Arc<Context>) -> Result<Action, Error> {
    let client = &context.client;
    let has_it = |name: &String| name == FINALIZER;
    if shop.metadata.deletion_timestamp.is_some() {
        if shop.finalizers().iter().any(has_it) {
            cleanup(client, &shop).await?;
        }
        return Ok(Action::await_change());
    }
    if !shop.finalizers().iter().any(has_it) {
        let all = [shop.finalizers(), &[FINALIZER.to_owned()]].concat();
        parts::set_finalizers(client, &shop, &all).await?;
        // Its own change brings it back.
        return Ok(Action::await_change());
    }
    parts::ensure(client, &shop, parts::entry(&shop)).await?;
    let page = parts::owned(&shop, "page", &shop.spec.title);
    let is_new = parts::maps(client)
        .get_opt(&page.name_any())
        .await?
        .is_none();
    parts::ensure(client, &shop, page).await?;
    if is_new {
        parts::ensure(client, &shop, parts::owned(&shop, "theme", "light")).await?;
    }
    for edition in 1..=shop.spec.edition {
        let archived = parts::owned(
            &shop,
            &format!("edition-{edition}"),
            &format!("Edition {edition}"),
        );
        parts::ensure(client, &shop, archived).await?;
    }
    parts::report(client, &shop).await?;
    Ok(Action::requeue(Duration::from_secs(120)))
}

/// The entry in the directory goes, if it is of this shop; then the shop may go.
async fn cleanup(client: &Client, shop: &Shop) -> Result<(), Error> {
    let entry = parts::entry(shop);
    if let Some(there) = parts::maps(client).get_opt(&entry.name_any()).await?
        && there.data == entry.data
    {
        parts::delete(client, &there).await?;
    }
    let others = shop.finalizers().iter().filter(|name| *name != FINALIZER);
    let others: Vec<String> = others.cloned().collect();
    parts::set_finalizers(client, shop, &others).await
}
