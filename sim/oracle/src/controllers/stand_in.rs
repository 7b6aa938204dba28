//! Controllers that are not simulated: what they wrote is played, each write once the writes before it were seen.

use std::time::Duration;

use serde_json::{Value as Json, json};
use wavetank_api::{Resource, Stamp};

use super::Replay;
use super::write::{SERVER, resource_of};

/// So long a write before it is waited for.
const PATIENCE: Duration = Duration::from_millis(300);

impl Replay {
    /// Plays the writes of those who are not simulated.
    pub(super) fn stand_in(&mut self, recorded: &[Json]) -> Result<(), String> {
        let mut before = 0;
        for (at, write) in recorded.iter().enumerate() {
            let user = write["user"].as_str().unwrap_or_default();
            let resource = write["resource"].as_str().unwrap_or_default();
            if self.is_compared(user, resource, &write["body"]) {
                before += 1;
                continue;
            }
            let is_done = write["code"].as_u64().is_some_and(|code| code < 400);
            if user == SERVER || !is_done {
                continue;
            }
            self.await_writes(before);
            if self.is_conflict_of(&recorded[at..]) {
                self.await_read(write);
            }
            if let Some(request) = self.request_of(write) {
                self.send(&request)?;
            }
        }
        Ok(())
    }

    /// Until so many writes were seen, or nobody writes.
    fn await_writes(&mut self, count: usize) {
        let end = self.lab.now() + PATIENCE;
        self.look();
        while self.seen.len() < count && self.lab.now() < end {
            self.lab.run(Duration::from_millis(1));
            self.look();
        }
    }

    /// Is the next write of the same object one of a controller that is simulated, and was it refused because of this one?
    pub(super) fn is_conflict_of(&self, recorded: &[Json]) -> bool {
        let Some((first, rest)) = recorded.split_first() else {
            return false;
        };
        let is_ours = |own: &Json| {
            let text = |field: &str| own[field].as_str().unwrap_or_default();
            self.is_compared(text("user"), text("resource"), &own["body"])
        };
        let same =
            |own: &&Json| own["resource"] == first["resource"] && own["name"] == first["name"];
        let next = rest.iter().find(same);
        !is_ours(first) && next.is_some_and(|own| own["code"] == 409 && is_ours(own))
    }

    /// Who is refused has read the object before this write: until somebody has.
    pub(super) fn await_read(&mut self, write: &Json) {
        let text = |field: &str| write[field].as_str().unwrap_or_default();
        let Some((resource, _)) = resource_of(text("resource")) else {
            return;
        };
        let name = self.names.fill_text(text("name"));
        let (namespace, name) = name.split_once('/').unwrap_or(("", &name));
        let path = resource.path(namespace, name);
        let end = self.lab.now() + PATIENCE;
        while !self.read.contains(&path) && self.lab.now() < end {
            self.lab.run(Duration::from_micros(10));
            self.look();
        }
    }

    /// The request that wrote this. Preconditions are left out: it was done.
    fn request_of(&mut self, write: &Json) -> Option<Json> {
        let (resource, subresource) = resource_of(write["resource"].as_str()?)?;
        let stored = self.lab.all("/registry/");
        let now = Stamp::of(self.lab.now()).seconds();
        let name = self.names.fill_text(write["name"].as_str()?);
        let (namespace, name) = name.split_once('/').unwrap_or(("", &name));
        let mut body = self.names.fill(&write["body"], &now, &stored);
        if let Some(map) = body.as_object_mut() {
            map.remove("preconditions");
        }
        // To index would add what is not there, and a patch with `metadata: null` is refused.
        let metadata = body.get_mut("metadata").and_then(Json::as_object_mut);
        if let Some(map) = metadata {
            map.remove("resourceVersion");
        }
        let mut path = resource.path(namespace, name);
        let (method, content_type) = match write["verb"].as_str()? {
            "create" => {
                body["apiVersion"] = resource.api_version().into();
                path = resource.path(namespace, "");
                ("POST", "application/json")
            }
            "update" => {
                let at = stored
                    .iter()
                    .find(|object| is(object, resource, namespace, name))?;
                body = overlaid(at, &body);
                ("PUT", "application/json")
            }
            "patch" => ("PATCH", "application/merge-patch+json"),
            "delete" => ("DELETE", "application/json"),
            _ => return None,
        };
        if !subresource.is_empty() {
            path = format!("{path}/{subresource}");
        }
        Some(json!({"method": method, "path": path, "body": body, "contentType": content_type}))
    }
}

fn is(object: &Json, resource: &Resource, namespace: &str, name: &str) -> bool {
    let metadata = &object["metadata"];
    let is_near = namespace.is_empty() || metadata["namespace"] == namespace;
    object["kind"] == resource.kind && metadata["name"] == name && is_near
}

/// An object, and what is essential of its update.
fn overlaid(stored: &Json, body: &Json) -> Json {
    let mut object = stored.clone();
    for (key, value) in body.as_object().into_iter().flatten() {
        if key != "metadata" {
            object[key] = value.clone();
        }
    }
    for key in ["labels", "annotations", "finalizers", "ownerReferences"] {
        match body["metadata"].get(key) {
            Some(value) => object["metadata"][key] = value.clone(),
            None => {
                if let Some(map) = object["metadata"].as_object_mut() {
                    map.remove(key);
                }
            }
        }
    }
    object
}
