//! What should happen somewhere in a sweep, so that the other monitors mean something.

use std::collections::{BTreeMap, BTreeSet};

use wavetank_api::Reason;
use wavetank_engine::{Check, Class, Note, ProcId, Property, Reached, World};

use super::Who;
use crate::observed::{
    Call, Handled, Informing, Listed, NotListed, Trouble, WatchBegan, WatchOver,
};

/// An informer lists again in one life.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Relisted {
    listed: BTreeSet<Who>,
}

impl Property for Relisted {
    fn name(&self) -> &'static str {
        "informer-relisted"
    }
    fn class(&self) -> Class {
        Class::Sometimes
    }
    fn note(&mut self, _: &World, note: &Note) -> Check {
        if let Some(begins) = note.body.get::<Informing>() {
            self.listed.remove(&(note.process, begins.informer));
        }
        match note.body.get::<Listed>() {
            Some(listed) if !self.listed.insert((note.process, listed.informer)) => Check::Held,
            _ => Check::Idle,
        }
    }
}

/// An informer goes on at another server.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ChangedServers {
    last: BTreeMap<Who, ProcId>,
}

impl Property for ChangedServers {
    fn name(&self) -> &'static str {
        "client-changed-servers"
    }
    fn class(&self) -> Class {
        Class::Sometimes
    }
    fn note(&mut self, _: &World, note: &Note) -> Check {
        let Some(began) = note.body.get::<WatchBegan>() else {
            return Check::Idle;
        };
        let who = (note.process, began.informer);
        match self.last.insert(who, began.server) {
            Some(last) if last != began.server => Check::Held,
            _ => Check::Idle,
        }
    }
}

/// A watch ends as expired.
pub fn watch_expired() -> Reached {
    Reached {
        name: "informer-watch-expired",
        here: |_, note| {
            let over = note.body.get::<WatchOver>();
            let why = over.and_then(|over| over.why.as_ref());
            let expired = |status: &wavetank_api::Status| {
                status.is(Reason::Expired) || status.is(Reason::Gone)
            };
            matches!(why, Some(Trouble::Status(status)) if expired(status))
        },
    }
}

/// A server is behind what is asked for.
pub fn list_too_large() -> Reached {
    Reached {
        name: "list-was-too-large",
        here: |_, note| {
            let why = note.body.get::<NotListed>().map(|failed| &failed.why);
            let cause = "ResourceVersionTooLarge";
            matches!(why, Some(Trouble::Status(status)) if status.has_cause(cause))
        },
    }
}

/// A list comes as the first events of a watch.
pub fn list_streamed() -> Reached {
    Reached {
        name: "list-was-streamed",
        here: |_, note| {
            note.body
                .get::<Listed>()
                .is_some_and(|listed| listed.streamed)
        },
    }
}

/// A handler is told of a deletion that nobody saw.
pub fn deletion_unseen() -> Reached {
    Reached {
        name: "deletion-was-unseen",
        here: |_, note| {
            let call = note.body.get::<Handled>().map(|handled| handled.call);
            call == Some(Call::Delete { unseen: true })
        },
    }
}
