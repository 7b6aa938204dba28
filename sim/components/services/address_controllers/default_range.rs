//! The ServiceCIDR of the server's flags (`pkg/controlplane/controller/defaultservicecidr`): made if it is
//! not there, and ready if it has no condition and is what the flags say.

use std::time::Duration;

use serde_json::json;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::SERVICE_CIDRS;
use wavetank_api::{Method, Reason, Request, Stamp};
use wavetank_client::Failure;
use wavetank_engine::Rx;

use super::{AddressControllers, Of, POLL, get};

/// `DefaultServiceCIDRName`
pub(super) const NAME: &str = "kubernetes";
const INTERVAL: Duration = Duration::from_secs(10);

impl AddressControllers {
    /// `sync`: how long until the next time.
    pub(super) async fn sync_default_range(&self, rx: Rx) -> Duration {
        let done = match get(rx, Of::Ranges, NAME) {
            Some(range) => self.sync_status(rx, range.object.json()).await,
            None => self.create_default_range(rx).await,
        };
        if done.is_ok() { INTERVAL } else { POLL }
    }

    fn default_range(&self) -> Json {
        let ranges = self.ranges.cluster_ips.iter();
        let ranges: Vec<Json> = ranges.map(|range| Json::from(&**range)).collect();
        json!({
            "apiVersion": SERVICE_CIDRS.api_version(),
            "kind": SERVICE_CIDRS.kind,
            "metadata": {"name": NAME},
            "spec": {"cidrs": ranges},
        })
    }

    async fn create_default_range(&self, rx: Rx) -> Result<(), Failure> {
        let range = self.default_range();
        let post = Request::new(Method::Post, SERVICE_CIDRS.path("", "")).with(range.clone());
        match self.server.loopback().request(rx, post).await {
            Err(error) if !error.is(Reason::AlreadyExists) => Err(error),
            _ => self.sync_status(rx, &range).await,
        }
    }

    /// `syncStatus`: server-side apply upstream, of one condition.
    async fn sync_status(&self, rx: Rx, range: &Json) -> Result<(), Failure> {
        let deleting = json::at(range, &["metadata", "deletionTimestamp"]).is_some();
        let cidrs = ["spec", "cidrs"];
        let ours = json::at(range, &cidrs) == json::at(&self.default_range(), &cidrs);
        let conditions = json::list(range, &["status", "conditions"]);
        let known = conditions
            .iter()
            .any(|c| json::text(c, &["type"]) == "Ready");
        if deleting || !ours || known {
            return Ok(());
        }
        let ready = json!({
            "type": "Ready",
            "status": "True",
            "lastTransitionTime": Stamp::of(rx.clock()).seconds(),
            "reason": "",
            "message": "Kubernetes default Service CIDR is ready",
        });
        let path = format!("{}/status", SERVICE_CIDRS.path("", NAME));
        let patch = Request::new(Method::Patch, path);
        let mut patch = patch.with(json!({"status": {"conditions": [ready]}}));
        patch.content_type = Some("application/merge-patch+json".into());
        self.server.loopback().request(rx, patch).await.map(|_| ())
    }
}
