//! What discovery lists of a definition (`customresource_discovery_controller.go`).

use super::conditions::is_crd_condition_true;
use crate::discovery::{ApiResource, storage_version_hash};
use crate::json::{self, Json};

const VERBS: [&str; 8] = [
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
];
const OF_SUBRESOURCE: [&str; 3] = ["get", "patch", "update"];

/// Does a definition serve a version?
fn serves(version: &Json) -> bool {
    version["served"] == true
}

/// The versions that a definition serves, once it is established.
pub fn discovered_versions(crd: &Json) -> impl Iterator<Item = &str> {
    let versions = json::list(crd, &["spec", "versions"]).iter();
    let established = is_crd_condition_true(crd, "Established");
    let served = versions.filter(move |version| established && serves(version));
    served.filter_map(|version| version["name"].as_str())
}

/// What a definition lists in one of its versions: its resource, and its subresources. A definition on its way out does
/// not list verbs that change objects.
pub fn discovered_resources(crd: &Json, version: &str) -> Vec<ApiResource> {
    let names = |field: &str| json::text(crd, &["status", "acceptedNames", field]).to_owned();
    let lists = |field: &str| {
        let list = json::list(crd, &["status", "acceptedNames", field]).iter();
        list.filter_map(Json::as_str).map(str::to_owned).collect()
    };
    let versions = json::list(crd, &["spec", "versions"]);
    let Some(own) = versions.iter().find(|own| own["name"] == version) else {
        return Vec::new();
    };
    let going = is_crd_condition_true(crd, "Terminating");
    let verbs = VERBS.into_iter();
    let verbs = verbs.filter(|verb| !(going && matches!(*verb, "patch" | "create" | "update")));
    let stored = versions.iter().find(|v| serves(v) && v["storage"] == true);
    let hash = stored.map(|stored| {
        storage_version_hash(
            json::text(crd, &["spec", "group"]),
            json::text(stored, &["name"]),
            json::text(crd, &["spec", "names", "kind"]),
        )
    });
    let whole = ApiResource {
        name: names("plural"),
        singular_name: names("singular"),
        namespaced: json::text(crd, &["spec", "scope"]) == "Namespaced",
        group_version: None,
        kind: names("kind"),
        verbs: verbs.map(str::to_owned).collect(),
        short_names: lists("shortNames"),
        categories: lists("categories"),
        storage_version_hash: hash.unwrap_or_default(),
    };
    let has = |name: &str| json::at(own, &["subresources", name]).is_some();
    let below = |name: &str| ApiResource {
        name: format!("{}/{name}", whole.name),
        namespaced: whole.namespaced,
        kind: whole.kind.clone(),
        verbs: OF_SUBRESOURCE.map(str::to_owned).to_vec(),
        ..ApiResource::default()
    };
    let status = has("status").then(|| below("status"));
    let scale = has("scale").then(|| ApiResource {
        kind: "Scale".to_owned(),
        group_version: Some(("autoscaling".to_owned(), "v1".to_owned())),
        ..below("scale")
    });
    let below: Vec<ApiResource> = status.into_iter().chain(scale).collect();
    let mut all = vec![whole];
    all.extend(below);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn crd(terminating: &str, established: &str) -> Json {
        json!({
            "spec": {
                "group": "g.example", "scope": "Namespaced", "names": {"kind": "Thing"},
                "versions": [
                    {"name": "v1", "served": true, "storage": true},
                    {"name": "v2", "served": true, "subresources": {"status": {}, "scale": {}}},
                    {"name": "v3", "served": false},
                ],
            },
            "status": {
                "acceptedNames": {"plural": "things", "singular": "thing", "kind": "Thing"},
                "conditions": [
                    {"type": "Established", "status": established},
                    {"type": "Terminating", "status": terminating},
                ],
            },
        })
    }

    #[test]
    fn versions_that_are_served_are_listed_once_it_is_established() {
        let crds = [crd("False", "True"), crd("False", "False")];
        let [yes, no] = crds.each_ref().map(|crd| discovered_versions(crd).count());
        assert_eq!((yes, no), (2, 0));
        let names = |version| {
            let all = discovered_resources(&crds[0], version).into_iter();
            all.map(|of| of.name).collect::<Vec<_>>()
        };
        assert_eq!(names("v1"), ["things"]);
        assert_eq!(names("v2"), ["things", "things/status", "things/scale"]);
    }

    #[test]
    fn one_on_its_way_out_lists_no_verb_that_changes_objects() {
        let all = discovered_resources(&crd("True", "True"), "v1");
        assert_eq!(
            all[0].verbs,
            ["delete", "deletecollection", "get", "list", "watch"]
        );
    }
}
