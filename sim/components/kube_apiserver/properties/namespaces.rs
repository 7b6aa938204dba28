//! What admission makes of namespaces, as clients see it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use wavetank_actors::writer::{RequestAnswered, Requested};
use wavetank_api::kinds::NAMESPACES;
use wavetank_api::{Object, Reason};
use wavetank_engine::{Check, Note, ProcId, Property, World};
use wavetank_etcd::Committed;

use crate::promises::violated;

/// Where they are stored.
const STORED: &str = "/registry/namespaces/";

/// Whoever makes an object in a namespace that was there all the while is not told that it is not, however far the informer
/// of the server is behind (k/k#135352).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct NamespaceIsFound {
    there: BTreeSet<Arc<str>>,
    /// Requests in namespaces that have been there since they began.
    begun: BTreeMap<(ProcId, u32), Arc<str>>,
}

/// The namespace of an object or collection.
fn namespace_of(path: &str) -> Option<&str> {
    let (_, rest) = path.split_once("/namespaces/")?;
    let (namespace, _) = rest.split_once('/')?;
    Some(namespace)
}

impl Property for NamespaceIsFound {
    fn name(&self) -> &'static str {
        "namespace-is-found"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(commit) = note.body.get::<Committed<Object>>() {
            for change in &*commit.changes {
                let Some(name) = change.key.strip_prefix(STORED) else {
                    continue;
                };
                if change.now.is_some() {
                    self.there.insert(name.into());
                } else {
                    self.there.remove(name);
                    self.begun.retain(|_, of| **of != *name);
                }
            }
        }
        if let Some(begins) = note.body.get::<Requested>()
            && let Some(namespace) = namespace_of(&begins.path)
            && self.there.contains(namespace)
        {
            let request = (note.process, begins.number);
            self.begun.insert(request, namespace.into());
        }
        let Some(answered) = note.body.get::<RequestAnswered>() else {
            return Check::Idle;
        };
        let request = (note.process, answered.number);
        let Some(namespace) = self.begun.remove(&request) else {
            return Check::Idle;
        };
        let Some(refused) = &answered.refused else {
            return Check::Held;
        };
        let details = refused.details.as_ref();
        let about_it = details.is_some_and(|details| {
            details.kind == NAMESPACES.plural && *details.name == *namespace
        });
        match refused.is(Reason::NotFound) && about_it {
            false => Check::Held,
            true => {
                let server = world.name(answered.server);
                let message = format!("{server} says that it is not found, and it was there");
                violated("Namespace", &namespace, message)
            }
        }
    }
}
