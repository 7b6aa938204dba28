//! What is true once all has been well for a while.

use std::time::Duration;

use wavetank_api::json;
use wavetank_engine::{Check, Note, Stable, World};
use wavetank_etcd::Keys;

use super::super::kind::Kind;
use super::super::notes::Syncs;
use super::owners::active_of;
use crate::quiet::{Subject, SyncsEnd};
use crate::somebody_runs;
use wavetank_components::promises::violated;
use wavetank_components::view::ClusterView;

/// What is wrong with the sets that there are.
fn are_met(world: &World) -> Check {
    let mut checked = Check::Idle;
    for kind in Kind::ALL {
        if !somebody_runs(world, kind.controller()) {
            continue;
        }
        let of = kind.resource();
        let prefix = Keys::Prefix(format!("{}/", of.registry).into());
        for kv in ClusterView(world).store().iter(&prefix) {
            let (set, name) = (&kv.value, kv.value.name());
            let number = |path: &[&str]| json::number(set.json(), path).unwrap_or(0);
            if set.is_being_deleted() {
                continue;
            }
            let wanted = number(&["spec", "replicas"]);
            let (active, counted) = (active_of(world, set.uid()), number(&["status", "replicas"]));
            if (active as i64, counted) != (wanted, wanted) {
                let message = format!(
                    "{} {name} asks for {wanted} pods and has {active}; its status says {counted}",
                    of.kind
                );
                return violated("set", name, message);
            }
            checked = Check::Held;
        }
    }
    checked
}

pub(super) fn replicas_are_met(after: Duration) -> Stable {
    Stable::new("replicas-are-met", after, |_, _| Check::Idle, are_met)
}

/// One that is gone is looked at by its name.
fn is_synced(world: &World, note: &Note) -> Option<Subject> {
    let Syncs { kind, set } = note.body.get()?;
    let (namespace, name) = set.split_once('/').unwrap_or_default();
    ClusterView(world).get(&kind.resource().key(namespace, name))?;
    (are_met(world) == Check::Held).then(|| set.clone())
}

pub(super) fn sets_are_quiet(after: Duration) -> SyncsEnd {
    SyncsEnd::new("sets-are-quiet", "set", after, is_synced)
}
