//! managedFields in recordings: some keep them, sorted by operation, manager, subresource and version, since the server
//! sorts by operation and then by time, of which it keeps seconds; most had them taken out.

use serde_json::Value as Json;

use crate::corpus::Recording;

const FIELD: &str = "managedFields";

/// Does the recording tell who manages the objects in it?
pub(crate) fn are_kept(recording: &Recording) -> bool {
    fn shows(json: &Json) -> bool {
        match json {
            Json::Array(items) => items.iter().any(shows),
            Json::Object(fields) => fields.contains_key(FIELD) || fields.values().any(shows),
            _ => false,
        }
    }
    let answered = |line: &Json| {
        [&line["response"]["body"], &line["events"]]
            .into_iter()
            .any(shows)
    };
    recording.lines.iter().any(answered)
}

/// Takes them out of an answer, or puts them into the order of recordings.
pub(crate) fn normalise(json: &mut Json, kept: bool) {
    match json {
        Json::Array(items) => items.iter_mut().for_each(|item| normalise(item, kept)),
        Json::Object(fields) => {
            if !kept {
                fields.remove(FIELD);
            }
            if let Some(Json::Array(entries)) = fields.get_mut(FIELD) {
                entries.sort_by_key(|entry| {
                    ["operation", "manager", "subresource", "apiVersion"]
                        .map(|field| entry[field].as_str().unwrap_or_default().to_owned())
                });
            }
            fields.values_mut().for_each(|value| normalise(value, kept));
        }
        Json::String(text) if kept => sort_in(text),
        _ => {}
    }
}

/// Sorts those of an object that a message quotes. Each entry begins with what it is sorted by, and then tells its time.
fn sort_in(text: &mut String) {
    const BEGIN: &str = "\\\"managedFields\\\":[";
    let Some(begin) = text.find(BEGIN).map(|at| at + BEGIN.len()) else {
        return;
    };
    let (mut entries, mut depth, mut from, mut end) = (Vec::new(), 0, begin, None);
    for (at, c) in text[begin..].char_indices() {
        let at = begin + at;
        match c {
            '{' | '[' => depth += 1,
            ']' if depth == 0 => {
                entries.push(&text[from..at]);
                end = Some(at);
                break;
            }
            '}' | ']' => depth -= 1,
            ',' if depth == 0 => {
                entries.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    let Some(end) = end else {
        return;
    };
    entries.sort_by_key(|entry| entry.split("time").next());
    *text = format!("{}{}{}", &text[..begin], entries.join(","), &text[end..]);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn recording(body: Json) -> Recording {
        let (name, file) = (String::new(), String::new());
        let lines = vec![json!({"cluster": {}}), json!({"response": {"body": body}})];
        Recording { name, file, lines }
    }

    #[test]
    fn those_in_a_message_are_sorted_past_their_time() {
        let entry = |manager: &str, time: u32| json!({"manager": manager, "time": time, "fieldsV1": {"k:{\"a\":[1]}": {}}});
        let message = |entries: [Json; 2]| {
            let [one, other] = entries.map(|entry| entry.to_string());
            let object = format!("{{\"managedFields\":[{one},{other}],\"name\":\"x\"}}");
            json!(format!("Invalid value: {object:?}: bad"))
        };
        let (a, b) = (json!({"a": 1}), json!({"b": [2, 3]}));
        let mut turned = message([b.clone(), a.clone()]);
        normalise(&mut turned, true);
        assert_eq!(turned, message([a, b]));
        let mut same = message([entry("m", 1), entry("n", 0)]);
        let before = same.clone();
        normalise(&mut same, true);
        assert_eq!(same, before);
    }

    #[test]
    fn they_are_taken_out_or_sorted() {
        let entry =
            |operation: &str, manager: &str| json!({"operation": operation, "manager": manager});
        let (a, b, c) = (
            entry("Apply", "z"),
            entry("Update", "a"),
            entry("Update", "b"),
        );
        let mut list = json!({"items": [{"metadata": {"managedFields": [c, b, a]}}]});
        assert!(are_kept(&recording(list.clone())));
        normalise(&mut list, true);
        assert_eq!(
            list,
            json!({"items": [{"metadata": {"managedFields": [a, b, c]}}]})
        );
        normalise(&mut list, false);
        assert_eq!(list, json!({"items": [{"metadata": {}}]}));
        assert!(!are_kept(&recording(list)));
        assert!(!are_kept(&recording(json!("\"managedFields\":[]"))));
    }
}
