//! What the controller says, in words; what every controller of slices says, and what is stored of slices, is told of by the
//! EndpointSlice controller.

use wavetank_component::Description;
use wavetank_engine::Note;

use super::notes::Makes;
use crate::endpoint_utils::notes::CleansUp;

/// What the controller says; `None` for what no story needs.
pub(super) fn note(note: &Note) -> Option<Description> {
    let body = &note.body;
    let (text, of) = match (body.get(), body.get()) {
        (
            Some(CleansUp {
                service, delete, ..
            }),
            _,
        ) => {
            if *delete == 0 {
                return None;
            }
            let text = format!("is about to delete {delete} slices that mirror {service}");
            (text, service)
        }
        (_, Some(Makes { endpoints, name })) => {
            let name = name.as_ref()?;
            let text = format!("is about to make a slice of {endpoints} under the name {name}");
            (text, endpoints)
        }
        _ => return None,
    };
    Some(Description {
        text,
        about: vec![of.to_string()],
    })
}
