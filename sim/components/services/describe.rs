//! Services in words: what is stored of them and of their allocations, what clients ask and are told, what
//! repair loops find.

use crate::service_writers::writer::{Answer, Answered, Asked, Verb};
use crate::services::RepairNote;
use crate::services::allocators::{AllocationNote, Bitmap, ItemRange};
use wavetank_api::json::{self, Json};
use wavetank_engine::drive::story::Description;
use wavetank_engine::{Note, World};
use wavetank_version::Version;

const SERVICES: &str = "/registry/services/specs/";
const RANGES: &str = "/registry/ranges/";
const ADDRESSES: &str = "/registry/ipaddresses/";

/// What is stored under a key, and what it is about; `None` for other keys.
pub(super) fn stored(key: &str, now: &Json) -> Option<(String, Vec<String>)> {
    if key.starts_with(SERVICES) {
        let mut about = Vec::new();
        let mut text = json::text(now, &["spec", "type"]).to_owned();
        let one = json::text(now, &["spec", "clusterIP"]);
        let second = json::list(now, &["spec", "clusterIPs"]).get(1);
        let second = second.and_then(Json::as_str).unwrap_or_default();
        for ip in [one, second].into_iter().filter(|ip| !ip.is_empty()) {
            text += &format!(" {ip}");
            about.push(ip.to_owned());
        }
        let ports = json::list(now, &["spec", "ports"]).iter();
        let ports = ports.filter_map(|port| json::number(port, &["nodePort"]));
        let check = json::number(now, &["spec", "healthCheckNodePort"]);
        for port in ports.chain(check).filter(|port| *port != 0) {
            text += &format!(", port {port}");
            about.push(format!("port {port}"));
        }
        if json::at(now, &["metadata", "deletionTimestamp"]).is_some() {
            text += ", being deleted";
        }
        return Some((text, about));
    }
    if key.starts_with(RANGES) {
        let range = json::text(now, &["range"]);
        let range = match range.split_once('-') {
            None => ItemRange::of_addresses(range, Version::LATEST),
            Some((first, last)) => {
                let (first, last): (u16, u16) = (first.parse().ok()?, last.parse().ok()?);
                Some(ItemRange::of_ports(
                    (first, last - first + 1),
                    Version::LATEST,
                ))
            }
        };
        let taken = Bitmap::parse(json::text(now, &["data"]))?;
        let items: Vec<String> = match &range {
            None => Vec::new(),
            Some(range) => taken.taken().map(|offset| range.item(offset)).collect(),
        };
        let text = match items.is_empty() {
            true => "nothing".to_owned(),
            false => items.join(" "),
        };
        return Some((text, vec![key.to_owned()]));
    }
    let ip = key.strip_prefix(ADDRESSES)?;
    let of = |field| json::text(now, &["spec", "parentRef", field]);
    let text = format!("of {}/{}", of("namespace"), of("name"));
    Some((text, vec![ip.to_owned()]))
}

fn short(key: &str) -> &str {
    key.strip_prefix(SERVICES).unwrap_or(key)
}

/// A note about Services; `None` for any other.
pub(super) fn note(world: &World, note: &Note) -> Option<Description> {
    if let Some(asked) = note.body.get::<Asked>() {
        let verb = match asked.verb {
            Verb::Create => "create",
            Verb::Update => "update",
            Verb::UpdateStatus => "update the status of",
            Verb::Delete => "delete",
        };
        let (key, server) = (short(&asked.key), world.name(asked.server));
        let with = match &asked.address {
            Some(ip) => format!(" with {ip}"),
            None => String::new(),
        };
        let text = format!("asks {server} to {verb} {key}{with}");
        return Some(about(text, &asked.key));
    }
    if let Some(answered) = note.body.get::<Answered>() {
        let key = short(&answered.asked.key);
        let text = match &answered.answer {
            Answer::Done(_) => format!("is told that it is done: {key}"),
            Answer::Refused { code, message } => format!("is told {code}: {message}"),
            Answer::Unknown => format!("gets no answer about {key}"),
        };
        return Some(about(text, &answered.asked.key));
    }
    if let Some(repair) = note.body.get::<RepairNote>() {
        return Some(Description {
            text: format!("repair: {}", repair.message),
            about: vec!["repair".to_owned()],
        });
    }
    let kept = note.body.get::<AllocationNote>()?;
    let text = format!("cannot give up {}: {}", kept.item, kept.why);
    Some(about(text, &kept.item))
}

fn about(text: String, of: &str) -> Description {
    Description {
        text,
        about: vec![of.to_owned()],
    }
}
