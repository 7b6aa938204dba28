//! What the recorder did and its lines do not tell.

use serde_json::Value as Json;

/// Resources on which controllers of the server itself act. Of a request about one of them the recorder kept the writes up
/// to that of the object in the answer: what came later is in the next line.
const ASYNCHRONOUS: [&str; 3] = [
    "/customresourcedefinitions",
    "/apiservices",
    "/servicecidrs",
];

/// Documents that nobody gets who does not ask for them: kind, group and version.
const TRANSFORMED: [(&str, &str, &str); 4] = [
    ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2"),
    ("PartialObjectMetadata", "meta.k8s.io", "v1"),
    ("PartialObjectMetadataList", "meta.k8s.io", "v1"),
    ("Table", "meta.k8s.io", "v1"),
];

/// The request of a line. Older recordings do not tell its Accept header: it was the one that asks for the kind of document
/// that the server answered with.
pub(crate) fn with_accept(line: &Json) -> Json {
    let mut request = line["request"].clone();
    let body = &line["response"]["body"];
    let is_told = request.get("headers").is_some() || request.get("accept").is_some();
    let fits = |(kind, group, version): &(&str, &str, &str)| {
        body["kind"] == *kind && body["apiVersion"] == format!("{group}/{version}")
    };
    if let Some((kind, group, version)) = TRANSFORMED.iter().find(|of| !is_told && fits(of)) {
        request["accept"] = format!("application/json;as={kind};g={group};v={version}").into();
    }
    request
}

/// The revision after which the writes of a request are left to the next line; `None` if none are. Before all of them
/// stands a revision that is no number.
pub(crate) fn last_write_of(line: &Json) -> Option<&str> {
    let request = line.get("request")?;
    let path = request["path"].as_str().unwrap_or_default();
    if !ASYNCHRONOUS.iter().any(|part| path.contains(part)) {
        return None;
    }
    let response = &line["response"];
    let is_done = response["code"].as_u64().is_some_and(|code| code < 300);
    let revision = response["body"]["metadata"]["resourceVersion"].as_str();
    Some(
        revision
            .filter(|_| is_done && request["method"] != "GET")
            .unwrap_or_default(),
    )
}
