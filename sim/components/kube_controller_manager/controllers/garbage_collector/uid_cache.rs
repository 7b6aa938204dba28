//! Owners that are known not to exist (`pkg/controller/garbagecollector/uid_cache.go`).

use super::graph::ObjectReference;

/// `NewReferenceCache(500)`
const MOST: usize = 500;

/// `ReferenceCache`: the one last used at the end.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct ReferenceCache(Vec<ObjectReference>);

impl ReferenceCache {
    /// `Add`
    pub fn add(&mut self, reference: ObjectReference) {
        self.0.retain(|known| *known != reference);
        self.0.push(reference);
        if self.0.len() > MOST {
            self.0.remove(0);
        }
    }

    /// `Has`
    pub fn has(&mut self, reference: &ObjectReference) -> bool {
        self.has_like(|known| known == reference)
    }

    /// Is one like this among them?
    pub fn has_like(&mut self, is_like: impl Fn(&ObjectReference) -> bool) -> bool {
        let Some(at) = self.0.iter().position(is_like) else {
            return false;
        };
        let used = self.0.remove(at);
        self.0.push(used);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(number: usize) -> ObjectReference {
        ObjectReference {
            kind: "ConfigMap".into(),
            api_version: "v1".into(),
            namespace: "default".into(),
            name: "a".into(),
            uid: number.to_string().into(),
        }
    }

    #[test]
    fn the_owner_that_was_asked_for_longest_ago_is_forgotten() {
        let mut cache = ReferenceCache::default();
        for number in 0..MOST {
            cache.add(reference(number));
        }
        assert!(cache.has(&reference(0)), "and now it is the one last used");
        cache.add(reference(MOST));
        assert!(cache.has(&reference(0)) && !cache.has(&reference(1)));
        assert_eq!(cache.0.len(), MOST);
    }
}
