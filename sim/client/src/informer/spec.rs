//! What informers of a process are to be like.

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::kinds::Resource;
use wavetank_engine::{Name, NotState, Rx};
use wavetank_version::Set;

use super::Notice;
use crate::InformerDefect;
use crate::indexer::Index;
use crate::observed::{Labels, Selection};
use crate::rest::RestClient;

/// No handler's resync comes more often.
const SHORTEST_RESYNC: Duration = Duration::from_secs(1);

/// Informers of one owner, a controller or a client, and what they share. A process may have those of several.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Informers {
    /// Whose they are: no other informers of the process have this name.
    pub scope: Name,
    /// How they reach servers.
    pub rest: RestClient,
    /// The defects of client-go that are on.
    pub defects: Set<InformerDefect>,
    /// One each.
    pub specs: Vec<InformerSpec>,
}

/// An informer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct InformerSpec {
    /// What it is about.
    pub selection: Selection,
    /// The resync of handlers that do not say how often, and the shortest of all. Without it there is
    /// none.
    pub resync: Option<Duration>,
    /// Its handlers.
    pub handlers: Vec<HandlerSpec>,
    /// Indices of its store.
    pub indices: Vec<Index>,
    /// The routine that empties its queue may get no turn for a while.
    pub queue_lag: Option<Lag>,
}

/// A handler.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct HandlerSpec {
    /// A name, by which it is compared.
    pub name: &'static str,
    /// How often it is told of everything.
    pub resync: Resync,
    /// It may take its time.
    pub lag: Option<Lag>,
    /// What it does; its informer is named by its place among those of its owner.
    pub on: NotState<EventHandler>,
}

/// What a handler does with a notice.
pub type EventHandler = Arc<dyn Fn(Rx, u32, &Notice) + Send + Sync>;

/// How often a handler is told of everything.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Resync {
    /// As its informer says (`AddEventHandler`).
    Default,
    /// Never.
    Never,
    /// So often (`AddEventHandlerWithResyncPeriod`).
    Every(Duration),
}

/// Once in so many times, somebody takes up to so long.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Lag {
    /// 1: always.
    pub one_in: u64,
    /// Anything from nothing to this.
    pub upto: Duration,
}

impl HandlerSpec {
    /// A handler that only keeps its view.
    pub fn new(name: &'static str) -> HandlerSpec {
        HandlerSpec {
            name,
            resync: Resync::Default,
            lag: None,
            on: NotState(Arc::new(|_, _, _| {})),
        }
    }
}

impl InformerSpec {
    /// All objects of a resource; one handler.
    pub fn of(resource: &'static Resource) -> InformerSpec {
        InformerSpec {
            selection: Selection {
                resource,
                namespace: "".into(),
                labels: Labels::default(),
            },
            resync: None,
            handlers: vec![HandlerSpec::new("view")],
            indices: Vec::new(),
            queue_lag: None,
        }
    }

    /// How often the reflector looks whether somebody wants a resync, and how often each handler does
    /// (`AddEventHandlerWithResyncPeriod`, `determineResyncPeriod`).
    pub fn resync_periods(&self) -> (Option<Duration>, Vec<Option<Duration>>) {
        let wanted = self.handlers.iter().map(|handler| match handler.resync {
            Resync::Default => self.resync,
            Resync::Never => None,
            Resync::Every(period) => Some(period),
        });
        let wanted: Vec<Option<Duration>> = wanted
            .map(|period| period.map(|period| period.max(SHORTEST_RESYNC)))
            .collect();
        let shortest = wanted.iter().flatten().min().copied();
        let check = self.resync.map(|own| shortest.map_or(own, |s| s.min(own)));
        let periods = wanted
            .into_iter()
            .map(|period| Some(period?.max(check?)))
            .collect();
        (check, periods)
    }
}

impl Selection {
    /// The path of its collection.
    pub fn path(&self) -> String {
        self.resource.path(&self.namespace, "")
    }
}

impl Labels {
    /// As in a URL; empty if everything is selected.
    pub fn text(&self) -> String {
        self.0.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wavetank_api::kinds::{CONFIG_MAPS, ENDPOINT_SLICES};

    fn seconds(s: u64) -> Option<Duration> {
        Some(Duration::from_secs(s))
    }

    fn with(resync: Option<Duration>, handlers: &[Resync]) -> InformerSpec {
        InformerSpec {
            resync,
            handlers: handlers
                .iter()
                .map(|resync| HandlerSpec {
                    resync: *resync,
                    ..HandlerSpec::new("h")
                })
                .collect(),
            ..InformerSpec::of(&CONFIG_MAPS)
        }
    }

    #[test]
    fn periods_are_at_least_a_second_and_none_without_one_of_the_informer() {
        let every = |millis| Resync::Every(Duration::from_millis(millis));
        let none = with(None, &[every(5000), Resync::Default]);
        assert_eq!(none.resync_periods(), (None, vec![None, None]));
        let some = with(seconds(30), &[Resync::Default, Resync::Never, every(20)]);
        let periods = vec![seconds(30), None, seconds(1)];
        assert_eq!(some.resync_periods(), (seconds(1), periods));
        let long = with(seconds(30), &[every(60_000)]);
        assert_eq!(long.resync_periods(), (seconds(30), vec![seconds(60)]));
    }

    #[test]
    fn paths_are_those_of_collections() {
        let path = |resource, namespace: &str| {
            let selection = Selection {
                namespace: namespace.into(),
                ..InformerSpec::of(resource).selection
            };
            selection.path()
        };
        assert_eq!(path(&CONFIG_MAPS, ""), "/api/v1/configmaps");
        assert_eq!(
            path(&ENDPOINT_SLICES, "ns"),
            "/apis/discovery.k8s.io/v1/namespaces/ns/endpointslices"
        );
    }
}
