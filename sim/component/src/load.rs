//! What processes of a component are told again and again.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::file::read::Error;
use crate::file::tree::Node;
use crate::part::{Claim, Keys, Section, one_key};
use crate::property::Need;
use crate::values::Duration;

/// How often something is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Often {
    /// On average, by or to each process.
    pub every: Duration,
}

/// Work that the processes of a component are told to do, each for itself, again and again.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Its key in `workload`.
    pub key: &'static str,
    /// Whose processes are told, if not those of the component that declares it.
    pub to: Option<&'static str>,
    /// What they are told.
    pub command: &'static str,
    /// What it is, for the schema.
    pub about: &'static str,
    /// Does it end with the storm?
    pub ends: bool,
    /// Is it a fault, and no work? Then there is none of it in a run without faults.
    pub disturbs: bool,
    /// What there must be for it.
    pub need: Need,
    /// What is said of an interval of 0s.
    pub never: &'static str,
    /// Is the key one of a [`Part`](crate::Part), because more can be said of it than how often? It has `every`, too.
    pub own_key: bool,
}

impl Load {
    /// This is told as often as `key` says in `workload`, also when the storm is over.
    pub const fn command(
        key: &'static str,
        command: &'static str,
        about: &'static str,
        need: Need,
    ) -> Load {
        Load {
            key,
            to: None,
            command,
            about,
            ends: false,
            disturbs: false,
            need,
            never: "nothing can be done every 0s",
            own_key: false,
        }
    }

    /// Until the storm ends.
    pub const fn until_calm(self) -> Load {
        Load { ends: true, ..self }
    }

    /// It is a fault.
    pub const fn disturbs(self) -> Load {
        Load {
            disturbs: true,
            ..self
        }
    }

    /// Description to the processes of another component, of which this one is a part.
    pub const fn to(self, component: &'static str) -> Load {
        let to = Some(component);
        Load { to, ..self }
    }

    /// How often, if at all.
    pub fn every(&self, workload: &Map<String, Json>) -> Option<Duration> {
        let every = workload.get(self.key)?.get("every")?;
        Some(Duration::deserialize(every).expect("it was read before"))
    }

    pub(crate) fn keys(self) -> Option<Keys> {
        (!self.own_key).then(|| Keys::new(Section::Workload, self))
    }
}

impl Claim for Load {
    fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        let often = generator.subschema_for::<Often>();
        let mut load = json_schema!({"description": self.about});
        load.ensure_object()
            .extend(often.as_object().cloned().unwrap_or_default());
        json_schema!({"type": "object", "properties": {(self.key): load}})
    }

    fn read(&self, section: &Node) -> Result<Map<String, Json>, Error> {
        let often = one_key::<Often>(self.key, section)?;
        let entry = often.map(|often| (self.key.to_owned(), often));
        Ok(entry.into_iter().collect())
    }

    fn default(&self) -> Map<String, Json> {
        Map::new()
    }
}
