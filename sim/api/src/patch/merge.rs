//! Merge patches (RFC 7386), as `evanphx/json-patch` applies them (`merge.go`).

use crate::json::{Json, Map};
use wavetank_engine::mutant;

/// Applies a patch.
pub(super) fn apply(mut document: Map, patch: Map) -> Map {
    merge_maps(&mut document, patch);
    document
}

fn merge_maps(document: &mut Map, patch: Map) {
    for (name, value) in patch {
        if value.is_null()
            && !mutant!(
                "merge-patch-keeps-null",
                "a merge patch does not remove what it names as null"
            )
        {
            document.remove(&name);
            continue;
        }
        let merged = match (document.remove(&name), value) {
            (None | Some(Json::Null), mut value) => {
                prune(&mut value);
                value
            }
            (Some(Json::Object(_)), Json::Object(patch))
                if mutant!(
                    "merge-patch-replaces",
                    "a merge patch replaces objects instead of merging them"
                ) =>
            {
                Json::Object(patch)
            }
            (Some(Json::Object(mut old)), Json::Object(patch)) => {
                merge_maps(&mut old, patch);
                Json::Object(old)
            }
            // A value that is no object is replaced by an object without its nulls.
            (Some(_), mut value) => {
                if value.is_object() {
                    prune(&mut value);
                }
                value
            }
        };
        document.insert(name, merged);
    }
}

/// Takes nulls out of objects; those in arrays stay.
fn prune(value: &mut Json) {
    match value {
        Json::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(prune);
        }
        Json::Array(items) => items.iter_mut().for_each(prune),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn merged(document: Json, patch: Json) -> Json {
        match (document, patch) {
            (Json::Object(document), Json::Object(patch)) => Json::Object(apply(document, patch)),
            _ => panic!("two objects"),
        }
    }

    #[test]
    fn the_examples_of_the_rfc_hold() {
        for (document, patch, expected) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (
                json!({"a": "b"}),
                json!({"b": "c"}),
                json!({"a": "b", "b": "c"}),
            ),
            (
                json!({"a": "b", "b": "c"}),
                json!({"a": null}),
                json!({"b": "c"}),
            ),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (
                json!({"a": {"b": "c"}}),
                json!({"a": {"b": "d", "c": null}}),
                json!({"a": {"b": "d"}}),
            ),
            (
                json!({"a": [{"b": "c"}]}),
                json!({"a": [1]}),
                json!({"a": [1]}),
            ),
            (
                json!({"e": null}),
                json!({"a": 1}),
                json!({"e": null, "a": 1}),
            ),
            (
                json!({}),
                json!({"a": {"bb": {"ccc": null}}}),
                json!({"a": {"bb": {}}}),
            ),
        ] {
            assert_eq!(merged(document, patch), expected);
        }
    }

    /// The RFC's own few lines.
    fn reference(target: Option<Json>, patch: &Json) -> Json {
        let Json::Object(patch) = patch else {
            return patch.clone();
        };
        let mut map = match target {
            Some(Json::Object(map)) => map,
            _ => Map::new(),
        };
        for (name, value) in patch {
            let old = map.remove(name);
            if !value.is_null() {
                map.insert(name.clone(), reference(old, value));
            }
        }
        Json::Object(map)
    }

    fn tree() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![Just(Json::Null), (0..3i64).prop_map(Json::from)];
        let tree = leaf.prop_recursive(4, 24, 4, |inner| {
            proptest::collection::btree_map("[abc]", inner, 0..4)
                .prop_map(|map| Json::Object(map.into_iter().collect()))
        });
        proptest::collection::btree_map("[abc]", tree, 0..4)
            .prop_map(|map| Json::Object(map.into_iter().collect()))
    }

    proptest! {
        #[test]
        fn it_agrees_with_the_rfc(document in tree(), patch in tree()) {
            prop_assert_eq!(merged(document.clone(), patch.clone()), reference(Some(document), &patch));
        }
    }
}
