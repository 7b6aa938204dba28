//! Discovery: which groups, versions and resources a server has (`apiserver/pkg/endpoints/discovery`,
//! `discovery/aggregated`, `kube-aggregator/pkg/apiserver/handler_apis.go`). What is listed is told by the declarations
//! of kinds ([`Shown`]), and by whoever adds a group while the server runs.
//!
//! - `groups`: which groups there are, in which order;
//! - `documents`: what they look like on the wire;
//! - `paths`: which paths there are beside them;
//! - `sha256`: the hash of a storage version.

mod documents;
mod groups;
mod paths;
mod sha256;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use wavetank_version::Version;

use crate::kinds::Resource;
use crate::strategy::Part;
use crate::versions;

pub use documents::{
    api_group, api_group_list, api_resource_list, api_versions, e_tag, group_discovery_list,
};
pub use groups::{Group, GroupVersion, groups_of, groups_of_api_services, priority};
pub use paths::{checks_of, listed_paths};

/// What the declaration of a kind says for discovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shown {
    /// `ShortNames`
    pub short_names: &'static [&'static str],
    /// `Categories`
    pub categories: &'static [&'static str],
    /// Its subresources, beside the parts that its strategy has.
    pub subresources: &'static [Subresource],
}

/// A subresource that is no part of the object's own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Subresource {
    /// `scale`
    pub name: &'static str,
    /// Its kind, if it is not that of the object.
    pub kind: Option<&'static str>,
    /// Group and version of its kind, if they are not those of the resource.
    pub group_version: Option<(&'static str, &'static str)>,
    /// What can be done with it.
    pub verbs: &'static [&'static str],
}

/// The category of what `kubectl get all` shows.
pub const ALL: &[&str] = &["all"];
/// The category of what extends the API.
pub const API_EXTENSIONS: &[&str] = &["api-extensions"];
const OF_PART: &[&str] = &["get", "patch", "update"];
const CREATE: &[&str] = &["create"];
const READ: &[&str] = &["get", "list"];
const CONNECT: &[&str] = &["create", "get"];
const PROXY: &[&str] = &["create", "delete", "get", "patch", "update"];

/// `scale`
pub const SCALE: Subresource = Subresource {
    name: "scale",
    kind: Some("Scale"),
    group_version: Some(("autoscaling", "v1")),
    verbs: OF_PART,
};
/// `token` of a service account.
pub const SERVICE_ACCOUNT_TOKEN: Subresource = Subresource {
    name: "token",
    kind: Some("TokenRequest"),
    group_version: Some(("authentication.k8s.io", "v1")),
    verbs: CREATE,
};
/// Those of a pod.
pub const OF_POD: &[Subresource] = &[
    Subresource::of_kind("attach", "PodAttachOptions", CONNECT),
    Subresource::of_kind("binding", "Binding", CREATE),
    Subresource::of_object("ephemeralcontainers"),
    Subresource {
        group_version: Some(("policy", "v1")),
        ..Subresource::of_kind("eviction", "Eviction", CREATE)
    },
    Subresource::of_kind("exec", "PodExecOptions", CONNECT),
    Subresource {
        verbs: &["get"],
        ..Subresource::of_object("log")
    },
    Subresource::of_kind("portforward", "PodPortForwardOptions", CONNECT),
    Subresource::of_kind("proxy", "PodProxyOptions", PROXY),
    Subresource::of_object("resize"),
];
/// Those of a node.
pub const OF_NODE: &[Subresource] = &[Subresource::of_kind("proxy", "NodeProxyOptions", PROXY)];
/// Those of a Service.
pub const OF_SERVICE: &[Subresource] =
    &[Subresource::of_kind("proxy", "ServiceProxyOptions", PROXY)];

impl Shown {
    /// Without short names and the rest.
    pub const PLAIN: Shown = Shown {
        short_names: &[],
        categories: &[],
        subresources: &[],
    };

    /// With these short names.
    pub const fn called(short_names: &'static [&'static str]) -> Shown {
        Shown {
            short_names,
            ..Shown::PLAIN
        }
    }
}

impl Subresource {
    /// One that shows the object itself.
    pub const fn of_object(name: &'static str) -> Subresource {
        Subresource {
            name,
            kind: None,
            group_version: None,
            verbs: OF_PART,
        }
    }

    const fn of_kind(
        name: &'static str,
        kind: &'static str,
        verbs: &'static [&'static str],
    ) -> Subresource {
        Subresource {
            kind: Some(kind),
            verbs,
            ..Subresource::of_object(name)
        }
    }
}

/// A resource or a subresource as discovery lists it (`metav1.APIResource`).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ApiResource {
    /// `pods`, `pods/status`
    pub name: String,
    /// `pod`; empty of a subresource.
    pub singular_name: String,
    /// Does it lie in namespaces?
    pub namespaced: bool,
    /// Group and version of its kind, if they are not those of the list.
    pub group_version: Option<(String, String)>,
    /// `Pod`
    pub kind: String,
    /// What can be done with it.
    pub verbs: Vec<String>,
    /// `po`
    pub short_names: Vec<String>,
    /// `all`
    pub categories: Vec<String>,
    /// `storageVersionHash`; empty of what is not stored.
    pub storage_version_hash: String,
}

/// `StorageVersionHash`: of the version in which a kind is stored.
pub fn storage_version_hash(group: &str, version: &str, kind: &str) -> String {
    let hash = sha256::sum(format!("{group}/{version}/{kind}").as_bytes());
    STANDARD.encode(&hash[..8])
}

/// Kinds that upstream's server encodes for storage in another version than the one that is served: `NewStorageFactoryConfig`
/// says those that a server of the release before must read, and `createAPIExtensionsConfig` that definitions are shorter
/// in v1beta1. Here they are stored as they are served; no client sees more of it than the hash.
const ENCODED_IN: [(&str, &str, &str); 3] = [
    (
        "admissionregistration.k8s.io",
        "MutatingAdmissionPolicy",
        "v1beta1",
    ),
    (
        "admissionregistration.k8s.io",
        "MutatingAdmissionPolicyBinding",
        "v1beta1",
    ),
    (
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        "v1beta1",
    ),
];

/// The version in which upstream's server stores a kind.
fn encoding_version(resource: &Resource) -> &'static str {
    let other = ENCODED_IN
        .into_iter()
        .find(|(group, kind, _)| (*group, *kind) == (resource.group, resource.kind));
    other.map_or(resource.version, |(.., version)| version)
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// A resource with its subresources, by name.
pub fn api_resources(resource: &'static Resource, release: Version) -> Vec<ApiResource> {
    let strategy = resource.strategy;
    let shown = strategy.shown();
    let hub = versions::hub_of(resource);
    let whole = ApiResource {
        name: resource.plural.to_owned(),
        singular_name: resource.kind.to_lowercase(),
        namespaced: resource.namespaced,
        group_version: None,
        kind: resource.kind.to_owned(),
        verbs: verbs(resource, release),
        short_names: owned(shown.short_names),
        categories: owned(shown.categories),
        storage_version_hash: storage_version_hash(hub.group, encoding_version(hub), hub.kind),
    };
    let of = |subresource: &Subresource| ApiResource {
        name: format!("{}/{}", resource.plural, subresource.name),
        singular_name: String::new(),
        namespaced: resource.namespaced,
        group_version: subresource
            .group_version
            .map(|(group, version)| (group.to_owned(), version.to_owned())),
        kind: subresource.kind.unwrap_or(resource.kind).to_owned(),
        verbs: owned(subresource.verbs),
        ..ApiResource::default()
    };
    let mut all = vec![whole];
    all.extend(shown.subresources.iter().map(of));
    if strategy.has(Part::Status) {
        all.push(of(&Subresource::of_object("status")));
    }
    if strategy.has(Part::Finalize) {
        all.push(of(&Subresource {
            verbs: &["update"],
            ..Subresource::of_object("finalize")
        }));
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// What can be done with a resource. Those of the table are sorted, those of a definition are not
/// (`apiextensions-apiserver/pkg/apiserver/customresource_discovery_controller.go`).
fn verbs(resource: &Resource, release: Version) -> Vec<String> {
    const SORTED: [&str; 8] = [
        "create",
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "update",
        "watch",
    ];
    const OF_CUSTOM: [&str; 8] = [
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "create",
        "update",
        "watch",
    ];
    let all = if resource.is_custom() {
        OF_CUSTOM
    } else {
        SORTED
    };
    let collections = resource.strategy.deletes_collections(release);
    let has = |verb: &&str| collections || *verb != "deletecollection";
    all.into_iter().filter(has).map(str::to_owned).collect()
}

/// Resources of core that have no objects: what is posted to them is answered, and kept nowhere.
pub fn without_objects() -> Vec<ApiResource> {
    let of = |name: &str, singular: &str, kind: &str, verbs: &[&str]| ApiResource {
        name: name.to_owned(),
        singular_name: singular.to_owned(),
        kind: kind.to_owned(),
        verbs: owned(verbs),
        ..ApiResource::default()
    };
    vec![
        ApiResource {
            namespaced: true,
            ..of("bindings", "binding", "Binding", CREATE)
        },
        ApiResource {
            short_names: owned(&["cs"]),
            ..of(
                "componentstatuses",
                "componentstatus",
                "ComponentStatus",
                READ,
            )
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds;

    #[test]
    fn a_storage_version_has_upstream_s_hash() {
        let hash = |resource: &'static Resource| {
            let all = api_resources(resource, wavetank_releases::V1_36);
            all.into_iter()
                .find_map(|of| Some(of.storage_version_hash).filter(|h| !h.is_empty()))
        };
        assert_eq!(hash(&kinds::CONFIG_MAPS).as_deref(), Some("qFsyl6wFWjQ="));
        assert_eq!(hash(&kinds::DEPLOYMENTS).as_deref(), Some("8aSe+NMegvE="));
        // Both versions are stored in one.
        assert_eq!(hash(&kinds::NEW_EVENTS).as_deref(), Some("r2yiGXH7wu8="));
        assert_eq!(hash(&kinds::OLD_AUTOSCALERS), hash(&kinds::AUTOSCALERS));
        // Definitions are written in v1beta1.
        let definitions = hash(&crate::apiextensions::CUSTOM_RESOURCE_DEFINITIONS);
        assert_eq!(definitions.as_deref(), Some("jfWCUB31mvA="));
    }

    #[test]
    fn a_namespace_is_not_deleted_with_others() {
        let all = api_resources(&kinds::NAMESPACES, wavetank_releases::V1_36);
        let names: Vec<&str> = all.iter().map(|of| of.name.as_str()).collect();
        assert_eq!(
            names,
            ["namespaces", "namespaces/finalize", "namespaces/status"]
        );
        assert_eq!(
            all[0].verbs.join(" "),
            "create delete get list patch update watch"
        );
        assert_eq!(all[1].verbs, ["update"]);
    }
}
