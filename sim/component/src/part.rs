//! Keys of a scenario file that a component claims, as types.

use std::fmt;
use std::marker::PhantomData;
use std::sync::OnceLock;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};

use crate::drawn::{Draw, Drawn};
use crate::file::path::Step;
use crate::file::read::Error;
use crate::file::tree::Node;

/// A mapping of a scenario file whose keys belong to components. What a seed decides is drawn in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Section {
    /// `options`: what processes are started with.
    Options,
    /// `topology`: which processes there are.
    Topology,
    /// `workload`: what they do.
    Workload,
    /// One that belongs to a single component.
    Own(&'static str),
}

impl Section {
    /// Its key in a scenario file.
    pub const fn key(self) -> &'static str {
        match self {
            Section::Options => "options",
            Section::Topology => "topology",
            Section::Workload => "workload",
            Section::Own(key) => key,
        }
    }

    /// What it is, for the schema. One of a single component is described by its type.
    pub const fn about(self) -> Option<&'static str> {
        match self {
            Section::Options => Some("What processes are started with, as their flags are called."),
            Section::Topology => Some("Which processes there are."),
            Section::Workload => Some("What the processes do."),
            Section::Own(_) => None,
        }
    }
}

/// Keys of one section that belong together: the fields of a struct, in kebab-case. All of them may be left out: then
/// they are those of the default. Keys of others in the same section are passed over, so `deny_unknown_fields` must
/// not be asked for. What serializes to nothing at its default (`skip_serializing_if`) keeps traces short.
pub trait Part:
    Default + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static
{
    /// Where they stand.
    const SECTION: Section;

    /// What a seed decides of them.
    fn draw(&self, draw: &mut Draw) {
        let _ = draw;
    }

    /// Is what was decided of them of the right types? It may come from a trace.
    ///
    /// # Errors
    /// What is wrong.
    fn check_drawn(drawn: &Drawn) -> Result<(), String> {
        let _ = drawn;
        Ok(())
    }
}

/// Keys of one section, whatever their type.
pub struct Keys {
    section: Section,
    claim: Box<dyn Claim>,
    /// Each file that is read asks for them.
    names: OnceLock<Vec<String>>,
}

/// What is asked of keys whose type is not known.
pub(crate) trait Claim: Send + Sync {
    /// The schema of an object with these keys.
    fn schema(&self, generator: &mut SchemaGenerator) -> Schema;

    /// Reads them in their section, and says what was read as JSON.
    fn read(&self, section: &Node) -> Result<Map<String, Json>, Error>;

    /// What they are if none is given.
    fn default(&self) -> Map<String, Json>;

    /// What a seed decides of them.
    fn draw(&self, section: &Map<String, Json>, draw: &mut Draw) {
        let _ = (section, draw);
    }

    fn check_drawn(&self, drawn: &Drawn) -> Result<(), String> {
        let _ = drawn;
        Ok(())
    }
}

impl Keys {
    /// Those of this type.
    pub fn of<P: Part>() -> Keys {
        Keys::new(P::SECTION, Typed(PhantomData::<P>))
    }

    pub(crate) fn new(section: Section, claim: impl Claim + 'static) -> Keys {
        Keys {
            section,
            claim: Box::new(claim),
            names: OnceLock::new(),
        }
    }

    /// Where they stand.
    pub fn section(&self) -> Section {
        self.section
    }

    /// Their names.
    pub fn names(&self) -> &[String] {
        self.names.get_or_init(|| {
            let schema = self.schema(&mut SchemaGenerator::default());
            let keys = schema.get("properties").and_then(Json::as_object);
            keys.map_or_else(Vec::new, |keys| keys.keys().cloned().collect())
        })
    }

    /// The schema of an object with these keys.
    pub fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        self.claim.schema(generator)
    }

    /// Reads them in their section of a file, and says what was read as JSON.
    ///
    /// # Errors
    /// The first mistake, with its place in the section.
    pub fn read(&self, section: &Node) -> Result<Map<String, Json>, Error> {
        self.claim.read(section)
    }

    /// What they are if none is given.
    pub fn default(&self) -> Map<String, Json> {
        self.claim.default()
    }

    /// What a seed decides of them, as they stand in their section.
    pub fn draw(&self, section: &Map<String, Json>, draw: &mut Draw) {
        self.claim.draw(section, draw);
    }

    /// Is what was decided of them of the right types?
    ///
    /// # Errors
    /// What is wrong.
    pub fn check_drawn(&self, drawn: &Drawn) -> Result<(), String> {
        self.claim.check_drawn(drawn)
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut keys = f.debug_struct("Keys");
        keys.field("section", &self.section);
        keys.field("names", &self.names()).finish()
    }
}

struct Typed<P>(PhantomData<P>);

impl<P: Part> Claim for Typed<P> {
    fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        P::json_schema(generator)
    }

    fn read(&self, section: &Node) -> Result<Map<String, Json>, Error> {
        P::deserialize(section).map(|part| object(&part))
    }

    fn default(&self) -> Map<String, Json> {
        object(&P::default())
    }

    fn draw(&self, section: &Map<String, Json>, draw: &mut Draw) {
        typed::<P>(section).draw(draw);
    }

    fn check_drawn(&self, drawn: &Drawn) -> Result<(), String> {
        P::check_drawn(drawn)
    }
}

/// A value of a type that is written as a mapping.
fn object(value: &impl Serialize) -> Map<String, Json> {
    match serde_json::to_value(value) {
        Ok(Json::Object(map)) => map,
        other => panic!("keys of a scenario file are a struct, not {other:?}"),
    }
}

/// What was read before, as its type.
pub(crate) fn typed<P: DeserializeOwned>(section: &Map<String, Json>) -> P {
    let read = P::deserialize(section);
    read.unwrap_or_else(|error| panic!("it was read before: {error}"))
}

/// One key, of a type that is no struct of its own.
pub(crate) fn one_key<T: DeserializeOwned + Serialize>(
    key: &str,
    section: &Node,
) -> Result<Option<Json>, Error> {
    let Some(entry) = section.sound(key) else {
        return Ok(None);
    };
    let value = T::deserialize(&entry.node);
    let value = value.map_err(|error| error.inside(Step::Key(key.to_owned())))?;
    Ok(Some(serde_json::to_value(value).expect("it is JSON")))
}
