//! Checks of the properties that a scenario names: that there are such, and that its cluster can be
//! held to them.

use std::collections::BTreeSet;

use wavetank_component::file::path::Path;
use wavetank_component::file::suggest;
use wavetank_component::file::tree::Focus::Value;

use super::check::Checker;

impl Checker<'_> {
    /// In an impossible cluster nobody asks what fits.
    pub(super) fn properties(&mut self, possible: bool) {
        let scenario = self.scenario;
        let listed = &scenario.properties;
        let mut seen = BTreeSet::new();
        let mut all_known = true;
        for (index, name) in listed.iter().enumerate() {
            let path = Path::of("properties").item(index);
            all_known &= self.is_property(name, path.clone(), possible);
            if !seen.insert(name) {
                let message = format!("the property `{name}` is listed twice");
                self.wrong(path, Value, message, "remove one");
            }
        }
        let Some(expected) = &scenario.expect else {
            return;
        };
        let path = Path::of("expect");
        // What is wrong with a listed one has been said.
        if listed.contains(expected) {
            return;
        }
        all_known &= self.is_property(expected, path.clone(), possible);
        // A misspelt one may be the one that seems to be missing.
        if all_known && !listed.is_empty() {
            let message = format!("the expected violation of `{expected}` is never looked for");
            self.wrong(path, Value, message, "add it to `properties`");
        }
    }

    fn is_property(&mut self, name: &str, path: Path, possible: bool) -> bool {
        let Some(property) = self.components.property(name) else {
            let all = self.components.properties();
            let all: Vec<&str> = all.iter().map(|named| named.info.name).collect();
            let help = match suggest::nearest(name, &all) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!(
                    "`wavetank list properties` has all {}, with `--for FILE` those of a scenario",
                    all.len()
                ),
            };
            self.wrong(path, Value, format!("unknown property `{name}`"), help);
            return false;
        };
        let need = property.info.need;
        if possible && !(need.met)(&self.spec) {
            let message = format!("`{name}` is about {}", need.lacking);
            let help = format!("remove it, or add {}", need.add);
            self.wrong(path, Value, message, help);
        }
        true
    }
}
