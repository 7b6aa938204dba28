//! The store of an informer (`tools/cache/thread_safe_store.go`): objects by key, and keys by what index
//! functions say of objects. Pure.

use std::sync::Arc;

use imbl::{OrdMap, OrdSet};
use wavetank_api::{Object, Stored};
use wavetank_engine::{NotState, mutant};
use wavetank_etcd::Revision;

use crate::fifo::{StoreKey, key_of};

/// What an index says of an object (`IndexFunc`).
pub type IndexFunc = fn(&Object) -> Vec<Arc<str>>;

/// An index: a name, by which it is compared, and the values under which an object is found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Index {
    /// Its name.
    pub name: &'static str,
    /// The values of an object.
    pub of: NotState<IndexFunc>,
}

/// By namespace (`NamespaceIndex`).
pub const BY_NAMESPACE: Index = Index {
    name: "namespace",
    of: NotState(|object| vec![object.namespace().into()]),
};

/// Keys by value.
type Values = OrdMap<Arc<str>, OrdSet<StoreKey>>;

/// The store.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Indexer {
    items: OrdMap<StoreKey, Stored>,
    /// What they hold follows from the items.
    indices: NotState<Vec<(Index, Values)>>,
    /// The newest revision that it was told (`LastStoreSyncResourceVersion`, v1.36).
    revision: Revision,
}

impl Indexer {
    /// An empty store with these indices.
    pub fn with(indices: &[Index]) -> Indexer {
        Indexer {
            indices: NotState(indices.iter().map(|i| (*i, Values::new())).collect()),
            ..Indexer::default()
        }
    }

    /// Add and Update; what was there.
    pub fn put(&mut self, stored: Stored) -> Option<Stored> {
        let key = key_of(&stored.object);
        let old = self.items.get(&key).cloned();
        self.revision = stored.resource_version;
        self.reindex(&key, old.as_ref(), Some(&stored));
        self.items.insert(key, stored);
        old
    }

    /// Delete; what was there.
    pub fn remove(&mut self, key: &StoreKey) -> Option<Stored> {
        let old = self.items.remove(key)?;
        self.reindex(key, Some(&old), None);
        Some(old)
    }

    /// Replace
    pub fn replace(&mut self, list: &[Stored], revision: Revision) {
        let of = |stored: &Stored| (key_of(&stored.object), stored.clone());
        self.items = list.iter().map(of).collect();
        self.revision = revision;
        for (_, values) in self.indices.iter_mut() {
            *values = Values::new();
        }
        let items = self.items.clone();
        for (key, stored) in &items {
            self.reindex(key, None, Some(stored));
        }
    }

    /// Bookmark
    pub fn bookmark(&mut self, revision: Revision) {
        self.revision = revision;
    }

    fn reindex(&mut self, key: &StoreKey, old: Option<&Stored>, new: Option<&Stored>) {
        for (index, values) in self.indices.iter_mut() {
            let of = |stored: Option<&Stored>| stored.map(|s| (*index.of)(&s.object));
            let (old, new) = (of(old).unwrap_or_default(), of(new).unwrap_or_default());
            if old == new {
                continue;
            }
            for value in old {
                if let Some(keys) = values.get_mut(&value)
                    && (new.is_empty()
                        || !mutant!(
                            "index-keeps-old-value",
                            "an object stays under the value that it had in an index"
                        ))
                {
                    keys.remove(key);
                    if keys.is_empty() {
                        values.remove(&value);
                    }
                }
            }
            for value in new {
                values.entry(value).or_default().insert(key.clone());
            }
        }
    }

    /// The object with this key.
    pub fn get(&self, key: &str) -> Option<&Stored> {
        self.items.get(key)
    }

    /// All, in the order of keys. (Go's maps have none; see ARCHITECTURE.md.)
    pub fn iter(&self) -> impl Iterator<Item = (&StoreKey, &Stored)> {
        self.items.iter()
    }

    /// Objects with this value in this index.
    ///
    /// # Panics
    /// If there is no such index.
    pub fn by_index(&self, index: &str, value: &str) -> Vec<&Stored> {
        let found = self.indices.iter().find(|(own, _)| own.name == index);
        let (_, values) = found.unwrap_or_else(|| panic!("there is no index `{index}`"));
        let keys = values.get(value).into_iter().flatten();
        keys.map(|key| &self.items[key]).collect()
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The newest revision that it was told.
    pub fn revision(&self) -> Revision {
        self.revision
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Under the first letters of its labels.
    const BY_COLOUR: Index = Index {
        name: "colour",
        of: NotState(|object| {
            let labels = wavetank_api::json::at(object.json(), &["metadata", "labels"]);
            let labels = labels.and_then(|l| l.as_object());
            labels.map_or(vec![], |l| l.keys().map(|k| k.as_str().into()).collect())
        }),
    };

    fn painted(name: u8, colours: &[u8], revision: Revision) -> Stored {
        let labels: BTreeMap<String, &str> =
            colours.iter().map(|c| (format!("c{c}"), "")).collect();
        Stored {
            object: Object::new(serde_json::json!({
                "metadata": {"namespace": "ns", "name": format!("o{name}"), "labels": labels},
            })),
            resource_version: revision,
        }
    }

    proptest! {
        /// An index finds what a look at all objects finds.
        #[test]
        fn an_index_finds_what_a_search_finds(
            steps in prop::collection::vec(
                (0..4u8, prop::option::of(prop::collection::vec(0..3u8, 0..3))),
                1..40,
            ),
            list_at in 0..40usize,
        ) {
            let mut indexer = Indexer::with(&[BY_NAMESPACE, BY_COLOUR]);
            let mut plain: BTreeMap<StoreKey, Stored> = BTreeMap::new();
            for (at, (name, colours)) in steps.iter().enumerate() {
                let object = painted(*name, colours.as_deref().unwrap_or(&[]), at as Revision);
                let key = key_of(&object.object);
                let old = match colours {
                    Some(_) => {
                        prop_assert_eq!(indexer.put(object.clone()), plain.get(&key).cloned());
                        plain.insert(key, object)
                    }
                    None => {
                        prop_assert_eq!(indexer.remove(&key), plain.get(&key).cloned());
                        plain.remove(&key)
                    }
                };
                drop(old);
                if at == list_at {
                    plain.pop_first();
                    let list: Vec<Stored> = plain.values().cloned().collect();
                    indexer.replace(&list, at as Revision);
                }
                for colour in ["c0", "c1", "c2"] {
                    let found = indexer.by_index("colour", colour);
                    let searched: Vec<&Stored> = plain
                        .values()
                        .filter(|s| (*BY_COLOUR.of)(&s.object).iter().any(|c| **c == *colour))
                        .collect();
                    prop_assert_eq!(found, searched);
                }
                prop_assert_eq!(indexer.by_index("namespace", "ns").len(), plain.len());
            }
        }
    }
}
