//! OpenAPI v3: what clients learn of the fields of kinds and of what can be done with them (`kube-openapi/pkg/builder3`,
//! `handler3`, `kube-aggregator/pkg/controllers/openapiv3`). `kubectl explain` prints it; `kubectl apply` makes its patch
//! by it, and looks in it whether the server validates fields. A group version has a document of its own. That of a group
//! of the table is made of the table of types, that of a group of custom resources of their definitions.
//!
//! - `definitions`: the types of the table as schemas;
//! - `custom`: the schemas of definitions;
//! - `paths`: what can be done with a resource, of what discovery lists.
//!
//! No document has upstream's descriptions.

mod custom;
mod definitions;
mod paths;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde_json::{Map, json};
use wavetank_version::Version;

use crate::discovery::{ApiResource, Group, GroupVersion, e_tag, groups_of};
use crate::json::Json;
use crate::kinds::{Kinds, Resource};

pub(crate) use definitions::prepare;
use paths::{Served, Style};

/// What is said of a group version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Document {
    /// `components`, `paths` and the rest.
    pub body: Arc<Json>,
    /// `computeETag`: of the body.
    pub hash: String,
}

impl Document {
    fn of(body: Json) -> Document {
        let hash = e_tag(&body).trim_matches('"').to_owned();
        Document {
            body: Arc::new(body),
            hash,
        }
    }
}

/// Documents by what they are of, as their paths end: `api/v1`, `apis/apps/v1`.
pub type Documents = BTreeMap<String, Document>;

/// Of the groups of the table, and of the one of definitions. They are the same in every world, and are asked for often.
static OF_TABLE: LazyLock<Documents> = LazyLock::new(|| {
    let kinds = Kinds::default().with_definitions();
    let groups = groups_of(&kinds, &[], Version::LATEST);
    each(&groups)
        .map(|(group, version)| (key(group, version), Document::of(of_table(group, version))))
        .collect()
});

/// The documents of these groups, of which definitions made some.
pub fn documents<'a>(
    groups: &[Group],
    definitions: impl Iterator<Item = &'a Json> + Clone,
) -> Documents {
    let document = |(group, version): (&Group, &GroupVersion)| {
        let key = key(group, version);
        let document = match OF_TABLE.get(&key) {
            Some(document) => document.clone(),
            None => Document::of(of_definitions(group, version, definitions.clone())),
        };
        (key, document)
    };
    each(groups).map(document).collect()
}

/// Where each document is, with its hash (`OpenAPIV3Discovery`).
pub fn index(documents: &Documents) -> Json {
    let of = |(key, document): (&String, &Document)| {
        let url = construct_server_relative_url(key, &document.hash);
        (key.clone(), json!({"serverRelativeURL": url}))
    };
    json!({"paths": documents.iter().map(of).collect::<Map<_, _>>()})
}

/// `constructServerRelativeURL`
pub fn construct_server_relative_url(key: &str, hash: &str) -> String {
    format!("/openapi/v3/{key}?hash={hash}")
}

fn each(groups: &[Group]) -> impl Iterator<Item = (&Group, &GroupVersion)> {
    let versions = |group: &'_ Group| group.versions.len();
    let all = groups.iter().filter(move |group| versions(group) > 0);
    all.flat_map(|group| group.versions.iter().map(move |version| (group, version)))
}

/// As paths end (`groupVersionToOpenAPIV3Path`).
fn key(group: &Group, version: &GroupVersion) -> String {
    match group.name.as_str() {
        "" => format!("api/{}", version.version),
        name => format!("apis/{name}/{}", version.version),
    }
}

fn gvk(group: &str, version: &str, kind: &str) -> Json {
    json!({"group": group, "version": version, "kind": kind})
}

/// A reference to the schema of this name.
fn reference(name: &str) -> Json {
    json!({"$ref": format!("{}{name}", definitions::PREFIX)})
}

/// A document of the types of the table, as far as its resources lead to them.
fn of_table(group: &Group, version: &GroupVersion) -> Json {
    let (name, of) = (group.name.as_str(), version.version.as_str());
    let mut schemas = definitions::Schemas::of(name, of);
    let mut paths = Map::new();
    for (resource, below) in with_subresources(version) {
        let (own_group, own_version) = group_version_of(resource, name, of);
        let Some(kind) = definitions::name_of_kind(own_group, own_version, &resource.kind) else {
            continue;
        };
        let declared = Resource::ALL
            .into_iter()
            .find(|own| (own.group, own.version, own.plural) == (name, of, resource.name.as_str()));
        let returns_deleted = declared.is_some_and(|own| own.strategy.returns_deleted_object());
        let served = Served {
            group: name,
            version: of,
            resource,
            below,
            kind: kind.clone(),
            list: format!("{kind}List"),
            style: Style::Native { returns_deleted },
        };
        schemas.refer(&kind);
        if resource.verbs.iter().any(|verb| verb == "list") {
            schemas.add_list(&kind, &resource.kind);
        }
        paths.extend(served.paths(&mut schemas));
    }
    let root = format!("/{}/", key(group, version));
    paths.insert(root, paths::resources(name, of, &mut schemas));
    document("Kubernetes", "unversioned", schemas, paths)
}

/// A document of what definitions say (`MergeSpecsV3`).
fn of_definitions<'a>(
    group: &Group,
    version: &GroupVersion,
    definitions: impl Iterator<Item = &'a Json> + Clone,
) -> Json {
    let (name, of) = (group.name.as_str(), version.version.as_str());
    let mut schemas = definitions::Schemas::of_definitions(name, of);
    let mut paths = Map::new();
    for (resource, below) in with_subresources(version) {
        let definition = definitions
            .clone()
            .find(|crd| custom::defines(crd, name, &resource.name));
        let kind = custom::gvk_to_model_name(name, of, &resource.kind);
        let list_kind = custom::list_kind(definition, &resource.kind);
        schemas.add(
            &kind,
            custom::build_kube_native(definition, name, of, &resource.kind),
        );
        let list = custom::gvk_to_model_name(name, of, &list_kind);
        schemas.add(
            &list,
            custom::build_list_schema(definition, &kind, name, of, &list_kind),
        );
        let served = Served {
            group: name,
            version: of,
            resource,
            below,
            kind,
            list,
            style: Style::Custom,
        };
        paths.extend(served.paths(&mut schemas));
    }
    document("Kubernetes CRD Swagger", "v0.1.0", schemas, paths)
}

fn document(
    title: &str,
    version: &str,
    schemas: definitions::Schemas,
    paths: Map<String, Json>,
) -> Json {
    json!({
        "openapi": "3.0.0",
        "info": {"title": title, "version": version},
        "paths": paths,
        "components": {"schemas": schemas.with_what_they_refer_to()},
    })
}

/// Resources, each with what lies below it.
fn with_subresources(
    version: &GroupVersion,
) -> impl Iterator<Item = (&ApiResource, Vec<&ApiResource>)> {
    let whole = version.resources.iter().filter(|of| !of.name.contains('/'));
    whole.map(|of| {
        let is_below = |sub: &&ApiResource| {
            let parent = sub.name.split_once('/').map(|(parent, _)| parent);
            parent == Some(of.name.as_str())
        };
        (of, version.resources.iter().filter(is_below).collect())
    })
}

/// Group and version of a resource's kind.
fn group_version_of<'a>(
    resource: &'a ApiResource,
    group: &'a str,
    version: &'a str,
) -> (&'a str, &'a str) {
    let own = resource.group_version.as_ref();
    own.map_or((group, version), |(group, version)| (group, version))
}

#[cfg(test)]
mod tests;
