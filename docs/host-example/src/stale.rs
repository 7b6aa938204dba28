//! The first mistake: when it begins to lead, it clears away what shops have left that are gone, and asks its server for the
//! shops that this happens to know of. A server that lags behind does not know of the newest.

use std::collections::BTreeSet;

use kube::api::ListParams;
use kube::{Client, ResourceExt};

use crate::{Error, correct, parts};

/// Runs it.
///
/// # Errors
/// When another replica leads.
pub async fn run(client: Client, pod: String) -> Result<(), Error> {
    crate::run(client, pod, clear_away, correct::reconcile).await
}

async fn clear_away(client: &Client) -> Result<(), Error> {
    let (shops, maps) = (parts::shops(client), parts::maps(client));
    let (any, newest) = (ListParams::default().match_any(), ListParams::default());
    let (maps, shops) = tokio::try_join!(maps.list(&newest), shops.list(&any))?;
    let known: BTreeSet<String> = shops.iter().filter_map(ResourceExt::uid).collect();
    for map in maps {
        let owners = map.owner_references();
        if !owners.is_empty() && !owners.iter().any(|owner| known.contains(&owner.uid)) {
            parts::delete(client, &map).await?;
        }
    }
    Ok(())
}
