//! What apiservers and their bootstrap controllers tell, in words.

use crate::kube_apiserver::bootstrap::{BootstrapNote, MASTER_LEASES, RemovalOutcome};
use serde_json::Value as Json;
use wavetank_api::{kinds, views};
use wavetank_apiserver::ServerNote;
use wavetank_component::{Description, Stored};
use wavetank_engine::Note;

/// A note of an apiserver; `None` for any other.
pub(super) fn note(note: &Note) -> Option<Description> {
    if let Some(note) = note.body.get::<BootstrapNote>() {
        return Some(bootstrap(note));
    }
    let text = match note.body.get::<ServerNote>()? {
        ServerNote::Stopping => "begins to shut down".to_owned(),
        ServerNote::SecondSignal => "exits at once: it is the second signal".to_owned(),
        ServerNote::ListenerClosed => "closes its listener".to_owned(),
        ServerNote::ShutdownOverdue => "still waits for its PreShutdown hooks".to_owned(),
        ServerNote::Exiting => "exits".to_owned(),
        ServerNote::Replaced(release) => {
            format!("takes the place of another one, as {release}")
        }
    };
    Some(Description {
        text,
        about: Vec::new(),
    })
}

/// What is published of apiservers: leases, Endpoints and EndpointSlices, by their addresses.
pub(super) fn stored(key: &str, value: Option<&Json>) -> Option<Stored> {
    let leased = key.strip_prefix(MASTER_LEASES);
    let kind = value.and_then(|value| value["kind"].as_str());
    let lists = [kinds::ENDPOINTS.kind, kinds::ENDPOINT_SLICES.kind];
    if leased.is_none() && !kind.is_some_and(|kind| lists.contains(&kind)) {
        return None;
    }
    let addresses = value.map(views::addresses);
    let text = addresses.map(|addresses| match addresses.is_empty() {
        true => "no address".to_owned(),
        false => addresses.join(", "),
    });
    Some(Stored {
        text,
        about: leased.map(str::to_owned).into_iter().collect(),
    })
}

fn bootstrap(note: &BootstrapNote) -> Description {
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
    Description {
        text,
        about: address
            .map(|a| format!("removal of {a}"))
            .into_iter()
            .collect(),
    }
}
