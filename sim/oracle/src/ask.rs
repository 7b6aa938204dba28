//! Requests of one's own to a server like that of the recordings.

use std::time::Duration;

use serde_json::{Value as Json, json};
use wavetank_api::Resource;
use wavetank_apiserver::AuditLog;
use wavetank_components::kube_apiserver::bootstrap::Reconciler;
use wavetank_components::services::ServiceRanges;
use wavetank_releases::Release;

use crate::lab::{Cluster, Lab};

/// The longest that an answer may take: past the server's own limit.
const LONGEST: Duration = Duration::from_secs(120);

/// A fresh v1.36 with the newest etcd that is modelled.
#[derive(Clone)]
pub struct Server(Lab);

impl Default for Server {
    fn default() -> Server {
        Server(Lab::new(&Cluster {
            release: Release::DEFAULT.version,
            etcd: wavetank_releases::etcd::LATEST,
            ranges: ServiceRanges::of(&["10.96.0.0/24"]),
            servers: 1,
            reconciler: Reconciler::None,
            service_accounts: false,
            watch_cache: true,
            identity: false,
            asked_for: Resource::ALL.to_vec(),
            audit: AuditLog::Off,
            manager: None,
        }))
    }
}

impl Server {
    /// Sends requests, one after another; the next ones go to a server that is as fresh. They
    /// are as in a recording: `method`, `path`, `query`, `contentType`, `body`; or `bytes`, base64, for a
    /// body that is no text. The answers have `code` and `body`, and `warnings` if there are any; a `code` of 0 is a broken connection.
    pub fn ask(&self, requests: &[Json]) -> Vec<Json> {
        let mut lab = self.0.clone();
        let answer = |request: &Json| {
            let number = lab.send(request, false);
            lab.run_until(LONGEST, |lab| lab.answer(number).over);
            match lab.answer(number).response {
                Some(response) => {
                    let mut said = json!({"code": response.code, "body": response.json()});
                    if !response.warnings.is_empty() {
                        let warnings = response.warnings.iter().map(|text| Json::from(&**text));
                        said["warnings"] = warnings.collect();
                    }
                    said
                }
                None => json!({"code": 0}),
            }
        };
        requests.iter().map(answer).collect()
    }
}

/// Asks one.
pub fn ask(requests: &[Json]) -> Vec<Json> {
    Server::default().ask(requests)
}
