//! Which Services a change may make controllers write for: what their properties need that are about calm.

use std::collections::BTreeSet;

use wavetank_api::Object;
use wavetank_api::kinds::{NODES, PODS, SERVICES};
use wavetank_etcd::Change;

use crate::quiet::Subject;

/// No Service: a change of a pod or a node may concern any.
const ANY: &str = "any";

/// The Services that a change of one, of a pod or of a node concerns: `namespace/name`.
pub fn services_concerned(change: &Change<Object>) -> Vec<Subject> {
    let named = |registry: &str| change.key.strip_prefix(registry)?.strip_prefix('/');
    let is_any = named(PODS.registry).or_else(|| named(NODES.registry));
    let any = is_any.map(|_| ANY);
    any.or_else(|| named(SERVICES.registry))
        .map(Subject::from)
        .into_iter()
        .collect()
}

/// May what is written for this Service follow from changes that concerned these?
pub fn follows(service: &Subject, changed: &BTreeSet<Subject>) -> bool {
    changed.contains(ANY) || changed.contains(service)
}
