//! Which pods autoscalers select (`hpaSelectors`, a `BiMultimap`): pods that two of them select are scaled by neither.

use std::collections::BTreeMap;

use wavetank_api::Json;
use wavetank_api::selector::LabelSelector;
use wavetank_client::workqueue::Item;
use wavetank_engine::{Cell, Rx};

/// By the keys of autoscalers; nothing where the selector is not known yet (`labels.Nothing`).
static HPA_SELECTORS: Cell<BTreeMap<Item, Option<LabelSelector>>> = Cell::new("hpa-selectors");

/// What `enqueueHPA` does: an autoscaler that is not known selects nothing yet.
pub(super) fn register(rx: Rx, key: Item) {
    rx.update(&HPA_SELECTORS, |all| {
        all.entry(key).or_insert(None);
    });
}

/// `DeleteSelector`
pub(super) fn delete_selector(rx: Rx, key: &Item) {
    rx.update(&HPA_SELECTORS, |all| {
        all.remove(key);
    });
}

/// `PutSelector`, of an autoscaler that is known.
pub(super) fn put_selector(rx: Rx, key: &Item, selector: Option<LabelSelector>) {
    rx.update(&HPA_SELECTORS, |all| {
        if let Some(own) = all.get_mut(key) {
            *own = selector;
        }
    });
}

/// `hpasControllingPodsUnderSelector`, in the order of their names.
pub(super) fn hpas_controlling_pods_under_selector(
    rx: Rx,
    namespace: &str,
    pods: &[Json],
) -> Vec<Item> {
    rx.look(&HPA_SELECTORS, |all| {
        let is_here = |key: &Item| key.split_once('/').is_some_and(|(own, _)| own == namespace);
        let selects = |selector: &Option<LabelSelector>| {
            let selector = selector.as_ref();
            selector.is_some_and(|own| pods.iter().any(|pod| own.matches(pod)))
        };
        let those = all
            .iter()
            .filter(|(key, selector)| is_here(key) && selects(selector));
        those.map(|(key, _)| key.clone()).collect()
    })
}
