//! What discovery looks like on the wire: `metav1.APIVersions`, `APIGroupList`, `APIGroup`, `APIResourceList`, and all
//! of it at once as `apidiscovery.k8s.io/v2` has it.

use serde_json::json;

use super::{ApiResource, Group, GroupVersion, sha256};
use crate::json::Json;

/// `/api`
pub fn api_versions(server: &str) -> Json {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": server}],
    })
}

/// `/apis`, without core.
pub fn api_group_list(groups: &[Group]) -> Json {
    let named = groups.iter().filter(|group| !group.name.is_empty());
    let groups: Vec<Json> = named.map(body_of).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/apis/GROUP`
pub fn api_group(group: &Group) -> Json {
    let mut document = body_of(group);
    document["kind"] = "APIGroup".into();
    document["apiVersion"] = "v1".into();
    document
}

fn body_of(group: &Group) -> Json {
    let version = |version: &GroupVersion| json!({"groupVersion": group_version(group, version), "version": version.version});
    let versions: Vec<Json> = group.versions.iter().map(version).collect();
    json!({"name": group.name, "preferredVersion": versions.first(), "versions": versions})
}

fn group_version(group: &Group, version: &GroupVersion) -> String {
    match group.name.as_str() {
        "" => version.version.clone(),
        name => format!("{name}/{}", version.version),
    }
}

/// `/apis/GROUP/VERSION`, `/api/v1`
pub fn api_resource_list(group: &Group, version: &GroupVersion) -> Json {
    let resource = |of: &ApiResource| {
        let mut shown = json!({
            "name": of.name,
            "singularName": of.singular_name,
            "namespaced": of.namespaced,
            "kind": of.kind,
            "verbs": of.verbs,
        });
        if let Some((group, version)) = &of.group_version {
            shown["group"] = group.as_str().into();
            shown["version"] = version.as_str().into();
        }
        names(&mut shown, of);
        if !of.storage_version_hash.is_empty() {
            shown["storageVersionHash"] = of.storage_version_hash.as_str().into();
        }
        shown
    };
    let resources: Vec<Json> = version.resources.iter().map(resource).collect();
    let mut list = json!({
        "kind": "APIResourceList",
        "groupVersion": group_version(group, version),
        "resources": resources,
    });
    // `NewLegacyRootAPIHandler` writes none for core.
    if !group.name.is_empty() {
        list["apiVersion"] = "v1".into();
    }
    list
}

fn names(shown: &mut Json, of: &ApiResource) {
    if !of.short_names.is_empty() {
        shown["shortNames"] = of.short_names.clone().into();
    }
    if !of.categories.is_empty() {
        shown["categories"] = of.categories.clone().into();
    }
}

/// An `APIGroupDiscoveryList` of these groups.
pub fn group_discovery_list<'a>(groups: impl Iterator<Item = &'a Group>) -> Json {
    let version = |group: &Group, of: &GroupVersion| {
        json!({
            "version": of.version,
            "resources": discovered(group, of),
            "freshness": "Current",
        })
    };
    let items = groups.map(|group| {
        let versions = group.versions.iter().map(|of| version(group, of));
        let metadata = match group.name.as_str() {
            "" => json!({}),
            name => json!({"name": name}),
        };
        json!({"metadata": metadata, "versions": versions.collect::<Vec<_>>()})
    });
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items.collect::<Vec<_>>(),
    })
}

/// Upstream's `ConvertGroupVersionIntoToDiscovery`: resources with their subresources inside.
fn discovered(group: &Group, version: &GroupVersion) -> Vec<Json> {
    let custom = crate::schema::is_custom(&group.name);
    let kind = |of: &ApiResource| {
        // Upstream names group and version of a kind only where they are others, or a definition says them.
        let own = (group.name.clone(), version.version.clone());
        let said = of.group_version.clone().or(Some(own).filter(|_| custom));
        let (group, version) = said.unwrap_or_default();
        json!({"group": group, "version": version, "kind": of.kind})
    };
    let scope = |of: &ApiResource| match of.namespaced {
        true => "Namespaced",
        false => "Cluster",
    };
    let whole = version.resources.iter().filter(|of| !of.name.contains('/'));
    let shown = whole.map(|of| {
        let mut shown = json!({
            "resource": of.name,
            "responseKind": kind(of),
            "scope": scope(of),
            "singularResource": of.singular_name,
            "verbs": of.verbs,
        });
        names(&mut shown, of);
        let below = version.resources.iter().filter_map(|sub| {
            let (parent, name) = sub.name.split_once('/')?;
            let own = parent == of.name;
            own.then(|| json!({"subresource": name, "responseKind": kind(sub), "verbs": sub.verbs}))
        });
        let below: Vec<Json> = below.collect();
        if !below.is_empty() {
            shown["subresources"] = below.into();
        }
        shown
    });
    shown.collect()
}

/// The tag of a document: the same content has the same. Upstream hashes other bytes of it with SHA-512.
pub fn e_tag(document: &Json) -> String {
    let hash = sha256::sum(document.to_string().as_bytes());
    let hex: String = hash.iter().map(|byte| format!("{byte:02X}")).collect();
    format!("\"{hex}\"")
}
