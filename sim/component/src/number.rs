//! A key that is a whole number.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value as Json};

use crate::file::read::Error;
use crate::file::tree::Node;
use crate::given::Given;
use crate::part::{Claim, Keys, Section, one_key};

/// A key that is a whole number, where a component knows it by its name and not as the field of a struct.
#[derive(Clone, Copy, Debug)]
pub struct Number {
    /// Where it stands.
    pub section: Section,
    /// The key.
    pub key: &'static str,
    /// What it is, for the schema.
    pub about: &'static str,
    /// What is possible, at least and at most: for the schema.
    pub range: (u32, u32),
}

impl Number {
    /// The key, for the file.
    pub fn keys(self) -> Keys {
        Keys::new(self.section, self)
    }

    /// The number that a file gives, if it gives one.
    pub fn of(&self, given: &Given) -> Option<u32> {
        let number = given.section(self.section).get(self.key)?.as_u64()?;
        u32::try_from(number).ok()
    }
}

impl Claim for Number {
    fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        let mut number = generator.subschema_for::<Option<u32>>();
        let (least, most) = self.range;
        number.insert("description".to_owned(), self.about.into());
        number.insert("minimum".to_owned(), least.into());
        number.insert("maximum".to_owned(), most.into());
        json_schema!({"type": "object", "properties": {(self.key): number}})
    }

    fn read(&self, section: &Node) -> Result<Map<String, Json>, Error> {
        let number = one_key::<Option<u32>>(self.key, section)?;
        let given = number.filter(|number| !number.is_null());
        let entry = given.map(|number| (self.key.to_owned(), number));
        Ok(entry.into_iter().collect())
    }

    fn default(&self) -> Map<String, Json> {
        Map::new()
    }
}
