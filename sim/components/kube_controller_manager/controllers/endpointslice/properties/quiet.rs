//! The controller rests once all has been well for a while.

use std::time::Duration;

use wavetank_api::Object;
use wavetank_api::kinds::ENDPOINT_SLICES;
use wavetank_etcd::Change;

use super::super::controller::{CONTROLLER, MANAGER};
use crate::endpoint_utils::notes::Finalizes;
use crate::endpoint_utils::{follows, service_of, services_concerned};
use crate::quiet::{Act, IsQuiet, Rest, Subject};

const REST: Rest = Rest {
    property: "slices-are-quiet",
    controller: CONTROLLER,
    kind: "service",
    acts: |service| format!("the EndpointSlices of {service} are written"),
    act: |note| {
        let told: &Finalizes = note.body.get()?;
        let is_any = told.create + told.update + told.delete > 0;
        (told.manager == MANAGER && is_any).then(|| Act {
            on: told.service.clone(),
            name: told.service.clone(),
        })
    },
    concerns,
    follows: |_, service, changed| follows(service, changed),
};

/// A slice concerns the Service that it says it is of, and the one that it was of before.
fn concerns(change: &Change<Object>) -> Vec<Subject> {
    let name = change.key.strip_prefix(ENDPOINT_SLICES.registry);
    if name.is_none_or(|name| !name.starts_with('/')) {
        return services_concerned(change);
    }
    let both = [&change.before, &change.now].into_iter().flatten();
    both.map(|stored| service_of(&stored.value).into())
        .collect()
}

pub(super) fn slices_are_quiet(after: Duration) -> IsQuiet {
    IsQuiet::after(after, REST)
}
