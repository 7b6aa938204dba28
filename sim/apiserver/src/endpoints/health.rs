//! Health checks: all PostStart hooks have ended, etcd answers within 2 s, and for `/readyz` no
//! shutdown has begun and the informer of namespaces has synced. That those of hooks have is what the hooks wait for. Checks of etcd have clients of their own: they say nothing about those under resources.

use std::time::Duration;

use wavetank_api::{Object, Reason, Response, Status};
use wavetank_engine::Rx;
use wavetank_etcd::{Connections, Keys, Purpose, Range};

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
    let healthy = new_etcd3_check(rx, config, HEALTH).await;
    let ready = !again || new_etcd3_check(rx, config, READINESS).await;
    match (healthy, ready) {
        (true, true) => Response::text(200, "ok"),
        (false, _) => failed("etcd"),
        (true, false) => failed("etcd-readiness"),
    }
}

/// `newETCD3Check`: a read of a key that need not exist.
async fn new_etcd3_check(rx: Rx, config: &Config, client: Purpose) -> bool {
    let range = Range::of(Keys::one("/registry/health"));
    let client = config.new_etcd3_client(client);
    let read = client.range::<Object>(rx, range);
    matches!(rx.timeout(ETCD_CHECK_TIMEOUT, read).await, Some(Ok(_)))
}
