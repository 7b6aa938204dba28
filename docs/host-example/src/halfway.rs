//! The second mistake: page and theme are made together, and whoever crashed in between never makes the theme.

use std::sync::Arc;
use std::time::Duration;

use kube::runtime::controller::Action;
use kube::{Client, ResourceExt};

use crate::{Context, Error, Shop, parts};

/// Runs it.
///
/// # Errors
/// When another replica leads.
pub async fn run(client: Client, pod: String) -> Result<(), Error> {
    crate::run(client, pod, async |_| Ok(()), reconcile).await
}

async fn reconcile(shop: Arc<Shop>, context: Arc<Context>) -> Result<Action, Error> {
    let client = &context.client;
    if !parts::is_open(client, &shop).await? {
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
        parts::ensure(client, &shop, parts::archived(&shop, edition)).await?;
    }
    parts::report(client, &shop).await?;
    Ok(Action::requeue(Duration::from_secs(120)))
}
