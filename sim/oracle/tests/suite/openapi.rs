//! The OpenAPI documents of the simulated server against those that Kubernetes v1.36.2 publishes, without descriptions. They
//! are no part of Wavetank: `WAVETANK_OPENAPI` names the folder that has them, `api/openapi-spec/v3` of Kubernetes' sources.
//! Where it is not set the test says so and passes.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value as Json;
use wavetank_api::discovery::groups_of;
use wavetank_api::kinds::Kinds;
use wavetank_api::openapi::{self, Documents};
use wavetank_releases::V1_36;

const FOLDER: &str = "WAVETANK_OPENAPI";

/// What differs, as `DOCUMENT PLACE`, with the reason.
const KNOWN: &str = include_str!("../../openapi-known-differences.txt");

/// `apis__apps__v1_openapi.json` is the document of `apis/apps/v1`.
fn published(folder: &Path) -> Vec<(String, Json)> {
    let files = fs::read_dir(folder).expect("the folder can be read");
    let names = files.map(|file| file.expect("it can be read").file_name());
    let mut names: Vec<String> = names.map(|name| name.display().to_string()).collect();
    names.sort();
    let versions = names.iter().filter_map(|name| {
        let path = name.strip_suffix("_openapi.json")?.replace("__", "/");
        let version = path.rsplit('/').next().filter(|_| path.contains('/'))?;
        // Alpha and beta are off by default.
        let is_stable = version
            .strip_prefix('v')?
            .chars()
            .all(|c| c.is_ascii_digit());
        is_stable.then_some((path, name))
    });
    let read = |(path, name): (String, &String)| {
        let text = fs::read_to_string(folder.join(name)).expect("the file can be read");
        let mut document: Json = serde_json::from_str(&text).expect("JSON");
        if let Some(paths) = document["paths"].as_object_mut() {
            // Deprecated for long.
            paths.retain(|path, _| !path.contains("/watch/"));
        }
        (path, document)
    };
    versions.map(read).collect()
}

fn ours() -> Documents {
    let kinds = Kinds::default().with_definitions();
    openapi::documents(&groups_of(&kinds, &[], V1_36), std::iter::empty())
}

/// A document as it is compared: without descriptions, and values of enums, which what is published leaves out. What is
/// published is of a server with everything alpha: CBOR is off by default, and left out here.
fn plain(json: &Json, is_fields: bool) -> Json {
    match json {
        Json::Object(map) => {
            let kept = map.iter().filter(|(name, value)| {
                let is_left_out = *name == "description" && value.is_string()
                    || *name == "enum"
                    || name.contains("cbor");
                is_fields || !is_left_out
            });
            let inside = |name: &str| name == "properties" && !is_fields;
            kept.map(|(name, value)| (name.clone(), plain(value, inside(name))))
                .collect()
        }
        Json::Array(all) if all.iter().all(Json::is_string) => {
            let mut all = all.clone();
            all.sort_by_key(|text| text.as_str().map(str::to_owned));
            all.into()
        }
        Json::Array(all) => all.iter().map(|inner| plain(inner, false)).collect(),
        other => other.clone(),
    }
}

/// The places below a part of two documents that differ: the schema, or the path.
fn differing(part: &str, ours: &Json, published: &Json) -> Vec<String> {
    let all = |of: &Json| of.pointer(part).and_then(Json::as_object).cloned();
    let (ours, published) = (
        all(ours).unwrap_or_default(),
        all(published).unwrap_or_default(),
    );
    let names: BTreeSet<&String> = ours.keys().chain(published.keys()).collect();
    let differs = |name: &&&String| ours.get(**name) != published.get(**name);
    names
        .iter()
        .filter(differs)
        .map(|name| {
            let what = match (ours.contains_key(*name), published.contains_key(*name)) {
                (false, _) => "is missing",
                (_, false) => "is not published",
                _ => "differs",
            };
            format!("{name} {what}")
        })
        .collect()
}

#[test]
fn documents_are_those_that_are_published() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        eprintln!("{FOLDER} is not set: nothing to compare with");
        return;
    };
    let ours = ours();
    let mut all = BTreeSet::new();
    let mut compared = 0;
    for (path, published) in published(Path::new(&folder)) {
        let Some(own) = ours.get(&path) else {
            all.insert(format!("{path} is missing"));
            continue;
        };
        let (own, published) = (plain(&own.body, false), plain(&published, false));
        for part in ["/components/schemas", "/paths", "/info"] {
            all.extend(differing(part, &own, &published));
            compared += published
                .pointer(part)
                .and_then(Json::as_object)
                .map_or(0, |own| own.len());
        }
    }
    let known: BTreeSet<String> = KNOWN
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .filter_map(|line| line.split_once(": ").map(|(place, _)| place.to_owned()))
        .collect();
    let new: Vec<_> = all.difference(&known).collect();
    let gone: Vec<_> = known.difference(&all).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "new: {new:#?}\ngone: {gone:#?}"
    );
    assert!(compared > 1_400, "{compared}");
}
