//! A controller that upstream does not have: every second it writes who leads, and for the how-manieth time the lock
//! changed hands, into a ConfigMap. Like most controllers it patches without a precondition, so that nothing stands
//! between an old leader and what its successor has written.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use wavetank_api::kinds::CONFIG_MAPS;
use wavetank_api::{Method, Reason, Request, Resource};
use wavetank_client::leader_election::Leading;
use wavetank_client::wait::{Every, Turn};
use wavetank_client::{Failure, RestClient};
use wavetank_component::{Component, Setup, Spec};
use wavetank_engine::{Either, Rx};
use wavetank_version::Gate;

use crate::controller::{Controller, ControllerContext, ControllerDescriptor, Work};
use wavetank_components::elected::DRAIN;

/// The ConfigMap.
pub const TALLY: (&str, &str) = ("kube-system", "tally");
const NAME: &str = "tally";
/// How often it is written.
const PERIOD: Duration = Duration::from_secs(1);
/// How long a request may take.
const LIMIT: Duration = Duration::from_secs(10);

/// Its descriptor.
#[derive(Clone, Copy, Debug)]
pub struct Tally;

impl Component for Tally {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "the controller that writes who leads"
    }

    fn uses(&self, spec: &Spec) -> Vec<&'static Resource> {
        let used = crate::runs(spec, NAME);
        used.then_some(&CONFIG_MAPS).into_iter().collect()
    }
}

impl ControllerDescriptor for Tally {
    fn controller_name(&self) -> &'static str {
        NAME
    }

    fn releases_with_it(&self) -> Gate {
        Gate::ALWAYS
    }

    fn is_disabled_by_default(&self) -> bool {
        false
    }

    fn has_informers(&self) -> bool {
        false
    }

    fn new_controller(&self, _: &Setup, cx: &mut ControllerContext) -> Arc<dyn Controller> {
        let rest = cx.rest.clone();
        Arc::new(TallyController { rest })
    }
}

#[derive(Debug)]
struct TallyController {
    rest: RestClient,
}

impl Controller for TallyController {
    fn name(&self) -> &'static str {
        NAME
    }

    /// One turn of `wait.Until`. When the leadership ends a request under way is given up; it may still be done.
    fn work<'a>(&'a self, rx: Rx, leading: &'a Leading) -> Work<'a> {
        Box::pin(async move {
            let leadership = leading.leadership();
            let turn = Every::period(PERIOD).sliding(rx, &DRAIN, async {
                let written = rx.select(leadership.closed(rx), self.write(rx, leading));
                match written.await {
                    Either::Left(()) => Turn::Over,
                    Either::Right(()) => Turn::Again,
                }
            });
            turn.await
        })
    }
}

impl TallyController {
    /// An error is logged, and the next turn tries again.
    async fn write(&self, rx: Rx, leading: &Leading) {
        let (namespace, name) = TALLY;
        let transitions = leading.transitions.to_string();
        let data = json!({"leader": &*leading.identity, "transitions": transitions});
        let path = CONFIG_MAPS.path(namespace, name);
        let mut patch = Request::new(Method::Patch, path).with(json!({ "data": data }));
        patch.content_type = Some("application/merge-patch+json".into());
        let patched = self.rest.object_within(rx, patch, LIMIT).await;
        if matches!(&patched, Err(Failure::Status(status)) if status.is(Reason::NotFound)) {
            let object = json!({
                "apiVersion": CONFIG_MAPS.api_version(),
                "kind": CONFIG_MAPS.kind,
                "metadata": {"name": name, "namespace": namespace},
                "data": data,
            });
            let post = Request::new(Method::Post, CONFIG_MAPS.path(namespace, ""));
            let _ = self.rest.object_within(rx, post.with(object), LIMIT).await;
        }
    }
}
