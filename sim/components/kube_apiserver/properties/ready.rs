//! Nobody is listed before he is ready.

use crate::kube_apiserver::bootstrap::is_master_lease;
use wavetank_api::{Object, views};
use wavetank_apiserver::HOOKS_DONE;
use wavetank_engine::{Check, Note, ProcId, World};
use wavetank_etcd::{Cause, Change, Committed};

use crate::promises::violated;
use crate::view::{ClusterView, ENDPOINTS};

/// An apiserver does not list itself, nor take a master lease by which others would list it, before its
/// PostStart hooks are done. Only its first life is judged, and while it lasts: what it had sent when it crashed
/// may still be committed, in the next one, too.
pub fn only_ready_are_listed(world: &World, note: &Note) -> Check {
    let Some(commit) = note.body.get::<Committed<Object>>() else {
        return Check::Idle;
    };
    let Cause::Client(writer) = commit.cause else {
        return Check::Idle;
    };
    let mut all = ClusterView(world).apiservers();
    let Some((_, server)) = all.find(|(process, _)| *process == writer) else {
        return Check::Idle;
    };
    let config = server.config();
    let lists = |change: &Change<Object>| lists(change, &config.address);
    let is_first_life = world.incarnation(writer) == 1 && ClusterView(world).is_up(writer);
    if !is_first_life || !commit.changes.iter().any(lists) {
        return Check::Idle;
    }
    if world.cell(writer, &HOOKS_DONE) >= config.hooks {
        return Check::Held;
    }
    not_ready(world, writer)
}

/// Does it list an address that was not listed before, or takes its lease?
fn lists(change: &Change<Object>, address: &str) -> bool {
    let Some(now) = &change.now else {
        return false;
    };
    if *change.key == *ENDPOINTS {
        let has = |object: &Object| {
            views::addresses(object.json())
                .iter()
                .any(|a| **a == *address)
        };
        let before = change.before.as_ref();
        return has(&now.value) && !before.is_some_and(|before| has(&before.value));
    }
    change.before.is_none() && is_master_lease(&change.key, address)
}

fn not_ready(world: &World, writer: ProcId) -> Check {
    let name = world.name(writer);
    let message = format!("{name} is listed, and its PostStart hooks are not done");
    violated("apiserver", name, message)
}
