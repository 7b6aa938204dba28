//! What messages and notes of the control plane mean, for whoever explains a trace.

use wavetank_api::Object;
use wavetank_cluster::Components;
use wavetank_engine::{Note, Payload};

use crate::explain::{Meaning, Reading, Written};

/// As these components understand them.
pub(super) struct OfComponents(pub Components);

impl Meaning for OfComponents {
    fn asked(&self, request: &Payload) -> Option<String> {
        self.0.asked(request)
    }

    fn refused(&self, answer: &Payload) -> Option<String> {
        self.0.refused(answer)
    }

    fn read(&self, request: &Payload, answer: &Payload) -> Option<Reading> {
        let reading = self.0.read(request, answer)?;
        Some(Reading {
            text: reading.text.clone(),
            revision: reading.revision,
            covers: Box::new(move |key| reading.covers(key)),
        })
    }

    fn written(&self, note: &Note) -> Option<Written> {
        let (keys, revision) = self.0.written(note)?;
        let text = |object: Object| object.json().to_string();
        let keys = keys.into_iter().map(|(key, now)| (key, now.map(text)));
        Some(Written {
            keys: keys.collect(),
            revision,
        })
    }
}
