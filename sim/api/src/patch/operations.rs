//! JSON patches (RFC 6902), as `evanphx/json-patch` v4 applies them (`patch.go`), which is more
//! lenient than the RFC: a missing field may be replaced, and null tests equal to what is absent.

use crate::json::{Json, Map};
use wavetank_engine::mutant;

/// An operation, as far as it is there.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Operation {
    pub(super) op: Option<String>,
    pub(super) path: Option<String>,
    pub(super) from: Option<String>,
    pub(super) value: Option<Json>,
}

/// A patch that does not apply; upstream does not tell clients why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct DoesNotApply;

type Applied<T = ()> = Result<T, DoesNotApply>;

/// Where the patch went: the containers it had to open, as a tree of objects.
pub(super) type Touched = Json;

/// Applies the operations in turn.
pub(super) fn apply(document: Json, operations: &[Operation]) -> Applied<(Json, Touched)> {
    let mut document = document;
    let mut touched = Json::Object(Map::new());
    for operation in operations {
        let mut target = Target {
            document: &mut document,
            touched: &mut touched,
        };
        target.apply(operation)?;
    }
    Ok((document, touched))
}

struct Target<'a> {
    document: &'a mut Json,
    touched: &'a mut Touched,
}

impl Target<'_> {
    fn apply(&mut self, operation: &Operation) -> Applied {
        let path = operation.path.as_deref().ok_or(DoesNotApply);
        let from = operation.from.as_deref().ok_or(DoesNotApply);
        let value = || operation.value.clone().unwrap_or(Json::Null);
        match operation.op.as_deref() {
            Some("add") => {
                let (container, key) = self.find_object(path?)?;
                add(container, &key, value())
            }
            Some("remove") => {
                let (container, key) = self.find_object(path?)?;
                remove(container, &key)
            }
            Some("replace") => match path? {
                "" => {
                    let value = value();
                    if !value.is_object() && !value.is_array() {
                        return Err(DoesNotApply);
                    }
                    *self.touched = value.clone();
                    *self.document = value;
                    Ok(())
                }
                path => {
                    let (container, key) = self.find_object(path)?;
                    get(container, &key)?;
                    set(container, &key, value())
                }
            },
            Some("move") => {
                let (container, key) = self.find_object(from?)?;
                let value = get(container, &key)?.clone();
                remove(container, &key)?;
                let (container, key) = self.find_object(path?)?;
                add(container, &key, value)
            }
            Some("copy") => {
                let (container, key) = self.find_object(from?)?;
                let value = get(container, &key)?.clone();
                let (container, key) = self.find_object(path?)?;
                add(container, &key, value)
            }
            Some("test") => {
                let path = path?;
                let found = match path {
                    "" => &*self.document,
                    path => {
                        let (container, key) = self.find_object(path)?;
                        get(container, &key)?
                    }
                };
                match *found == value() {
                    true => Ok(()),
                    false
                        if mutant!(
                            "test-always-holds",
                            "a `test` of a JSON patch holds whatever is there"
                        ) =>
                    {
                        Ok(())
                    }
                    false => Err(DoesNotApply),
                }
            }
            _ => Err(DoesNotApply),
        }
    }

    /// `findObject`: the container that the last part of a path lies in.
    fn find_object(&mut self, path: &str) -> Applied<(&mut Json, String)> {
        let mut parts: Vec<&str> = path.split('/').collect();
        let last = parts.pop().unwrap_or_default();
        if parts.is_empty() {
            return Err(DoesNotApply);
        }
        let mut here = &mut *self.document;
        let mut touched = &mut *self.touched;
        for part in &parts[1..] {
            let part = unescape(part);
            let at = match here {
                Json::Array(items) => index(&part, items.len())?.to_string(),
                _ => part.clone(),
            };
            here = match here {
                Json::Object(map) => map.get_mut(&part),
                Json::Array(items) => {
                    let at = index(&part, items.len())?;
                    items.get_mut(at)
                }
                _ => None,
            }
            .filter(|next| next.is_object() || next.is_array())
            .ok_or(DoesNotApply)?;
            touched = crate::json::map_mut(touched, &[])
                .entry(at)
                .or_insert(Json::Null);
        }
        crate::json::map_mut(touched, &[]);
        Ok((here, unescape(last)))
    }
}

fn unescape(part: &str) -> String {
    // One pass, as strings.NewReplacer makes it.
    let mut out = String::new();
    let mut rest = part;
    while let Some(at) = rest.find('~') {
        out.push_str(&rest[..at]);
        let (char, length) = match rest.as_bytes().get(at + 1) {
            Some(b'1') => ('/', 2),
            Some(b'0') => ('~', 2),
            _ => ('~', 1),
        };
        out.push(char);
        rest = &rest[at + length..];
    }
    out + rest
}

/// An index below `length`; negative ones count from the end.
fn index(key: &str, length: usize) -> Applied<usize> {
    let number: i64 = key.parse().map_err(|_| DoesNotApply)?;
    let length = i64::try_from(length).map_err(|_| DoesNotApply)?;
    let number = if number < 0 { number + length } else { number };
    if !(0..length).contains(&number) {
        return Err(DoesNotApply);
    }
    usize::try_from(number).map_err(|_| DoesNotApply)
}

fn get<'a>(container: &'a Json, key: &str) -> Applied<&'a Json> {
    match container {
        Json::Object(map) => Ok(map.get(key).unwrap_or(&Json::Null)),
        Json::Array(items) => Ok(&items[index(key, items.len())?]),
        _ => Err(DoesNotApply),
    }
}

fn set(container: &mut Json, key: &str, value: Json) -> Applied {
    match container {
        Json::Object(map) => {
            map.insert(key.to_owned(), value);
        }
        Json::Array(items) => {
            let at = index(key, items.len())?;
            items[at] = value;
        }
        _ => return Err(DoesNotApply),
    }
    Ok(())
}

fn add(container: &mut Json, key: &str, value: Json) -> Applied {
    match container {
        Json::Object(map) => {
            map.insert(key.to_owned(), value);
        }
        Json::Array(items) if key == "-" => items.push(value),
        Json::Array(items) => {
            let at = index(key, items.len() + 1)?;
            items.insert(at, value);
        }
        _ => return Err(DoesNotApply),
    }
    Ok(())
}

fn remove(container: &mut Json, key: &str) -> Applied {
    match container {
        Json::Object(map) => map.remove(key).map(|_| ()).ok_or(DoesNotApply),
        Json::Array(items) => {
            let at = index(key, items.len())?;
            items.remove(at);
            Ok(())
        }
        _ => Err(DoesNotApply),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run(document: Json, patch: &Json) -> Applied<Json> {
        let text = |json: &Json, field| json.get(field).and_then(Json::as_str).map(str::to_owned);
        let operations: Vec<Operation> = patch
            .as_array()
            .expect("a list")
            .iter()
            .map(|json| Operation {
                op: text(json, "op"),
                path: text(json, "path"),
                from: text(json, "from"),
                value: json.get("value").cloned(),
            })
            .collect();
        apply(document, &operations).map(|(document, _)| document)
    }

    #[test]
    fn operations_apply_in_turn() {
        let document = json!({"a": {"b": [1, 2]}, "c/d": 1});
        let patch = json!([
            {"op": "add", "path": "/a/b/-", "value": 3},
            {"op": "add", "path": "/a/b/0", "value": 0},
            {"op": "remove", "path": "/a/b/-1"},
            {"op": "test", "path": "/a/nope", "value": null},
            {"op": "replace", "path": "/a/new", "value": {"x": 1}},
            {"op": "copy", "from": "/a/new", "path": "/e"},
            {"op": "move", "from": "/c~1d", "path": "/e/~0y"},
        ]);
        let expected = json!({"a": {"b": [0, 1, 2], "new": {"x": 1}}, "e": {"x": 1, "~y": 1}});
        assert_eq!(run(document, &patch), Ok(expected));
    }

    #[test]
    fn what_does_not_apply_is_refused() {
        let document = || json!({"a": [1], "s": "x"});
        for operation in [
            json!({"op": "remove", "path": "/nope"}),
            json!({"op": "remove", "path": "/a/9"}),
            json!({"op": "add", "path": "/nope/x", "value": 1}),
            json!({"op": "add", "path": "/s/x", "value": 1}),
            json!({"op": "add", "path": "/a/x", "value": 1}),
            json!({"op": "test", "path": "/s", "value": "y"}),
            json!({"op": "frobnicate", "path": "/s"}),
            json!({"op": "add", "value": 1}),
            json!({"path": "/s"}),
            json!({"op": "add", "path": "", "value": 1}),
            json!({"op": "replace", "path": "", "value": 1}),
        ] {
            assert_eq!(run(document(), &json!([operation])), Err(DoesNotApply));
        }
        let whole = json!([{"op": "replace", "path": "", "value": {"n": 1}}]);
        assert_eq!(run(document(), &whole), Ok(json!({"n": 1})));
    }
}
