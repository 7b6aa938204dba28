//! What wakes the controller up (`pkg/controller/endpointslicemirroring/endpointslicemirroring_controller.go`, v1.36.2): Endpoints
//! that are mirrored or were, Services whose selectors come and go, and mirrored slices that somebody else changes.

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::kinds::{ENDPOINT_SLICES, ENDPOINTS, SERVICES};
use wavetank_api::{Object, Stored};
use wavetank_client::informer::{HandlerSpec, Notice};
use wavetank_engine::{NotState, Rx};
use wavetank_version::Set;

use super::controller::{CONTROLLER, MANAGER, QUEUE};
use super::defects::MirroringDefect;
use super::mirrored::should_mirror;
use crate::controller::ControllerContext;
use crate::controller_utils::pod_key;
use crate::endpoint_utils::notes::WasTold;
use crate::endpoint_utils::{
    EndpointSliceTracker, SliceTrackerDefect, generation, is_managed_by, selector,
    service_controller_key, service_of,
};

/// `--mirroring-endpointslice-updates-batch-period`
const BATCH_PERIOD: Duration = Duration::ZERO;

/// Adds the handlers at the informers.
pub(super) fn add_event_handlers(
    cx: &mut ControllerContext,
    tracker: EndpointSliceTracker,
    defects: Set<MirroringDefect>,
) {
    let mut endpoints = cx.informers.informer_for(&ENDPOINTS);
    endpoints.add_event_handler(HandlerSpec {
        on: NotState(Arc::new(move |rx, _, notice| {
            on_endpoints(rx, defects, notice);
        })),
        ..HandlerSpec::new(CONTROLLER)
    });
    let mut slices = cx.informers.informer_for(&ENDPOINT_SLICES);
    slices.add_event_handler(HandlerSpec {
        on: NotState(Arc::new(move |rx, _, notice| match notice {
            Notice::Added { new, .. } => {
                was_told(rx, new, true);
                on_endpoint_slice_add(rx, tracker, defects, new);
            }
            Notice::Updated { old, new } => {
                was_told(rx, new, true);
                on_endpoint_slice_update(rx, tracker, old, new);
            }
            Notice::Deleted(gone) => {
                if let Some(last) = &gone.last {
                    was_told(rx, last, false);
                    on_endpoint_slice_delete(rx, tracker, last);
                }
            }
        })),
        ..HandlerSpec::new(CONTROLLER)
    });
    let mut services = cx.informers.informer_for(&SERVICES);
    services.add_event_handler(HandlerSpec {
        on: NotState(Arc::new(move |rx, _, notice| on_service(rx, notice))),
        ..HandlerSpec::new(CONTROLLER)
    });
}

/// Upstream's `queueEndpoints`, of Endpoints or of the Service of their name.
fn queue_endpoints(rx: Rx, object: &Object) {
    QUEUE.add(rx, pod_key(object));
}

/// Upstream's `onServiceAdd`, `onServiceUpdate` and `onServiceDelete`
fn on_service(rx: Rx, notice: &Notice) {
    let has_selector = |service: &Stored| selector(service.object.json()).is_some();
    let (service, concerns) = match notice {
        Notice::Added { new, .. } => (new, !has_selector(new)),
        Notice::Updated { old, new } => (new, has_selector(old) != has_selector(new)),
        Notice::Deleted(gone) => match &gone.last {
            Some(last) => (last, !has_selector(last)),
            None => return,
        },
    };
    if concerns {
        queue_endpoints(rx, &service.object);
    }
}

/// Upstream's `onEndpointsAdd`, `onEndpointsUpdate` and `onEndpointsDelete`
fn on_endpoints(rx: Rx, defects: Set<MirroringDefect>, notice: &Notice) {
    let is_mirrored = |endpoints: &Stored| should_mirror(&endpoints.object, defects);
    let (endpoints, concerns) = match notice {
        Notice::Added { new, .. } => (new, is_mirrored(new)),
        Notice::Updated { old, new } => (new, is_mirrored(old) || is_mirrored(new)),
        Notice::Deleted(gone) => match &gone.last {
            Some(last) => (last, is_mirrored(last)),
            None => return,
        },
    };
    if concerns {
        queue_endpoints(rx, &endpoints.object);
    }
}

fn managed_by_controller(slice: &Stored) -> bool {
    is_managed_by(&slice.object, MANAGER)
}

fn was_told(rx: Rx, slice: &Stored, is_there: bool) {
    let is_kept = is_there && managed_by_controller(slice);
    rx.note(WasTold {
        manager: MANAGER,
        uid: slice.object.uid().into(),
        of: is_kept.then(|| service_of(&slice.object).into()),
        generation: is_there.then(|| generation(&slice.object)),
    });
}

/// `onEndpointSliceAdd`
fn on_endpoint_slice_add(
    rx: Rx,
    tracker: EndpointSliceTracker,
    defects: Set<MirroringDefect>,
    slice: &Stored,
) {
    // It may have been handed over before the cache saw it for the first time.
    for service in tracker.forget_elsewhere(rx, slice) {
        QUEUE.add_after(rx, service, BATCH_PERIOD);
    }
    if defects.has(MirroringDefect::NewSlicesAreNotLookedAt) {
        return;
    }
    if managed_by_controller(slice) && tracker.should_sync(rx, slice) {
        queue_endpoints_for_endpoint_slice(rx, slice);
    }
}

/// `onEndpointSliceUpdate`
fn on_endpoint_slice_update(rx: Rx, tracker: EndpointSliceTracker, old: &Stored, new: &Stored) {
    let (was_managed, is_managed) = (managed_by_controller(old), managed_by_controller(new));
    let moved = service_of(&old.object) != service_of(&new.object);
    tracker.forget_handed_over(rx, old, new);
    if moved {
        queue_endpoints_for_endpoint_slice(rx, new);
        queue_endpoints_for_endpoint_slice(rx, old);
        return;
    }
    if was_managed != is_managed || (is_managed && tracker.should_sync(rx, new)) {
        queue_endpoints_for_endpoint_slice(rx, new);
    }
}

/// `onEndpointSliceDelete`
fn on_endpoint_slice_delete(rx: Rx, tracker: EndpointSliceTracker, slice: &Stored) {
    if !managed_by_controller(slice) {
        return;
    }
    let is_off = tracker
        .defects
        .has(SliceTrackerDefect::TracksSlicesThatAreGone);
    // Upstream does nothing where nothing is known of the slice, and so an answer that comes later is tracked.
    if (tracker.has(rx, slice) || !is_off) && !tracker.handle_deletion(rx, slice) {
        queue_endpoints_for_endpoint_slice(rx, slice);
    }
}

/// `queueEndpointsForEndpointSlice`, by `endpointsControllerKey`
fn queue_endpoints_for_endpoint_slice(rx: Rx, slice: &Stored) {
    if let Some(key) = service_controller_key(&slice.object) {
        QUEUE.add_after(rx, key.into(), BATCH_PERIOD);
    }
}
