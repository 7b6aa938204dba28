//! The internal types of a definition as messages show them: JSON of Go structs without tags, all fields, in the order
//! of the structs (`pkg/apis/apiextensions/types.go`, `types_jsonschema.go`).

use super::props::{Items, Named, OrBool, Props};
use crate::json::Json;
use crate::render;

/// Writes a struct field by field.
struct Struct(String);

impl Struct {
    fn new() -> Struct {
        Struct("{".to_owned())
    }

    fn field(mut self, name: &str, value: impl AsRef<str>) -> Struct {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        render::string(name, &mut self.0);
        self.0.push(':');
        self.0.push_str(value.as_ref());
        self
    }

    fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

fn text(text: &str) -> String {
    let mut out = String::new();
    render::string(text, &mut out);
    out
}

fn json(json: Option<&Json>) -> String {
    json.map_or("null".to_owned(), render::sorted)
}

fn number(number: Option<f64>) -> String {
    json(number.map(crate::json::go_number).as_ref())
}

fn whole(number: Option<i64>) -> String {
    number.map_or("null".to_owned(), |number| number.to_string())
}

fn joined(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    match items.is_empty() {
        true => "null".to_owned(),
        false => format!("[{}]", items.join(",")),
    }
}

fn texts(items: &[String]) -> String {
    joined(items.iter().map(|item| text(item)))
}

fn optional(value: Option<&String>) -> String {
    value.map_or("null".to_owned(), |value| text(value))
}

fn named(all: &Named) -> String {
    if all.is_empty() {
        return "null".to_owned();
    }
    let mut out = Struct::new();
    for (name, schema) in all {
        out = out.field(name, props(schema));
    }
    out.end()
}

fn or_bool(or: Option<&OrBool>) -> String {
    or.map_or("null".to_owned(), |or| {
        let schema = or.schema.as_deref().map_or("null".to_owned(), props);
        Struct::new()
            .field("Allows", or.allows.to_string())
            .field("Schema", schema)
            .end()
    })
}

fn items(items: Option<&Items>) -> String {
    items.map_or("null".to_owned(), |items| {
        let (one, each) = match items {
            Items::Schema(one) => (props(one), "null".to_owned()),
            Items::Schemas(each) => ("null".to_owned(), joined(each.iter().map(props))),
        };
        Struct::new()
            .field("Schema", one)
            .field("JSONSchemas", each)
            .end()
    })
}

/// A schema.
pub(super) fn props(of: &Props) -> String {
    let docs = of.external_docs.as_ref().map(|docs| {
        Struct::new()
            .field(
                "Description",
                text(docs["description"].as_str().unwrap_or_default()),
            )
            .field("URL", text(docs["url"].as_str().unwrap_or_default()))
            .end()
    });
    let preserve = of.preserve_unknown_fields;
    Struct::new()
        .field("ID", text(&of.id))
        .field("Schema", text(&of.schema))
        .field("Ref", optional(of.reference.as_ref()))
        .field("Description", text(&of.description))
        .field("Type", text(&of.ty))
        .field("Nullable", of.nullable.to_string())
        .field("Format", text(&of.format))
        .field("Title", text(&of.title))
        .field("Default", json(of.default.as_ref()))
        .field("Maximum", number(of.maximum))
        .field("ExclusiveMaximum", of.exclusive_maximum.to_string())
        .field("Minimum", number(of.minimum))
        .field("ExclusiveMinimum", of.exclusive_minimum.to_string())
        .field("MaxLength", whole(of.max_length))
        .field("MinLength", whole(of.min_length))
        .field("Pattern", text(&of.pattern))
        .field("MaxItems", whole(of.max_items))
        .field("MinItems", whole(of.min_items))
        .field("UniqueItems", of.unique_items.to_string())
        .field("MultipleOf", number(of.multiple_of))
        .field("Enum", joined(of.allowed.iter().map(render::sorted)))
        .field("MaxProperties", whole(of.max_properties))
        .field("MinProperties", whole(of.min_properties))
        .field("Required", texts(&of.required))
        .field("Items", items(of.items.as_ref()))
        .field("AllOf", joined(of.all_of.iter().map(props)))
        .field("OneOf", joined(of.one_of.iter().map(props)))
        .field("AnyOf", joined(of.any_of.iter().map(props)))
        .field("Not", of.not.as_deref().map_or("null".to_owned(), props))
        .field("Properties", named(&of.properties))
        .field(
            "AdditionalProperties",
            or_bool(of.additional_properties.as_ref()),
        )
        .field("PatternProperties", named(&of.pattern_properties))
        .field("Dependencies", json(of.dependencies.as_ref()))
        .field("AdditionalItems", or_bool(of.additional_items.as_ref()))
        .field("Definitions", named(&of.definitions))
        .field("ExternalDocs", docs.unwrap_or_else(|| "null".to_owned()))
        .field("Example", json(of.example.as_ref()))
        .field(
            "XPreserveUnknownFields",
            preserve.map_or("null".to_owned(), |preserve| preserve.to_string()),
        )
        .field("XEmbeddedResource", of.embedded_resource.to_string())
        .field("XIntOrString", of.int_or_string.to_string())
        .field("XListMapKeys", texts(&of.list_map_keys))
        .field("XListType", optional(of.list_type.as_ref()))
        .field("XMapType", optional(of.map_type.as_ref()))
        .field(
            "XValidations",
            joined(of.validations.iter().map(render::sorted)),
        )
        .end()
}

fn subresources(of: &Json) -> String {
    let scale = of.get("scale").map(|scale| {
        let at = |name: &str| text(scale[name].as_str().unwrap_or_default());
        let selector = scale["labelSelectorPath"].as_str().map(text);
        Struct::new()
            .field("SpecReplicasPath", at("specReplicasPath"))
            .field("StatusReplicasPath", at("statusReplicasPath"))
            .field(
                "LabelSelectorPath",
                selector.unwrap_or_else(|| "null".to_owned()),
            )
            .end()
    });
    let status = of.get("status").map(|_| "{}".to_owned());
    let or_null = |value: Option<String>| value.unwrap_or_else(|| "null".to_owned());
    Struct::new()
        .field("Status", or_null(status))
        .field("Scale", or_null(scale))
        .end()
}

fn column(of: &Json) -> String {
    let at = |name: &str| text(of[name].as_str().unwrap_or_default());
    Struct::new()
        .field("Name", at("name"))
        .field("Type", at("type"))
        .field("Format", at("format"))
        .field("Description", at("description"))
        .field("Priority", of["priority"].as_i64().unwrap_or(0).to_string())
        .field("JSONPath", at("jsonPath"))
        .end()
}

/// `spec.versions` of the internal type, of which `json` is a tree.
pub(super) fn versions(all: &Json) -> String {
    let each = |name: &str, of: &Json, one: fn(&Json) -> String| {
        joined(of[name].as_array().into_iter().flatten().map(one))
    };
    let version = |of: &Json| {
        let schema = of.get("schema").map(|schema| {
            let root = schema.get("openAPIV3Schema").map(Props::of);
            let root = root.as_ref().map_or("null".to_owned(), props);
            Struct::new().field("OpenAPIV3Schema", root).end()
        });
        let selectable = |of: &Json| {
            let path = text(of["jsonPath"].as_str().unwrap_or_default());
            Struct::new().field("JSONPath", path).end()
        };
        let warning = of["deprecationWarning"].as_str().map(text);
        let or_null = |value: Option<String>| value.unwrap_or_else(|| "null".to_owned());
        let is = |name: &str| of[name].as_bool().unwrap_or(false).to_string();
        Struct::new()
            .field("Name", text(of["name"].as_str().unwrap_or_default()))
            .field("Served", is("served"))
            .field("Storage", is("storage"))
            .field("Deprecated", is("deprecated"))
            .field("DeprecationWarning", or_null(warning))
            .field("Schema", or_null(schema))
            .field(
                "Subresources",
                or_null(of.get("subresources").map(subresources)),
            )
            .field(
                "AdditionalPrinterColumns",
                each("additionalPrinterColumns", of, column),
            )
            .field("SelectableFields", each("selectableFields", of, selectable))
            .end()
    };
    match all {
        Json::Array(all) => {
            let all: Vec<String> = all.iter().map(version).collect();
            format!("[{}]", all.join(","))
        }
        _ => "null".to_owned(),
    }
}
