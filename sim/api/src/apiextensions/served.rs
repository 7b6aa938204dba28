//! What a definition serves: its versions as resources.
//!
//! A resource lives as long as the program (`&'static`), as those of the table do, and so do those that definitions make:
//! the same definition always has the same ones. They are few: one a version and a change of its definition.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use super::columns::Columns;
use super::conditions::get_crd_storage_version;
use super::default_rules::prune_defaults;
use super::props::Props;
use super::webhook::Webhook;
use super::{CustomScale, CustomVersion, structural};
use crate::json::{self, Json};
use crate::kinds::Resource;

/// The resources that definitions have made, by what they were made of.
static MADE: Mutex<BTreeMap<String, &'static Resource>> = Mutex::new(BTreeMap::new());

/// What a definition serves or stores.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Definition {
    /// Its versions, in the order in which it names them.
    pub versions: Vec<(Arc<str>, &'static Resource)>,
    /// The one that is stored.
    pub storage: Arc<str>,
}

impl Definition {
    /// Of a definition whose names were accepted.
    ///
    /// # Errors
    /// What is missing, as `getOrCreateServingInfoFor` words it.
    pub fn of(crd: &Json) -> Result<Definition, String> {
        let storage = get_crd_storage_version(crd);
        let storage = storage
            .ok_or("invalid apiextensionsv1.CustomResourceDefinition, no storage version")?;
        for (name, what) in [
            ("plural", "resource"),
            ("singular", "resource"),
            ("kind", "kind"),
            ("listKind", "list kind"),
        ] {
            if json::text(crd, &["status", "acceptedNames", name]).is_empty() {
                return Err(format!("the server could not properly serve the {what}"));
            }
        }
        let versions = json::list(crd, &["spec", "versions"]).iter();
        let versions = versions.filter(|v| v["served"] == true || v["storage"] == true);
        let of = |version: &Json| {
            let name = version["name"].as_str().unwrap_or_default();
            Ok((name.into(), served_version(crd, version)?))
        };
        let versions: Result<Vec<_>, String> = versions.map(of).collect();
        Ok(Definition {
            versions: versions?,
            storage: storage.into(),
        })
    }

    /// The resource of a version.
    pub fn version(&self, name: &str) -> Option<&'static Resource> {
        let mut all = self.versions.iter();
        all.find(|(own, _)| **own == *name)
            .map(|(_, resource)| *resource)
    }
}

/// FNV-1a; not 0, which is no revision at all.
fn revision_of(text: &str) -> u64 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash.max(1)
}

fn leaked(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

/// The resource of one version of a definition.
///
/// # Errors
/// Its schema cannot be served.
pub fn served_version(crd: &Json, version: &Json) -> Result<&'static Resource, String> {
    let name = version["name"].as_str().unwrap_or_default();
    let made_of = format!("{name} {} {}", crd["spec"], crd["status"]["acceptedNames"]);
    let mut made = MADE.lock().expect("nobody panics while holding it");
    if let Some(known) = made.get(&made_of) {
        return Ok(known);
    }
    let (group, plural) = (
        json::text(crd, &["spec", "group"]),
        json::text(crd, &["status", "acceptedNames", "plural"]),
    );
    let custom = custom_version(crd, version, revision_of(&made_of))?;
    let resource = Resource {
        group: leaked(group),
        version: leaked(name),
        plural: leaked(plural),
        kind: leaked(json::text(crd, &["status", "acceptedNames", "kind"])),
        namespaced: json::text(crd, &["spec", "scope"]) == "Namespaced",
        registry: leaked(&format!("/registry/{group}/{plural}")),
        strategy: Box::leak(Box::new(custom)),
    };
    let resource: &'static Resource = Box::leak(Box::new(resource));
    made.insert(made_of, resource);
    Ok(resource)
}

fn schema_of(version: &Json) -> Option<Props> {
    json::at(version, &["schema", "openAPIV3Schema"]).map(Props::of)
}

fn custom_version(crd: &Json, version: &Json, revision: u64) -> Result<CustomVersion, String> {
    let preserves = crd["spec"]["preserveUnknownFields"] == true;
    let mut structural = BTreeMap::new();
    for version in json::list(crd, &["spec", "versions"]) {
        let name = version["name"].as_str().unwrap_or_default().to_owned();
        let schema = schema_of(version).unwrap_or_default();
        let made = structural::new_structural(&schema);
        let mut made = match made {
            Ok(made) => made,
            Err(_) if preserves => Props::default(),
            Err(_) => return Err("the server could not properly serve the CR schema".to_owned()),
        };
        if !preserves {
            prune_defaults(&mut made);
        }
        structural.insert(name, made);
    }
    let selectable = json::list(version, &["selectableFields"]).iter();
    let selectable = selectable.map(|field| {
        let path = json::text(field, &["jsonPath"]);
        path.strip_prefix('.').unwrap_or(path).to_owned()
    });
    let text = |path: &[&str]| json::text(crd, path).to_owned();
    Ok(CustomVersion {
        group: text(&["spec", "group"]),
        version: version["name"].as_str().unwrap_or_default().to_owned(),
        kind: text(&["status", "acceptedNames", "kind"]),
        list_kind: text(&["status", "acceptedNames", "listKind"]),
        namespaced: text(&["spec", "scope"]) == "Namespaced",
        schema: schema_of(version),
        structural,
        status: json::at(version, &["subresources", "status"]).is_some(),
        scale: json::at(version, &["subresources", "scale"]).map(CustomScale::of),
        selectable: selectable.collect(),
        columns: Columns::of(version),
        storage: get_crd_storage_version(crd).unwrap_or_default().to_owned(),
        webhook: Webhook::of(crd),
        preserves,
        revision,
        types: OnceLock::new(),
    })
}

/// The warning of a version that is deprecated (`crdInfo.warnings`, `defaultDeprecationWarning`).
pub fn default_deprecation_warning(crd: &Json, version: &str) -> Option<String> {
    let versions = json::list(crd, &["spec", "versions"]);
    let own = versions.iter().find(|own| own["name"] == version)?;
    if own["deprecated"] != true {
        return None;
    }
    if let Some(warning) = own["deprecationWarning"].as_str() {
        return Some(warning.to_owned());
    }
    let (group, kind) = (
        json::text(crd, &["spec", "group"]),
        json::text(crd, &["spec", "names", "kind"]),
    );
    let better = versions
        .iter()
        .filter(|other| other["served"] == true && other["deprecated"] != true)
        .filter_map(|other| other["name"].as_str())
        .filter(|other| compare_kube_aware_version_strings(version, other) == Ordering::Less)
        .max_by(|a, b| compare_kube_aware_version_strings(a, b));
    let instead = better.map(|better| format!("; use {group}/{better} {kind}"));
    let instead = instead.unwrap_or_default();
    Some(format!("{group}/{version} {kind} is deprecated{instead}"))
}

/// `CompareKubeAwareVersionStrings`: v2 over v1 over v1beta2 over v1alpha1 over what is no version.
fn compare_kube_aware_version_strings(a: &str, b: &str) -> Ordering {
    fn parsed(text: &str) -> Option<(u8, u64, u64)> {
        let rest = text.strip_prefix('v')?;
        let end = rest
            .find(|char: char| !char.is_ascii_digit())
            .unwrap_or(rest.len());
        let major: u64 = rest[..end].parse().ok()?;
        let (stage, minor) = match &rest[end..] {
            "" => return Some((2, major, 0)),
            rest if rest.starts_with("beta") => (1, &rest[4..]),
            rest if rest.starts_with("alpha") => (0, &rest[5..]),
            _ => return None,
        };
        let minor = match minor {
            "" => 0,
            minor => minor.parse().ok()?,
        };
        Some((stage, major, minor))
    }
    match (parsed(a), parsed(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        (None, None) => b.cmp(a),
    }
}

#[cfg(test)]
mod tests {
    use super::super::webhook::Conversion;
    use super::*;
    use serde_json::json;

    fn crd() -> Json {
        let schema = |n: i64| {
            json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": {
                "type": "object", "properties": {"n": {"type": "integer", "default": n}},
            }}}})
        };
        json!({
            "spec": {
                "group": "g.example", "scope": "Namespaced", "names": {"kind": "Thing"},
                "versions": [
                    {"name": "v1beta1", "served": true, "deprecated": true, "schema": schema(1)},
                    {"name": "v1", "served": true, "storage": true, "schema": schema(2)},
                    {"name": "old", "schema": schema(3)},
                ],
            },
            "status": {"acceptedNames": {
                "plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList",
            }},
        })
    }

    #[test]
    fn the_same_definition_has_the_same_resources() {
        let one = Definition::of(&crd()).expect("it can be served");
        let same = Definition::of(&crd()).expect("it can be served");
        assert!(std::ptr::eq(one.versions[0].1, same.versions[0].1));
        assert_eq!(one.versions.len(), 2);
        let mut changed = crd();
        changed["spec"]["versions"][0]["schema"] = json!({"openAPIV3Schema": {"type": "object"}});
        let other = Definition::of(&changed).expect("it can be served");
        assert_ne!(one, other);
        let warning = default_deprecation_warning(&crd(), "v1beta1");
        let warned = "g.example/v1beta1 Thing is deprecated; use g.example/v1 Thing";
        assert_eq!(warning.as_deref(), Some(warned));
    }

    fn done(conversion: Result<Conversion, String>) -> Json {
        match conversion.expect("it is one of its versions") {
            Conversion::Done(object) => object,
            Conversion::ByWebhook(asked) => panic!("nobody is to be asked: {asked:?}"),
        }
    }

    #[test]
    fn a_webhook_converts_what_is_of_another_version() {
        let mut crd = crd();
        let client = json!({"url": "https://converter:8443/convert"});
        let webhook = json!({"clientConfig": client, "conversionReviewVersions": ["v2", "v1"]});
        crd["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": webhook});
        let definition = Definition::of(&crd).expect("it can be served");
        let of = |version: &str| {
            let resource = definition.version(version).expect("it is served");
            let custom = resource
                .strategy
                .custom()
                .expect("a definition has made it");
            let webhook = custom.webhook().expect("there is one");
            assert_eq!(webhook.host.as_deref(), Some("converter"));
            let stored =
                json!({"apiVersion": "g.example/v1", "kind": "Thing", "metadata": {"name": "a"}});
            custom.decode(&stored)
        };
        done(of("v1"));
        let Ok(Conversion::ByWebhook(asked)) = of("v1beta1") else {
            panic!("it is of another version");
        };
        let review = asked.review(&["v2".into(), "v1".into()], "u-1");
        let review = review.expect("v1 is known");
        assert_eq!(review["request"]["desiredAPIVersion"], "g.example/v1beta1");
        let answer = |uid: &str, object: Json| {
            let result = json!({"status": "Success"});
            json!({
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "ConversionReview",
                "response": {"uid": uid, "result": result, "convertedObjects": [object]},
            })
        };
        let converted = |labels: Json, name: &str| {
            let metadata = json!({"name": name, "labels": labels, "generation": 7});
            json!({"apiVersion": "g.example/v1beta1", "kind": "Thing", "metadata": metadata, "spec": {"n": 4}})
        };
        let good = converted(json!({"a": "b"}), "a");
        let made = asked.converted(&review, &answer("u-1", good.clone()), || false);
        let made = made.expect("it is as it should be");
        // Of the metadata only labels and annotations may change.
        assert_eq!(
            made["metadata"],
            json!({"name": "a", "labels": {"a": "b"}, "generation": 1})
        );
        assert_eq!(made["spec"]["n"], 4);
        let believed = asked.converted(&review, &answer("u-1", good.clone()), || true);
        assert_eq!(believed.expect("it is taken")["metadata"]["generation"], 7);
        let of = "conversion webhook for g.example/v1, Kind=Thing";
        for (answer, why) in [
            (
                answer("u-2", good.clone()),
                format!("{of} failed: expected response.uid=\"u-1\", got \"u-2\""),
            ),
            (
                answer("u-1", converted(json!({}), "b")),
                format!("{of} returned invalid object: must have the same name: a != b"),
            ),
            (
                answer("u-1", asked.object.clone()),
                format!(
                    "{of} returned invalid object at index 0: invalid groupVersion (expected g.example/v1beta1, received g.example/v1)"
                ),
            ),
            (
                answer("u-1", converted(json!({"a": 1}), "a")),
                format!(
                    "{of} returned invalid metadata: metadata.labels[a] must be a string in converted object"
                ),
            ),
            (
                json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview"}),
                format!("{of} failed: no response provided"),
            ),
        ] {
            assert_eq!(asked.converted(&review, &answer, || true), Err(why));
        }
        let mut refused = answer("u-1", good);
        refused["response"]["result"] = json!({"status": "Failed", "message": "no such thing"});
        let why = format!("{of} failed: no such thing");
        assert_eq!(asked.converted(&review, &refused, || false), Err(why));
        assert!(asked.review(&["v2".into()], "u").is_err());
    }

    #[test]
    fn a_version_shows_what_is_stored_as_another() {
        let definition = Definition::of(&crd()).expect("it can be served");
        let beta = definition.version("v1beta1").expect("it is served");
        let beta = beta.strategy.custom().expect("a definition has made it");
        let stored = json!({"apiVersion": "g.example/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": {}});
        let shown = done(beta.decode(&stored));
        assert_eq!(shown["apiVersion"], "g.example/v1beta1");
        assert_eq!(shown["spec"], json!({"n": 2}));
        assert_eq!(done(beta.encode(&shown))["apiVersion"], "g.example/v1");
        // What is of the version that is stored is written as it is, and pruned when it is read.
        let v1 = definition.version("v1").expect("it is served");
        let v1 = v1.strategy.custom().expect("a definition has made it");
        let metadata = json!({"name": "a", "finalizers": []});
        let empty = json!({"apiVersion": "g.example/v1", "kind": "Thing", "metadata": metadata});
        assert_eq!(done(v1.encode(&empty)), empty);
        assert_eq!(
            done(v1.decode(&empty))["metadata"],
            json!({"name": "a", "generation": 1})
        );
        let gone =
            json!({"apiVersion": "g.example/v0", "kind": "Thing", "metadata": {"name": "a"}});
        let error = beta.decode(&gone).expect_err("there is no such version");
        assert_eq!(
            error,
            "request to convert CR from an invalid group/version: g.example/v0"
        );
    }
}
