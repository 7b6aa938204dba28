//! What the controller of tokens says, and what is stored of Secrets with tokens, in words. Accounts are told by another controller.

use serde_json::Value as Json;
use wavetank_api::json;
use wavetank_api::kinds::SECRETS;
use wavetank_component::{Description, Stored};
use wavetank_engine::Note;

use super::notes::{Acts, Does};
use super::token_secrets::{NAME_KEY, TOKEN, TYPE, data};

/// What it says.
pub(super) fn note(note: &Note) -> Option<Description> {
    let Acts {
        does,
        secret,
        account,
        ..
    } = note.body.get()?;
    let text = match does {
        Does::FillsIn => {
            format!("writes the token of the account {account} into the Secret {secret}")
        }
        Does::Deletes => {
            format!("deletes the Secret {secret}, since its account {account} is gone")
        }
        Does::Unrefers => {
            format!("lets the account {account} refer to the Secret {secret} no longer")
        }
    };
    Some(Description {
        text,
        about: vec![secret.to_string()],
    })
}

/// A Secret with a token; other Secrets are told by others.
pub(super) fn stored(key: &str, value: Option<&Json>) -> Option<Stored> {
    let name = key.strip_prefix(SECRETS.registry)?.strip_prefix('/')?;
    let secret = value?;
    if json::text(secret, &["type"]) != TYPE {
        return None;
    }
    let account = json::text(secret, &["metadata", "annotations", NAME_KEY]);
    let text = match data(secret, TOKEN) {
        "" => format!("asks for a token of the account {account}"),
        _ => format!("has a token of the account {account}"),
    };
    Some(Stored {
        text: Some(text),
        about: vec![name.to_owned()],
    })
}
