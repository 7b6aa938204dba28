//! The controller rests once all has been well for a while.

use std::time::Duration;

use wavetank_api::Object;
use wavetank_api::kinds::{ENDPOINT_SLICES, ENDPOINTS, SERVICES};
use wavetank_etcd::Change;

use super::super::controller::{CONTROLLER, MANAGER};
use crate::endpoint_utils::notes::{CleansUp, Finalizes};
use crate::endpoint_utils::service_of;
use crate::quiet::{Act, IsQuiet, Rest, Subject};

const REST: Rest = Rest {
    property: "mirrors-are-quiet",
    controller: CONTROLLER,
    kind: "endpoints",
    acts: |endpoints| format!("the slices that mirror {endpoints} are written"),
    act: |note| {
        let written = note.body.get::<Finalizes>().map(|own| {
            let writes = own.create + own.update + own.delete;
            (own.manager, &own.service, writes)
        });
        let cleaned = || {
            let told = note.body.get::<CleansUp>();
            told.map(|own| (own.manager, &own.service, own.delete))
        };
        let (manager, of, writes) = written.or_else(cleaned)?;
        (manager == MANAGER && writes > 0).then(|| Act {
            on: of.clone(),
            name: of.clone(),
        })
    },
    concerns,
    follows: |_, endpoints, changed| changed.contains(endpoints),
};

/// A slice concerns the Endpoints that it says it mirrors, and those that it mirrored before; a Service those of its name.
fn concerns(change: &Change<Object>) -> Vec<Subject> {
    let named = |registry: &str| change.key.strip_prefix(registry)?.strip_prefix('/');
    if named(ENDPOINT_SLICES.registry).is_some() {
        let both = [&change.before, &change.now].into_iter().flatten();
        return both
            .map(|stored| service_of(&stored.value).into())
            .collect();
    }
    let of_name = named(ENDPOINTS.registry).or_else(|| named(SERVICES.registry));
    of_name.map(Subject::from).into_iter().collect()
}

pub(super) fn mirrors_are_quiet(after: Duration) -> IsQuiet {
    IsQuiet::after(after, REST)
}
