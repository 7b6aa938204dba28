//! The controller compares what a Service should list with what it wrote itself last, and not with what was there before.

use std::collections::BTreeMap;
use std::sync::Arc;

use wavetank_api::kinds::ENDPOINTS;
use wavetank_client::workqueue::Item;
use wavetank_engine::{Check, Note, ProcId, Property, World};
use wavetank_etcd::Revision;

use super::notes::{Leaves, Refuses, Wrote};
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;

/// A life of a process, and a Service. Of Endpoints that are gone nothing is asked: that they are, which the cache has yet to
/// show, has the Service looked at again.
type Of = (ProcId, u32, Item);

/// What each life of each controller wrote last, by Service.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct OwnEndpointsAreKnown {
    wrote: BTreeMap<Of, (Arc<str>, Revision)>,
}

/// The Endpoints of a Service as they are stored, if there are any: their UID and their revision.
fn newest<'a>(world: &'a World, service: &Item) -> Option<(&'a str, Revision)> {
    let (namespace, name) = service.split_once('/').unwrap_or(("", service));
    let stored = ClusterView(world).get(&ENDPOINTS.key(namespace, name))?;
    Some((stored.value.uid(), stored.mod_revision))
}

impl Property for OwnEndpointsAreKnown {
    fn name(&self) -> &'static str {
        "own-endpoints-are-known"
    }

    fn glance(&self, world: &World, note: &Note) -> Option<Check> {
        if let Some(Leaves { service, uid, seen }) = note.body.get() {
            let life = world.incarnation(note.process);
            let of = (note.process, life, service.clone());
            let is_there = newest(world, service).is_some_and(|(own, _)| *own == **uid);
            let wrote = self
                .wrote
                .get(&of)
                .filter(|(own, _)| own == uid && is_there);
            if let Some((_, wrote)) = wrote.filter(|(_, wrote)| wrote > seen) {
                let message = format!(
                    "the Endpoints of {service} are left as they were at revision {seen}, although they were written since, \
                     at {wrote}"
                );
                return Some(violated("service", service, message));
            }
            return Some(Check::Held);
        }
        if let Some(Refuses { service, seen }) = note.body.get() {
            if newest(world, service).is_some_and(|(_, revision)| revision == *seen) {
                let message = format!(
                    "the Endpoints of {service} count as stale at revision {seen}, and there are no newer ones"
                );
                return Some(violated("service", service, message));
            }
            return Some(Check::Held);
        }
        let is_news = note.body.get::<Wrote>().is_some();
        (!is_news).then_some(Check::Idle)
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(Wrote {
            service,
            uid,
            revision,
        }) = note.body.get()
        {
            let life = world.incarnation(note.process);
            let of = (note.process, life, service.clone());
            self.wrote.insert(of, (uid.clone(), *revision));
        }
        self.glance(world, note).unwrap_or(Check::Idle)
    }
}
