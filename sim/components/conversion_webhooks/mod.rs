//! Webhooks that convert custom objects from one version into another, as operators bring them along
//! (`spec.conversion.strategy: Webhook`). A server asks one whenever it reads or writes an object in a version that it does
//! not have, and cannot do without the answer. Faults make a webhook slow, unreachable or gone; its defects make it wrong.
//!
//! - `converter`: the process.

mod converter;

use std::collections::BTreeMap;
use std::sync::Arc;

use wavetank_api::Resource;
use wavetank_component::{Component, Mistakes, Replicas, Section, Setup, Spec, Wiring};
use wavetank_engine::ProcId;
use wavetank_version::{List, Listed};

use crate::{custom_resources, kube_apiserver};
use converter::Converter;
pub use converter::WebhookDefect;

/// Its name, and the key of their number.
pub const NAME: &str = "conversion-webhooks";

/// Conversion webhooks.
#[derive(Clone, Copy, Debug)]
pub struct ConversionWebhooks;

/// The processes, by the hosts of their URLs, for apiservers.
pub fn hosts(wiring: &Wiring) -> Arc<BTreeMap<Arc<str>, ProcId>> {
    let names = wiring.names(NAME).iter().map(|name| Arc::from(&**name));
    Arc::new(names.zip(wiring.ids(NAME)).collect())
}

/// The URL of the `n`th, if there is one: users of definitions are spread over them.
pub fn url(wiring: &Wiring, n: usize) -> Option<Arc<str>> {
    let names = wiring.names(NAME);
    let name = names.get(n % names.len().max(1))?;
    Some(format!("https://{name}/convert").into())
}

impl Component for ConversionWebhooks {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "webhooks that convert custom objects from one version into another"
    }

    fn replicas(&self) -> Option<Replicas> {
        let about = "The number of webhooks that convert custom objects from one version into another, named z1, z2 and so \
                     on: the definitions that custom-resource users make name one of them each.";
        Some(Replicas::counted(NAME, "z", about).dispensable())
    }

    fn check(&self, spec: &Spec, mistakes: &mut Mistakes) {
        if spec.count(NAME) > 0 && !custom_resources::is_on(spec) {
            let message = format!("`{NAME}` convert custom objects, and nobody uses any");
            let help = format!("add `custom-resource-users: 2`, or remove `{NAME}`");
            mistakes.key(Section::Topology, NAME, message, help);
        }
    }

    fn uses(&self, _: &Spec) -> Vec<&'static Resource> {
        Vec::new()
    }

    fn build(&self, setup: &Setup, wiring: &mut Wiring) {
        let Some(release) = kube_apiserver::newest(setup) else {
            return;
        };
        for name in wiring.names(NAME) {
            wiring.process(name, Converter::new(setup.set(release)));
        }
    }

    fn shown_by(&self) -> Vec<&'static str> {
        vec![NAME, custom_resources::NAME]
    }

    fn defects(&self) -> Vec<List> {
        vec![WebhookDefect::LIST]
    }
}
