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
use wavetank_engine::{Cell, Condition, Cx, Name, Rx, Timer};

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
/// `ShutdownStatus`: its machine is about to go off.
static IS_SHUTTING_DOWN: Cell<bool> = Cell::new("node-is-shutting-down");
/// Which of [`PRESSURES`] there are: `IsUnderMemoryPressure` and the others.
static PRESSED: Cell<[bool; 3]> = Cell::new("node-is-under-pressure");
/// `syncNodeStatusMux`: nobody has to wait where it is free.
static IS_SYNCING: Cell<bool> = Cell::new("node-status-is-synced");
const SYNCED: Condition = Condition::new("node-status-was-synced", 0);
static NEVER: Stop = Stop::new("sync-node-status");

/// The conditions of `defaultNodeStatusFuncs` that are not `Ready`: their reasons and messages when all is well, and under
/// pressure.
const PRESSURES: [(&str, [&str; 2], [&str; 2]); 3] = [
    (
        "MemoryPressure",
        [
            "KubeletHasSufficientMemory",
            "kubelet has sufficient memory available",
        ],
        [
            "KubeletHasInsufficientMemory",
            "kubelet has insufficient memory available",
        ],
    ),
    (
        "DiskPressure",
        ["KubeletHasNoDiskPressure", "kubelet has no disk pressure"],
        ["KubeletHasDiskPressure", "kubelet has disk pressure"],
    ),
    (
        "PIDPressure",
        [
            "KubeletHasSufficientPID",
            "kubelet has sufficient PID available",
        ],
        [
            "KubeletHasInsufficientPID",
            "kubelet has insufficient PID available",
        ],
    ),
];

/// What conditions are made of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct State {
    is_unwell: bool,
    is_shutting_down: bool,
    pressed: [bool; 3],
}

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

/// Its machine is about to go off, or not any more.
pub fn set_shutting_down(rx: Rx, comes: bool) {
    rx.update(&IS_SHUTTING_DOWN, |own| *own = comes);
}

/// Upstream's `ShutdownStatus`: is its machine about to go off?
pub fn is_shutting_down(rx: Rx) -> bool {
    rx.read(&IS_SHUTTING_DOWN)
}

/// Which pressures there are: of memory, disk and process numbers.
pub fn set_pressures(rx: Rx, pressed: [bool; 3]) {
    rx.update(&PRESSED, |own| *own = pressed);
}

pub(super) fn state(rx: Rx) -> State {
    State {
        is_unwell: rx.read(&IS_UNWELL),
        is_shutting_down: rx.read(&IS_SHUTTING_DOWN),
        pressed: rx.read(&PRESSED),
    }
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
            sync_node_status(rx, node).await;
        }
        Turn::Again
    });
    turn.await;
}

/// `syncNodeStatus`: one at a time.
pub(super) async fn sync_node_status(rx: Rx, node: &Node) {
    while rx.read(&IS_SYNCING) {
        rx.changed(SYNCED).await;
    }
    rx.update(&IS_SYNCING, |own| *own = true);
    node.register_with_api_server(rx).await;
    update_node_status(rx, node).await;
    rx.update(&IS_SYNCING, |own| *own = false);
    rx.broadcast(SYNCED);
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
    let now = Stamp::of(rx.clock()).seconds();
    let before = json::list(original, &["status", "conditions"]).to_vec();
    let after = set_node_status(&before, state(rx), &now);
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
pub(super) fn set_node_status(before: &[Json], state: State, now: &str) -> Vec<Json> {
    let mut all = before.to_vec();
    for ((of, well, pressed), is_pressed) in PRESSURES.into_iter().zip(state.pressed) {
        let (status, [reason, message]) = match is_pressed {
            true => ("True", pressed),
            false => ("False", well),
        };
        set(&mut all, of, (status, reason, message), now);
    }
    // `ReadyCondition`, and how Go prints several errors.
    let errors = [
        (state.is_unwell, "container runtime is down"),
        (state.is_shutting_down, "node is shutting down"),
    ];
    let errors = errors.into_iter().filter(|(is, _)| *is);
    let errors: Vec<&str> = errors.map(|(_, error)| error).collect();
    let message = match &errors[..] {
        [] => "kubelet is posting ready status".to_owned(),
        [one] => (*one).to_owned(),
        several => format!("[{}]", several.join(", ")),
    };
    let (status, reason) = match errors.is_empty() {
        true => ("True", "KubeletReady"),
        false => ("False", "KubeletNotReady"),
    };
    set(&mut all, "Ready", (status, reason, &message), now);
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
        let first = set_node_status(&[], State::default(), "1");
        assert_eq!(first.len(), 4);
        let later = set_node_status(&first, State::default(), "2");
        assert!(!node_conditions_have_changed(&first, &later));
        assert_eq!(later[3]["lastTransitionTime"], "1");
        let is_unwell = State {
            is_unwell: true,
            ..State::default()
        };
        let unwell = set_node_status(&later, is_unwell, "3");
        assert!(node_conditions_have_changed(&later, &unwell));
        assert_eq!(unwell[3]["lastTransitionTime"], "3");
        let is_going = State {
            is_shutting_down: true,
            pressed: [true, false, false],
            ..is_unwell
        };
        let going = set_node_status(&unwell, is_going, "4");
        assert_eq!(going[3]["lastTransitionTime"], "3");
        let message = "[container runtime is down, node is shutting down]";
        assert_eq!(going[3]["message"], message);
        assert_eq!(going[0]["reason"], "KubeletHasInsufficientMemory");
        assert_eq!(going[0]["lastTransitionTime"], "4");
        assert_eq!(going[1]["status"], "False");
    }
}
