//! The ServiceCIDR of the server's flags (`pkg/controlplane/controller/defaultservicecidr`): made if it is
//! not there, and ready if it has no condition and is what the flags say.

use std::time::Duration;

use serde_json::json;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::SERVICE_CIDRS;
use wavetank_api::{Method, Reason, Request, Stamp};
use wavetank_client::Failure;
use wavetank_engine::{Cell, Rx};

use super::{AddressControllers, POLL, SERVICE_CIDR_LISTER, say};

/// `DefaultServiceCIDRName`
pub(super) const NAME: &str = "kubernetes";
const INTERVAL: Duration = Duration::from_secs(10);

/// `reportedMismatchedCIDRs`
static REPORTED_MISMATCHED_CIDRS: Cell<bool> = Cell::new("reported-mismatched-cidrs");

impl AddressControllers {
    /// One turn of `Start`: how long until the next one, and whether the first one has succeeded by then.
    pub(super) async fn sync_default_range(&self, rx: Rx, succeeded: bool) -> (Duration, bool) {
        let done = match SERVICE_CIDR_LISTER.get(rx, NAME) {
            Some(range) => {
                self.sync_known_range(rx, range.object.json()).await;
                Ok(())
            }
            None => self.create_default_range(rx).await,
        };
        match succeeded || done.is_ok() {
            true => (INTERVAL, true),
            false => (POLL, false),
        }
    }

    /// One that is there gains the second family if the flags have it. That this fails is only logged.
    async fn sync_known_range(&self, rx: Rx, range: &Json) {
        let known = cidrs(range);
        let flags = self.ranges.cluster_ips.iter().map(|range| &**range);
        let is_upgrade = known.len() == 1 && self.ranges.cluster_ips.len() == 2;
        if !is_upgrade || known.first().copied() != flags.clone().next() {
            return self.sync_status(rx, range).await;
        }
        let flags: Vec<&str> = flags.collect();
        say(
            rx,
            format!(
                "Updating default ServiceCIDR from single-stack to dual-stack: {}",
                flags.join(", ")
            ),
        );
        let mut dual = range.clone();
        json::set(&mut dual, &["spec", "cidrs"], flags);
        let put = Request::new(Method::Put, SERVICE_CIDRS.path("", NAME)).with(dual);
        if let Err(failed) = self.server.loopback().request(rx, put).await {
            say(
                rx,
                format!("The default ServiceCIDR can not be updated to dual stack: {failed}"),
            );
        }
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
            _ => {
                self.sync_status(rx, &range).await;
                Ok(())
            }
        }
    }

    /// `syncStatus`: server-side apply upstream, of one condition. One that is there stays as it is, and a failure is only
    /// logged.
    async fn sync_status(&self, rx: Rx, range: &Json) {
        if json::at(range, &["metadata", "deletionTimestamp"]).is_some() {
            return;
        }
        let own = self.default_range();
        if cidrs(range) != cidrs(&own) {
            if !rx.update(&REPORTED_MISMATCHED_CIDRS, |told| {
                std::mem::replace(told, true)
            }) {
                let (theirs, ours) = (cidrs(range).join(","), cidrs(&own).join(","));
                say(
                    rx,
                    format!(
                        "The default ServiceCIDR [{theirs}] does not match the controller flag \
                         configurations [{ours}]"
                    ),
                );
            }
            return;
        }
        let conditions = json::list(range, &["status", "conditions"]);
        let is_decided = conditions.iter().any(|condition| {
            let text = |field| json::text(condition, &[field]);
            text("type") == "Ready" && text("status") != "Unknown"
        });
        if is_decided {
            return;
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
        if let Err(failed) = self.server.loopback().request(rx, patch).await {
            say(
                rx,
                format!("error updating default ServiceCIDR status: {failed}"),
            );
        }
    }
}

fn cidrs(range: &Json) -> Vec<&str> {
    let all = json::list(range, &["spec", "cidrs"]).iter();
    all.filter_map(Json::as_str).collect()
}
