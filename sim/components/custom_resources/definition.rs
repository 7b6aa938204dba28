//! The definition that users make and change: a kind in two versions, of which either is served or not, and either is
//! stored; with a schema that bounds one field and knows another or not.

use serde_json::{Value as Json, json};
use wavetank_api::Resource;
use wavetank_api::apiextensions::CUSTOM_RESOURCE_DEFINITIONS;
use wavetank_api::json as path;
use wavetank_api::kinds::CustomResource;

const GROUP: &str = "storm.example";
/// The definition.
pub(super) const DEFINITION: &str = "things.storm.example";

const fn version(version: &'static str) -> Resource {
    Resource {
        group: GROUP,
        version,
        plural: "things",
        kind: "Thing",
        namespaced: true,
        registry: "/registry/storm.example/things",
        strategy: &CustomResource::WITHOUT_STATUS,
    }
}

static V1: Resource = version("v1");
static V2: Resource = version("v2");

/// Its versions, as clients know them.
pub(super) static THINGS: [&Resource; 2] = [&V1, &V2];

/// The field of the spec that some schemas do not know.
pub(super) const EXTRA: &str = "extra";

/// What a definition may say.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Variant {
    /// Which versions are served.
    served: [bool; 2],
    /// Which is stored.
    stores: usize,
    /// Does its schema know the field `extra`?
    extra: bool,
    /// The largest size.
    most: u64,
    /// Is the size that of the subresource `scale`?
    scaled: bool,
}

const fn variant(served: [bool; 2], stores: usize, extra: bool, most: u64) -> Variant {
    Variant {
        served,
        stores,
        extra,
        most,
        scaled: false,
    }
}

/// One whose objects have a Scale, and of whose versions the first is served or not.
const fn scaled(first: bool) -> Variant {
    Variant {
        scaled: true,
        ..variant([first, true], 0, true, 100)
    }
}

/// So many of them are drawn.
pub(super) const DRAWN: usize = 6;

/// All of them; the first is that of a new definition, as a rule.
pub(super) const VARIANTS: [Variant; DRAWN + 2] = [
    variant([true, true], 0, true, 100),
    variant([true, true], 1, true, 100),
    variant([true, true], 1, false, 100),
    variant([true, false], 0, false, 10),
    variant([false, true], 1, true, 100),
    variant([true, true], 0, false, 10),
    scaled(true),
    scaled(false),
];

impl Variant {
    /// The spec of the definition, whose versions are converted by the webhook at this URL, or in name only.
    pub(super) fn spec(self, webhook: Option<&str>) -> Json {
        let text = json!({"type": "string"});
        let item = json!({
            "type": "object",
            "required": ["name"],
            "properties": {"name": text, "value": {"type": "integer"}},
        });
        let mut properties = json!({
            "size": {"type": "integer", "maximum": self.most},
            "fields": {"type": "object", "additionalProperties": {"type": "integer"}},
            "items": {
                "type": "array",
                "items": item,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
            },
        });
        if self.extra {
            properties[EXTRA] = text;
        }
        let spec = json!({"type": "object", "properties": properties});
        let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}});
        let column = json!({"name": "Size", "type": "integer", "jsonPath": ".spec.size"});
        let version = |at: usize| {
            let mut version = json!({
                "name": THINGS[at].version,
                "served": self.served[at],
                "storage": self.stores == at,
                "schema": schema,
                "additionalPrinterColumns": [column],
            });
            if self.scaled {
                let paths =
                    json!({"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"});
                version["subresources"] = json!({"scale": paths});
            }
            version
        };
        let mut spec = json!({
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
            "versions": [version(0), version(1)],
        });
        if let Some(url) = webhook {
            let webhook = json!({"clientConfig": {"url": url}, "conversionReviewVersions": ["v1"]});
            spec["conversion"] = json!({"strategy": "Webhook", "webhook": webhook});
        }
        spec
    }

    /// The definition.
    pub(super) fn definition(self, webhook: Option<&str>) -> Json {
        json!({
            "apiVersion": CUSTOM_RESOURCE_DEFINITIONS.api_version(),
            "kind": CUSTOM_RESOURCE_DEFINITIONS.kind,
            "metadata": {"name": DEFINITION},
            "spec": self.spec(webhook),
        })
    }
}

/// A version of a definition.
fn named<'a>(crd: &'a Json, version: &str) -> Option<&'a Json> {
    let mut all = path::list(crd, &["spec", "versions"]).iter();
    all.find(|own| own["name"] == version)
}

/// Does the definition say that this version is served?
pub(super) fn serves(crd: &Json, version: &str) -> bool {
    named(crd, version).is_some_and(|own| own["served"] == true)
}

/// Does the schema of this version know the field `extra`?
pub(super) fn knows_extra(crd: &Json, version: &str) -> bool {
    let schema = [
        "schema",
        "openAPIV3Schema",
        "properties",
        "spec",
        "properties",
    ];
    let own = named(crd, version).and_then(|own| path::at(own, &schema));
    own.is_some_and(|fields| fields.get(EXTRA).is_some())
}

/// Its versions in words, for stories.
pub(super) fn versions(crd: &Json) -> String {
    let all = path::list(crd, &["spec", "versions"]).iter();
    let words = all.map(|version| {
        let name = version["name"].as_str().unwrap_or_default();
        let mut words = name.to_owned();
        if version["served"] == true {
            words += " served";
        }
        if version["storage"] == true {
            words += " stored";
        }
        words
    });
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_says_what_is_served_and_known() {
        let crd = VARIANTS[3].definition(None);
        assert!(serves(&crd, "v1") && !serves(&crd, "v2"));
        assert!(!knows_extra(&crd, "v1"));
        assert!(knows_extra(&VARIANTS[0].definition(None), "v2"));
        assert_eq!(versions(&crd), "v1 served stored, v2");
    }
}
