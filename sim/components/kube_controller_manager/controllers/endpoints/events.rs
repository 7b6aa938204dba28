//! What wakes the controller up (`pkg/controller/endpoint/endpoints_controller.go`): Services, pods that they may select, and
//! Endpoints that somebody deletes.

use std::sync::Arc;

use wavetank_api::kinds::{ENDPOINTS, SERVICES};
use wavetank_client::informer::{HandlerSpec, Notice};
use wavetank_engine::NotState;
use wavetank_version::Set;

use super::controller::{CONTROLLER, QUEUES, is_leader_lock};
use super::defects::EndpointsDefect;
use crate::controller::ControllerContext;
use crate::controller_utils::pod_key;

/// Adds the handlers at the informers.
pub(super) fn add_event_handlers(cx: &mut ControllerContext) {
    QUEUES.add_event_handlers(cx, CONTROLLER);
    let services = cx.informers.informer_for(&SERVICES).lister();
    let defects: Set<EndpointsDefect> = cx.defects.of();
    let looks = defects.has(EndpointsDefect::FixLookAtNewEndpoints);
    let mut endpoints = cx.informers.informer_for(&ENDPOINTS);
    endpoints.add_event_handler(HandlerSpec {
        on: NotState(Arc::new(move |rx, _, notice| match notice {
            // `onEndpointsDelete`
            Notice::Deleted(gone) => {
                if let Some(last) = &gone.last {
                    QUEUES.services.add(rx, pod_key(&last.object));
                }
            }
            // Upstream has no handler for Endpoints that come up. Those that are there at first are looked for by themselves.
            Notice::Added {
                new,
                initial: false,
            } if looks => {
                let key = pod_key(&new.object);
                let is_lock = is_leader_lock(&new.object);
                if !is_lock && services.get(rx, &key).is_none() {
                    QUEUES.services.add(rx, key);
                }
            }
            _ => {}
        })),
        ..HandlerSpec::new(CONTROLLER)
    });
}
