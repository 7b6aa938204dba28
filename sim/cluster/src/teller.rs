//! Notes in words, for stories. Those of Services and of elections have files of their own.

mod leaders;
mod services;

use std::iter;

use wavetank_actors::Attempt;
use wavetank_api::{Object, views};
use wavetank_apiserver::cacher::CacheNote;
use wavetank_apiserver::{ApiServer, ServerNote};
use wavetank_client::Checked;
use wavetank_controllers::{Bootstrap, BootstrapNote, MASTER_LEASES, RemovalOutcome};
use wavetank_engine::drive::story::Told;
use wavetank_engine::{Note, World};
use wavetank_etcd::{Cause, Change, Committed};

/// Puts a note of the control plane into words; `None` for what no story needs.
pub fn tell(world: &World, note: &Note) -> Option<Told> {
    if let Some(commit) = note.body.get::<Committed<Object>>() {
        return Some(committed(world, commit));
    }
    if let Some(note) = note.body.get::<BootstrapNote>() {
        return Some(bootstrap(note));
    }
    if let Some(note) = note.body.get::<ServerNote>() {
        return Some(plain(&match note {
            ServerNote::Stopping => "begins to shut down".to_owned(),
            ServerNote::SecondSignal => "exits at once: it is the second signal".to_owned(),
            ServerNote::ListenerClosed => "closes its listener".to_owned(),
            ServerNote::ShutdownOverdue => "still waits for its PreShutdown hooks".to_owned(),
            ServerNote::Exiting => "exits".to_owned(),
            ServerNote::Replaced(release) => {
                format!("takes the place of another one, as {release}")
            }
        }));
    }
    if let Some(note) = note.body.get::<CacheNote>() {
        return Some(cache(note));
    }
    if let Some(told) = wavetank_client::tell(world, note) {
        // The informers of an apiserver are its own business.
        let inside = world.process::<ApiServer<Bootstrap>>(note.process);
        return Some(told).filter(|_| inside.is_none());
    }
    if let Some(told) = services::tell(world, note) {
        return Some(told);
    }
    if let Some(told) = leaders::tell(note) {
        return Some(told);
    }
    if let Some(Checked { server, healthy }) = note.body.get() {
        let what = match healthy {
            true => "in again",
            false => "out",
        };
        return Some(plain(&format!(
            "its load balancer takes {} {what}",
            world.name(*server)
        )));
    }
    let attempt = note.body.get::<Attempt>().filter(|a| !a.reached)?;
    Some(plain(&match &attempt.address {
        None => "knows no address of an apiserver".to_owned(),
        Some(address) => format!("gets no answer at {address}"),
    }))
}

fn cache(note: &CacheNote) -> Told {
    let (text, of) = match note {
        CacheNote::Filled(of, revision) => (format!("is filled at {revision}"), of),
        CacheNote::Broke(of, why) => (format!("loses its watch of etcd: {why}"), of),
        CacheNote::TornDown(of) => ("is torn down".to_owned(), of),
        CacheNote::Held(of) => ("is held back".to_owned(), of),
        CacheNote::LetGo(of) => ("goes on".to_owned(), of),
        CacheNote::TooSlow(of, _) => ("closes a watch whose client does not read".to_owned(), of),
        CacheNote::Inconsistent(of, at) => (format!("differs from etcd at {at}"), of),
        CacheNote::Compacted(revision) => return plain(&format!("compacts etcd at {revision}")),
    };
    let of = of.qualified();
    Told {
        text: format!("its cache of {of} {text}"),
        about: vec![format!("cache of {of}")],
    }
}

fn plain(text: &str) -> Told {
    Told {
        text: text.to_owned(),
        about: Vec::new(),
    }
}

fn committed(world: &World, commit: &Committed<Object>) -> Told {
    let changes: Vec<String> = commit.changes.iter().map(change).collect();
    let cause = match commit.cause {
        Cause::Client(client) => format!("by {}", world.name(client)),
        Cause::Expiry(lease) => format!("lease {} expired", lease.0),
        Cause::Internal => "by etcd itself".to_owned(),
    };
    Told {
        text: format!(
            "revision {}: {} ({cause})",
            commit.revision,
            changes.join("; ")
        ),
        about: commit.changes.iter().flat_map(concerned).collect(),
    }
}

/// The key, and the addresses that are written there or whose lease it is.
fn concerned(change: &Change<Object>) -> impl Iterator<Item = String> {
    let listed = change
        .now
        .iter()
        .flat_map(|now| views::addresses(now.value.json()));
    let leased = change.key.strip_prefix(MASTER_LEASES);
    let of_services = change.now.iter().flat_map(|now| {
        let stored = services::stored(&change.key, now.value.json());
        stored.map(|(_, about)| about).unwrap_or_default()
    });
    let addresses = listed
        .map(|a| a.to_string())
        .chain(leased.map(str::to_owned))
        .chain(of_services);
    let leads = leaders::lock(change).map(|(_, about)| about);
    let about = iter::once(change.key.to_string()).chain(addresses);
    about.chain(leads)
}

fn change(change: &Change<Object>) -> String {
    let Some(now) = &change.now else {
        return format!("deletes {}", change.key);
    };
    if let Some((text, _)) = services::stored(&change.key, now.value.json()) {
        return format!("{} := {text}", change.key);
    }
    if let Some((text, _)) = leaders::lock(change) {
        return format!("{} := {text}", change.key);
    }
    let addresses = views::addresses(now.value.json());
    let listed = match addresses.is_empty() {
        true => "no address".to_owned(),
        false => addresses.join(", "),
    };
    format!("{} := {listed}", change.key)
}

fn bootstrap(note: &BootstrapNote) -> Told {
    let (text, address) = match note {
        BootstrapNote::RemovalStarted { address } => {
            ("begins to remove its address".to_owned(), Some(address))
        }
        BootstrapNote::RemovalConflicted => ("finds the Endpoints modified".to_owned(), None),
        BootstrapNote::RoundFailed(error) => (format!("its round fails: {error}"), None),
        BootstrapNote::RemovalFinished {
            address, outcome, ..
        } => {
            let text = match outcome {
                RemovalOutcome::Removed(_) => "has removed its address".to_owned(),
                RemovalOutcome::Failed(error) | RemovalOutcome::Unavailable(error) => {
                    format!("removing its address failed: {error}")
                }
            };
            (text, Some(address))
        }
        BootstrapNote::RemovalGivenUp { address } => {
            ("waits no longer for the removal".to_owned(), Some(address))
        }
    };
    Told {
        text,
        about: address
            .map(|a| format!("removal of {a}"))
            .into_iter()
            .collect(),
    }
}
