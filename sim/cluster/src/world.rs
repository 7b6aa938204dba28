//! The world at time zero.

use wavetank_component::{Setup, Wiring};
use wavetank_engine::{LinkSpec, World, WorldBuilder};

use crate::{Components, Named};

impl Components {
    /// The world at time zero, everything down, with these properties.
    ///
    /// # Errors
    /// What is wrong with what was decided (it may come from a trace).
    pub fn world(
        &self,
        setup: &Setup,
        properties: &[Named],
        nominal: LinkSpec,
    ) -> Result<World, String> {
        for keys in self.keys().into_values().flatten() {
            keys.check_drawn(&setup.drawn)?;
        }
        let processes = self.processes(setup, Some(&setup.drawn))?;
        let mut builder = WorldBuilder::new();
        builder.links(nominal);
        let mut wiring = Wiring::new(&mut builder, &processes);
        for own in self.iter() {
            own.build(setup, &mut wiring);
        }
        for property in self.made(properties, setup) {
            builder.property(property);
        }
        Ok(builder.build())
    }
}
