//! Whatever a client sends, the apiserver answers it, and goes on.
//!
//! An input is up to eight requests, with the byte 0x1e between them: a line of method, path with query, and
//! content type, then the body. `seeds` makes such inputs of what was recorded.

#![no_main]

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value as Json, json};
use wavetank_oracle::ask;

const BETWEEN: u8 = 0x1e;
const MOST: usize = 8;

/// `None`: not even the line is text.
fn request(input: &[u8]) -> Option<Json> {
    let end = input.iter().position(|byte| *byte == b'\n');
    let (line, body) = input.split_at(end.unwrap_or(input.len()));
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let content_type = words.next().unwrap_or_default();
    let known = ["GET", "POST", "PUT", "PATCH", "DELETE"];
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    if !known.contains(&method) || query.contains("watch") {
        return None; // a watch has no one answer
    }
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let query: BTreeMap<&str, Vec<&str>> = pairs.fold(BTreeMap::new(), |mut query, (name, value)| {
        query.entry(name).or_default().push(value);
        query
    });
    Some(json!({
        "method": method,
        "path": path,
        "query": query,
        "contentType": content_type,
        "bytes": STANDARD.encode(body.get(1..).unwrap_or_default()),
    }))
}

fuzz_target!(|input: &[u8]| {
    let parts = input.split(|byte| *byte == BETWEEN).take(MOST);
    let requests: Vec<Json> = parts.filter_map(request).collect();
    for (request, answer) in requests.iter().zip(ask(&requests)) {
        let code = answer["code"].as_u64().unwrap_or(0);
        assert!((200..600).contains(&code), "{request} was answered {answer}");
    }
});
