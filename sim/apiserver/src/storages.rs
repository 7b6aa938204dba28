//! Which storage a resource has: what the hooks of a server add, what the generic apiserver adds by itself, or the
//! generic one.

use std::sync::Arc;

use wavetank_api::apiextensions::CUSTOM_RESOURCE_DEFINITIONS;
use wavetank_api::{Resource, kinds};
use wavetank_engine::Rx;

use crate::apiextensions::Definitions;
use crate::namespaces::Namespaces;
use crate::registry::{Generic, RestStorage};
use crate::server::{Config, Hook};

/// What a server adds to the generic registry.
pub(crate) trait Storages: Send + Sync {
    /// The storage of a resource, for the time of one request.
    fn rest_storage(&self, rx: Rx, config: &Config, resource: &Resource) -> Arc<dyn RestStorage>;

    /// Does a handler go on when the time of its request is over, to give back what it took?
    fn gives_back(&self) -> bool;
}

impl<H: Hook> Storages for Arc<[H]> {
    fn rest_storage(&self, rx: Rx, config: &Config, resource: &Resource) -> Arc<dyn RestStorage> {
        let mut hooks = self.iter();
        let added = hooks.find_map(|hook| hook.rest_storage(rx, config, resource));
        added.unwrap_or_else(|| match resource {
            resource if *resource == kinds::NAMESPACES => Arc::new(Namespaces),
            resource if *resource == CUSTOM_RESOURCE_DEFINITIONS => Arc::new(Definitions),
            _ => Arc::new(Generic),
        })
    }

    fn gives_back(&self) -> bool {
        self.iter().any(Hook::gives_back)
    }
}
