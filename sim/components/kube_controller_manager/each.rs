//! What is asked of each object of a kind while somebody runs its controller.

use wavetank_api::{Object, Resource};
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;
use wavetank_engine::{Check, World};

use crate::somebody_runs;

/// Whose objects are asked about, and what these are called where one is wrong.
#[derive(Clone, Copy)]
pub(crate) struct Each {
    pub controller: &'static str,
    pub resource: &'static Resource,
    pub kind: &'static str,
}

impl Each {
    /// `judge` says what is wrong with an object, or nothing of one that it is not about. The first that is wrong is told.
    pub fn is_met(
        self,
        world: &World,
        judge: impl Fn(&Object) -> Option<Result<(), String>>,
    ) -> Check {
        if !somebody_runs(world, self.controller) {
            return Check::Idle;
        }
        let mut checked = Check::Idle;
        for object in ClusterView(world).all(self.resource.registry) {
            match judge(object) {
                None => {}
                Some(Ok(())) => checked = Check::Held,
                Some(Err(wrong)) => {
                    let (of, name) = (self.resource.kind, object.name());
                    return violated(self.kind, name, format!("the {of} {name} {wrong}"));
                }
            }
        }
        checked
    }
}
