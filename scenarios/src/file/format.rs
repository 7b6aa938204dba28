//! What a scenario file may say: the keys of `Scenario`, and sections whose keys belong to components. The JSON schema
//! is composed here, and a file is read by it.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::sync::{Arc, LazyLock};

use schemars::transform::transform_subschemas;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::Deserialize as _;
use serde::de::{self, Expected, Unexpected};
use serde_json::Value;
use wavetank_cluster::Components;
use wavetank_component::file::gather;
use wavetank_component::file::path::{Path, Step};
use wavetank_component::file::read::{Error, Kind};
use wavetank_component::file::tree::{Node, Shape};
use wavetank_component::{Given, Keys, Section};

use super::scenario::Scenario;
use super::search::defect_names;

/// The section that every scenario has: without processes there is nothing to simulate.
const REQUIRED: Section = Section::Topology;

/// The format of scenario files over these components.
#[derive(Debug)]
pub struct Format<'a> {
    components: &'a Components,
    keys: BTreeMap<Section, Vec<Arc<Keys>>>,
    /// A file without mistakes is read without it.
    schema: OnceCell<Schema>,
}

impl<'a> Format<'a> {
    /// The format that goes with these components.
    pub fn new(components: &'a Components) -> Format<'a> {
        Format {
            components,
            keys: components.keys(),
            schema: OnceCell::new(),
        }
    }

    fn schema(&self) -> &Schema {
        let made = || schema(self.components, &self.keys);
        self.schema.get_or_init(made)
    }

    /// The names of the keys at the top of a file, as the schema has them.
    fn names(&self) -> Vec<String> {
        let sections = self.keys.keys().map(|section| section.key().to_owned());
        let mut names = own_names().clone();
        names.extend(sections);
        names.into_iter().collect()
    }

    /// The JSON Schema of scenario files, as JSON with a newline at its end.
    pub fn json_schema(&self) -> String {
        let mut schema = self.schema().clone().to_value();
        // Otherwise the order would depend on features that other crates ask of serde_json.
        schema.sort_all_objects();
        format!("{schema:#}\n")
    }

    /// What could be read, and all that was wrong.
    pub(super) fn read(&self, tree: &mut Node) -> (Option<Scenario>, Vec<Error>) {
        gather::read(tree, |owner| self.required(owner), |tree| self.once(tree))
    }

    /// Reads until the first mistake. What is missing is looked at last, since nothing is read after that.
    fn once(&self, tree: &Node) -> Result<Scenario, Error> {
        if let Shape::Map(_) = tree.shape {
            known(tree, || self.names())?;
        }
        let given = self.given(tree)?;
        let mut scenario = Scenario::deserialize(tree)?;
        if !tree
            .entries()
            .iter()
            .any(|entry| entry.key == REQUIRED.key())
        {
            return Err(missing_topology());
        }
        scenario.given = given;
        Ok(scenario)
    }

    /// What it says to components.
    fn given(&self, tree: &Node) -> Result<Given, Error> {
        let mut given = Given::default();
        for (section, all) in &self.keys {
            let key = section.key();
            let Some(entry) = tree.sound(key) else {
                for keys in all {
                    given.add(*section, keys.default());
                }
                continue;
            };
            let inside = |error: Error| error.inside(Step::Key(key.to_owned()));
            mapping(&entry.node).map_err(inside)?;
            let names = || all.iter().flat_map(|keys| keys.names()).cloned().collect();
            known(&entry.node, names).map_err(inside)?;
            for keys in all {
                given.add(*section, keys.read(&entry.node).map_err(inside)?);
            }
        }
        Ok(given)
    }

    /// The keys that must be given in a mapping read as the type of that name.
    fn required(&self, owner: &str) -> Vec<String> {
        let keys = self.of(owner).and_then(|of| of.get("required")?.as_array());
        let names = keys.into_iter().flatten().filter_map(Value::as_str);
        names.map(String::from).collect()
    }

    /// What a key means in a mapping read as the type of that name.
    pub(crate) fn meaning(&self, owner: &str, key: &str) -> Option<String> {
        let key = self.of(owner)?.get("properties")?.get(key)?;
        key.get("description")?.as_str().map(String::from)
    }

    fn of(&self, owner: &str) -> Option<&Value> {
        let root = self.schema().as_value();
        match owner {
            "Scenario" => Some(root),
            _ => root.get("$defs")?.get(owner),
        }
    }
}

/// Is this a mapping?
fn mapping(node: &Node) -> Result<(), Error> {
    struct Mapping;
    impl Expected for Mapping {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            "a map".fmt(f)
        }
    }
    match node.shape {
        Shape::Map(_) => Ok(()),
        _ => Err(de::Error::invalid_type(Unexpected::Map, &Mapping)),
    }
}

/// Are all keys among these?
fn known(node: &Node, names: impl FnOnce() -> Vec<String>) -> Result<(), Error> {
    let sound = node.entries().iter().filter(|entry| !entry.node.broken);
    let known = names();
    match sound
        .map(|entry| &entry.key)
        .find(|key| !known.contains(key))
    {
        None => Ok(()),
        Some(key) => {
            let key = key.clone();
            let kind = Kind::UnknownKey { key, known };
            Err(Error::at(Path::default(), kind))
        }
    }
}

/// `gather` names what else is missing.
fn missing_topology() -> Error {
    let keys = vec![REQUIRED.key().to_owned()];
    let owner = "Scenario";
    Error::at(Path::default(), Kind::Missing { owner, keys })
}

/// The names of the keys that every file may have, whatever the components.
fn own_names() -> &'static BTreeSet<String> {
    static NAMES: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
        let schema = SchemaGenerator::default().into_root_schema_for::<Scenario>();
        let keys = schema.get("properties").and_then(Value::as_object);
        keys.into_iter()
            .flat_map(|keys| keys.keys().cloned())
            .collect()
    });
    &NAMES
}

fn schema(components: &Components, keys: &BTreeMap<Section, Vec<Arc<Keys>>>) -> Schema {
    let mut generator = SchemaGenerator::default();
    let mut sections = Vec::new();
    for (section, all) in keys {
        let mut properties = serde_json::Map::new();
        let mut about = section.about().map(Value::from);
        for keys in all {
            let schema = keys.schema(&mut generator);
            if let Some(own) = schema.get("properties").and_then(Value::as_object) {
                properties.extend(own.clone());
            }
            about = about.or_else(|| schema.get("description").cloned());
        }
        let schema = json_schema!({
            "type": "object",
            "description": about,
            "properties": properties,
            "additionalProperties": false,
        });
        sections.push((section.key(), schema));
    }
    let mut root = generator.into_root_schema_for::<Scenario>();
    root.insert("additionalProperties".into(), false.into());
    let root_keys = root.get_mut("properties").and_then(Value::as_object_mut);
    let root_keys = root_keys.expect("a scenario has keys");
    for (section, schema) in sections {
        root_keys.insert(section.to_owned(), schema.to_value());
    }
    if let Some(Value::Array(required)) = root.get_mut("required") {
        required.push(REQUIRED.key().into());
    }
    tidy(&mut root);
    name_defects(&mut root, components);
    root
}

/// Schemars lets what is optional be null, but here it can only be left out. Descriptions
/// become one line.
fn tidy(schema: &mut Schema) {
    if let Some(Value::Array(options)) = schema.get_mut("anyOf") {
        options.retain(|option| option["type"] != "null");
    }
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
    }
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    transform_subschemas(&mut tidy, schema);
}

/// Names of defects are those of the components.
fn name_defects(root: &mut Schema, components: &Components) {
    let names = json_schema!({"enum": defect_names(components)});
    let definitions = root.get_mut("$defs").and_then(Value::as_object_mut);
    let definitions = definitions.expect("a scenario has parts");
    definitions.insert("Defect".into(), names.to_value());
}
