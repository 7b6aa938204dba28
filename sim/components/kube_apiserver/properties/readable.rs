//! Servers of several releases beside each other.

use wavetank_api::Object;
use wavetank_api::versions::stored;
use wavetank_engine::{Check, Note, World};
use wavetank_etcd::Committed;

use crate::promises::violated;
use crate::view::ClusterView;

/// Whatever is stored can be read by each apiserver that runs, be it an older one than that which has stored it
/// (`recordDecodeError` counts what cannot).
pub(super) fn stored_objects_can_be_read(world: &World, note: &Note) -> Check {
    let Some(commit) = note.body.get::<Committed<Object>>() else {
        return Check::Idle;
    };
    let view = ClusterView(world);
    let servers = view
        .apiservers()
        .filter(|(process, _)| view.is_up(*process));
    let servers: Vec<_> = servers.collect();
    let mut releases = servers.iter().map(|(_, server)| server.config().release);
    let first = releases.next();
    if releases.all(|release| Some(release) == first) {
        return Check::Idle;
    }
    let mut check = Check::Idle;
    for change in &*commit.changes {
        let (Some(resource), Some(now)) = (stored::stored_under(&change.key), &change.now) else {
            continue;
        };
        check = Check::Held;
        for (process, server) in &servers {
            let release = server.config().release;
            if let Err(why) = stored::decode(resource, now.value.json(), release) {
                let message = format!(
                    "{}, of {release}, cannot read what is stored under {}: {why}",
                    world.name(*process),
                    change.key
                );
                return violated(resource.kind, &change.key, message);
            }
        }
    }
    check
}
