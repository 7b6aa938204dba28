//! Which value of an update was which before it (`apiserver/pkg/cel/common/values.go` `CorrelatedObject`): fields by
//! their names, items by the keys of a list that is a map; others cannot be told.

use crate::apiextensions::props::Props;
use crate::json::Json;

/// A value, what it was before, and its schema.
#[derive(Clone, Copy, Debug)]
pub struct Correlated<'a> {
    /// What it is.
    pub new: &'a Json,
    /// What it was.
    pub old: &'a Json,
    /// Its schema.
    pub schema: &'a Props,
}

impl<'a> Correlated<'a> {
    /// Upstream's `CachedDeepEqual`
    pub(super) fn is_unchanged(&self) -> bool {
        self.new == self.old
    }

    /// `Key`, of an object at this path. Whether its kind has changed nobody can see: it is converted.
    pub(super) fn key(self, path: &str, name: &str) -> Option<Correlated<'a>> {
        if path.is_empty() && matches!(name, "kind" | "apiVersion") {
            return None;
        }
        let properties = self.schema.properties.get(name);
        Some(Correlated {
            new: self.new.get(name)?,
            old: self.old.get(name)?,
            schema: properties.or_else(|| self.schema.additional())?,
        })
    }

    /// `Index`
    pub(super) fn index(self, at: usize) -> Option<Correlated<'a>> {
        if self.schema.list_type.as_deref() != Some("map") {
            return None;
        }
        let (new, schema) = (self.new.get(at)?, self.schema.item()?);
        let keys = &self.schema.list_map_keys;
        let alike = |old: &&Json| keys.iter().all(|key| old.get(key) == new.get(key));
        let mut found = self.old.as_array()?.iter().filter(alike);
        let old = found.next()?;
        Some(Correlated { new, old, schema })
    }
}
