//! What wakes the controller up (`pkg/controller/endpointslice/endpointslice_controller.go`, v1.36.2): Services, pods that they
//! may select, and slices that somebody else changes. Nodes are looked up and wake nobody; they do for hints of topology only.

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::Stored;
use wavetank_api::kinds::ENDPOINT_SLICES;
use wavetank_client::informer::{HandlerSpec, Notice};
use wavetank_engine::{NotState, Rx};
use wavetank_version::Set;

use super::controller::{CONTROLLER, MANAGER, QUEUES};
use super::defects::EndpointSliceDefect;
use super::slices::managed_by_controller;
use crate::controller::ControllerContext;
use crate::endpoint_utils::notes::WasTold;
use crate::endpoint_utils::{
    EndpointSliceTracker, SliceTrackerDefect, generation, service_controller_key, service_of,
};

/// `endpointSliceChangeMinSyncDelay`, which is longer than `--endpoint-updates-batch-period`.
const MIN_SYNC_DELAY: Duration = Duration::from_secs(1);

/// Adds the handlers at the informers.
pub(super) fn add_event_handlers(
    cx: &mut ControllerContext,
    tracker: EndpointSliceTracker,
    defects: Set<EndpointSliceDefect>,
) {
    QUEUES.add_event_handlers(cx, CONTROLLER);
    let ignores = defects.has(EndpointSliceDefect::ForeignSliceChangesAreIgnored);
    let mut slices = cx.informers.informer_for(&ENDPOINT_SLICES);
    slices.add_event_handler(HandlerSpec {
        on: NotState(Arc::new(move |rx, _, notice| match notice {
            _ if ignores => {}
            Notice::Added { new, .. } => {
                was_told(rx, new, true);
                on_endpoint_slice_add(rx, tracker, new);
            }
            Notice::Updated { old, new } => {
                was_told(rx, new, true);
                on_endpoint_slice_update(rx, tracker, old, new);
            }
            Notice::Deleted(gone) => {
                if let Some(last) = &gone.last {
                    was_told(rx, last, false);
                    on_endpoint_slice_delete(rx, tracker, defects, last);
                }
            }
        })),
        ..HandlerSpec::new(CONTROLLER)
    });
}

fn was_told(rx: Rx, slice: &Stored, is_there: bool) {
    let is_kept = is_there && managed_by_controller(&slice.object);
    rx.note(WasTold {
        manager: MANAGER,
        uid: slice.object.uid().into(),
        of: is_kept.then(|| service_of(&slice.object).into()),
        generation: is_there.then(|| generation(&slice.object)),
    });
}

/// `onEndpointSliceAdd`
fn on_endpoint_slice_add(rx: Rx, tracker: EndpointSliceTracker, slice: &Stored) {
    // It may have been handed over before the cache saw it for the first time.
    for service in tracker.forget_elsewhere(rx, slice) {
        QUEUES.services.add_after(rx, service, MIN_SYNC_DELAY);
    }
    if managed_by_controller(&slice.object) && tracker.should_sync(rx, slice) {
        queue_service_for_endpoint_slice(rx, slice);
    }
}

/// `onEndpointSliceUpdate`
fn on_endpoint_slice_update(rx: Rx, tracker: EndpointSliceTracker, old: &Stored, new: &Stored) {
    let (was_managed, is_managed) = (
        managed_by_controller(&old.object),
        managed_by_controller(&new.object),
    );
    let moved = service_of(&old.object) != service_of(&new.object);
    tracker.forget_handed_over(rx, old, new);
    if moved {
        queue_service_for_endpoint_slice(rx, new);
        queue_service_for_endpoint_slice(rx, old);
        return;
    }
    if was_managed != is_managed || (is_managed && tracker.should_sync(rx, new)) {
        queue_service_for_endpoint_slice(rx, new);
    }
}

/// `onEndpointSliceDelete`
fn on_endpoint_slice_delete(
    rx: Rx,
    tracker: EndpointSliceTracker,
    defects: Set<EndpointSliceDefect>,
    slice: &Stored,
) {
    let asks_for_any = defects.has(EndpointSliceDefect::FixLookAgainForAnySlice);
    if !managed_by_controller(&slice.object) {
        return;
    }
    let has = tracker.has(rx, slice);
    let is_off = tracker
        .defects
        .has(SliceTrackerDefect::TracksSlicesThatAreGone);
    // Upstream does nothing where nothing is known of the slice, and so an answer that comes later is tracked.
    let was_expected = match has || !is_off {
        true => tracker.handle_deletion(rx, slice),
        false => true,
    };
    if !was_expected || (asks_for_any && !has) {
        queue_service_for_endpoint_slice(rx, slice);
    }
}

/// `queueServiceForEndpointSlice`
fn queue_service_for_endpoint_slice(rx: Rx, slice: &Stored) {
    if let Some(key) = service_controller_key(&slice.object) {
        QUEUES.services.add_after(rx, key.into(), MIN_SYNC_DELAY);
    }
}
