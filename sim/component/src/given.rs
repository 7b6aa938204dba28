//! What a scenario file says to components.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value as Json};

use crate::part::{Part, Section, typed};

/// What a scenario file says to components, by section. All keys are there that components claim, given or not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Given {
    sections: BTreeMap<&'static str, Map<String, Json>>,
}

impl Given {
    /// Adds keys of a section.
    pub fn add(&mut self, section: Section, keys: Map<String, Json>) {
        self.sections.entry(section.key()).or_default().extend(keys);
    }

    /// The keys of a section.
    pub fn section(&self, section: Section) -> &Map<String, Json> {
        static NOTHING: LazyLock<Map<String, Json>> = LazyLock::new(Map::new);
        self.sections.get(section.key()).unwrap_or(&NOTHING)
    }

    /// All sections.
    pub fn sections(&self) -> impl Iterator<Item = (&'static str, &Map<String, Json>)> {
        self.sections.iter().map(|(key, section)| (*key, section))
    }

    /// Keys of a component, as their type.
    pub fn part<P: Part>(&self) -> P {
        typed(self.section(P::SECTION))
    }

    /// How many processes there are of a kind that only says so many; none of a kind that is not known.
    pub fn count(&self, key: &str) -> u32 {
        let count = self.section(Section::Topology).get(key);
        let count = count.and_then(Json::as_u64).unwrap_or_default();
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// Is this work asked for?
    pub fn has_load(&self, key: &str) -> bool {
        self.section(Section::Workload).contains_key(key)
    }
}
