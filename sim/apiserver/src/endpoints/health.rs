//! Health checks: all PostStart hooks have ended, etcd answers within 2 s, and for `/readyz` no
//! shutdown has begun.

use std::time::Duration;

use wavetank_api::{Object, Reason, Response, Status};
use wavetank_engine::Rx;
use wavetank_etcd::{Keys, Range};

use crate::endpoints::route::Probe;
use crate::server::{self, Config};

/// `EtcdOptions.addEtcdHealthEndpoint`: the health check of etcd.
const ETCD_CHECK_TIMEOUT: Duration = Duration::from_secs(2);

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
    let range = Range::of(Keys::one("/registry/health"));
    let read = config.etcd().range::<Object>(rx, range);
    match rx.timeout(ETCD_CHECK_TIMEOUT, read).await {
        Some(Ok(_)) => Response::text(200, "ok"),
        Some(Err(_)) | None => failed("etcd"),
    }
}
