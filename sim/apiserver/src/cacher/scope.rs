//! Which watchers an event concerns, and how large their buffers are: what is known of a watcher
//! outside its own routine.

use std::sync::Arc;

use wavetank_api::Stored;
use wavetank_etcd::Revision;

use super::Cacher;
use super::event::Event;
use super::state::Cache;
use super::window::FRESH;
use crate::cacher::gates;
use crate::options::ListOptions;

/// `minWatchChanSize`, `maxWatchChanSize…`, and the fixed sizes until v1.20.
const SMALL: usize = 10;
const WITHOUT_INDEX: usize = 100;
const UNUSED_TRIGGER: usize = 1000;

/// Is a watch still waiting for the bookmark that ends its initial events?
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Awaiting {
    /// It is.
    Bookmark,
    /// The bookmark is in its buffer.
    Received,
    /// It is out, or was never asked for.
    Nothing,
}

/// What the cacher knows of a watcher.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Registered {
    scope: Scope,
    /// The one value of the trigger's field that it wants.
    trigger: Option<Arc<str>>,
    /// `bookmarkAfterResourceVersion`
    pub after: Revision,
    pub awaiting: Awaiting,
    /// It gets nothing more; what is in its buffer still goes out.
    pub leaving: bool,
}

/// `namespacedName`: what a watch is confined to, v1.36; empty: not.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Scope {
    namespace: Arc<str>,
    name: Arc<str>,
}

impl Scope {
    fn holds(&self, event: &Event) -> bool {
        let object = &event.object.object;
        (self.namespace.is_empty() || *self.namespace == *object.namespace())
            && (self.name.is_empty() || *self.name == *object.name())
    }
}

impl Cacher {
    /// The field of which watchers may want one value (`TriggerFunc` in `pkg/registry`).
    fn trigger(self) -> Option<&'static str> {
        let has = |gate| self.config.release.has(gate);
        match self.resource.plural {
            "pods" => Some("spec.nodeName"),
            "nodes" | "secrets" | "configmaps" if has(gates::NAMES_ARE_TRIGGERS) => {
                Some("metadata.name")
            }
            "resourceslices" if has(gates::RESOURCE_SLICES_HAVE_TRIGGERS) => Some("spec.nodeName"),
            _ => None,
        }
    }

    /// The buffer of a watcher (`suggestedWatchChannelSize`).
    pub(super) fn buffer(self, window: usize, triggered: bool) -> u32 {
        let trigger = self.trigger().is_some();
        let follows = self.config.release.has(gates::BUFFERS_FOLLOW_THE_WINDOW);
        let size = match (follows, trigger, triggered) {
            (false, true, false) => UNUSED_TRIGGER,
            (false, ..) => SMALL,
            (true, trigger, triggered) => {
                let most = match (trigger, triggered) {
                    (true, true) => SMALL,
                    (true, false) => UNUSED_TRIGGER,
                    (false, _) => WITHOUT_INDEX,
                };
                let fresh = FRESH.as_secs() as usize;
                window.div_ceil(fresh).clamp(SMALL, most)
            }
        };
        u32::try_from(size).expect("a small size")
    }

    pub(super) fn triggered(self, options: &ListOptions) -> Option<Arc<str>> {
        let value = options.predicate.fields.exactly(self.trigger()?)?;
        Some(value.into())
    }

    pub(super) fn registered(
        self,
        under: &str,
        options: &ListOptions,
        after: Revision,
    ) -> Registered {
        let mut scope = Scope::default();
        if self.config.release.has(gates::WATCHERS_HAVE_SCOPES) {
            let rest = under.strip_prefix(&*self.prefix()).unwrap_or_default();
            let (namespace, name) = match self.resource.namespaced {
                true => rest.split_once('/').unwrap_or(("", "")),
                false => ("", rest),
            };
            let fields = &options.predicate.fields;
            let or = |text: &str, field| match text {
                "" => fields.exactly(field).unwrap_or_default().into(),
                text => text.into(),
            };
            scope = Scope {
                namespace: or(namespace, "metadata.namespace"),
                name: or(name, "metadata.name"),
            };
        }
        Registered {
            scope,
            trigger: self.triggered(options),
            after,
            awaiting: match after {
                0 => Awaiting::Nothing,
                _ => Awaiting::Bookmark,
            },
            leaving: false,
        }
    }
}

impl Cache {
    /// The watchers that may want an event, in the order in which they came.
    pub(super) fn concerned(&self, cacher: Cacher, event: &Event) -> Vec<u64> {
        let value = |stored: &Stored, field| {
            let strategy = cacher.resource.strategy;
            strategy.field(stored.object.json(), field).into_owned()
        };
        let triggered = cacher.trigger().map(|field| {
            let before = event.before.as_ref().map(|before| value(before, field));
            (value(&event.object, field), before)
        });
        let wants = |watcher: &Registered| match (&watcher.trigger, &triggered) {
            (Some(wanted), Some((now, before))) => {
                **wanted == **now || before.as_ref().is_some_and(|before| **wanted == **before)
            }
            _ => watcher.scope.holds(event),
        };
        let all = self.watchers.iter();
        let all = all.filter(|(_, watcher)| !watcher.leaving && wants(watcher));
        all.map(|(number, _)| *number).collect()
    }

    pub(super) fn bookmark_received(&mut self, number: u64) {
        if let Some(watcher) = self.watchers.get_mut(&number)
            && watcher.awaiting == Awaiting::Bookmark
        {
            watcher.awaiting = Awaiting::Received;
        }
    }
}
