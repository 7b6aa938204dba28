//! The merge as a whole, and against a reference that knows no trees: an object is a map of leaves, what a manager owns a
//! plain set of their paths.

mod reference;

use serde_json::json;

use crate::json::Json;
use crate::smd::fieldpath::{ManagedFields, Path, PathElement, Set, VersionedSet, path_string};
use crate::smd::merge::{ConvertError, Converter, MergeError, Updater};
use crate::smd::schema::{
    Atom, ElementRelationship, List, Map, Scalar, Schema, StructField, TypeRef,
};
use crate::smd::typed::{Duplicates, TypedValue, reconcile_field_set_with_schema};

fn scalar(scalar: Scalar) -> TypeRef {
    Atom::of_scalar(scalar).into()
}

fn list(of: TypeRef, element_relationship: ElementRelationship, keys: &[&str]) -> TypeRef {
    let keys = keys.iter().map(|key| (*key).to_owned()).collect();
    let element_type = Box::new(of);
    let list = List {
        element_type,
        element_relationship,
        keys,
    };
    Atom::of_list(list).into()
}

fn map(
    fields: Vec<(&str, TypeRef, Option<Json>)>,
    of: TypeRef,
    element_relationship: ElementRelationship,
) -> TypeRef {
    let field = |(name, ty, default): (&str, TypeRef, Option<Json>)| {
        (name.to_owned(), StructField { ty, default })
    };
    let map = Map {
        fields: fields.into_iter().map(field).collect(),
        element_type: Box::new(of),
        element_relationship,
    };
    Atom::of_map(map).into()
}

/// A type with one field of each kind.
fn ty() -> TypeRef {
    use ElementRelationship::{Associative, Atomic, Separable};
    let item = map(
        vec![
            ("k", scalar(Scalar::String), None),
            ("p", scalar(Scalar::String), Some("TCP".into())),
            ("v", scalar(Scalar::Numeric), None),
        ],
        TypeRef::None,
        Separable,
    );
    let pair = || {
        vec![
            ("a", scalar(Scalar::Numeric), None),
            ("b", scalar(Scalar::Numeric), None),
        ]
    };
    let fields = vec![
        ("m", map(vec![], scalar(Scalar::Numeric), Separable), None),
        ("s", map(pair(), TypeRef::None, Separable), None),
        ("l", list(item, Associative, &["k", "p"]), None),
        ("set", list(scalar(Scalar::String), Associative, &[]), None),
        ("atom", list(scalar(Scalar::Numeric), Atomic, &[]), None),
        ("whole", map(pair(), TypeRef::None, Atomic), None),
        ("flag", scalar(Scalar::Boolean), None),
    ];
    map(fields, TypeRef::None, Separable)
}

fn typed<'a>(value: &Json, schema: &'a Schema, ty: &'a TypeRef) -> TypedValue<'a> {
    let typed = TypedValue::as_typed(value.clone(), schema, ty, Duplicates::Allowed);
    typed.expect("it fits")
}

/// Objects of one version.
struct OneVersion;

impl Converter for OneVersion {
    fn convert<'a>(
        &self,
        object: &TypedValue<'a>,
        version: &str,
    ) -> Result<TypedValue<'a>, ConvertError> {
        match version {
            "v1" => Ok(object.clone()),
            _ => Err(ConvertError::MissingVersion),
        }
    }
}

const UPDATER: Updater<OneVersion> = Updater {
    converter: OneVersion,
    ignored: None,
};

fn paths(set: &Set) -> Vec<String> {
    set.paths().iter().map(|path| path_string(path)).collect()
}

fn field(names: &[&str]) -> Path {
    names
        .iter()
        .map(|name| PathElement::field_name_element(*name))
        .collect()
}

fn key(k: &str) -> PathElement {
    PathElement::key_element(vec![
        ("k".to_owned(), k.into()),
        ("p".to_owned(), "TCP".into()),
    ])
}

#[test]
fn sets_are_written_in_the_order_of_their_elements() {
    let numbered = |n: i64| PathElement::key_element(vec![("n".to_owned(), n.into())]);
    let mut set = Set::default();
    for n in [443, 80] {
        set.insert(&[PathElement::field_name_element("l"), numbered(n)]);
    }
    set.insert(&[
        PathElement::field_name_element("l"),
        numbered(80),
        PathElement::field_name_element("v"),
    ]);
    set.insert(&[
        PathElement::field_name_element("set"),
        PathElement::Value("x".into()),
    ]);
    set.insert(&[PathElement::field_name_element("at"), PathElement::Index(1)]);
    set.insert(&field(&["a.b"]));
    let text = "{\"f:a.b\":{},\"f:at\":{\"i:1\":{}},\"f:l\":{\"k:{\\\"n\\\":80}\":{\".\":{},\"f:v\":{}},\
                \"k:{\\\"n\\\":443}\":{}},\"f:set\":{\"v:\\\"x\\\"\":{}}}";
    assert_eq!(set.to_text(), text);
    let tree: Json = serde_json::from_str(text).expect("it is JSON");
    assert_eq!(set.to_json(), tree);
    assert_eq!(Set::from_json(&tree), Ok(set));
}

#[test]
fn a_set_that_is_not_understood_is_refused_and_later_forms_are_passed_over() {
    for (name, why) in [
        ("f", "key must be 2 characters long:"),
        ("fa:", "missing colon: fa:"),
        ("i:x", "invalid syntax"),
        ("k:1", "expect { or n"),
        ("v:", "EOF"),
    ] {
        let wrong = Set::from_json(&json!({name: {}})).expect_err("nobody understands it");
        assert!(wrong.contains(why), "{name}: {wrong}");
    }
    let set = Set::from_json(&json!({"z:later": {}, "f:a": {}})).expect("it is passed over");
    assert_eq!(paths(&set), [".a"]);
    assert_eq!(Set::from_json(&json!({})), Ok(Set::default()));
}

#[test]
fn a_difference_keeps_parents_and_children_apart() {
    let parent = Set::of([field(&["a"])]);
    let child = Set::of([field(&["a", "b"])]);
    let both = parent.union(&child);
    assert_eq!(paths(&both), [".a", ".a.b"]);
    assert_eq!(parent.difference(&child), parent);
    assert_eq!(child.difference(&parent), child);
    assert_eq!(both.difference(&child), parent);
    assert!(both.recursive_difference(&parent).is_empty());
    assert_eq!(both.recursive_difference(&child), parent);
    assert!(parent.intersection(&child).is_empty());
    assert_eq!(both.intersection(&child), child);
    assert_eq!((both.size(), Set::default().size()), (2, 0));
}

#[test]
fn fields_that_a_struct_names_are_members_with_what_is_below_them() {
    let (schema, ty) = (Schema::default(), ty());
    let set = Set::of([
        field(&["m", "x"]),
        field(&["s", "a"]),
        vec![
            PathElement::field_name_element("l"),
            key("p"),
            PathElement::field_name_element("v"),
        ],
    ]);
    let named = set.ensure_named_fields_are_members(&schema, &ty);
    assert_eq!(
        paths(&named),
        [".l", ".m", ".s", ".l[k=\"p\",p=\"TCP\"].v", ".m.x", ".s.a"]
    );
}

#[test]
fn a_value_mentions_its_leaves_and_the_elements_of_its_lists() {
    let (schema, ty) = (Schema::default(), ty());
    let value = json!({
        "m": {"x": 1, "e": null}, "s": {}, "l": [{"k": "p", "v": 1}, {"k": "q"}], "set": ["b", "a"],
        "atom": [1, 2], "whole": {"a": 1}, "flag": null,
    });
    let set = typed(&value, &schema, &ty)
        .to_field_set()
        .expect("its fields");
    assert_eq!(
        paths(&set),
        [
            ".atom",
            ".flag",
            ".s",
            ".whole",
            ".l[k=\"p\",p=\"TCP\"]",
            ".l[k=\"q\",p=\"TCP\"]",
            ".l[k=\"p\",p=\"TCP\"].k",
            ".l[k=\"p\",p=\"TCP\"].v",
            ".l[k=\"q\",p=\"TCP\"].k",
            ".m.e",
            ".m.x",
            ".set[=\"a\"]",
            ".set[=\"b\"]",
        ]
    );
    // Of what comes twice the list is mentioned, not what is in it.
    let twice = json!({"l": [{"k": "p", "v": 1}, {"k": "p", "v": 2}], "set": ["a", "a"]});
    let set = typed(&twice, &schema, &ty)
        .to_field_set()
        .expect("its fields");
    assert_eq!(paths(&set), [".l[k=\"p\",p=\"TCP\"]", ".set[=\"a\"]"]);
}

#[test]
fn what_does_not_fit_is_refused_in_upstreams_words() {
    let (schema, ty) = (Schema::default(), ty());
    for (value, why) in [
        (json!({"x": 1}), ".x: field not declared in schema"),
        (
            json!({"m": {"x": "1"}}),
            ".m.x: expected numeric (int or float), got string",
        ),
        (
            json!({"set": [1]}),
            ".set[=1]: expected string, got &value.valueUnstructured{Value:1}",
        ),
        (
            json!({"flag": "yes"}),
            ".flag: expected boolean, got &{yes}",
        ),
        (json!({"set": "x"}), ".set: expected list, got &{x}"),
        (json!({"m": [1]}), ".m: expected map, got &{[1]}"),
        (
            json!({"set": ["a", "a"]}),
            ".set: duplicate entries for key [=\"a\"]",
        ),
        (
            json!({"l": [{"k": "p"}, {"k": "p", "p": "TCP"}]}),
            ".l: duplicate entries for key [k=\"p\",p=\"TCP\"]",
        ),
        (
            json!({"set": [null]}),
            ".set: element 0: associative list without keys has an element that's an explicit null",
        ),
        (
            json!({"l": [1]}),
            ".l: element 0: associative list with keys may not have non-map elements",
        ),
        (
            json!({"flag": 1, "m": {"x": true}}),
            "errors:\n  .flag: expected boolean, got &{1}\n  .m.x: expected numeric (int or float), got bool",
        ),
    ] {
        let refused = TypedValue::as_typed(value.clone(), &schema, &ty, Duplicates::Refused);
        let wrong = refused.expect_err("it does not fit").to_string();
        assert_eq!(wrong, why, "{value}");
    }
}

#[test]
fn a_merge_keeps_the_order_of_what_is_applied() {
    let (schema, ty) = (Schema::default(), ty());
    let merged = |lhs: Json, rhs: Json| {
        let merged = typed(&lhs, &schema, &ty).merge(&typed(&rhs, &schema, &ty));
        merged.expect("it can be merged").value
    };
    for (lhs, rhs, both) in [
        (vec!["a", "b", "c"], vec!["c", "b"], vec!["a", "c", "b"]),
        (
            vec!["a", "b"],
            vec!["x", "b", "y"],
            vec!["a", "x", "b", "y"],
        ),
        (vec!["a", "b"], vec!["x", "y"], vec!["a", "b", "x", "y"]),
        (vec!["a", "b", "c"], vec!["a", "b"], vec!["a", "b", "c"]),
        (vec!["a", "a", "b"], vec!["b", "a"], vec!["b", "a"]),
    ] {
        assert_eq!(
            merged(json!({"set": lhs}), json!({"set": rhs})),
            json!({"set": both})
        );
    }
    let lhs = json!({"m": {"x": 1, "y": 1}, "l": [{"k": "p", "v": 1}], "atom": [1], "whole": {"a": 1}, "flag": true});
    let rhs = json!({"m": {"y": 2}, "l": [{"k": "q"}, {"k": "p", "p": "UDP"}], "atom": [2], "whole": {"b": 1}});
    assert_eq!(
        merged(lhs, rhs),
        json!({"m": {"x": 1, "y": 2}, "l": [{"k": "p", "v": 1}, {"k": "q"}, {"k": "p", "p": "UDP"}],
               "atom": [2], "whole": {"b": 1}, "flag": true})
    );
}

#[test]
fn a_comparison_tells_what_came_what_went_and_what_changed() {
    let (schema, ty) = (Schema::default(), ty());
    let compared = |lhs: Json, rhs: Json| {
        let compared = typed(&lhs, &schema, &ty).compare(&typed(&rhs, &schema, &ty));
        compared.expect("it can be compared")
    };
    let lhs = json!({"m": {"x": 1, "y": 1, "f": 2}, "l": [{"k": "p", "v": 1}], "set": ["a"], "atom": [1, 2]});
    let rhs = json!({"m": {"y": 2, "z": 1, "f": 2.0}, "l": [{"k": "q"}], "set": ["a", "b"], "atom": [2, 1]});
    let found = compared(lhs.clone(), rhs);
    assert_eq!(
        paths(&found.removed),
        [
            ".l[k=\"p\",p=\"TCP\"]",
            ".l[k=\"p\",p=\"TCP\"].k",
            ".l[k=\"p\",p=\"TCP\"].v",
            ".m.x"
        ]
    );
    assert_eq!(paths(&found.modified), [".atom", ".m.y"]);
    assert_eq!(
        paths(&found.added),
        [
            ".l[k=\"q\",p=\"TCP\"]",
            ".l[k=\"q\",p=\"TCP\"].k",
            ".m.z",
            ".set[=\"b\"]"
        ]
    );
    assert!(compared(lhs.clone(), lhs).is_same());
    // An empty map and none are not the same, and a list in another order is.
    let found = compared(
        json!({"s": {}, "set": ["a", "b"]}),
        json!({"set": ["b", "a"]}),
    );
    assert_eq!(
        (paths(&found.removed), found.modified.is_empty()),
        (vec![".s".to_owned()], true)
    );
    let once = json!({"l": [{"k": "p", "v": 1}]});
    let twice = json!({"l": [{"k": "p", "v": 1}, {"k": "p", "v": 2}]});
    let found = compared(once.clone(), twice.clone());
    assert_eq!(paths(&found.added), [".l[k=\"p\",p=\"TCP\"]"]);
    assert_eq!(paths(&found.removed).len(), 3);
    let found = compared(twice, once);
    assert_eq!(paths(&found.removed), [".l[k=\"p\",p=\"TCP\"]"]);
}

#[test]
fn items_are_removed_and_taken_out() {
    let (schema, ty) = (Schema::default(), ty());
    let value = json!({"m": {"x": 1, "y": 1}, "l": [{"k": "p", "v": 1}, {"k": "q", "v": 1}], "set": ["a"], "atom": [1]});
    let items = Set::of([
        field(&["m", "x"]),
        field(&["atom"]),
        vec![PathElement::field_name_element("l"), key("p")],
        vec![
            PathElement::field_name_element("l"),
            key("q"),
            PathElement::field_name_element("v"),
        ],
        vec![
            PathElement::field_name_element("set"),
            PathElement::Value("a".into()),
        ],
    ]);
    let value = typed(&value, &schema, &ty);
    assert_eq!(
        value.remove_items(&items).value,
        json!({"m": {"y": 1}, "l": [{"k": "q"}], "set": []})
    );
    assert_eq!(
        value.extract_items(&items).value,
        json!({"m": {"x": 1}, "l": [{"k": "p", "v": 1}, {"v": 1}], "set": ["a"], "atom": [1]})
    );
}

#[test]
fn what_became_atomic_is_owned_as_a_whole() {
    let (schema, ty) = (Schema::default(), ty());
    let live = typed(&json!({"whole": {"a": 1}, "m": {"x": 1}}), &schema, &ty);
    let before = Set::of([field(&["whole", "a"]), field(&["m", "x"])]);
    let after = reconcile_field_set_with_schema(&before, &live).expect("it can be told");
    assert_eq!(
        after.map(|set| paths(&set)),
        Some(vec![".whole".to_owned(), ".m.x".to_owned()])
    );
    let same = Set::of([field(&["whole"]), field(&["m", "x"])]);
    assert_eq!(reconcile_field_set_with_schema(&same, &live), Ok(None));
}

fn apply(
    live: &Json,
    config: &Json,
    managers: &ManagedFields,
    manager: &str,
    force: bool,
) -> Result<(Json, ManagedFields), MergeError> {
    let (schema, ty) = (Schema::default(), ty());
    let config = typed(config, &schema, &ty);
    let live = typed(live, &schema, &ty);
    let (new, managers) = UPDATER.apply(&live, &config, "v1", managers.clone(), manager, force)?;
    Ok((new.map_or(live.value, |new| new.value), managers))
}

#[test]
fn an_applier_that_lets_go_prunes_what_nobody_else_owns() {
    let none = ManagedFields::new();
    let (live, managers) = apply(
        &json!({}),
        &json!({"m": {"x": 1, "y": 1}}),
        &none,
        "a",
        false,
    )
    .expect("applied");
    let (live, managers) =
        apply(&live, &json!({"m": {"x": 1}}), &managers, "b", false).expect("both own it");
    let (live, managers) =
        apply(&live, &json!({"flag": true}), &managers, "a", false).expect("applied");
    assert_eq!(live, json!({"m": {"x": 1}, "flag": true}));
    assert_eq!(paths(&managers["a"].set), [".flag"]);
    assert_eq!(paths(&managers["b"].set), [".m.x"]);
}

#[test]
fn a_field_that_another_owns_is_a_conflict_until_it_is_forced() {
    let none = ManagedFields::new();
    let (live, managers) =
        apply(&json!({}), &json!({"m": {"x": 1}}), &none, "a", false).expect("applied");
    let config = json!({"m": {"x": 2}});
    let Err(MergeError::Conflicts(conflicts)) = apply(&live, &config, &managers, "b", false) else {
        panic!("it is a conflict");
    };
    assert_eq!(conflicts.to_string(), "conflict with \"a\": .m.x");
    let (live, managers) = apply(&live, &config, &managers, "b", true).expect("forced");
    assert_eq!(live, config);
    assert_eq!(managers.keys().collect::<Vec<_>>(), ["b"]);
}

#[test]
fn managers_of_versions_that_are_gone_are_forgotten() {
    let gone = VersionedSet {
        set: Set::of([field(&["m", "x"])]),
        api_version: "v0".to_owned(),
        applied: true,
    };
    let managers = ManagedFields::from([("old".to_owned(), gone)]);
    let (_, managers) =
        apply(&json!({}), &json!({"m": {"x": 2}}), &managers, "a", false).expect("nobody owns it");
    assert_eq!(managers.keys().collect::<Vec<_>>(), ["a"]);
}

#[test]
fn what_a_strategy_resets_is_owned_by_nobody() {
    let (schema, ty) = (Schema::default(), ty());
    let updater = Updater {
        converter: OneVersion,
        ignored: Some(Set::of([field(&["s"])])),
    };
    let (live, new) = (json!({}), json!({"s": {"a": 1}, "m": {"x": 1}}));
    let none = ManagedFields::new();
    let (live, new) = (typed(&live, &schema, &ty), typed(&new, &schema, &ty));
    let managers = updater
        .update(&live, &new, "v1", none.clone(), "u")
        .expect("updated");
    assert_eq!(paths(&managers["u"].set), [".m", ".m.x"]);
    let (_, managers) = updater
        .apply(&live, &new, "v1", none, "a", false)
        .expect("applied");
    assert_eq!(paths(&managers["a"].set), [".m.x"]);
}
