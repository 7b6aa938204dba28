//! Which keys and changes of etcd an informer is about.

use wavetank_api::Object;
use wavetank_etcd::monitors::{Content, Truth};
use wavetank_etcd::{Change, Revision};

use crate::fifo::StoreKey;
use crate::observed::Selection;

/// The history of etcd.
pub type History = Truth<Object>;

/// What the store calls a key of etcd, if it may be among these objects.
fn store_key(selection: &Selection, key: &str) -> Option<StoreKey> {
    let of_namespace = selection.resource.key(&selection.namespace, "");
    key.strip_prefix(&*of_namespace)?;
    let rest = key.strip_prefix(selection.resource.registry)?;
    Some(rest.strip_prefix('/')?.into())
}

/// The revision of what an informer is to hold, by key.
pub fn selected<'a>(
    selection: &'a Selection,
    content: &'a Content<Object>,
) -> impl Iterator<Item = (StoreKey, Revision)> + 'a {
    content.iter().filter_map(|(key, kv)| {
        let key = store_key(selection, key)?;
        let labels = &selection.labels.0;
        labels
            .matches(kv.value.json())
            .then_some((key, kv.mod_revision))
    })
}

/// The key of a change, if an informer is to see it as an event.
pub fn event_of(
    selection: &Selection,
    history: &History,
    change: &Change<Object>,
) -> Option<StoreKey> {
    let key = store_key(selection, &change.key)?;
    let selects = |object: &Object| selection.labels.0.matches(object.json());
    let before = history.at(&change.key, change.revision - 1);
    let was = before.is_some_and(|kv| selects(&kv.value));
    let is = change.now.as_ref().is_some_and(|kv| selects(&kv.value));
    (was || is).then_some(key)
}
