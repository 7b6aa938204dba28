//! The controller's own caches, as points of view: they are behind its informers, where a worker has not come that far.

use wavetank_api::Resource;
use wavetank_api::kinds::{PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES};
use wavetank_component::{Held, Holds, View};
use wavetank_engine::{ProcId, World};

use super::cache::{CLAIMS, Cache, VOLUMES};

/// Those of a process, if it has begun to fill them.
pub(super) fn of(world: &World, process: ProcId) -> Vec<View> {
    let view = |cache: &'static Cache, resource: &'static Resource| {
        let all = cache.look(world, process);
        let newest = all.iter().map(|(_, own)| own.resource_version).max()?;
        let objects = all.into_iter().map(|(key, object)| Held {
            key: format!("{}/{key}", resource.registry),
            object,
        });
        Some(View {
            name: "binder",
            holds: Holds::Known,
            resource: Some(resource),
            revision: newest,
            objects: objects.collect(),
        })
    };
    let volumes = view(&VOLUMES, &PERSISTENT_VOLUMES);
    let claims = view(&CLAIMS, &PERSISTENT_VOLUME_CLAIMS);
    volumes.into_iter().chain(claims).collect()
}
