//! The operator without a mistake.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::runtime::controller::Action;

use crate::{Context, Error, Shop, parts};

/// Runs it.
///
/// # Errors
/// When another replica leads.
pub async fn run(client: Client, pod: String) -> Result<(), Error> {
    crate::run(client, pod, async |_| Ok(()), reconcile).await
}

/// Makes a shop as it should be.
pub(crate) async fn reconcile(shop: Arc<Shop>, context: Arc<Context>) -> Result<Action, Error> {
    let client = &context.client;
    if !parts::is_open(client, &shop).await? {
        return Ok(Action::await_change());
    }
    parts::ensure(client, &shop, parts::entry(&shop)).await?;
    parts::ensure(client, &shop, parts::owned(&shop, "page", &shop.spec.title)).await?;
    parts::ensure(client, &shop, parts::owned(&shop, "theme", "light")).await?;
    for edition in 1..=shop.spec.edition {
        parts::ensure(client, &shop, parts::archived(&shop, edition)).await?;
    }
    parts::report(client, &shop).await?;
    Ok(Action::requeue(Duration::from_secs(120)))
}
