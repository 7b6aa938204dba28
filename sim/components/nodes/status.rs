//! The status of a node (`pkg/kubelet/kubelet_node_status.go`, `nodestatus/setters.go`, v1.36.2): computed every 10 s, written
//! if something has changed, or 5 min after it was written last.

use std::time::Duration;

use serde_json::{Value as Json, json};
use wavetank_api::http::Query;
use wavetank_api::json;
use wavetank_api::kinds::NODES;
use wavetank_api::{Method, Request, Stamp};
use wavetank_client::Failure;
use wavetank_client::wait::{Every, Stop, Turn};
use wavetank_engine::{Cell, Cx, Name, Rx, Timer};

use super::node::{HEARTBEAT_TIMEOUT, Node, is_lost};
use crate::conditions::patch_of_conditions;

/// `nodeStatusUpdateFrequency`
const UPDATE_FREQUENCY: Duration = Duration::from_secs(10);
/// `nodeStatusReportFrequency`
const REPORT_FREQUENCY: Duration = Duration::from_secs(5 * 60);
/// The jitter between two looks, in thousandths.
const JITTER: u32 = 40;
/// `nodeStatusUpdateRetry`
const UPDATE_RETRY: u32 = 5;
const STRATEGIC_MERGE_PATCH: &str = "application/strategic-merge-patch+json";

/// Until the status is written again without a change: `lastStatusReportTime` and `delayAfterNodeStatusChange`.
const REPORT: Timer = Timer::new(Name::new("report-node-status"), 0);
/// [`REPORT`] has not fired since the status was written.
static IS_REPORTED: Cell<bool> = Cell::new("node-status-is-reported");
/// Has it been written in this life (`lastStatusReportTime` is not zero)?
static WAS_REPORTED: Cell<bool> = Cell::new("node-status-was-reported");
/// Its runtime does not work.
static IS_UNWELL: Cell<bool> = Cell::new("node-is-unwell");
static NEVER: Stop = Stop::new("sync-node-status");

/// The conditions of `defaultNodeStatusFuncs` that are not `Ready`: what they are when all is well.
const PRESSURES: [(&str, &str, &str); 3] = [
    (
        "MemoryPressure",
        "KubeletHasSufficientMemory",
        "kubelet has sufficient memory available",
    ),
    (
        "DiskPressure",
        "KubeletHasNoDiskPressure",
        "kubelet has no disk pressure",
    ),
    (
        "PIDPressure",
        "KubeletHasSufficientPID",
        "kubelet has sufficient PID available",
    ),
];

/// What a kubelet that begins anew knows of its status: nothing.
pub(super) fn forget(rx: Rx) {
    rx.disarm(REPORT);
    rx.update(&IS_REPORTED, |own| *own = false);
    rx.update(&WAS_REPORTED, |own| *own = false);
}

/// Its runtime fails, or works again.
pub(super) fn set_unwell(rx: Rx, unwell: bool) {
    rx.update(&IS_UNWELL, |own| *own = unwell);
}

/// A timer of the process; false if it is none of these.
pub(super) fn timer(cx: &mut Cx<'_>, timer: Timer) -> bool {
    if timer != REPORT {
        return false;
    }
    *cx.cell(&IS_REPORTED) = false;
    true
}

/// One turn of what `Run` starts for `syncNodeStatus`. A kubelet that was lost registers itself again.
pub(super) async fn run(rx: Rx, node: &Node) {
    let turn = Every::jittered(UPDATE_FREQUENCY, JITTER).sliding(rx, &NEVER, async {
        if !is_lost(rx) {
            node.register_with_api_server(rx).await;
            update_node_status(rx, node).await;
        }
        Turn::Again
    });
    turn.await;
}

/// `updateNodeStatus`
async fn update_node_status(rx: Rx, node: &Node) {
    for number in 0..UPDATE_RETRY {
        if is_lost(rx) || try_update_node_status(rx, node, number).await.is_ok() {
            return;
        }
    }
}

/// `tryUpdateNodeStatus`: the first try begins with what an apiserver's cache shows, the others with what is stored.
async fn try_update_node_status(rx: Rx, node: &Node, number: u32) -> Result<(), Failure> {
    let path = NODES.path("", &node.name);
    let mut get = Request::new(Method::Get, path.clone());
    if number == 0 {
        get.query = Query(vec![("resourceVersion".into(), "0".into())]);
    }
    let original = node.rest.object_within(rx, get, HEARTBEAT_TIMEOUT).await?;
    let original = original.object.json();
    let is_unwell = rx.read(&IS_UNWELL);
    let now = Stamp::of(rx.clock()).seconds();
    let before = json::list(original, &["status", "conditions"]).to_vec();
    let after = set_node_status(&before, is_unwell, &now);
    let changed = node_conditions_have_changed(&before, &after);
    if !changed && rx.read(&IS_REPORTED) {
        return Ok(());
    }
    let delay = match changed || !rx.read(&WAS_REPORTED) {
        true => calculate_delay(rx).await,
        false => REPORT_FREQUENCY,
    };
    let patch = json!({"status": patch_of_conditions(&before, &after)});
    let mut request = Request::new(Method::Patch, format!("{path}/status")).with(patch);
    request.content_type = Some(STRATEGIC_MERGE_PATCH.into());
    node.rest
        .object_within(rx, request, HEARTBEAT_TIMEOUT)
        .await?;
    rx.update(&IS_REPORTED, |own| *own = true);
    rx.update(&WAS_REPORTED, |own| *own = true);
    rx.arm(REPORT, delay);
    Ok(())
}

/// `calculateDelay`, on top of the frequency: from half of that to one and a half.
async fn calculate_delay(rx: Rx) -> Duration {
    const PARTS: u64 = 64;
    let drawn = rx.choose(PARTS).await;
    REPORT_FREQUENCY / 2 + REPORT_FREQUENCY * drawn as u32 / PARTS as u32
}

/// `setNodeStatus`, of which only conditions change.
pub(super) fn set_node_status(before: &[Json], is_unwell: bool, now: &str) -> Vec<Json> {
    let mut all = before.to_vec();
    for (of, reason, message) in PRESSURES {
        set(&mut all, of, ("False", reason, message), now);
    }
    let ready = match is_unwell {
        false => ("True", "KubeletReady", "kubelet is posting ready status"),
        true => ("False", "KubeletNotReady", "container runtime is down"),
    };
    set(&mut all, "Ready", ready, now);
    all
}

fn set(all: &mut Vec<Json>, of: &str, (status, reason, message): (&str, &str, &str), now: &str) {
    let mut new = json!({
        "type": of, "status": status, "reason": reason, "message": message,
        "lastHeartbeatTime": now, "lastTransitionTime": now,
    });
    match all.iter_mut().find(|own| own["type"] == of) {
        Some(old) => {
            if old["status"] == status {
                new["lastTransitionTime"] = old["lastTransitionTime"].clone();
            }
            *old = new;
        }
        None => all.push(new),
    }
}

/// `nodeConditionsHaveChanged`: in more than the time of the heartbeat. Conditions keep their order here.
fn node_conditions_have_changed(before: &[Json], after: &[Json]) -> bool {
    let bare = |own: &Json| {
        let mut bare = own.clone();
        json::remove(&mut bare, &["lastHeartbeatTime"]);
        bare
    };
    let bare_of = |all: &[Json]| all.iter().map(bare).collect::<Vec<_>>();
    bare_of(before) != bare_of(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_has_changed_if_more_than_its_heartbeat_has() {
        let first = set_node_status(&[], false, "1");
        assert_eq!(first.len(), 4);
        let later = set_node_status(&first, false, "2");
        assert!(!node_conditions_have_changed(&first, &later));
        assert_eq!(later[3]["lastTransitionTime"], "1");
        let unwell = set_node_status(&later, true, "3");
        assert!(node_conditions_have_changed(&later, &unwell));
        assert_eq!(unwell[3]["lastTransitionTime"], "3");
    }
}
