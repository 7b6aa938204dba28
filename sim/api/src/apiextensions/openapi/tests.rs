//! What the validator says, in upstream's words.

use serde_json::json;

use super::*;

fn said(schema: &Json, value: &Json) -> String {
    validate("", value, &Props::of(schema), None).to_string()
}

#[test]
fn values_are_told_what_they_should_be() {
    let n = json!({"properties": {"n": {"type": "integer", "minimum": 1, "multipleOf": 2}}});
    assert_eq!(
        said(&n, &json!({"n": 2.5})),
        "[n: Invalid value: \"number\": n in body must be of type integer: \"number\", \
         <nil>: Invalid value: \"\": Checked value must be of type integer (default format) in n, \
         n: Invalid value: 2.5: n in body should be a multiple of 2]"
    );
    assert_eq!(
        said(&n, &json!({"n": 0})),
        "n: Invalid value: 0: n in body should be greater than or equal to 1"
    );
    let half = json!({"properties": {"n": {"type": "integer", "multipleOf": 0.5}}});
    assert_eq!(
        said(&half, &json!({"n": 3})),
        "n: Invalid value: 0: factor MultipleOf declared for n must be positive: 0"
    );
    let of = json!({"properties": {"oo": {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}}});
    assert_eq!(
        said(&of, &json!({"oo": {}})),
        "[<nil>: Invalid value: \"\": \"oo\" must validate one and only one schema (oneOf). Found \
         none valid, oo.a: Required value]"
    );
    let e = json!({"properties": {"e": {"type": "string", "enum": ["x", "y"]}}});
    assert_eq!(
        said(&e, &json!({"e": "z"})),
        "e: Unsupported value: \"z\": supported values: \"x\", \"y\""
    );
}

#[test]
fn what_an_update_leaves_alone_is_forgiven() {
    let schema = Props::of(&json!({"properties": {
        "n": {"type": "integer", "minimum": 50},
        "l": {"type": "array", "items": {"type": "string", "pattern": "^z"}},
    }}));
    let old = json!({"n": 2, "l": ["a"]});
    let update = |new: &Json| {
        let schema = &schema;
        let old = &old;
        validate("", new, schema, Some(Correlated { new, old, schema })).to_string()
    };
    assert_eq!(update(&json!({"n": 2, "l": ["a"], "more": 1})), "[]");
    assert_eq!(
        update(&json!({"n": 4, "l": ["a"]})),
        "n: Invalid value: 4: n in body should be greater than or equal to 50"
    );
    let lists = update(&json!({"n": 2, "l": ["a", "q"]}));
    assert!(lists.contains("l[0] in body should match '^z'"), "{lists}");
}
