//! What the controller says, and what is stored of slices, in words.

use serde_json::Value as Json;
use wavetank_api::json;
use wavetank_api::kinds::ENDPOINT_SLICES;
use wavetank_component::{Description, Stored};
use wavetank_engine::Note;

use crate::endpoint_utils::endpoints;
use crate::endpoint_utils::notes::{Finalizes, WaitsForSlices};

/// What the controller says; `None` for what no story needs.
pub(super) fn note(note: &Note) -> Option<Description> {
    let body = &note.body;
    let (text, service) = if let Some(WaitsForSlices { service, .. }) = body.get() {
        let text = format!("waits for its cache to show the slices of {service}");
        (text, service)
    } else {
        let Finalizes {
            service,
            create,
            update,
            delete,
            ..
        } = body.get()?;
        if create + update + delete == 0 {
            return None;
        }
        let text = format!(
            "is about to make {create} slices of {service}, update {update} and delete {delete}"
        );
        (text, service)
    };
    Some(Description {
        text,
        about: vec![service.to_string()],
    })
}

/// Slices.
pub(super) fn stored(key: &str, value: Option<&Json>) -> Option<Stored> {
    let name = key
        .strip_prefix(ENDPOINT_SLICES.registry)?
        .strip_prefix('/')?;
    // That of the apiservers is told of by the bootstrap controller.
    if name == "default/kubernetes" {
        return None;
    }
    let text = value.map(|slice| {
        let ready = |own: &&Json| own["conditions"]["ready"] == true;
        let ips = |wanted: bool| {
            let all = endpoints(slice).iter();
            let those = all.filter(|own| ready(own) == wanted);
            let ips = those.flat_map(|own| json::list(own, &["addresses"]));
            let ips: Vec<&str> = ips.filter_map(Json::as_str).collect();
            ips.join(", ")
        };
        match (&*ips(true), &*ips(false)) {
            ("", "") => "no endpoints".to_owned(),
            (ready, "") => format!("ready: {ready}"),
            ("", not_ready) => format!("not ready: {not_ready}"),
            (ready, not_ready) => format!("ready: {ready}; not ready: {not_ready}"),
        }
    });
    Some(Stored {
        text,
        about: vec![name.to_owned()],
    })
}
