//! JSON trees: what objects are made of in requests and answers, and the few ways to reach into them.
//!
//! Maps are sorted, so nothing depends on the order in which a client wrote its fields.

/// A JSON tree.
pub type Json = serde_json::Value;
/// A JSON object.
pub type Map = serde_json::Map<String, Json>;

/// What lies at this path of field names; `None` as soon as one is absent or not an object.
pub fn at<'a>(json: &'a Json, path: &[&str]) -> Option<&'a Json> {
    path.iter().try_fold(json, |json, field| json.get(field))
}

/// The text at this path; empty if there is none, as a Go string would be.
pub fn text<'a>(json: &'a Json, path: &[&str]) -> &'a str {
    at(json, path).and_then(Json::as_str).unwrap_or_default()
}

/// The number at this path.
pub fn number(json: &Json, path: &[&str]) -> Option<i64> {
    at(json, path).and_then(Json::as_i64)
}

/// The elements at this path; none if there is no list.
pub fn list<'a>(json: &'a Json, path: &[&str]) -> &'a [Json] {
    let list = at(json, path).and_then(Json::as_array);
    list.map_or(&[], Vec::as_slice)
}

/// The object at this path, made if it is absent or null. What is in the way is replaced.
pub fn map_mut<'a>(json: &'a mut Json, path: &[&str]) -> &'a mut Map {
    let mut here = json;
    for field in path {
        if !here.is_object() {
            *here = Json::Object(Map::new());
        }
        let Json::Object(map) = here else {
            unreachable!("it was just made one")
        };
        here = map.entry(*field).or_insert(Json::Null);
    }
    if !here.is_object() {
        *here = Json::Object(Map::new());
    }
    match here {
        Json::Object(map) => map,
        _ => unreachable!("it was just made one"),
    }
}

/// Puts a value at this path, making the objects on the way.
pub fn set(json: &mut Json, path: &[&str], value: impl Into<Json>) {
    let (field, parents) = path.split_last().expect("a path names a field");
    map_mut(json, parents).insert((*field).to_owned(), value.into());
}

/// Takes away what lies at this path.
pub fn remove(json: &mut Json, path: &[&str]) -> Option<Json> {
    let (field, parents) = path.split_last().expect("a path names a field");
    let mut here = json;
    for parent in parents {
        here = here.get_mut(parent)?;
    }
    here.as_object_mut()?.remove(*field)
}

/// How many bytes its text takes, about: what etcd's limits count.
pub fn size(json: &Json) -> usize {
    match json {
        Json::Null | Json::Bool(true) => 4,
        Json::Bool(false) => 5,
        Json::Number(_) => 8,
        Json::String(text) => text.len() + 2,
        Json::Array(items) => 2 + items.iter().map(|item| size(item) + 1).sum::<usize>(),
        Json::Object(map) => {
            let fields = map.iter().map(|(name, value)| name.len() + 4 + size(value));
            2 + fields.sum::<usize>()
        }
    }
}

/// A float64 as Go writes it: one without a fraction looks like a whole number.
pub fn go_number(float: f64) -> Json {
    // Beyond, Go writes an exponent.
    const LARGEST: f64 = 1e15;
    match float.fract() == 0.0 && float.abs() < LARGEST {
        true => (float as i64).into(),
        false => float.into(),
    }
}

/// All numbers of a tree as Go writes them.
pub fn go_numbers(json: &mut Json) {
    match json {
        Json::Number(number) if number.is_f64() => {
            *json = go_number(number.as_f64().unwrap_or_default());
        }
        Json::Array(items) => items.iter_mut().for_each(go_numbers),
        Json::Object(map) => map.values_mut().for_each(go_numbers),
        _ => {}
    }
}
