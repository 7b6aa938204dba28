//! The controller rests once all has been well for a while.

use std::time::Duration;

use wavetank_api::Object;
use wavetank_api::kinds::ENDPOINTS;
use wavetank_etcd::Change;

use super::controller::CONTROLLER;
use super::notes::Writes;
use crate::endpoint_utils::{follows, services_concerned};
use crate::quiet::{Act, IsQuiet, Rest, Subject};

const REST: Rest = Rest {
    property: "endpoints-are-quiet",
    controller: CONTROLLER,
    kind: "endpoints",
    acts: |service| format!("the Endpoints of {service} are written"),
    act: |note| {
        let Writes { service, .. } = note.body.get()?;
        Some(Act {
            on: service.clone(),
            name: service.clone(),
        })
    },
    concerns,
    follows: |_, service, changed| follows(service, changed),
};

/// Endpoints concern the Service of their name.
fn concerns(change: &Change<Object>) -> Vec<Subject> {
    let name = change.key.strip_prefix(ENDPOINTS.registry);
    match name.and_then(|name| name.strip_prefix('/')) {
        Some(service) => vec![service.into()],
        None => services_concerned(change),
    }
}

pub(super) fn endpoints_are_quiet(after: Duration) -> IsQuiet {
    IsQuiet::after(after, REST)
}
