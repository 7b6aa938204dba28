//! The controller of a controller manager: every second it writes who leads, and for the how-manieth time the lock
//! changed hands, into a ConfigMap. Like most controllers it patches without a precondition, so that nothing stands
//! between an old leader and what its successor has written.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use wavetank_api::kinds::CONFIG_MAPS;
use wavetank_api::{Method, Reason, Request};
use wavetank_client::Failure;
use wavetank_client::leader_election::{ELECTOR, Election, LEADERSHIP};
use wavetank_client::wait::{Every, Turn};
use wavetank_engine::{Either, Outcome, Rx, Task};

use crate::manager::{DRAIN, DRAINED, LEAD};

/// The ConfigMap.
pub const TALLY: (&str, &str) = ("kube-system", "tally");
/// How often it is written.
const PERIOD: Duration = Duration::from_secs(1);
/// How long a request may take.
const LIMIT: Duration = Duration::from_secs(10);

/// One turn of `wait.Until`. When the leadership ends a request under way is given up; it may still be done.
pub(crate) async fn turn(rx: Rx, own: Arc<Election>, transitions: u32) -> Outcome {
    let turn = Every::period(PERIOD).sliding(rx, &DRAIN, async {
        let written = rx.select(LEADERSHIP.closed(rx), write(rx, &own, transitions));
        match written.await {
            Either::Left(()) => Turn::Over,
            Either::Right(()) => Turn::Again,
        }
    });
    if turn.await == Turn::Again && !LEADERSHIP.is_closed(rx) {
        return Outcome::Become(Task::new(LEAD, transitions));
    }
    DRAINED.close(rx);
    Outcome::Done
}

/// An error is logged, and the next turn tries again.
async fn write(rx: Rx, own: &Election, transitions: u32) {
    let (namespace, name) = TALLY;
    let leader = rx.look(&ELECTOR, |elector| elector.identity.clone());
    let data = json!({"leader": &*leader, "transitions": transitions.to_string()});
    let path = CONFIG_MAPS.path(namespace, name);
    let mut patch = Request::new(Method::Patch, path).with(json!({ "data": data }));
    patch.content_type = Some("application/merge-patch+json".into());
    let patched = own.rest.object_within(rx, patch, LIMIT).await;
    if matches!(&patched, Err(Failure::Status(status)) if status.is(Reason::NotFound)) {
        let object = json!({
            "apiVersion": CONFIG_MAPS.api_version(),
            "kind": CONFIG_MAPS.kind,
            "metadata": {"name": name, "namespace": namespace},
            "data": data,
        });
        let post = Request::new(Method::Post, CONFIG_MAPS.path(namespace, ""));
        let _ = own.rest.object_within(rx, post.with(object), LIMIT).await;
    }
}
