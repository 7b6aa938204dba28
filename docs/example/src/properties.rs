//! What is promised of the vault.
//!
//! Properties look at the notes that processes make. One with a memory is a type of its own and a
//! part of the world; for the others the engine has forms.

use std::time::Duration;

use wavetank_engine::{Check, Eventually, Note, Property, Reached, Violation, World};

use crate::vault::{HOLD, Token, Vault, VaultNote};

/// The name of the vault's process.
pub const VAULT: &str = "vault";

/// Links and clocks are healed when calm begins: the lock lasts no longer than it should, and a
/// second is plenty for a request that is still under way.
const FREE_WITHIN: Duration = HOLD.saturating_add(Duration::from_secs(1));

/// All of them.
pub fn all() -> Vec<Box<dyn Property>> {
    vec![
        Box::new(TokensNeverGoBack::default()),
        Box::new(the_lock_becomes_free()),
        Box::new(a_late_write_is_refused()),
    ]
}

/// A guarantee at every moment: nobody overwrites what was written under a later lock.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct TokensNeverGoBack {
    newest: Token,
}

impl Property for TokensNeverGoBack {
    fn name(&self) -> &'static str {
        "tokens-never-go-back"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        let Some(VaultNote::Written(token, writer)) = note.body.get() else {
            return Check::Idle;
        };
        if *token < self.newest {
            let (writer, newest) = (world.name(*writer), self.newest);
            return violated(format!(
                "{writer} overwrote with token {token} what was written with token {newest}"
            ));
        }
        self.newest = *token;
        Check::Held
    }
}

/// A guarantee in the end: after the storm no lock is held for ever.
pub fn the_lock_becomes_free() -> Eventually {
    Eventually::new(
        "the-lock-becomes-free",
        FREE_WITHIN,
        |note| matches!(note.body.get(), Some(VaultNote::Expired(_))),
        |world| {
            let vault = world.find(VAULT).and_then(|id| world.process::<Vault>(id));
            match vault.is_some_and(Vault::is_held) {
                true => violated("the lock is still held".to_owned()),
                false => Check::Held,
            }
        },
    )
}

/// To be reached, not to be kept: as long as no write ever comes too late, the guarantees above
/// say nothing about fencing.
pub fn a_late_write_is_refused() -> Reached {
    Reached {
        name: "a-late-write-is-refused",
        here: |_, note| matches!(note.body.get(), Some(VaultNote::Refused(..))),
    }
}

fn violated(message: String) -> Check {
    Check::Violated(Violation {
        kind: "process",
        object: VAULT.to_owned(),
        message,
    })
}
