//! How many processes there are of a kind, and what they are called.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value as Json};

use crate::file::read::Error;
use crate::file::tree::Node;
use crate::mistakes::Mistakes;
use crate::part::{Claim, Keys, Section, one_key};

/// Processes of one kind that are told apart by their number.
#[derive(Clone, Copy, Debug)]
pub struct Replicas {
    /// The key of their number, in `topology` and among what a seed decides.
    pub key: &'static str,
    /// They are called this with their number: `c1`, `c2` and so on.
    pub prefix: &'static str,
    /// What they are, for the schema.
    pub about: &'static str,
    /// No more than so many are possible.
    pub most: u32,
    /// Shrinking leaves so many, if there are any.
    pub fewest: u32,
    /// Shrinking takes them away in steps of so many.
    pub step: u32,
    /// Is the key one of a [`Part`](crate::Part), because more can be said of them than their number?
    pub own_key: bool,
}

impl Replicas {
    /// As many as `key` says in `topology`, at most 99.
    pub const fn counted(key: &'static str, prefix: &'static str, about: &'static str) -> Replicas {
        Replicas {
            key,
            prefix,
            about,
            most: 99,
            fewest: 1,
            step: 1,
            own_key: false,
        }
    }

    /// Of what is large in a real cluster there may be more.
    pub const fn at_most(self, most: u32) -> Replicas {
        Replicas { most, ..self }
    }

    /// All of them may be left out when a failure is shrunk.
    pub const fn dispensable(self) -> Replicas {
        Replicas { fewest: 0, ..self }
    }

    /// The names of so many.
    pub fn names(&self, count: u32) -> Vec<String> {
        (1..=count).map(|n| format!("{}{n}", self.prefix)).collect()
    }

    /// The key of their number, for the file.
    pub(crate) fn keys(self) -> Option<Keys> {
        (!self.own_key).then(|| Keys::new(Section::Topology, self))
    }
}

impl Claim for Replicas {
    fn schema(&self, _: &mut SchemaGenerator) -> Schema {
        let count = json_schema!({
            "description": self.about,
            "type": "integer",
            "minimum": 0,
            "maximum": self.most,
        });
        json_schema!({"type": "object", "properties": {(self.key): count}})
    }

    /// None are as if nothing was said of them.
    fn read(&self, section: &Node) -> Result<Map<String, Json>, Error> {
        let count = one_key::<u32>(self.key, section)?;
        let some = count.filter(|count| count.as_u64() != Some(0));
        let entry = some.map(|count| (self.key.to_owned(), count));
        Ok(entry.into_iter().collect())
    }

    fn default(&self) -> Map<String, Json> {
        Map::new()
    }
}

impl Replicas {
    /// Are there not too many?
    pub fn check(&self, count: u32, mistakes: &mut Mistakes) {
        if count > self.most {
            let message = format!("{count} {} are too many", self.key.replace('-', " "));
            let help = format!("give at most {} of them", self.most);
            mistakes.value(Section::Topology, self.key, message, help);
        }
    }
}
