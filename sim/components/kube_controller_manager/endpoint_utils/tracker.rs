//! What a controller of slices knows of its own writes (`k8s.io/endpointslice/util/endpointslice_tracker.go`, v1.36.2): the slices of
//! each Service with their generations, so that a cache that has not seen them is found out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::Stored;
use wavetank_client::informer::Lister;
use wavetank_client::workqueue::{Item, WorkQueue};
use wavetank_engine::{Cell, Rx};
use wavetank_etcd::Revision;
use wavetank_version::Set;

use super::defects::SliceTrackerDefect;
use super::slices::{generation, is_managed_by, service_of};
use crate::controller_utils::SyncError;

/// Of a controller, by how it labels its slices, and of a Service.
type Of = (&'static str, Item);

/// Of a slice that is new.
const FIRST_GENERATION: i64 = 1;

/// The fix of finding 98: so often a Service is looked at while its slices are not seen.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What all trackers of a process know.
static SLICES: Cell<BTreeMap<Of, Tracked>> = Cell::new("tracked-slices");

/// `GenerationsBySlice`, by UID; none is upstream's `deletionExpected`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Tracked {
    generations: BTreeMap<Arc<str>, Option<i64>>,
    /// The revision at which each was made: one that was changed since was in the cache. Upstream has no such list
    /// (`fix-forget-slices-never-seen`).
    written: BTreeMap<Arc<str>, Revision>,
    /// The slices that were seen to leave since the Service was last looked at: an answer that comes after that is of no
    /// slice that is there. Upstream has no such list (`tracks-slices-that-are-gone`).
    left: BTreeSet<Arc<str>>,
}

impl Tracked {
    /// Nothing is known of a slice any more. What was known.
    fn forget(&mut self, uid: &str) -> Option<Option<i64>> {
        self.written.remove(uid);
        self.generations.remove(uid)
    }

    /// The slices that are to be there, and were made at this revision or before.
    fn written_by(&self, read: Revision) -> Vec<Arc<str>> {
        let all = self.generations.iter().filter(|(_, known)| known.is_some());
        let all = all.map(|(uid, _)| uid);
        let written = |uid: &&Arc<str>| self.written.get(*uid).is_some_and(|at| *at <= read);
        all.filter(written).cloned().collect()
    }

    /// Has the controller written the slice after this was seen of it? Then it has taken it back, and the cache will show that.
    fn wrote_later(&self, slice: &Stored) -> bool {
        let known = self.generations.get(slice.object.uid()).copied().flatten();
        known.is_some_and(|known| known > generation(&slice.object))
    }
}

/// `EndpointSliceTracker` of a controller.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EndpointSliceTracker {
    /// How the controller labels its slices.
    pub manager: &'static str,
    /// What is wrong in it.
    pub defects: Set<SliceTrackerDefect>,
}

/// The slice was seen to leave before its update was answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HasLeft;

impl EndpointSliceTracker {
    /// Of the Service of a slice.
    fn with<R: wavetank_engine::Message + Clone + Eq + std::hash::Hash>(
        self,
        rx: Rx,
        slice: &Stored,
        work: impl FnOnce(Option<&mut Tracked>, Arc<str>) -> R,
    ) -> R {
        let of = self.service_nn(slice);
        let uid: Arc<str> = slice.object.uid().into();
        rx.update(&SLICES, |all| work(all.get_mut(&of), uid))
    }

    /// Upstream's `getServiceNN`
    fn service_nn(self, slice: &Stored) -> Of {
        (self.manager, service_of(&slice.object).into())
    }

    /// `Has`
    pub fn has(self, rx: Rx, slice: &Stored) -> bool {
        self.with(rx, slice, |own, uid| {
            own.is_some_and(|own| own.generations.contains_key(&uid))
        })
    }

    /// `ShouldSync`
    pub fn should_sync(self, rx: Rx, slice: &Stored) -> bool {
        self.with(rx, slice, |own, uid| {
            let known = own.and_then(|own| own.generations.get(&uid).copied());
            // One whose deletion is expected is older than any.
            known.is_none_or(|known| Some(generation(&slice.object)) > known)
        })
    }

    /// `StaleSlices`: if the cache has not seen what was written for the Service, the slices that it lacks. This is where a
    /// sync begins.
    pub fn stale_slices(
        self,
        rx: Rx,
        service: &Item,
        cache: Lister,
        slices: &[Stored],
    ) -> Option<Vec<Arc<str>>> {
        let never_seen = self.never_seen(rx, service, cache, slices);
        rx.update(&SLICES, |all| {
            let own = all.entry((self.manager, service.clone())).or_default();
            own.left.clear();
            for uid in &never_seen {
                own.forget(uid);
            }
            let provided: BTreeMap<&str, i64> = slices
                .iter()
                .map(|slice| (slice.object.uid(), generation(&slice.object)))
                .collect();
            let is_old = |(uid, known): (&Arc<str>, &Option<i64>)| {
                let provided = provided.get(&**uid);
                provided.is_some_and(|provided| known.is_none_or(|known| known > *provided))
            };
            let lacks = |(uid, known): &(&Arc<str>, &Option<i64>)| {
                known.is_some() && !provided.contains_key(&***uid)
            };
            let lacking = own.generations.iter().filter(lacks);
            let lacking: Vec<Arc<str>> = lacking.map(|(uid, _)| uid.clone()).collect();
            let stale = !lacking.is_empty() || own.generations.iter().any(is_old);
            stale.then_some(lacking)
        })
    }

    /// What a sync comes to whose cache is stale.
    ///
    /// # Errors
    /// As upstream: the Service is tried again, the more rarely the more of its pods have changed meanwhile, and not at all
    /// after too many times. That the slices are seen wakes nobody.
    pub fn try_again_later(
        self,
        rx: Rx,
        queue: WorkQueue,
        service: &Item,
    ) -> Result<(), SyncError> {
        if self.defects.has(SliceTrackerDefect::FixLookAgainForSlices) {
            queue.add_after(rx, service.clone(), LOOK_AGAIN);
            return Ok(());
        }
        let why = "EndpointSlice informer cache is out of date";
        Err(SyncError::Worded(why.to_owned()))
    }

    /// `Update`
    ///
    /// # Errors
    /// The slice has left by then: it is not tracked.
    pub fn update(self, rx: Rx, slice: &Stored) -> Result<(), HasLeft> {
        let of = self.service_nn(slice);
        let uid: Arc<str> = slice.object.uid().into();
        let has_left = rx.update(&SLICES, |all| {
            let own = all.entry(of).or_default();
            let has_left = own.left.contains(&uid);
            if !has_left {
                if generation(&slice.object) == FIRST_GENERATION {
                    own.written.insert(uid.clone(), slice.resource_version);
                }
                own.generations.insert(uid, Some(generation(&slice.object)));
            }
            has_left
        });
        match has_left {
            true => Err(HasLeft),
            false => Ok(()),
        }
    }

    /// `DeleteService`
    pub fn delete_service(self, rx: Rx, service: &Item) {
        rx.update(&SLICES, |all| {
            drop(all.remove(&(self.manager, service.clone())))
        });
    }

    /// `ExpectDeletion`
    pub fn expect_deletion(self, rx: Rx, slice: &Stored) {
        let of = self.service_nn(slice);
        let uid: Arc<str> = slice.object.uid().into();
        rx.update(&SLICES, |all| {
            let own = all.entry(of).or_default();
            if !own.left.contains(&uid) {
                own.generations.insert(uid, None);
            }
        });
    }

    /// `HandleDeletion`: was it expected, or is nothing known of the slice?
    pub fn handle_deletion(self, rx: Rx, slice: &Stored) -> bool {
        let tracks = self
            .defects
            .has(SliceTrackerDefect::TracksSlicesThatAreGone);
        self.with(rx, slice, |own, uid| {
            let Some(own) = own else {
                return true;
            };
            let known = own.forget(&uid);
            if !tracks {
                own.left.insert(uid);
            }
            !matches!(known, Some(Some(_)))
        })
    }

    /// The slices of a Service that were written, and that a cache as new as that lacks: they are gone, and its watch had a gap. Upstream
    /// does not look for them (`fix-forget-slices-never-seen`).
    fn never_seen(self, rx: Rx, service: &Item, cache: Lister, slices: &[Stored]) -> Vec<Arc<str>> {
        let read = cache.last_store_sync_resource_version(rx);
        let mut gone = rx.look(&SLICES, |all| {
            let own = all.get(&(self.manager, service.clone()));
            own.map_or(Vec::new(), |own| own.written_by(read))
        });
        let has = |slices: &[Stored], uid: &str| slices.iter().any(|own| own.object.uid() == uid);
        gone.retain(|uid| !has(slices, uid));
        if gone.is_empty() {
            return gone;
        }
        // One that the cache has is somebody else's by its labels.
        let all = cache.list(rx);
        gone.retain(|uid| !has(&all, uid));
        let forgets = || {
            self.defects
                .has(SliceTrackerDefect::FixForgetSlicesNeverSeen)
        };
        match gone.is_empty() || !forgets() {
            true => Vec::new(),
            false => gone,
        }
    }

    /// A slice that is another's by its labels is not waited for. Whose it was. Upstream does not do that
    /// (`fix-forget-slices-handed-over`).
    pub fn forget_elsewhere(self, rx: Rx, slice: &Stored) -> Vec<Item> {
        if !self.forgets() {
            return Vec::new();
        }
        let manager = self.manager;
        let kept = is_managed_by(&slice.object, manager).then(|| service_of(&slice.object));
        let uid = slice.object.uid();
        rx.update(&SLICES, |all| {
            let mut former = Vec::new();
            let own = all.iter_mut().filter(|((by, _), _)| *by == manager);
            for ((_, service), own) in own {
                let is_kept = kept.as_deref() == Some(&**service);
                if !is_kept && !own.wrote_later(slice) && own.forget(uid).is_some() {
                    own.left.insert(uid.into());
                    former.push(service.clone());
                }
            }
            former
        })
    }

    /// A slice that was given to somebody else by its labels is not waited for any more. Upstream does not do that.
    pub fn forget_handed_over(self, rx: Rx, old: &Stored, new: &Stored) {
        let is_own = |slice: &Stored| is_managed_by(&slice.object, self.manager);
        let moved = service_of(&old.object) != service_of(&new.object);
        if !self.forgets() || !is_own(old) || (is_own(new) && !moved) {
            return;
        }
        self.with(rx, old, |own, uid| {
            if let Some(own) = own.filter(|own| !own.wrote_later(new)) {
                own.forget(&uid);
                own.left.insert(uid);
            }
        });
    }

    fn forgets(self) -> bool {
        self.defects
            .has(SliceTrackerDefect::FixForgetSlicesHandedOver)
    }
}
