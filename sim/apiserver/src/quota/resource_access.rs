//! Quotas as the plugin knows them, and what it writes to them
//! (`apiserver/pkg/admission/plugin/resourcequota/resource_access.go`).

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::kinds::RESOURCE_QUOTAS;
use wavetank_api::quota::ResourceQuota;
use wavetank_api::{Json, Method, Request, Status, Stored, json};
use wavetank_client::Failure;
use wavetank_engine::{Cell, Lock, Rx, Time};

use super::{LISTER, QuotaDefect};
use crate::server::Config;

/// So many namespaces that were looked up, and so many quotas that were written, are remembered.
const REMEMBERED: usize = 100;
/// `liveTTL`
const LIVE_TTL: Duration = Duration::from_secs(30);

/// `updatedQuotas`: what the server has written itself, the one last used at the end.
static UPDATED_QUOTAS: Cell<Vec<(Arc<str>, Stored)>> = Cell::new("updated-quotas");
/// `liveLookupEntry`: the quotas of a namespace, and how long that holds.
type LiveLookup = (Arc<str>, Time, Vec<Stored>);
/// `liveLookupCache`
static LIVE_LOOKUP_CACHE: Cell<Vec<LiveLookup>> = Cell::new("live-quotas");
/// `group`: one lookup at a time.
const GROUP: Lock = Lock::new("quota-lookup");

/// What a call of the server's own came to.
fn refusal(failed: Failure) -> Status {
    match failed {
        Failure::Status(status) => status,
        other => Status::new_internal_error(other),
    }
}

/// `UpdateQuotaStatus`
///
/// # Errors
/// What the server answers to itself.
pub(super) async fn update_quota_status(
    rx: Rx,
    config: &Config,
    quota: &ResourceQuota,
) -> Result<(), Status> {
    let (namespace, name) = (quota.object.namespace(), quota.name());
    let mut object = quota.to_json();
    let defects = config.defects.quota;
    if defects.has(QuotaDefect::ChargesWithoutPrecondition) {
        json::remove(&mut object, &["metadata", "resourceVersion"]);
    }
    let path = format!("{}/status", RESOURCE_QUOTAS.path(namespace, name));
    let put = Request::new(Method::Put, path).with(object);
    let updated = config.loopback().object(rx, put).await.map_err(refusal)?;
    let key: Arc<str> = key(&updated);
    rx.update(&UPDATED_QUOTAS, |all| {
        all.retain(|(known, _)| *known != key);
        all.push((key, updated));
        if all.len() > REMEMBERED {
            all.remove(0);
        }
    });
    Ok(())
}

fn key(stored: &Stored) -> Arc<str> {
    format!("{}/{}", stored.object.namespace(), stored.object.name()).into()
}

/// `checkCache`: what was written here, if it is newer.
fn check_cache(rx: Rx, quota: Stored) -> Stored {
    let key = key(&quota);
    rx.update(&UPDATED_QUOTAS, |all| {
        let Some(at) = all.iter().position(|(known, _)| *known == key) else {
            return quota;
        };
        let (key, cached) = all.remove(at);
        if quota.resource_version >= cached.resource_version {
            return quota;
        }
        all.push((key, cached.clone()));
        cached
    })
}

/// `GetQuotas`
///
/// # Errors
/// What the server answers to itself, before its informer has synced.
pub(super) async fn get_quotas(
    rx: Rx,
    config: &Config,
    namespace: &str,
) -> Result<Vec<ResourceQuota>, Status> {
    let mut items = LISTER.list(rx);
    items.retain(|stored| stored.object.namespace() == namespace);
    if items.is_empty() && !LISTER.has_synced(rx) {
        items = live_lookup(rx, config, namespace).await?;
    }
    let newest = items.into_iter().map(|stored| check_cache(rx, stored));
    Ok(newest.map(|stored| ResourceQuota::of(&stored)).collect())
}

/// The quotas of a namespace, as they are stored.
async fn live_lookup(rx: Rx, config: &Config, namespace: &str) -> Result<Vec<Stored>, Status> {
    let known = |rx: Rx| {
        let now = rx.clock();
        rx.update(&LIVE_LOOKUP_CACHE, |all| {
            let at = all.iter().position(|(known, ..)| **known == *namespace)?;
            let entry = all.remove(at);
            let items = entry.2.clone();
            let lives = entry.1 >= now;
            all.push(entry);
            lives.then_some(items)
        })
    };
    if let Some(items) = known(rx) {
        return Ok(items);
    }
    let _only = rx.lock(GROUP).await;
    if let Some(items) = known(rx) {
        return Ok(items);
    }
    let list = Request::new(Method::Get, RESOURCE_QUOTAS.path(namespace, ""));
    let items = config
        .loopback()
        .list(rx, list)
        .await
        .map_err(refusal)?
        .items;
    let entry = (Arc::from(namespace), rx.clock() + LIVE_TTL, items.clone());
    rx.update(&LIVE_LOOKUP_CACHE, |all| {
        all.retain(|(known, ..)| *known != entry.0);
        all.push(entry);
        if all.len() > REMEMBERED {
            all.remove(0);
        }
    });
    Ok(items)
}

/// The UID of a quota.
pub(super) fn uid(quota: &ResourceQuota) -> Arc<str> {
    let object: &Json = quota.object.json();
    json::text(object, &["metadata", "uid"]).into()
}
