//! Objects as they compare between runs: without what a server makes up.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};
use wavetank_api::{Object, json as tree};
use wavetank_apiserver::registry::is_generated;

use super::objects::{Objects, shown, uid};

/// What servers and controllers count or keep for themselves.
const LEFT_OUT: [&str; 11] = [
    "uid",
    "resourceVersion",
    "generation",
    "observedGeneration",
    "creationTimestamp",
    "deletionTimestamp",
    "managedFields",
    "selfLink",
    // How many templates a Deployment has had: who has not seen one of them has made one fewer.
    "deployment.kubernetes.io/revision",
    "deployment.kubernetes.io/revision-history",
    // When what a slice shows has changed, of the changes that its controller has seen one by one.
    "endpoints.kubernetes.io/last-change-trigger-time",
];

/// A map by the field `type`, which is written as a list: its order means nothing, and is that in which they came.
const CONDITIONS: &str = "conditions";
/// In the place of an address: the Service wants none.
const NO_ADDRESS: &str = "None";
/// The ports of nodes that servers give Services.
const PORTS: [&str; 2] = ["nodePort", "healthCheckNodePort"];

/// What texts of the objects of a run stand for.
#[derive(Debug, Default)]
pub(super) struct Normal {
    /// Names that were made, uids, and the addresses of Services.
    made_up: BTreeMap<String, String>,
}

impl Normal {
    pub fn of(objects: &Objects) -> Normal {
        let mut made_up = BTreeMap::new();
        for (_, object) in objects.iter() {
            if !uid(object).is_empty() {
                let kind = object.json()["kind"].as_str().unwrap_or("object");
                let of = format!("(the uid of {kind} {})", shown(object));
                made_up.insert(uid(object).to_owned(), of);
            }
            if let Some(generated) = generated(object) {
                made_up.insert(object.name().to_owned(), format!("{generated}…"));
            }
            let addresses = addresses(object).unwrap_or_default().iter();
            let addresses = addresses
                .filter_map(Json::as_str)
                .filter(|of| *of != NO_ADDRESS);
            for (nth, address) in addresses.enumerate() {
                let of = format!("(address {nth} of Service {})", shown(object));
                made_up.insert(address.to_owned(), of);
            }
        }
        Normal { made_up }
    }

    /// An object that is being deleted says so.
    pub fn object(&self, object: &Object) -> Json {
        let is_going = !object.json()["metadata"]["deletionTimestamp"].is_null();
        let mut normal = self.value(object.json());
        if addresses(object).is_some() {
            without_numbers(&mut normal["spec"]);
        }
        normal["isDeleted"] = is_going.into();
        normal
    }

    fn value(&self, value: &Json) -> Json {
        match value {
            Json::String(text) => self.text(text).into(),
            Json::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Json::Object(fields) => {
                let kept = fields.iter();
                let kept = kept.filter(|(name, _)| !LEFT_OUT.contains(&name.as_str()));
                let kept = kept.filter_map(|(name, own)| {
                    let mut value = self.value(own);
                    if name == CONDITIONS {
                        sort(&mut value);
                    }
                    // There was nothing in it but what is left out.
                    let is_emptied = value == json!({}) && *own != value;
                    (!is_emptied).then(|| (name.clone(), value))
                });
                Json::Object(kept.collect::<Map<String, Json>>())
            }
            other => other.clone(),
        }
    }

    fn text(&self, text: &str) -> String {
        if is_time(text) {
            return "(a time)".to_owned();
        }
        if let Some(known) = self.made_up.get(text) {
            return known.clone();
        }
        let mut text = text.to_owned();
        for (made_up, stands_for) in &self.made_up {
            text = with_whole(&text, made_up, stands_for);
        }
        match is_uid(&text) {
            true => "(a uid)".to_owned(),
            false => text,
        }
    }
}

fn sort(conditions: &mut Json) {
    if let Some(all) = conditions.as_array_mut() {
        all.sort_by_key(|own| tree::text(own, &["type"]).to_owned());
    }
}

/// What the name of an object was made of, if a server made it. A pod of a StatefulSet says so as well, and has its ordinal.
pub(super) fn generated(object: &Object) -> Option<&str> {
    let generated = tree::text(object.json(), &["metadata", "generateName"]);
    let made = object.name().strip_prefix(generated)?;
    (!generated.is_empty() && is_generated(made)).then_some(generated)
}

/// The addresses of a Service, which a server takes out of a range; it may have said which. Nothing else has such a list.
fn addresses(object: &Object) -> Option<&[Json]> {
    let all = tree::at(object.json(), &["spec", "clusterIPs"])?;
    all.as_array().map(Vec::as_slice)
}

/// The ports of a Service's nodes are only known to be there.
fn without_numbers(value: &mut Json) {
    match value {
        Json::Array(items) => items.iter_mut().for_each(without_numbers),
        Json::Object(fields) => {
            for (name, value) in fields {
                match PORTS.contains(&name.as_str()) {
                    true => *value = "(a port)".into(),
                    false => without_numbers(value),
                }
            }
        }
        _ => {}
    }
}

/// The text with another word in the place of this one. `10.0.0.1` is no word of `10.0.0.12`.
fn with_whole(text: &str, word: &str, other: &str) -> String {
    let mut parts = text.split(word);
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let before = whole.chars().next_back();
        let mut around = before.into_iter().chain(part.chars().next());
        let is_word = !around.any(char::is_alphanumeric);
        whole.push_str(if is_word { other } else { word });
        whole.push_str(part);
    }
    whole
}

/// `2026-01-02T03:04:05Z`, with or without fractions and an offset.
fn is_time(text: &str) -> bool {
    let shape = |c: char| if c.is_ascii_digit() { '0' } else { c };
    let shape: String = text.chars().take(19).map(shape).collect();
    shape == "0000-00-00T00:00:00"
}

/// Of an object that is gone: 8-4-4-4-12 hexadecimal digits.
fn is_uid(text: &str) -> bool {
    let parts: Vec<usize> = text.split('-').map(str::len).collect();
    parts == [8, 4, 4, 4, 12] && text.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(value: &Json) -> Json {
        let made_up = [
            (
                "11111111-2222-3333-4444-555555555555",
                "(the uid of Shop default/one)",
            ),
            ("page-x7k2p", "page-…"),
        ];
        let made_up = made_up.map(|(name, of)| (name.to_owned(), of.to_owned()));
        let made_up = made_up.into_iter().collect();
        Normal { made_up }.value(value)
    }

    #[test]
    fn what_a_server_makes_up_is_the_same_in_each_run() {
        let stored = json!({
            "metadata": {"name": "page-x7k2p", "generateName": "page-", "uid": "u", "generation": 7, "labels": {"a": "b"}},
            "data": {"of": "shop/11111111-2222-3333-4444-555555555555", "was": "99999999-2222-3333-4444-555555555555"},
            "status": {"conditions": [{"at": "2026-01-02T03:04:05.678Z", "is": true}], "observedGeneration": 3},
        });
        let told = json!({
            "metadata": {"name": "page-…", "generateName": "page-", "labels": {"a": "b"}},
            "data": {"of": "shop/(the uid of Shop default/one)", "was": "(a uid)"},
            "status": {"conditions": [{"at": "(a time)", "is": true}]},
        });
        assert_eq!(normal(&stored), told);
    }

    /// A Service as a server stores it, and what else speaks of it.
    fn stored(address: &str, port: u16, revision: &str) -> [Json; 3] {
        let ports = json!([{"port": 80, "nodePort": port}]);
        let front = json!({
            "metadata": {"namespace": "default", "name": "front"},
            "spec": {"type": "LoadBalancer", "clusterIP": address, "clusterIPs": [address], "ports": ports,
                "healthCheckNodePort": port + 1},
        });
        let config = json!({
            "metadata": {"namespace": "default", "name": "config"},
            "data": {"front": format!("http://{address}:80"), "other": format!("{address}7")},
        });
        let deployment = json!({
            "metadata": {"namespace": "default", "name": "web",
                "annotations": {"deployment.kubernetes.io/revision": revision, "by": "us"}},
            "spec": {"nodePort": 7},
        });
        [front, config, deployment]
    }

    fn told(stored: &[Json]) -> Vec<Json> {
        let stored: Vec<Object> = stored.iter().cloned().map(Object::new).collect();
        let keyed = stored.iter().enumerate();
        let keyed = keyed.map(|(at, own)| (at.to_string().into(), own.clone()));
        let normal = Normal::of(&keyed.collect());
        stored.iter().map(|stored| normal.object(stored)).collect()
    }

    #[test]
    fn addresses_and_ports_of_services_are_the_same_in_each_run() {
        let (own, other) = (
            stored("10.96.0.1", 30_001, "1"),
            stored("10.96.0.9", 32_767, "2"),
        );
        let (own, mut other) = (told(&own), told(&other));
        // What is no address only begins like one.
        assert_eq!(own[1]["data"]["other"], "10.96.0.17");
        other[1]["data"]["other"] = own[1]["data"]["other"].clone();
        assert_eq!(own, other);
        assert_eq!(
            own[1]["data"]["front"],
            "http://(address 0 of Service default/front):80"
        );
        assert_eq!(own[2]["metadata"]["annotations"], json!({"by": "us"}));
        // Whoever has said a number is held to it.
        assert_eq!(own[2]["spec"]["nodePort"], 7);
    }

    #[test]
    fn a_service_without_an_address_or_a_port_is_another() {
        let service = |spec: Json| {
            let metadata = json!({"namespace": "default", "name": "front"});
            told(&[json!({"metadata": metadata, "spec": spec})])
        };
        let headless =
            service(json!({"clusterIP": "None", "clusterIPs": ["None"], "ports": [{"port": 80}]}));
        let one = service(
            json!({"clusterIP": "10.96.0.1", "clusterIPs": ["10.96.0.1"], "ports": [{"port": 80}]}),
        );
        let open = service(json!({
            "clusterIP": "10.96.0.1", "clusterIPs": ["10.96.0.1"], "ports": [{"port": 80, "nodePort": 30_001}],
        }));
        assert_ne!(headless, one);
        assert_ne!(one, open);
    }
}
