//! The types of the table as OpenAPI says them (`kube-openapi/pkg/generators/openapi.go`, and what types that write and
//! read themselves say of themselves).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde_json::{Map, json};

use super::{gvk, reference};
use crate::json::Json;
use crate::schema::{self, Field, ListType, MapType, SchemaOr, Shape, Struct, StructId, Type};

/// Where schemas lie in a document.
pub(super) const PREFIX: &str = "#/components/schemas/";

pub(super) const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
const APIEXTENSIONS: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1";

/// The groups of client-go's scheme with their versions, in order.
const OF_CLIENT: [(&str, &str); 22] = [
    ("", "v1"),
    ("admissionregistration.k8s.io", "v1 v1alpha1 v1beta1"),
    ("apps", "v1 v1beta1 v1beta2"),
    ("authentication.k8s.io", "v1 v1alpha1 v1beta1"),
    ("authorization.k8s.io", "v1 v1beta1"),
    ("autoscaling", "v1 v2"),
    ("batch", "v1 v1beta1"),
    ("certificates.k8s.io", "v1 v1alpha1 v1beta1"),
    ("coordination.k8s.io", "v1 v1alpha2 v1beta1"),
    ("discovery.k8s.io", "v1 v1beta1"),
    ("events.k8s.io", "v1 v1beta1"),
    ("extensions", "v1beta1"),
    ("flowcontrol.apiserver.k8s.io", "v1 v1beta1 v1beta2 v1beta3"),
    ("internal.apiserver.k8s.io", "v1alpha1"),
    ("networking.k8s.io", "v1 v1beta1"),
    ("node.k8s.io", "v1 v1alpha1 v1beta1"),
    ("policy", "v1 v1beta1"),
    ("rbac.authorization.k8s.io", "v1 v1alpha1 v1beta1"),
    ("resource.k8s.io", "v1 v1alpha3 v1beta1 v1beta2"),
    ("scheduling.k8s.io", "v1 v1alpha2 v1beta1"),
    ("storage.k8s.io", "v1 v1alpha1 v1beta1"),
    ("storagemigration.k8s.io", "v1beta1"),
];

/// The types of the table, by what they are called in documents.
static BY_NAME: LazyLock<BTreeMap<String, StructId>> = LazyLock::new(|| {
    let all = schema::all().filter(|(name, _)| !name.starts_with("custom."));
    all.map(|(_, id)| (name_of(id), id)).collect()
});

/// Names the types.
pub(crate) fn prepare() {
    LazyLock::force(&BY_NAME);
}

/// What a type of the table is called in documents: its Go package, turned round, and its name.
fn name_of(id: StructId) -> String {
    let Struct { package, name, .. } = schema::of(id);
    let package = match *package {
        "meta" => META.to_owned(),
        "apiextensions" => APIEXTENSIONS.to_owned(),
        "apiregistration" => "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1".to_owned(),
        "autoscalingv2" => "io.k8s.api.autoscaling.v2".to_owned(),
        package => format!("io.k8s.api.{package}.v1"),
    };
    format!("{package}.{name}")
}

/// What the type of a kind is called.
pub(super) fn name_of_kind(group: &str, version: &str, kind: &str) -> Option<String> {
    let api_version = match group {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    };
    schema::kind(&api_version, kind).map(name_of)
}

/// The schemas of a document.
pub(super) struct Schemas<'a> {
    group: &'a str,
    version: &'a str,
    all: Map<String, Json>,
    /// The groups and versions of which `DeleteOptions` are a kind.
    registered: Vec<(&'a str, &'a str)>,
    /// Those that something refers to.
    wanted: BTreeSet<String>,
}

impl<'a> Schemas<'a> {
    /// None yet, of the document of this group version.
    pub fn of(group: &'a str, version: &'a str) -> Schemas<'a> {
        // `filterScopedGVKs` leaves those of core and of the document's own group.
        let own = Some((group, version)).filter(|_| !group.is_empty());
        Schemas {
            group,
            version,
            all: Map::new(),
            registered: [("", "v1")].into_iter().chain(own).collect(),
            wanted: BTreeSet::new(),
        }
    }

    /// None yet, of the document of a group version that definitions make. Nothing is filtered there: `DeleteOptions` are of
    /// every group version that a client knows (`AddToGroupVersion`, `client-go/kubernetes/scheme`).
    pub fn of_definitions(group: &'a str, version: &'a str) -> Schemas<'a> {
        let versions = |(group, versions): &(&'a str, &'a str)| {
            let group = *group;
            versions.split(' ').map(move |version| (group, version))
        };
        Schemas {
            registered: OF_CLIENT.iter().flat_map(versions).collect(),
            ..Schemas::of(group, version)
        }
    }

    /// A reference to the schema of this name, which is wanted from now on.
    pub fn refer(&mut self, name: &str) -> Json {
        self.wanted.insert(name.to_owned());
        reference(name)
    }

    /// One that is not of the table.
    pub fn add(&mut self, name: &str, schema: Json) {
        self.want(&schema);
        self.all.insert(name.to_owned(), schema);
    }

    /// The list of a kind that has this name.
    pub fn add_list(&mut self, name: &str, kind: &str) {
        let list = list(name, self.group, self.version, &format!("{kind}List"));
        self.add(&format!("{name}List"), list);
    }

    /// Notes what a schema refers to.
    fn want(&mut self, schema: &Json) {
        match schema {
            Json::Object(map) => {
                let of = map.get("$ref").and_then(Json::as_str);
                let name = of.and_then(|of| of.strip_prefix(PREFIX));
                self.wanted.extend(name.map(str::to_owned));
                map.values().for_each(|inner| self.want(inner));
            }
            Json::Array(all) => all.iter().for_each(|inner| self.want(inner)),
            _ => {}
        }
    }

    /// All of them, with those of the table that are referred to.
    pub fn with_what_they_refer_to(mut self) -> Map<String, Json> {
        while let Some(name) = self.wanted.pop_first() {
            if self.all.contains_key(&name) {
                continue;
            }
            let schema = match BY_NAME.get(&name) {
                Some(id) => self.structure(*id),
                None => opaque(&name),
            };
            self.add(&name, schema);
        }
        self.all
    }

    fn structure(&self, id: StructId) -> Json {
        let of = schema::of(id);
        let own = || of.fields.iter().filter(|field| field.before.is_none());
        let mut out = json!({"type": "object"});
        let properties: Map<_, _> = own()
            .map(|field| (field.name.to_owned(), property(field)))
            .collect();
        if !properties.is_empty() {
            out["properties"] = properties.into();
        }
        let required: Vec<&str> = own()
            .filter(|field| field.required)
            .map(|field| field.name)
            .collect();
        if !required.is_empty() {
            out["required"] = required.into();
        }
        if let Some(map) = of.map {
            out["x-kubernetes-map-type"] = map_type(map).into();
        }
        let kinds = self.kinds(of);
        if !kinds.is_empty() {
            out["x-kubernetes-group-version-kind"] = kinds.into();
        }
        out
    }

    /// The kinds that a type is of (`DefinitionNamer`): what every group knows is also one of the document's.
    fn kinds(&self, of: &Struct) -> Vec<Json> {
        let has = |name| of.field(name).is_some();
        if of.package == "meta" {
            let registered = self.registered.iter();
            return match of.name {
                "APIResourceList" | "Status" => vec![gvk("", "v1", of.name)],
                "DeleteOptions" => registered
                    .map(|(group, version)| gvk(group, version, of.name))
                    .collect(),
                _ => Vec::new(),
            };
        }
        if !(has("kind") && has("apiVersion") && has("metadata")) {
            return Vec::new();
        }
        let api_version = schema::api_version_of(of.package).unwrap_or_default();
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        vec![gvk(group, version, of.name)]
    }
}

/// The list of a kind.
pub(super) fn list(of: &str, group: &str, version: &str, kind: &str) -> Json {
    json!({
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"default": {}, "allOf": [reference(&format!("{META}.ListMeta"))]},
            "items": {"type": "array", "items": reference(of)},
        },
        "x-kubernetes-group-version-kind": [gvk(group, version, kind)],
    })
}

/// A field of a struct.
fn property(field: &Field) -> Json {
    let mut out = match of_type(&field.ty) {
        Json::Object(map) if map.contains_key("$ref") => json!({"allOf": [map]}),
        other => other,
    };
    if let Some(default) = default(field) {
        out["default"] = default;
    }
    match &field.list {
        None => {}
        Some(ListType::Atomic) => out["x-kubernetes-list-type"] = "atomic".into(),
        Some(ListType::Set) => out["x-kubernetes-list-type"] = "set".into(),
        Some(ListType::Map(keys)) => {
            out["x-kubernetes-list-type"] = "map".into();
            out["x-kubernetes-list-map-keys"] = keys.clone().into();
        }
    }
    if let Some(map) = field.map {
        out["x-kubernetes-map-type"] = map_type(map).into();
    }
    if !field.merge.strategy.is_empty() {
        out["x-kubernetes-patch-strategy"] = field.merge.strategy.into();
    }
    if !field.merge.key.is_empty() {
        out["x-kubernetes-patch-merge-key"] = field.merge.key.into();
    }
    out
}

fn map_type(map: MapType) -> &'static str {
    match map {
        MapType::Atomic => "atomic",
        MapType::Granular => "granular",
    }
}

/// What is written if a field is not there: what a marker says, or the zero of its type.
fn default(field: &Field) -> Option<Json> {
    if field.default.is_some() {
        return field.default.clone();
    }
    match field.ty.shape {
        Shape::Struct(_) => Some(json!({})),
        _ if field.omit_empty || field.omit_zero => None,
        Shape::String => Some("".into()),
        Shape::Bool => Some(false.into()),
        Shape::Int32 | Shape::Int64 | Shape::Float64 => Some(0.into()),
        _ => None,
    }
}

fn of_type(ty: &Type) -> Json {
    let meta = |name: &str| reference(&format!("{META}.{name}"));
    match &ty.shape {
        Shape::Pointer(of) => of_type(of),
        Shape::String => {
            let values: Vec<&str> = ty.values().collect();
            match values.is_empty() {
                true => json!({"type": "string"}),
                false => json!({"type": "string", "enum": values}),
            }
        }
        Shape::Bool => json!({"type": "boolean"}),
        Shape::Int32 => json!({"type": "integer", "format": "int32"}),
        Shape::Int64 => json!({"type": "integer", "format": "int64"}),
        Shape::Float64 => json!({"type": "number", "format": "double"}),
        Shape::Bytes => json!({"type": "string", "format": "byte"}),
        Shape::Time => meta("Time"),
        Shape::MicroTime => meta("MicroTime"),
        Shape::IntOrString => reference("io.k8s.apimachinery.pkg.util.intstr.IntOrString"),
        Shape::Quantity => reference("io.k8s.apimachinery.pkg.api.resource.Quantity"),
        Shape::Raw if ty.go == "runtime.RawExtension" => {
            reference("io.k8s.apimachinery.pkg.runtime.RawExtension")
        }
        Shape::Raw => meta("FieldsV1"),
        Shape::List(of) => json!({"type": "array", "items": of_type(of)}),
        Shape::Map(of) => json!({"type": "object", "additionalProperties": of_type(of)}),
        Shape::Struct(id) => reference(&name_of(*id)),
        Shape::SchemaOr(of) => {
            let name = match of {
                SchemaOr::Bool => "JSONSchemaPropsOrBool",
                SchemaOr::Array => "JSONSchemaPropsOrArray",
                SchemaOr::Strings => "JSONSchemaPropsOrStringArray",
                SchemaOr::Anything => "JSON",
            };
            reference(&format!("{APIEXTENSIONS}.{name}"))
        }
    }
}

/// What types say of themselves that write and read themselves.
fn opaque(name: &str) -> Json {
    let (_, short) = name.rsplit_once('.').unwrap_or(("", name));
    match short {
        "Time" | "MicroTime" => json!({"type": "string", "format": "date-time"}),
        "FieldsV1" | "RawExtension" | "Patch" => json!({"type": "object"}),
        "IntOrString" => {
            json!({"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]})
        }
        "Quantity" => json!({"oneOf": [{"type": "string"}, {"type": "number"}]}),
        // A schema may be anything.
        _ => json!({}),
    }
}
