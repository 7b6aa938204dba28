//! Health checks: all PostStart hooks have ended, etcd answers within 2 s, and for `/readyz` no
//! shutdown has begun and the informer of namespaces has synced. That those of hooks have is what the hooks wait for. Checks of etcd have clients of their own: they say nothing about those under resources.

use std::time::Duration;

use wavetank_api::discovery::checks_of;
use wavetank_api::{Object, Reason, Response, Status};
use wavetank_engine::Rx;
use wavetank_etcd::{Client, Connections, Keys, Purpose, Range};

use crate::endpoints::namespace_lifecycle::NAMESPACE_LISTER;
use crate::endpoints::route::Probe;
use crate::gates;
use crate::server::{self, Config};

/// `EtcdOptions.addEtcdHealthEndpoint`: how long a check of etcd may take, `DefaultHealthcheckTimeout` and
/// `DefaultReadinessTimeout`.
const ETCD_CHECK_TIMEOUT: Duration = Duration::from_secs(2);
/// The client under the check `etcd`.
const HEALTH: Purpose = Purpose::new("health");
/// The client under the check `etcd-readiness`.
const READINESS: Purpose = Purpose::new("readiness");

fn failed(check: &str) -> Response {
    let status = Status::of(Reason::InternalError, format!("[-]{check} failed"));
    Response::status(status)
}

/// Answers a health check.
pub async fn check(rx: Rx, config: &Config, probe: Probe) -> Response {
    if probe == Probe::Readyz && server::is_stopping(rx) {
        return failed("shutdown");
    }
    if !server::hooks_are_done(rx, config) {
        return failed("poststarthook");
    }
    let own = probe == Probe::Readyz && config.namespace_lifecycle;
    if own
        && config.release.has(gates::READY_WAITS_FOR_INFORMERS)
        && !NAMESPACE_LISTER.has_synced(rx)
    {
        return failed("informer-sync");
    }
    // Over a connection that all share it would hear the same again.
    let again = probe == Probe::Readyz
        && config.release.has(gates::READINESS_ASKS_ETCD)
        && config.etcd_connections == Connections::PerClient;
    // All are asked, whatever the first says.
    let healthy = new_etcd3_check(rx, config.new_etcd3_client(HEALTH)).await;
    let ready = !again || new_etcd3_check(rx, config.new_etcd3_client(READINESS)).await;
    match (healthy, ready) {
        (true, true) => Response::text(200, "ok"),
        (false, _) => failed("etcd"),
        (true, false) => failed("etcd-readiness"),
    }
}

/// Answers one of the checks that a health check is made of (`adaptCheckToHandler`).
pub async fn check_one(rx: Rx, config: &Config, probe: Probe, name: &str) -> Response {
    let overrides = config.events_etcd;
    let mut checks = checks_of(probe.path(), overrides.is_some()).into_iter();
    if !config.release.has(gates::CHECKS_ARE_LISTED) || !checks.any(|check| check == name) {
        return Response::text(404, "404 page not found\n");
    }
    if name.starts_with("etcd") {
        let mut client = config.new_etcd3_client(match name.contains("readiness") {
            true => READINESS,
            false => HEALTH,
        });
        if let Some(apart) = overrides.filter(|_| name.contains("override")) {
            client.endpoints = apart.into();
        }
        return of_check(match new_etcd3_check(rx, client).await {
            true => None,
            false => Some("context deadline exceeded"),
        });
    }
    of_check(match name {
        "shutdown" if server::is_stopping(rx) => Some("process is shutting down"),
        "informer-sync" if config.namespace_lifecycle && !NAMESPACE_LISTER.has_synced(rx) => {
            Some("1 informers not started yet: [*v1.Namespace]")
        }
        hook if hook.starts_with("poststarthook/") && !server::hooks_are_done(rx, config) => {
            Some("not finished")
        }
        _ => None,
    })
}

/// What a check answers that found this to be wrong.
fn of_check(wrong: Option<&str>) -> Response {
    match wrong {
        None => Response::text(200, "ok"),
        Some(wrong) => Response::text(500, &format!("internal server error: {wrong}\n")),
    }
}

/// `newETCD3Check`: a read of a key that need not exist.
async fn new_etcd3_check(rx: Rx, client: Client) -> bool {
    let range = Range::of(Keys::one("/registry/health"));
    let read = client.range::<Object>(rx, range);
    matches!(rx.timeout(ETCD_CHECK_TIMEOUT, read).await, Some(Ok(_)))
}
