//! The properties of all components.

use std::collections::BTreeMap;
use std::time::Duration;

use wavetank_component::{Component, PropertyInfo, Setup, Spec};
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

/// What a component has.
pub(crate) fn properties_of(own: &dyn Component) -> impl Iterator<Item = Named> {
    let of = own.name();
    let all = own.properties().into_iter();
    all.map(move |info| Named { of, info })
}

impl Components {
    /// All properties, in the order of the components.
    pub fn properties(&self) -> &[Named] {
        &self.properties
    }

    /// The property of this name.
    pub fn property(&self, name: &str) -> Option<&Named> {
        let mut all = self.properties.iter();
        all.find(|named| named.info.name == name)
    }

    /// The properties that a scenario is held to if it names none.
    pub fn fitting(&self, spec: &Spec) -> Vec<Named> {
        let all = self.properties.iter();
        let fitting = all.filter(|named| named.info.is_by_default(spec));
        fitting.cloned().collect()
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
