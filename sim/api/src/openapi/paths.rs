//! What can be done with a resource, as OpenAPI says it (`registerResourceHandlers` of `apiserver/pkg/endpoints/installer.go`
//! and, of custom resources, `apiextensions-apiserver/pkg/controller/openapi/builder`): paths with their operations.

use serde_json::{Map, json};

use super::definitions::{META, Schemas, name_of_kind};
use super::gvk;
use crate::discovery::ApiResource;
use crate::json::Json;

/// How a resource is told of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Style {
    /// As the generic server does.
    Native {
        /// Does a deletion answer with the object?
        returns_deleted: bool,
    },
    /// As the controller of definitions does.
    Custom,
}

/// A resource of a group version.
pub(super) struct Served<'a> {
    pub group: &'a str,
    pub version: &'a str,
    pub resource: &'a ApiResource,
    pub below: Vec<&'a ApiResource>,
    /// The names of the schemas of its kind, and of lists of it.
    pub kind: String,
    pub list: String,
    pub style: Style,
}

/// A path of a resource.
struct Path<'a> {
    path: String,
    /// What its operations are called after their verb.
    called: String,
    /// The kind that operations are of: group, version, kind.
    kind: (&'a str, &'a str, &'a str),
    /// The name of its schema.
    schema: &'a str,
}

type Parameter = (&'static str, &'static str);

const OF_LIST: [Parameter; 9] = [
    ("continue", "string"),
    ("fieldSelector", "string"),
    ("labelSelector", "string"),
    ("limit", "integer"),
    ("resourceVersion", "string"),
    ("resourceVersionMatch", "string"),
    ("sendInitialEvents", "boolean"),
    ("shardSelector", "string"),
    ("timeoutSeconds", "integer"),
];
const OF_WATCH: [Parameter; 2] = [("allowWatchBookmarks", "boolean"), ("watch", "boolean")];
const OF_DELETE: [Parameter; 5] = [
    ("dryRun", "string"),
    ("gracePeriodSeconds", "integer"),
    (
        "ignoreStoreReadErrorWithClusterBreakingPotential",
        "boolean",
    ),
    ("orphanDependents", "boolean"),
    ("propagationPolicy", "string"),
];
const OF_WRITE: [Parameter; 3] = [
    ("dryRun", "string"),
    ("fieldManager", "string"),
    ("fieldValidation", "string"),
];
const OF_PATCH: [Parameter; 1] = [("force", "boolean")];
const OF_GET: [Parameter; 1] = [("resourceVersion", "string")];

/// What answers are written in. None is in CBOR, which is alpha and off (`CBORServingAndStorage`).
const PRODUCED: [&str; 3] = [
    "application/json",
    "application/vnd.kubernetes.protobuf",
    "application/yaml",
];
/// Lists are also written as they come.
const STREAMED: [&str; 2] = [
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf;stream=watch",
];
const PATCHES: [&str; 4] = [
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];
/// A custom resource has no types by which it could be merged otherwise.
const CUSTOM_PATCHES: [&str; 3] = [
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
];

/// What is done, by the verb that discovery lists: the verb of operations, the method, and what it is called.
const OF_COLLECTION: [(&str, &str, &str, &str); 3] = [
    ("deletecollection", "delete", "deletecollection", "delete"),
    ("list", "get", "list", "list"),
    ("create", "post", "post", "create"),
];
const OF_OBJECT: [(&str, &str, &str, &str); 4] = [
    ("delete", "delete", "delete", "delete"),
    ("get", "get", "get", "read"),
    ("patch", "patch", "patch", "patch"),
    ("update", "put", "put", "replace"),
];
const OF_SUBRESOURCE: [(&str, &str, &str, &str); 4] = [
    ("get", "get", "get", "read"),
    ("patch", "patch", "patch", "patch"),
    ("create", "post", "post", "create"),
    ("update", "put", "put", "replace"),
];
/// Subresources that show no objects, or connect.
const NO_OBJECTS: [&str; 5] = ["attach", "exec", "log", "portforward", "proxy"];

impl Served<'_> {
    /// Its paths; the schemas that they refer to are wanted.
    pub fn paths(&self, schemas: &mut Schemas<'_>) -> Map<String, Json> {
        let root = match self.group {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        };
        let resource = self.resource;
        let (between, namespaced) = match resource.namespaced {
            true => ("/namespaces/{namespace}", "Namespaced"),
            false => ("", ""),
        };
        let own = (self.group, self.version, resource.kind.as_str());
        let path = |path: String, called: String| Path {
            path,
            called,
            kind: own,
            schema: &self.kind,
        };
        let collection = format!("{root}{between}/{}", resource.name);
        let called = format!("{namespaced}{}", resource.kind);
        let mut all = Map::new();
        let mut add = |path: &Path<'_>, operations: Map<String, Json>| {
            if !operations.is_empty() {
                all.insert(path.path.clone(), with_parameters(&path.path, operations));
            }
        };
        if resource.namespaced && resource.verbs.iter().any(|verb| verb == "list") {
            let everywhere = path(
                format!("{root}/{}", resource.name),
                format!("{}ForAllNamespaces", resource.kind),
            );
            let list = self.operation(&everywhere, OF_COLLECTION[1], schemas);
            add(
                &everywhere,
                [("get".to_owned(), list)].into_iter().collect(),
            );
        }
        let whole = path(collection.clone(), called.clone());
        add(
            &whole,
            self.operations(&whole, &OF_COLLECTION, resource, schemas),
        );
        let object = path(format!("{collection}/{{name}}"), called.clone());
        add(
            &object,
            self.operations(&object, &OF_OBJECT, resource, schemas),
        );
        for sub in &self.below {
            let (_, name) = sub.name.split_once('/').unwrap_or_default();
            let (group, version) = super::group_version_of(sub, self.group, self.version);
            let of_object = sub.kind == resource.kind;
            let schema = match of_object {
                true => Some(self.kind.clone()),
                false => name_of_kind(group, version, &sub.kind),
            };
            let Some(schema) = schema.filter(|_| !NO_OBJECTS.contains(&name)) else {
                continue;
            };
            let path = Path {
                path: format!("{collection}/{{name}}/{name}"),
                called: format!("{called}{}", to_valid_operation_id(name)),
                // `buildRoute` says of each route of a definition that it is of the kind that this makes.
                kind: match self.style {
                    Style::Native { .. } => (group, version, &sub.kind),
                    Style::Custom => own,
                },
                schema: &schema,
            };
            add(&path, self.operations(&path, &OF_SUBRESOURCE, sub, schemas));
        }
        all
    }

    /// Those of a path that a resource has.
    fn operations(
        &self,
        path: &Path<'_>,
        known: &[(&'static str, &'static str, &'static str, &'static str)],
        of: &ApiResource,
        schemas: &mut Schemas<'_>,
    ) -> Map<String, Json> {
        let has = |verb: &str| of.verbs.iter().any(|own| own == verb);
        let own = known.iter().filter(|(verb, ..)| has(verb));
        own.map(|known| {
            let operation = self.operation(path, *known, schemas);
            (known.1.to_owned(), operation)
        })
        .collect()
    }

    fn operation(
        &self,
        path: &Path<'_>,
        (_, _, action, called): (&str, &str, &str, &str),
        schemas: &mut Schemas<'_>,
    ) -> Json {
        let parameters = self.parameters(action);
        let between = match action {
            "deletecollection" => "Collection",
            _ => "",
        };
        let group = operation_group(self.group);
        let version = to_valid_operation_id(self.version);
        let (kind_group, kind_version, kind) = path.kind;
        let mut out = json!({
            "tags": [format!("{}_{}", uncapital(&group), self.version)],
            "operationId": format!("{called}{group}{version}{between}{}", path.called),
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": gvk(kind_group, kind_version, kind),
            "responses": self.responses(path, action, schemas),
        });
        if !parameters.is_empty() {
            let parameters = parameters.iter().map(|own| parameter(*own));
            out["parameters"] = parameters.collect::<Vec<_>>().into();
        }
        if let Some(body) = self.body(path, action, schemas) {
            out["requestBody"] = body;
        }
        out
    }

    fn parameters(&self, action: &str) -> Vec<Parameter> {
        let mut all: Vec<Parameter> = match (action, self.style) {
            ("list", _) | ("deletecollection", Style::Custom) => [&OF_LIST[..], &OF_WATCH].concat(),
            ("deletecollection", _) => [&OF_LIST[..], &OF_DELETE].concat(),
            ("delete", _) => OF_DELETE.to_vec(),
            ("post" | "put", _) => OF_WRITE.to_vec(),
            ("patch", _) => [&OF_WRITE[..], &OF_PATCH].concat(),
            ("get", Style::Custom) => OF_GET.to_vec(),
            _ => Vec::new(),
        };
        all.sort_unstable();
        all
    }

    fn responses(&self, path: &Path<'_>, action: &str, schemas: &mut Schemas<'_>) -> Json {
        let is_shown = matches!(
            self.style,
            Style::Native {
                returns_deleted: true
            }
        );
        let schema = match action {
            "list" => self.list.clone(),
            "deletecollection" => format!("{META}.Status"),
            "delete" if !is_shown => format!("{META}.Status"),
            _ => path.schema.to_owned(),
        };
        let schema = schemas.refer(&schema);
        let media: Vec<&str> = match (self.style, action) {
            (Style::Custom, _) => vec![PRODUCED[0], PRODUCED[2]],
            (_, "list") => [&PRODUCED[..], &STREAMED].concat(),
            _ => PRODUCED.to_vec(),
        };
        let codes: &[(&str, &str)] = match action {
            "post" => &[("200", "OK"), ("201", "Created"), ("202", "Accepted")],
            "put" => &[("200", "OK"), ("201", "Created")],
            "patch" if self.style != Style::Custom => &[("200", "OK"), ("201", "Created")],
            "delete" => &[("200", "OK"), ("202", "Accepted")],
            _ => &[("200", "OK")],
        };
        let shown = codes.iter().map(|(code, said)| {
            let content = content(&media, &schema);
            (
                (*code).to_owned(),
                json!({"description": said, "content": content}),
            )
        });
        let mut all: Map<String, Json> = shown.collect();
        all.insert("401".into(), json!({"description": "Unauthorized"}));
        all.into()
    }

    fn body(&self, path: &Path<'_>, action: &str, schemas: &mut Schemas<'_>) -> Option<Json> {
        let any: &[&str] = match self.style {
            Style::Native { .. } => &["*/*"],
            Style::Custom => &["application/json", "application/yaml"],
        };
        let (schema, media, is_required) = match action {
            "post" | "put" => (path.schema.to_owned(), any, true),
            "patch" if self.style == Style::Custom => {
                (format!("{META}.Patch"), &CUSTOM_PATCHES[..], true)
            }
            "patch" => (format!("{META}.Patch"), &PATCHES[..], true),
            "delete" => (format!("{META}.DeleteOptions"), any, false),
            "deletecollection" if self.style != Style::Custom => {
                (format!("{META}.DeleteOptions"), any, false)
            }
            _ => return None,
        };
        let schema = schemas.refer(&schema);
        let mut body = json!({"content": content(media, &schema)});
        if is_required {
            body["required"] = true.into();
        }
        Some(body)
    }
}

/// The list of resources of a group version (`discovery.APIVersionHandler`).
pub(super) fn resources(group: &str, version: &str, schemas: &mut Schemas<'_>) -> Json {
    let schema = schemas.refer(&format!("{META}.APIResourceList"));
    let (name, tag) = (operation_group(group), to_valid_operation_id(version));
    json!({"get": {
        "tags": [format!("{}_{version}", uncapital(&name))],
        "operationId": format!("get{name}{tag}APIResources"),
        "responses": {
            "200": {"description": "OK", "content": content(&PRODUCED, &schema)},
            "401": {"description": "Unauthorized"},
        },
    }})
}

/// What operations of a group are called by (`GetOperationIDAndTags`).
fn operation_group(group: &str) -> String {
    to_valid_operation_id(match group {
        "" => "core",
        group => group.strip_suffix(".k8s.io").unwrap_or(group),
    })
}

fn content(media: &[&str], schema: &Json) -> Map<String, Json> {
    let each = media.iter();
    each.map(|media| ((*media).to_owned(), json!({"schema": schema})))
        .collect()
}

fn parameter((name, ty): Parameter) -> Json {
    json!({"name": name, "in": "query", "schema": {"type": ty, "uniqueItems": true}})
}

/// A path with its operations, and the parameters that all of them have (`builder3`): those need not be said of each.
fn with_parameters(path: &str, mut operations: Map<String, Json>) -> Json {
    let in_path = ["name", "namespace"].into_iter();
    let in_path = in_path.filter(|name| path.contains(&format!("{{{name}}}")));
    let mut common: Vec<Json> = in_path
        .map(|name| {
            let schema = json!({"type": "string", "uniqueItems": true});
            json!({"name": name, "in": "path", "required": true, "schema": schema})
        })
        .collect();
    common.push(parameter(("pretty", "string")));
    let list = |operation: &Json| crate::json::list(operation, &["parameters"]).to_vec();
    let mut all = operations.values().map(list);
    let first = all.next().unwrap_or_default();
    let others: Vec<Vec<Json>> = all.collect();
    let is_common = |own: &Json| others.iter().all(|other| other.contains(own));
    let shared: Vec<Json> = first.into_iter().filter(is_common).collect();
    for operation in operations.values_mut() {
        let mut own = list(operation);
        own.retain(|parameter| !shared.contains(parameter));
        match own.is_empty() {
            true => drop(crate::json::remove(operation, &["parameters"])),
            false => operation["parameters"] = own.into(),
        }
    }
    common.extend(shared);
    common.sort_by_key(|own| own["name"].as_str().map(str::to_owned));
    operations.insert("parameters".into(), common.into());
    operations.into()
}

/// `ToValidOperationID`: what stands between words is left out, and each word begins with a capital.
fn to_valid_operation_id(name: &str) -> String {
    let words = name.split(|c: char| !c.is_alphanumeric() && c != '_');
    words
        .map(|word| {
            let mut letters = word.chars();
            let first = letters.next().map(|first| first.to_ascii_uppercase());
            first.into_iter().chain(letters).collect::<String>()
        })
        .collect()
}

fn uncapital(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}
