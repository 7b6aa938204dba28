//! What a structural schema does to a value before it is looked at: unknown fields are pruned
//! (`schema/pruning/algorithm.go`), defaults are set (`schema/defaulting/algorithm.go`, `prunenulls.go`).

use super::props::Props;
use crate::json::{Json, Map};

const META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Upstream's `PruneWithOptions`: takes away what the schema does not specify, and says what that was, sorted.
pub fn prune(value: &mut Json, schema: Option<&Props>, is_root: bool) -> Vec<String> {
    let root;
    let schema = match is_root {
        true => {
            root = schema.cloned().unwrap_or_default().as_root();
            Some(&root)
        }
        false => schema,
    };
    let mut pruned = Pruner::default();
    pruned.value(value, schema);
    pruned.unknown.sort();
    pruned.unknown
}

#[derive(Default)]
struct Pruner {
    path: String,
    unknown: Vec<String>,
}

impl Pruner {
    fn at_key(&mut self, key: &str, then: impl FnOnce(&mut Pruner)) {
        let before = self.path.len();
        if before > 0 {
            self.path.push('.');
        }
        self.path.push_str(key);
        then(self);
        self.path.truncate(before);
    }

    fn at_index(&mut self, at: usize, then: impl FnOnce(&mut Pruner)) {
        let before = self.path.len();
        self.path.push_str(&format!("[{at}]"));
        then(self);
        self.path.truncate(before);
    }

    fn value(&mut self, value: &mut Json, schema: Option<&Props>) {
        if let Some(schema) = schema.filter(|schema| schema.preserves()) {
            return self.skip_prune(value, schema);
        }
        match value {
            Json::Object(map) => self.object(map, schema),
            Json::Array(items) => {
                let item = schema.and_then(Props::item);
                for (at, value) in items.iter_mut().enumerate() {
                    self.at_index(at, |pruner| pruner.value(value, item));
                }
            }
            _ => {}
        }
    }

    fn object(&mut self, map: &mut Map, schema: Option<&Props>) {
        let mut gone = Vec::new();
        for (key, value) in map.iter_mut() {
            let Some(schema) = schema else {
                self.at_key(key, |pruner| pruner.unknown.push(pruner.path.clone()));
                gone.push(key.clone());
                continue;
            };
            let is_meta = META.contains(&key.as_str());
            if schema.embedded_resource && is_meta {
                continue;
            }
            if let Some(property) = schema.properties.get(key) {
                self.at_key(key, |pruner| pruner.value(value, Some(property)));
            } else if schema.additional_properties.is_some() {
                self.at_key(key, |pruner| pruner.value(value, schema.additional()));
            } else {
                if !is_meta || !self.path.is_empty() {
                    self.at_key(key, |pruner| pruner.unknown.push(pruner.path.clone()));
                }
                gone.push(key.clone());
            }
        }
        for key in gone {
            map.remove(&key);
        }
    }

    /// `skipPrune`: what is unknown stays, what is inside of what is known does not.
    fn skip_prune(&mut self, value: &mut Json, schema: &Props) {
        match value {
            Json::Object(map) => {
                for (key, value) in map.iter_mut() {
                    if schema.embedded_resource && META.contains(&key.as_str()) {
                        continue;
                    }
                    if let Some(property) = schema.properties.get(key) {
                        self.at_key(key, |pruner| pruner.value(value, Some(property)));
                    } else if schema.additional_properties.is_some() {
                        self.at_key(key, |pruner| pruner.value(value, schema.additional()));
                    }
                }
            }
            Json::Array(items) => {
                let Some(item) = schema.item() else { return };
                for (at, value) in items.iter_mut().enumerate() {
                    self.at_index(at, |pruner| pruner.skip_prune(value, item));
                }
            }
            _ => {}
        }
    }
}

fn is_non_nullable_null(value: &Json, schema: Option<&Props>) -> bool {
    value.is_null() && schema.is_some_and(|schema| !schema.nullable)
}

/// `Default`
pub fn default(value: &mut Json, schema: &Props) {
    match value {
        Json::Object(map) => {
            for (name, property) in &schema.properties {
                let Some(default) = &property.default else {
                    continue;
                };
                let is_absent = map
                    .get(name)
                    .is_none_or(|value| is_non_nullable_null(value, Some(property)));
                if is_absent {
                    map.insert(name.clone(), default.clone());
                }
            }
            for (name, value) in map.iter_mut() {
                if let Some(property) = schema.properties.get(name) {
                    self::default(value, property);
                } else if let Some(additional) = schema.additional() {
                    default_inside(value, additional);
                }
            }
        }
        Json::Array(items) => {
            if let Some(item) = schema.item() {
                items
                    .iter_mut()
                    .for_each(|value| default_inside(value, item));
            }
        }
        _ => {}
    }
}

fn default_inside(value: &mut Json, schema: &Props) {
    if is_non_nullable_null(value, Some(schema)) {
        *value = schema.default.clone().unwrap_or_default();
    }
    default(value, schema);
}

/// `PruneNonNullableNullsWithoutDefaults`
pub fn prune_non_nullable_nulls_without_defaults(value: &mut Json, schema: Option<&Props>) {
    match value {
        Json::Object(map) => {
            let of = |name: &str| {
                let schema = schema?;
                schema.properties.get(name).or_else(|| schema.additional())
            };
            map.retain(|name, value| {
                let schema = of(name);
                let is_optional = schema.is_some_and(|schema| schema.default.is_none());
                !(is_optional && is_non_nullable_null(value, schema))
            });
            for (name, value) in map.iter_mut() {
                prune_non_nullable_nulls_without_defaults(value, of(name));
            }
        }
        Json::Array(items) => {
            let item = schema.and_then(Props::item);
            items
                .iter_mut()
                .for_each(|value| prune_non_nullable_nulls_without_defaults(value, item));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Props {
        Props::of(
            &json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
                "a": {"type": "string", "default": "x"},
                "n": {"type": "string", "nullable": true},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
                    "typed": {"type": "object", "properties": {"b": {"type": "string"}}},
                }},
                "list": {"type": "array", "items": {"type": "object", "properties": {
                    "k": {"type": "integer", "default": 3},
                }}},
            }}}}),
        )
    }

    #[test]
    fn unknown_fields_go_and_are_told() {
        let mut value = json!({"kind": "K", "metadata": {"z": 1}, "top": 1, "spec": {
            "zz": 1, "free": {"kept": 1, "typed": {"b": "c", "gone": 1}}, "list": [{"k": 1, "l": 2}],
        }});
        let unknown = prune(&mut value, Some(&schema()), true);
        let told = ["spec.free.typed.gone", "spec.list[0].l", "spec.zz", "top"];
        assert_eq!(unknown, told);
        let kept = json!({"kind": "K", "metadata": {"z": 1}, "spec": {
            "free": {"kept": 1, "typed": {"b": "c"}}, "list": [{"k": 1}],
        }});
        assert_eq!(value, kept);
    }

    #[test]
    fn defaults_take_the_place_of_what_is_absent_or_may_not_be_null() {
        let mut value = json!({"spec": {"a": null, "n": null, "list": [{}]}});
        prune_non_nullable_nulls_without_defaults(&mut value, Some(&schema()));
        default(&mut value, &schema());
        assert_eq!(
            value,
            json!({"spec": {"a": "x", "n": null, "list": [{"k": 3}]}})
        );
        let mut absent = json!({"spec": {"list": null}});
        prune_non_nullable_nulls_without_defaults(&mut absent, Some(&schema()));
        assert_eq!(absent, json!({"spec": {}}));
    }
}
