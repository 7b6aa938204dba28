//! The resources that add something to the generic registry, a line each.

use std::sync::Arc;

use wavetank_api::{Resource, kinds};
use wavetank_engine::Rx;

use crate::namespaces::Namespaces;
use crate::registry::{Generic, RestStorage};
use crate::server::Config;
use crate::services;

/// Makes the storage of a resource for one request; nothing if this server adds nothing.
type Make = fn(Rx, &Config) -> Option<Arc<dyn RestStorage>>;

const STORAGES: [(&Resource, Make); 2] = [
    (&kinds::NAMESPACES, |_, _| Some(Arc::new(Namespaces))),
    (&kinds::SERVICES, services::rest_storage),
];

/// The storage of a resource.
pub fn rest_storage(rx: Rx, config: &Config, resource: &Resource) -> Arc<dyn RestStorage> {
    let mut own = STORAGES.iter().filter(|(of, _)| *of == resource);
    let made = own.find_map(|(_, make)| make(rx, config));
    made.unwrap_or_else(|| Arc::new(Generic))
}
