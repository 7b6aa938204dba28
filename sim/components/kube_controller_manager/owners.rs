//! What properties ask of the owner of an object: does it stay? The collector takes what is of others.

use wavetank_api::{Object, Resource, json};
use wavetank_components::view::ClusterView;
use wavetank_engine::World;

use crate::controller_utils::get_controller_of;

/// Is the controller of an object, which is of this resource, stored and not to go?
pub(crate) fn controller_stays(world: &World, object: &Object, of: &Resource) -> bool {
    let Some(owner) = get_controller_of(object.json()) else {
        return false;
    };
    let key = of.key(object.namespace(), json::text(owner, &["name"]));
    let stored = ClusterView(world).get(&key);
    stored.is_some_and(|kv| owner["uid"] == *kv.value.uid() && !kv.value.is_being_deleted())
}
