//! The JSON Schema of scenario files, for editors, and for telling what a key means.

use schemars::transform::transform_subschemas;
use schemars::{Schema, schema_for};
use serde_json::Value;

use super::scenario::Scenario;

/// The JSON Schema of scenario files, as JSON with a newline at its end.
pub fn json_schema() -> String {
    let mut schema = schema().to_value();
    // Otherwise the order would depend on features that other crates ask of serde_json.
    schema.sort_all_objects();
    format!("{schema:#}\n")
}

fn schema() -> Schema {
    let mut schema = schema_for!(Scenario);
    tidy(&mut schema);
    schema
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

/// The keys that must be given in a mapping read as the type of that name.
pub(super) fn required(owner: &str) -> Vec<String> {
    let schema = schema();
    let keys = of(&schema, owner).and_then(|schema| schema.get("required")?.as_array());
    let names = keys.into_iter().flatten().filter_map(Value::as_str);
    names.map(String::from).collect()
}

/// What a key means in a mapping read as the type of that name.
pub(super) fn meaning(owner: &str, key: &str) -> Option<String> {
    let schema = schema();
    let key = of(&schema, owner)?.get("properties")?.get(key)?;
    key.get("description")?.as_str().map(String::from)
}

fn of<'a>(schema: &'a Schema, owner: &str) -> Option<&'a Value> {
    let root = schema.as_value();
    match owner {
        "Scenario" => Some(root),
        _ => root.get("$defs")?.get(owner),
    }
}
