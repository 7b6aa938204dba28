//! The properties of all components.

use std::collections::BTreeMap;
use std::time::Duration;

use wavetank_component::{PropertyInfo, Setup, Spec};
use wavetank_engine::Property;

use crate::Components;

/// A property, with the component that it is about.
#[derive(Clone, Debug)]
pub struct Named {
    /// The component's name.
    pub of: &'static str,
    /// The property.
    pub info: PropertyInfo,
}

impl Components {
    /// All properties, in the order of the components.
    pub fn properties(&self) -> Vec<Named> {
        let of = |own: &dyn wavetank_component::Component| {
            let of = own.name();
            let all = own.properties().into_iter();
            all.map(move |info| Named { of, info })
        };
        self.iter().flat_map(of).collect()
    }

    /// The property of this name.
    pub fn property(&self, name: &str) -> Option<Named> {
        let mut all = self.properties().into_iter();
        all.find(|named| named.info.name == name)
    }

    /// The properties that a scenario is held to if it names none.
    pub fn fitting(&self, spec: &Spec) -> Vec<Named> {
        let mut all = self.properties();
        all.retain(|named| named.info.is_by_default(spec));
        all
    }

    /// The properties themselves, in a world that is composed for this.
    pub(crate) fn made(&self, all: &[Named], setup: &Setup) -> Vec<Box<dyn Property>> {
        let mut settled = BTreeMap::new();
        let made = all.iter().map(|named| {
            let settles = || {
                let of = self.find(named.of).map(|own| own.settles(setup));
                of.unwrap_or(Duration::ZERO)
            };
            // Most components have many properties.
            let within = *settled.entry(named.of).or_insert_with(settles);
            named.info.property(within)
        });
        made.collect()
    }
}
