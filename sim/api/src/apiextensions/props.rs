//! `JSONSchemaProps` as a value. Upstream has the same fields three times: as the API's type, as a structural schema
//! (`apiserver/schema/structural.go`) and as the one that kube-openapi validates with. Here one type is all three.

use std::collections::BTreeMap;

use crate::json::Json;

/// Schemas by name.
pub type Named = BTreeMap<String, Props>;

/// `JSONSchemaProps`
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Props {
    /// `id`
    pub id: String,
    /// `$schema`
    pub schema: String,
    /// `$ref`
    pub reference: Option<String>,
    /// `description`
    pub description: String,
    /// `type`
    pub ty: String,
    /// `format`
    pub format: String,
    /// `title`
    pub title: String,
    /// `default`
    pub default: Option<Json>,
    /// `maximum`
    pub maximum: Option<f64>,
    /// `exclusiveMaximum`
    pub exclusive_maximum: bool,
    /// `minimum`
    pub minimum: Option<f64>,
    /// `exclusiveMinimum`
    pub exclusive_minimum: bool,
    /// `maxLength`
    pub max_length: Option<i64>,
    /// `minLength`
    pub min_length: Option<i64>,
    /// `pattern`
    pub pattern: String,
    /// `maxItems`
    pub max_items: Option<i64>,
    /// `minItems`
    pub min_items: Option<i64>,
    /// `uniqueItems`
    pub unique_items: bool,
    /// `multipleOf`
    pub multiple_of: Option<f64>,
    /// `enum`
    pub allowed: Vec<Json>,
    /// `maxProperties`
    pub max_properties: Option<i64>,
    /// `minProperties`
    pub min_properties: Option<i64>,
    /// `required`
    pub required: Vec<String>,
    /// `items`
    pub items: Option<Items>,
    /// `allOf`
    pub all_of: Vec<Props>,
    /// `oneOf`
    pub one_of: Vec<Props>,
    /// `anyOf`
    pub any_of: Vec<Props>,
    /// `not`
    pub not: Option<Box<Props>>,
    /// `properties`
    pub properties: Named,
    /// `additionalProperties`
    pub additional_properties: Option<OrBool>,
    /// `patternProperties`
    pub pattern_properties: Named,
    /// `dependencies`
    pub dependencies: Option<Json>,
    /// `additionalItems`
    pub additional_items: Option<OrBool>,
    /// `definitions`
    pub definitions: Named,
    /// `externalDocs`
    pub external_docs: Option<Json>,
    /// `example`
    pub example: Option<Json>,
    /// `nullable`
    pub nullable: bool,
    /// `x-kubernetes-preserve-unknown-fields`
    pub preserve_unknown_fields: Option<bool>,
    /// `x-kubernetes-embedded-resource`
    pub embedded_resource: bool,
    /// `x-kubernetes-int-or-string`
    pub int_or_string: bool,
    /// `x-kubernetes-list-map-keys`
    pub list_map_keys: Vec<String>,
    /// `x-kubernetes-list-type`
    pub list_type: Option<String>,
    /// `x-kubernetes-map-type`
    pub map_type: Option<String>,
    /// `x-kubernetes-validations`
    pub validations: Vec<Json>,
}

/// `JSONSchemaPropsOrArray`
#[derive(Clone, PartialEq, Debug)]
pub enum Items {
    /// Of all items.
    Schema(Box<Props>),
    /// One each.
    Schemas(Vec<Props>),
}

/// `JSONSchemaPropsOrBool`
#[derive(Clone, PartialEq, Debug)]
pub struct OrBool {
    /// Is anything allowed?
    pub allows: bool,
    /// Of what is.
    pub schema: Option<Box<Props>>,
}

fn text(json: &Json, field: &str) -> String {
    json[field].as_str().unwrap_or_default().to_owned()
}

fn texts(json: &Json) -> Vec<String> {
    let items = json.as_array().into_iter().flatten();
    items.filter_map(Json::as_str).map(str::to_owned).collect()
}

fn named(json: &Json) -> Named {
    let fields = json.as_object().into_iter().flatten();
    fields
        .map(|(name, json)| (name.clone(), Props::of(json)))
        .collect()
}

fn all(json: &Json) -> Vec<Props> {
    let items = json.as_array().into_iter().flatten();
    items.map(Props::of).collect()
}

fn or_bool(json: &Json) -> Option<OrBool> {
    match json {
        Json::Bool(allows) => Some(OrBool {
            allows: *allows,
            schema: None,
        }),
        Json::Object(_) => Some(OrBool {
            allows: true,
            schema: Some(Box::new(Props::of(json))),
        }),
        _ => None,
    }
}

impl Props {
    /// The schema that a tree describes, as the API's type was written.
    pub fn of(json: &Json) -> Props {
        let bool = |field: &str| json[field].as_bool().unwrap_or(false);
        let list = |field: &str| json[field].as_array().cloned().unwrap_or_default();
        let some = |field: &str| json.get(field).filter(|value| !value.is_null()).cloned();
        let some_text = |field: &str| json[field].as_str().map(str::to_owned);
        Props {
            id: text(json, "id"),
            schema: text(json, "$schema"),
            reference: some_text("$ref"),
            description: text(json, "description"),
            ty: text(json, "type"),
            format: text(json, "format"),
            title: text(json, "title"),
            default: some("default"),
            maximum: json["maximum"].as_f64(),
            exclusive_maximum: bool("exclusiveMaximum"),
            minimum: json["minimum"].as_f64(),
            exclusive_minimum: bool("exclusiveMinimum"),
            max_length: json["maxLength"].as_i64(),
            min_length: json["minLength"].as_i64(),
            pattern: text(json, "pattern"),
            max_items: json["maxItems"].as_i64(),
            min_items: json["minItems"].as_i64(),
            unique_items: bool("uniqueItems"),
            multiple_of: json["multipleOf"].as_f64(),
            allowed: list("enum"),
            max_properties: json["maxProperties"].as_i64(),
            min_properties: json["minProperties"].as_i64(),
            required: texts(&json["required"]),
            items: match &json["items"] {
                Json::Array(items) => Some(Items::Schemas(items.iter().map(Props::of).collect())),
                Json::Object(_) => Some(Items::Schema(Box::new(Props::of(&json["items"])))),
                _ => None,
            },
            all_of: all(&json["allOf"]),
            one_of: all(&json["oneOf"]),
            any_of: all(&json["anyOf"]),
            not: some("not").map(|not| Box::new(Props::of(&not))),
            properties: named(&json["properties"]),
            additional_properties: or_bool(&json["additionalProperties"]),
            pattern_properties: named(&json["patternProperties"]),
            dependencies: some("dependencies"),
            additional_items: or_bool(&json["additionalItems"]),
            definitions: named(&json["definitions"]),
            external_docs: some("externalDocs"),
            example: some("example"),
            nullable: bool("nullable"),
            preserve_unknown_fields: json["x-kubernetes-preserve-unknown-fields"].as_bool(),
            embedded_resource: bool("x-kubernetes-embedded-resource"),
            int_or_string: bool("x-kubernetes-int-or-string"),
            list_map_keys: texts(&json["x-kubernetes-list-map-keys"]),
            list_type: some_text("x-kubernetes-list-type"),
            map_type: some_text("x-kubernetes-map-type"),
            validations: list("x-kubernetes-validations"),
        }
    }

    /// Is what it does not know kept?
    pub fn preserves(&self) -> bool {
        self.preserve_unknown_fields == Some(true)
    }

    /// The schema of all items.
    pub fn item(&self) -> Option<&Props> {
        match &self.items {
            Some(Items::Schema(item)) => Some(item),
            _ => None,
        }
    }

    /// The schema of fields that no property names.
    pub fn additional(&self) -> Option<&Props> {
        self.additional_properties.as_ref()?.schema.as_deref()
    }

    /// The schema of the root of an object: what is there besides is that of every object.
    pub(crate) fn as_root(&self) -> Props {
        Props {
            embedded_resource: true,
            ..self.clone()
        }
    }

    /// `SchemaHas`: does this schema, or one inside, have something? In upstream's order.
    pub(crate) fn schema_has(&self, has: &mut dyn FnMut(&Props) -> bool) -> bool {
        if has(self) {
            return true;
        }
        let items: Vec<&Props> = match &self.items {
            None => Vec::new(),
            Some(Items::Schema(item)) => vec![item],
            Some(Items::Schemas(items)) => items.iter().collect(),
        };
        let or =
            |or: &'_ Option<OrBool>| -> Option<Props> { or.as_ref()?.schema.as_deref().cloned() };
        let (additional, additional_items) =
            (or(&self.additional_properties), or(&self.additional_items));
        let inside = items
            .into_iter()
            .chain(&self.all_of)
            .chain(&self.any_of)
            .chain(&self.one_of)
            .chain(self.not.as_deref())
            .chain(self.properties.values())
            .chain(&additional)
            .chain(self.pattern_properties.values())
            .chain(&additional_items)
            .chain(self.definitions.values());
        let mut inside = inside;
        inside.any(|inner| inner.schema_has(has))
    }
}
