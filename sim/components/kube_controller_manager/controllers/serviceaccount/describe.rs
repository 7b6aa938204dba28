//! What the controller of ServiceAccounts says, and what is stored of these, in words.

use serde_json::Value as Json;
use wavetank_api::kinds::SERVICE_ACCOUNTS;
use wavetank_component::{Description, Stored};
use wavetank_engine::Note;

use super::notes::MakesAccount;

/// What it says.
pub(super) fn note(note: &Note) -> Option<Description> {
    let MakesAccount { namespace } = note.body.get()?;
    Some(Description {
        text: format!("makes the default ServiceAccount of {namespace}"),
        about: vec![namespace.to_string()],
    })
}

/// A ServiceAccount.
pub(super) fn stored(key: &str, value: Option<&Json>) -> Option<Stored> {
    let name = key
        .strip_prefix(SERVICE_ACCOUNTS.registry)?
        .strip_prefix('/')?;
    let (namespace, _) = name.split_once('/')?;
    Some(Stored {
        text: value.map(|_| "an account".to_owned()),
        about: vec![namespace.to_owned()],
    })
}
