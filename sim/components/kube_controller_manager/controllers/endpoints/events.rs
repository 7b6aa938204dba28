//! What wakes the controller up (`pkg/controller/endpoint/endpoints_controller.go`): Services, pods that they may select, and
//! Endpoints that somebody deletes.

use std::sync::Arc;

use wavetank_api::kinds::{ENDPOINTS, PODS, SERVICES};
use wavetank_client::informer::{HandlerSpec, Notice};
use wavetank_engine::NotState;
use wavetank_version::Set;

use super::controller::{CONTROLLER, POD_QUEUE, QUEUE, is_leader_lock};
use super::defects::EndpointsDefect;
use crate::kube_controller_manager::controller::ControllerContext;
use crate::kube_controller_manager::controller_utils::pod_key;
use crate::kube_controller_manager::endpoint_utils::get_pod_update_projection_key;

/// Adds the handlers at the informers.
pub(super) fn add_event_handlers(cx: &mut ControllerContext) {
    let mut services = cx.informers.informer_for(&SERVICES);
    services.add_event_handler(HandlerSpec {
        // `onServiceUpdate`, `onServiceDelete`
        on: NotState(Arc::new(|rx, _, notice| {
            let service = match notice {
                Notice::Added { new, .. } | Notice::Updated { new, .. } => Some(new),
                Notice::Deleted(gone) => gone.last.as_ref(),
            };
            if let Some(service) = service {
                QUEUE.add(rx, pod_key(&service.object));
            }
        })),
        ..HandlerSpec::new(CONTROLLER)
    });
    let services = services.lister();
    let mut pods = cx.informers.informer_for(&PODS);
    pods.add_event_handler(HandlerSpec {
        // `onPodUpdate`
        on: NotState(Arc::new(|rx, _, notice| {
            if let Some(key) = get_pod_update_projection_key(notice) {
                POD_QUEUE.add(rx, key.item());
            }
        })),
        ..HandlerSpec::new(CONTROLLER)
    });
    let defects: Set<EndpointsDefect> = cx.defects.of();
    let looks = defects.has(EndpointsDefect::FixLookAtNewEndpoints);
    let mut endpoints = cx.informers.informer_for(&ENDPOINTS);
    endpoints.add_event_handler(HandlerSpec {
        on: NotState(Arc::new(move |rx, _, notice| match notice {
            // `onEndpointsDelete`
            Notice::Deleted(gone) => {
                if let Some(last) = &gone.last {
                    QUEUE.add(rx, pod_key(&last.object));
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
                    QUEUE.add(rx, key);
                }
            }
            _ => {}
        })),
        ..HandlerSpec::new(CONTROLLER)
    });
}
