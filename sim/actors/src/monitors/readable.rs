//! Reading at a revision that somebody has seen.

use std::time::Duration;

use wavetank_engine::{Check, Stable, Violation};

use crate::writer::{Answer, Read};

/// Servers have found etcd and filled their caches; a cache that was held is held no longer.
const AFTER: Duration = Duration::from_secs(150);

/// Some time after calm, whoever reads at a revision that a server has told him, at any server, is answered:
/// it takes no more than a question to etcd for a cache to know that it has missed nothing.
pub fn known_revision() -> Stable {
    Stable::new(
        "known-revision-is-readable",
        AFTER,
        |world, note| {
            let Some(read) = note.body.get::<Read>() else {
                return Check::Idle;
            };
            let why = match &read.answer {
                Answer::Given => return Check::Held,
                Answer::Refused => return Check::Idle,
                Answer::TooLarge => "is told that the revision is too large",
                Answer::None => "gets no answer",
            };
            let object = format!(
                "{} of {}",
                read.resource.qualified(),
                world.name(read.server)
            );
            let how = if read.streamed { "streams" } else { "lists" };
            Check::Violated(Violation {
                kind: "cache",
                message: format!("who {how} {object} at {} {why}", read.revision),
                object,
            })
        },
        |_| Check::Idle,
    )
}
