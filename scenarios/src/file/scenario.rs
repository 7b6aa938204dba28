//! What a scenario file says, as types.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use wavetank_component::values::{Duration, Release, Wrong};
use wavetank_component::{Given, Spec};
use wavetank_engine::Fault;

use super::faults::Faults;
use super::network::Network;
use super::scene::{Occurrence, Scene};
use super::search::{Search, told};

/// A Wavetank scenario: a cluster, what is done to it, and what must hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Scenario {
    /// The scenario's name in kebab-case, the same as its file's.
    #[schemars(regex(pattern = "^[a-z][a-z0-9]*(-[a-z0-9]+)*$"))]
    pub name: String,
    /// What it is about, in a few sentences.
    pub about: String,
    /// The Kubernetes release whose algorithms the processes run.
    #[serde(default)]
    pub release: Release,
    /// What it says to components, in sections whose keys are theirs (see `format`).
    #[serde(skip)]
    pub given: Given,
    /// How fast messages travel.
    #[serde(default)]
    pub network: Network,
    /// How long faults strike; meanwhile safety is checked.
    pub storm: Duration,
    /// How long everything has to recover after the storm.
    pub calm: Duration,
    /// Which faults may strike at random: a budget for each kind.
    #[serde(default)]
    pub faults: Faults,
    /// Faults that strike at given times in every run.
    #[serde(
        default,
        deserialize_with = "not_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(length(min = 1))]
    pub plan: Vec<Directed>,
    /// How far `wavetank check` goes, which searches instead of drawing from seeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<Search>,
    /// It begins in the middle: with a content, and with all that is chosen from there on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scene: Option<Scene>,
    /// The properties to check; if not given, all that fit.
    #[serde(
        default,
        deserialize_with = "not_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(length(min = 1))]
    pub properties: Vec<String>,
    /// A property whose violation must be found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect: Option<String>,
}

impl Scenario {
    /// What it asks for, as it is written.
    pub fn spec(&self) -> Spec {
        let planned = self
            .plan
            .iter()
            .filter_map(|directed| directed.tell.clone());
        let faults = self.search.iter().flat_map(|search| &search.faults);
        let searched = faults.filter_map(|fault| told(fault)?.ok());
        let told = planned.chain(searched);
        Spec {
            given: self.given.clone(),
            release: self.release,
            told: told.map(|told| (told.what, told.with)).collect(),
            ..Spec::default()
        }
    }

    /// As it stands in the head of a trace.
    pub fn to_json(&self) -> Value {
        let mut json = serde_json::to_value(self).expect("scenarios are JSON");
        let sections = self.given.sections();
        let sections = sections.map(|(key, keys)| (key.to_owned(), Value::Object(keys.clone())));
        let own = json.as_object_mut().expect("a scenario is a mapping");
        own.extend(sections);
        json
    }
}

/// Reads a list that must hold something: an empty one and none would look alike.
fn not_empty<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    let list = Vec::deserialize(from)?;
    if list.is_empty() {
        let wrong = Wrong::new(
            "the list is empty",
            "list at least one, or leave the key out",
        );
        return Err(wrong.into_error());
    }
    Ok(list)
}

/// What is done at a given time: a fault, something is held back or released, or asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Directed {
    /// When it strikes, counted from the start of the storm.
    pub at: Duration,
    /// In a scene: right after this event, or at that time if it has not come by then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Occurrence>,
    /// The fault or the end of one: its kind, and what it strikes, as in traces (docs/TRACES.md).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "one_fault")]
    pub fault: Option<Value>,
    /// An informer or a watch cache is held where it is, or at a revision: it is stale until it is
    /// released, or its process ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<Hold>,
    /// An informer or a watch cache goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<Held>,
    /// A process is told to do something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tell: Option<Told>,
}

/// What a process is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Told {
    /// The process.
    pub process: String,
    /// What to do: what it knows is in docs/SCENARIOS.md.
    pub what: String,
    /// With what.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub with: Value,
}

/// What is held, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Hold {
    /// A process that has what can be held: an informer, a watch cache.
    pub process: String,
    /// The resource of the informer or of the cache, `configmaps`, `deployments.apps`.
    pub resource: String,
    /// It takes nothing newer than this; if not given, nothing at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
}

/// What is held.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Held {
    /// A process that has what can be held: an informer, a watch cache.
    pub process: String,
    /// The resource of the informer or of the cache.
    pub resource: String,
}

/// A list of them.
pub(super) fn faults_of_one_kind(generator: &mut SchemaGenerator) -> Schema {
    let told = generator.subschema_for::<Told>();
    let tell = json_schema!({
        "type": "object",
        "required": ["tell"],
        "additionalProperties": false,
        "properties": {"tell": told},
    });
    json_schema!({"type": "array", "items": {"anyOf": [one_fault(generator), tell]}})
}

fn one_fault(_: &mut SchemaGenerator) -> Schema {
    let kinds = Fault::NAMES;
    json_schema!({
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "propertyNames": {"enum": kinds},
    })
}
