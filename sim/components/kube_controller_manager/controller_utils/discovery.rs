//! Which resources there are: discovery as a client asks for it (`client-go/discovery/discovery_client.go`), and the
//! mapping of kinds to resources that is made of it (`restmapper/discovery.go`, `discovery/cached/memory`).

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::{Json, Method, Request, Resource, json};
use wavetank_client::wait::{Every, Turn};
use wavetank_client::{Failure, RestClient};
use wavetank_engine::{Cell, Lock, Rx};

use wavetank_components::elected::DRAIN;

/// `selectDiscoveryAcceptHeader`
const ACCEPT: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
/// How often a controller manager has its mapper ask again (`CreateControllerContext`).
const RESET_PERIOD: Duration = Duration::from_secs(30);

/// What the mapper knows; nothing before it has asked.
static DELEGATE: Cell<Option<Mappings>> = Cell::new("rest-mapper");
/// `initMu`
const INIT: Lock = Lock::new("rest-mapper-init");

type Mappings = Arc<[Mapping]>;

/// A resource that discovery lists, in one of its versions (`meta.RESTMapping`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Mapping {
    /// `apps/v1`
    pub api_version: Arc<str>,
    /// `ReplicaSet`
    pub kind: Arc<str>,
    /// `replicasets`
    pub resource: Arc<str>,
    /// Does it lie in namespaces?
    pub namespaced: bool,
    verbs: Arc<[Arc<str>]>,
}

impl Mapping {
    /// The path of an object, or of a collection where there is no name.
    pub fn path(&self, namespace: &str, name: &str) -> String {
        let mut path = self.path_of_version();
        if self.namespaced && !namespace.is_empty() {
            path = format!("{path}/namespaces/{namespace}");
        }
        path = format!("{path}/{}", self.resource);
        match name {
            "" => path,
            name => format!("{path}/{name}"),
        }
    }

    /// The path of its group and version: what discovery tells of it.
    pub fn path_of_version(&self) -> String {
        let root = match self.api_version.contains('/') {
            true => "apis",
            false => "api",
        };
        format!("/{root}/{}", self.api_version)
    }

    /// The group; empty for core.
    pub fn group(&self) -> &str {
        self.api_version
            .split_once('/')
            .map_or("", |(group, _)| group)
    }

    /// `v1`
    pub fn version(&self) -> &str {
        let parts = self.api_version.split_once('/');
        parts.map_or(&self.api_version, |(_, version)| version)
    }

    /// Is it this resource, in this version?
    pub fn is_of(&self, resource: &Resource) -> bool {
        *self.resource == *resource.plural && *self.api_version == *resource.api_version()
    }

    /// `SupportsAllVerbs`
    pub fn supports_all_verbs(&self, verbs: &[&str]) -> bool {
        let has = |verb: &&str| self.verbs.iter().any(|own| **own == **verb);
        verbs.iter().all(has)
    }
}

/// A document of `APIGroupDiscoveryList` as mappings; those of a group's preferred version come first.
fn mappings(document: &Json) -> Vec<Mapping> {
    let mut all = Vec::new();
    for group in json::list(document, &["items"]) {
        let name = json::text(group, &["metadata", "name"]);
        for version in json::list(group, &["versions"]) {
            let of = json::text(version, &["version"]);
            let api_version: Arc<str> = match name {
                "" => of.into(),
                name => format!("{name}/{of}").into(),
            };
            let resources = json::list(version, &["resources"]).iter();
            all.extend(resources.map(|resource| Mapping {
                api_version: api_version.clone(),
                kind: json::text(resource, &["responseKind", "kind"]).into(),
                resource: json::text(resource, &["resource"]).into(),
                namespaced: json::text(resource, &["scope"]) == "Namespaced",
                verbs: texts(json::list(resource, &["verbs"])),
            }));
        }
    }
    all
}

fn texts(all: &[Json]) -> Arc<[Arc<str>]> {
    all.iter()
        .filter_map(Json::as_str)
        .map(Into::into)
        .collect()
}

/// The group versions of `APIVersions` or an `APIGroupList`: what a server answers that does not tell all at once.
fn group_versions(document: &Json) -> Vec<String> {
    let core = texts(json::list(document, &["versions"]));
    let groups = json::list(document, &["groups"]).iter();
    let versions = groups.flat_map(|group| json::list(group, &["versions"]));
    let named = versions.map(|version| json::text(version, &["groupVersion"]).to_owned());
    core.iter().map(ToString::to_string).chain(named).collect()
}

/// An `APIResourceList` as mappings.
fn mappings_of_version(api_version: &str, list: &Json) -> Vec<Mapping> {
    let all = json::list(list, &["resources"]).iter();
    let whole = all.filter(|resource| !json::text(resource, &["name"]).contains('/'));
    let mapping = |resource: &Json| Mapping {
        api_version: api_version.into(),
        kind: json::text(resource, &["kind"]).into(),
        resource: json::text(resource, &["name"]).into(),
        namespaced: json::at(resource, &["namespaced"]) == Some(&Json::Bool(true)),
        verbs: texts(json::list(resource, &["verbs"])),
    };
    whole.map(mapping).collect()
}

/// `GroupsAndMaybeResources`, and where a server does not tell all at once `fetchGroupVersionResources`, one after another.
///
/// # Errors
/// If one of the documents cannot be had.
async fn groups_and_maybe_resources(rx: Rx, rest: &RestClient) -> Result<Vec<Mapping>, Failure> {
    let mut all = Vec::new();
    for root in ["/api", "/apis"] {
        let mut get = Request::new(Method::Get, root);
        get.accept = Some(ACCEPT.into());
        let document = rest.object(rx, get).await?;
        let document = document.object.json();
        if json::text(document, &["kind"]) == "APIGroupDiscoveryList" {
            all.extend(mappings(document));
            continue;
        }
        for version in group_versions(document) {
            let get = Request::new(Method::Get, format!("{root}/{version}"));
            let list = rest.object(rx, get).await?;
            all.extend(mappings_of_version(&version, list.object.json()));
        }
    }
    Ok(all)
}

/// `ServerPreferredResources`: each resource in the version that its group prefers, or else in the first that has it.
/// Nothing if discovery fails.
pub async fn server_preferred_resources(rx: Rx, rest: &RestClient) -> Vec<Mapping> {
    let all = groups_and_maybe_resources(rx, rest)
        .await
        .unwrap_or_default();
    let mut preferred: Vec<Mapping> = Vec::new();
    for mapping in all {
        let is_known = preferred
            .iter()
            .any(|known| known.resource == mapping.resource && known.group() == mapping.group());
        if !is_known {
            preferred.push(mapping);
        }
    }
    preferred
}

/// Discovery has failed, or lists no such kind.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum MappingError {
    /// `restMappingError`
    NoMatch,
}

/// `DeferredDiscoveryRESTMapper.RESTMapping`: asks once, and then not again before it is reset.
///
/// # Errors
/// If discovery has failed, or lists no such kind.
pub async fn rest_mapping(
    rx: Rx,
    rest: &RestClient,
    api_version: &str,
    kind: &str,
) -> Result<Mapping, MappingError> {
    let known = match rx.read(&DELEGATE) {
        Some(known) => known,
        None => get_delegate(rx, rest).await?,
    };
    let mut all = known.iter();
    let found = all.find(|own| *own.api_version == *api_version && *own.kind == *kind);
    found.cloned().ok_or(MappingError::NoMatch)
}

/// `getDelegate`
async fn get_delegate(rx: Rx, rest: &RestClient) -> Result<Mappings, MappingError> {
    let _init = rx.lock(INIT).await;
    if let Some(known) = rx.read(&DELEGATE) {
        return Ok(known);
    }
    let all = groups_and_maybe_resources(rx, rest).await;
    let all: Mappings = all.map_err(|_| MappingError::NoMatch)?.into();
    let known = all.clone();
    rx.update(&DELEGATE, |delegate| *delegate = Some(known));
    Ok(all)
}

/// `Reset`
pub async fn reset(rx: Rx) {
    let _init = rx.lock(INIT).await;
    rx.update(&DELEGATE, |delegate| *delegate = None);
}

/// The controller manager resets its mapper again and again.
pub async fn reset_again_and_again(rx: Rx) -> Turn {
    let turn = Every::period(RESET_PERIOD).sliding(rx, &DRAIN, async {
        reset(rx).await;
        Turn::Again
    });
    turn.await
}

#[cfg(test)]
mod tests {
    use super::*;
    use wavetank_api::discovery::{
        api_group_list, api_resource_list, group_discovery_list, groups_of,
    };
    use wavetank_api::kinds::Kinds;
    use wavetank_releases::V1_36;

    #[test]
    fn what_discovery_lists_has_the_paths_that_are_served() {
        let groups = groups_of(&Kinds::default(), &[], V1_36);
        let all = mappings(&group_discovery_list(groups.iter()));
        for resource in wavetank_api::Resource::ALL {
            let of = |own: &&Mapping| {
                *own.kind == *resource.kind && *own.api_version == *resource.api_version()
            };
            let mapping = all
                .iter()
                .find(of)
                .unwrap_or_else(|| panic!("{resource:?}"));
            let namespace = if resource.namespaced { "ns" } else { "" };
            assert_eq!(mapping.path(namespace, "a"), resource.path(namespace, "a"));
            assert_eq!(mapping.path("", ""), resource.path("", ""));
        }
        let reviews = all.iter().filter(|own| {
            own.supports_all_verbs(&["create"]) && !own.supports_all_verbs(&["list"])
        });
        assert!(reviews.count() > 0, "what is not stored is listed, too");
    }

    #[test]
    fn it_is_the_same_told_one_by_one() {
        let groups = groups_of(&Kinds::default(), &[], V1_36);
        let named = groups.iter().filter(|group| !group.name.is_empty());
        let whole = mappings(&group_discovery_list(named.clone()));
        let versions = group_versions(&api_group_list(&groups));
        let lists = named.flat_map(|group| {
            let versions = group.versions.iter();
            versions.map(move |version| api_resource_list(group, version))
        });
        let parts = versions.iter().zip(lists);
        let parts = parts.flat_map(|(version, list)| mappings_of_version(version, &list));
        assert_eq!(parts.collect::<Vec<_>>(), whole);
        assert_eq!(
            group_versions(&serde_json::json!({"versions": ["v1"]})),
            ["v1"]
        );
    }
}
