//! YAML as upstream turns it into JSON (`sigs.k8s.io/yaml`): names of fields are what plain scalars stand for in YAML 1.1, so
//! `y: 1` is `{"true": 1}`.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::json::{Json, Map};

/// `yaml.YAMLToJSON`; what is wrong with a text is worded by another parser than upstream's.
pub(crate) fn yaml_to_json(bytes: &[u8]) -> Result<Json, String> {
    let text = String::from_utf8_lossy(bytes);
    serde_saphyr::from_str::<Tree>(&text)
        .map(|Tree(json)| json)
        .map_err(|error| format!("error converting YAML to JSON: yaml: {error}"))
}

struct Tree(Json);

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Tree, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

/// Scalars as they are.
macro_rules! scalars {
    ($($visit:ident: $of:ty),*) => {
        $(fn $visit<E: Error>(self, value: $of) -> Result<Tree, E> {
            Ok(Tree(value.into()))
        })*
    };
}

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    scalars!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str, visit_string: String);

    fn visit_unit<E: Error>(self) -> Result<Tree, E> {
        Ok(Tree(Json::Null))
    }

    fn visit_none<E: Error>(self) -> Result<Tree, E> {
        Ok(Tree(Json::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        Tree::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut all = Vec::new();
        while let Some(Tree(item)) = items.next_element()? {
            all.push(item);
        }
        Ok(Tree(all.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Tree, A::Error> {
        let mut all = Map::new();
        while let Some(name) = fields.next_key_seed(Name)? {
            let Tree(value) = fields.next_value()?;
            all.insert(name, value);
        }
        Ok(Tree(Json::Object(all)))
    }
}

/// The name of a field.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        match Tree::deserialize(deserializer)?.0 {
            Json::String(name) => Ok(name),
            Json::Array(_) | Json::Object(_) => {
                Err(D::Error::custom("a name of a field is a scalar"))
            }
            scalar => Ok(scalar.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_are_what_plain_scalars_stand_for() {
        for (text, tree) in [
            ("y: 1\n\"n\": 2\n", json!({"true": 1, "n": 2})),
            ("1: a\n", json!({"1": "a"})),
            (
                "a: [1, 1.5, x, null, {b: true}]\n",
                json!({"a": [1, 1.5, "x", null, {"b": true}]}),
            ),
            ("{\"a\": {\"b\": \"c\"}}", json!({"a": {"b": "c"}})),
            ("", Json::Null),
        ] {
            assert_eq!(yaml_to_json(text.as_bytes()), Ok(tree), "{text}");
        }
        let wrong = yaml_to_json(b"a: [").expect_err("it has no end");
        assert!(
            wrong.starts_with("error converting YAML to JSON: yaml: "),
            "{wrong}"
        );
    }
}
