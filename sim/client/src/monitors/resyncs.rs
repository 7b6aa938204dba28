//! What a resync is for: a handler that asked for one hears of every object again and again, also when nothing happens.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use wavetank_engine::{Check, Instant, Note, Property, World};

use super::converge::of;
use super::{Who, violated};
use crate::fifo::StoreKey;
use crate::observed::{Handled, Informing};

/// From when informers have settled after calm to when it is looked at: handlers with a resync have had two periods of
/// 40 s by then (one that becomes due at the moment of a check waits for the next), and the time to work off what came.
const HEARD: Duration = Duration::from_secs(2 * 40 + 160);

/// Each handler with a resync of at most 40 s was told of each object that its informer has in two periods of calm.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct HandlersHearResyncs {
    settled: Duration,
    /// The periods of the handlers of each informer.
    informers: BTreeMap<Who, Vec<Option<Duration>>>,
    /// Since then it is noted what they hear of.
    from: Option<Instant>,
    heard: BTreeSet<(Who, u32, StoreKey)>,
}

impl HandlersHearResyncs {
    /// Informers have settled so long after calm.
    pub fn new(settled: Duration) -> HandlersHearResyncs {
        HandlersHearResyncs {
            settled,
            informers: BTreeMap::new(),
            from: None,
            heard: BTreeSet::new(),
        }
    }
}

impl Property for HandlersHearResyncs {
    fn name(&self) -> &'static str {
        "handlers-hear-resyncs"
    }

    fn note(&mut self, world: &World, note: &Note) -> Check {
        if let Some(begins) = note.body.get::<Informing>() {
            let who = (note.process, begins.informer);
            self.informers.insert(who, begins.resyncs.clone());
        } else if let Some(handled) = note.body.get::<Handled>()
            && self.from.is_some_and(|from| world.now() >= from.0)
        {
            let who = (note.process, handled.informer);
            self.heard
                .insert((who, handled.handler, handled.key.clone()));
        }
        Check::Idle
    }

    fn calm(&mut self, world: &World) -> Option<Duration> {
        self.heard.clear();
        self.from = Some(Instant(world.now() + self.settled));
        Some(self.settled + HEARD)
    }

    fn deadline(&mut self, world: &World) -> Check {
        let mut looked = Check::Idle;
        for (who, periods) in &self.informers {
            let Some(informer) = of(world, *who) else {
                continue;
            };
            for ((handler, period), listener) in (0..).zip(periods).zip(&informer.listeners) {
                let Some(period) = period.filter(|period| 2 * *period < HEARD) else {
                    continue;
                };
                // It may have to catch up.
                if listener.is_busy() {
                    continue;
                }
                looked = Check::Held;
                let content = informer.content();
                let mut keys = content.iter().map(|(key, _)| key);
                let is_new =
                    |key: &&StoreKey| !self.heard.contains(&(*who, handler, (*key).clone()));
                if let Some(key) = keys.find(is_new) {
                    let message = format!(
                        "handler {handler} wants to hear of all every {} s, and has not heard of {key} for {} s",
                        period.as_secs_f64(),
                        HEARD.as_secs_f64()
                    );
                    return violated(world, *who, message);
                }
            }
        }
        looked
    }
}
