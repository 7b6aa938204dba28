//! What must be true some time after calm, and stay so.

use std::sync::Arc;
use std::time::Duration;

use crate::kube_apiserver::bootstrap::MASTER_LEASES;
use wavetank_actors::Attempt;
use wavetank_api::Object;
use wavetank_engine::{Check, Note, Stable, World};
use wavetank_etcd::{Committed, Keys};

use crate::promises::violated;
use crate::view::{ClusterView, ENDPOINTS, SLICE};

fn list(addresses: &[Arc<str>]) -> String {
    match addresses.is_empty() {
        true => "none".to_owned(),
        false => addresses.join(", "),
    }
}

/// Checks again at each commit that touches one of these keys; a commit is no new test.
macro_rules! at_commits_of {
    ($keys:expr, $holds:ident) => {
        |world: &World, note: &Note| match touches(note, $keys) {
            false => Check::Idle,
            true => match $holds(world) {
                Check::Held => Check::Idle,
                check => check,
            },
        }
    };
}

fn touches(note: &Note, keys: &[&str]) -> bool {
    let Some(commit) = note.body.get::<Committed<Object>>() else {
        return false;
    };
    let mut changed = commit.changes.iter();
    changed.any(|change| keys.iter().any(|key| change.key.starts_with(key)))
}

fn serving_are_listed(world: &World) -> Check {
    let view = ClusterView(world);
    let serving = view.addresses_of(|p| view.is_serving(p));
    if serving.is_empty() {
        return Check::Idle; // nobody is left to reconcile
    }
    let up = view.addresses_of(|p| view.is_up(p));
    let (listed, _) = view.addresses(ENDPOINTS);
    let dead = listed.iter().find(|address| !up.contains(address));
    let missing = serving.iter().find(|address| !listed.contains(address));
    match dead.or(missing) {
        None => Check::Held,
        Some(wrong) => violated(
            "Endpoints address",
            wrong,
            format!(
                "the Endpoints list {}, and {} run",
                list(&listed),
                list(&serving)
            ),
        ),
    }
}

/// The Endpoints list those that serve, and nobody who is not there.
pub fn endpoints(after: Duration) -> Stable {
    let check = at_commits_of!(&[ENDPOINTS], serving_are_listed);
    Stable::new("endpoints-converge", after, check, serving_are_listed)
}

fn slice_is_endpoints(world: &World) -> Check {
    let view = ClusterView(world);
    if !view.keeps_slices() {
        return Check::Idle;
    }
    let ((endpoints, _), (slice, _)) = (view.addresses(ENDPOINTS), view.addresses(SLICE));
    match endpoints == slice {
        true => Check::Held,
        false => violated(
            "EndpointSlice",
            "default/kubernetes",
            format!(
                "the EndpointSlice lists {}, the Endpoints {}",
                list(&slice),
                list(&endpoints)
            ),
        ),
    }
}

/// The EndpointSlice lists what the Endpoints list. Only looked at when settled: between the two
/// writes of a change they differ, by design.
pub fn slice(after: Duration) -> Stable {
    let check = at_commits_of!(&[SLICE], slice_is_endpoints);
    Stable::new("slice-agrees", after, check, slice_is_endpoints)
}

fn leases_are_of_the_living(world: &World) -> Check {
    let view = ClusterView(world);
    let all = Keys::Prefix(MASTER_LEASES.into());
    let dead = view.store().iter(&all).find(|kv| {
        let mut holders = view.by_address(&kv.key[MASTER_LEASES.len()..]);
        !holders.any(|process| view.is_up(process))
    });
    match dead {
        None => Check::Held,
        Some(kv) => violated(
            "masterlease",
            &kv.key,
            format!("{} is still there, and its apiserver does not run", kv.key),
        ),
    }
}

/// Every master lease belongs to an apiserver that runs.
pub fn master_leases(after: Duration) -> Stable {
    let check = at_commits_of!(&[MASTER_LEASES], leases_are_of_the_living);
    Stable::new(
        "master-leases-expire",
        after,
        check,
        leases_are_of_the_living,
    )
}

/// Nobody writes Endpoints or EndpointSlice: what is right is left alone.
pub fn quiet(after: Duration) -> Stable {
    let check = |_: &World, note: &Note| match touches(note, &[ENDPOINTS, SLICE]) {
        false => Check::Idle,
        true => violated(
            "Endpoints",
            "default/kubernetes",
            "written again although nothing has changed for long".to_owned(),
        ),
    };
    Stable::new("quiet-when-stable", after, check, |_| Check::Held)
}

/// Attempts through the Endpoints reach an apiserver.
pub fn clients(after: Duration) -> Stable {
    let check = |world: &World, note: &Note| {
        let Some(attempt) = note.body.get::<Attempt>() else {
            return Check::Idle;
        };
        let view = ClusterView(world);
        if attempt.reached || !view.apiservers().any(|(p, _)| view.is_serving(p)) {
            return Check::Idle;
        }
        let client = world.name(note.process);
        let message = match &attempt.address {
            None => format!("{client} knows no address"),
            Some(address) => format!("{client} gets no answer at {address}"),
        };
        violated("client", client, message)
    };
    let somebody_serves = |world: &World| {
        let view = ClusterView(world);
        match view.apiservers().any(|(p, _)| view.is_serving(p)) {
            true => Check::Held,
            false => Check::Idle,
        }
    };
    Stable::new("clients-reach-an-apiserver", after, check, somebody_serves)
}
