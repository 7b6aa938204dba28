//! What becomes of an Event that is like others (`client-go/tools/record/events_cache.go`): the same
//! one again counts, ten of one reason within ten minutes become one, and of one object there are no
//! more than 25 and then one in five minutes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::json;
use wavetank_api::Stamp;
use wavetank_api::json::{self, Json};
use wavetank_engine::{Instant, Time};

use super::Event;

/// `defaultAggregateMaxEvents`
const SIMILAR: usize = 10;
/// `defaultAggregateIntervalInSeconds`
const INTERVAL: Duration = Duration::from_secs(600);
/// `defaultSpamBurst`
const BURST: u32 = 25;
/// One by `defaultSpamQPS`.
const REFILL: Duration = Duration::from_secs(300);

/// An Event that is to be written, with a patch if it was before.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Correlated {
    pub event: Event,
    pub patch: Option<Json>,
}

/// `EventCorrelator`. Its caches have room for 4,096 entries upstream, and here for all.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Correlator {
    /// `EventAggregator`: by everything but the message.
    similar: BTreeMap<String, Similar>,
    /// `eventLogger`: those that were written, by everything, or the aggregate.
    written: BTreeMap<String, Event>,
    /// `EventSourceObjectSpamFilter`: by object.
    buckets: BTreeMap<String, Bucket>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Similar {
    messages: BTreeSet<String>,
    last: Instant,
}

/// A token bucket.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Bucket {
    /// How much was taken and is not refilled: [`REFILL`] for each Event.
    taken: Duration,
    at: Instant,
}

impl Bucket {
    fn try_accept(&mut self, now: Time) -> bool {
        let left = self.taken.saturating_sub(now.since(self.at.0));
        self.at = Instant(now);
        let accepts = left + REFILL <= REFILL * BURST;
        self.taken = left + if accepts { REFILL } else { Duration::ZERO };
        accepts
    }
}

/// The fields of a key, in a row.
fn key(event: &Json, fields: &[&[&str]]) -> String {
    let of_object = ["kind", "namespace", "name", "uid", "apiVersion"];
    let object = of_object.map(|field| json::text(event, &["involvedObject", field]));
    let others = fields.iter().map(|path| json::text(event, path));
    let all: Vec<&str> = object.into_iter().chain(others).collect();
    all.join("\n")
}

/// `getEventKey`
fn get_event_key(event: &Json) -> String {
    key(event, &[&["type"], &["reason"], &["message"]])
}

/// `EventAggregatorByReasonFunc`
fn event_aggregator_by_reason_func(event: &Json) -> String {
    key(event, &[&["type"], &["reason"]])
}

impl Correlator {
    /// `EventCorrelate`; `None` if it is one too many.
    pub fn event_correlate(&mut self, event: Event, now: Time) -> Option<Correlated> {
        let (event, of) = self.event_aggregate(event, now);
        let correlated = self.event_observe(event, of);
        let object = key(correlated.event.tree(), &[]);
        let bucket = self.buckets.entry(object).or_insert(Bucket {
            taken: Duration::ZERO,
            at: Instant(now),
        });
        bucket.try_accept(now).then_some(correlated)
    }

    /// `EventAggregate`
    fn event_aggregate(&mut self, event: Event, now: Time) -> (Event, String) {
        let tree = event.tree();
        let key = event_aggregator_by_reason_func(tree);
        let message = json::text(tree, &["message"]).to_owned();
        let similar = self.similar.entry(key.clone()).or_insert(Similar {
            messages: BTreeSet::new(),
            last: Instant(now),
        });
        if now.since(similar.last.0) > INTERVAL {
            similar.messages.clear();
        }
        similar.last = Instant(now);
        similar.messages.insert(message.clone());
        if similar.messages.len() < SIMILAR {
            let key = get_event_key(tree);
            return (event, key);
        }
        // Upstream drops any of them.
        similar.messages.pop_first();
        let mut combined = event.0.json().clone();
        let seconds = Stamp::of(now).seconds();
        let message = format!("(combined from similar events): {message}");
        json::set(&mut combined, &["message"], message);
        json::set(&mut combined, &["firstTimestamp"], seconds.clone());
        json::set(&mut combined, &["lastTimestamp"], seconds);
        (Event::new(combined), key)
    }

    /// `eventObserve`: one that was written counts one more.
    fn event_observe(&mut self, event: Event, key: String) -> Correlated {
        let count = |event: &Event| json::number(event.tree(), &["count"]).unwrap_or(0);
        let before = self.written.get(&key).filter(|before| count(before) > 0);
        let correlated = match before {
            None => Correlated { event, patch: None },
            Some(before) => {
                let mut tree = event.tree().clone();
                let name = before.0.name().to_owned();
                let first = json::text(before.tree(), &["firstTimestamp"]).to_owned();
                json::set(&mut tree, &["metadata", "name"], name);
                json::set(&mut tree, &["firstTimestamp"], first);
                json::set(&mut tree, &["count"], count(before) + 1);
                let patch = json!({
                    "count": tree["count"],
                    "lastTimestamp": tree["lastTimestamp"],
                    "message": tree["message"],
                });
                Correlated {
                    event: Event::new(tree),
                    patch: Some(patch),
                }
            }
        };
        self.written.insert(key, correlated.event.clone());
        correlated
    }

    /// `updateState`
    pub fn update_state(&mut self, event: Event) {
        self.written.insert(get_event_key(event.tree()), event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, message: &str) -> Event {
        Event::new(json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": "n"},
            "involvedObject": {"kind": "Service", "namespace": "n", "name": "s"},
            "type": "Warning",
            "reason": "ClusterIPNotAllocated",
            "message": message,
            "count": 1,
            "firstTimestamp": name,
            "lastTimestamp": name,
        }))
    }

    /// Name, count and whether it is a patch.
    fn sent(correlated: Option<Correlated>) -> Option<(String, i64, bool)> {
        let Correlated { event, patch } = correlated?;
        let count = json::number(event.tree(), &["count"]).expect("a count");
        Some((event.0.name().to_owned(), count, patch.is_some()))
    }

    #[test]
    fn the_same_again_counts() {
        let mut correlator = Correlator::default();
        let mut at = |name: &str| sent(correlator.event_correlate(event(name, "m"), Time::ZERO));
        assert_eq!(at("a"), Some(("a".into(), 1, false)));
        assert_eq!(at("b"), Some(("a".into(), 2, true)));
        assert_eq!(at("c"), Some(("a".into(), 3, true)));
    }

    #[test]
    fn ten_of_a_reason_become_one() {
        let mut correlator = Correlator::default();
        let mut at = |seconds, name: &str| {
            sent(correlator.event_correlate(event(name, name), Time::from_secs(seconds)))
        };
        for name in ["a", "b", "c", "d", "e", "f", "g", "h", "i"] {
            assert_eq!(at(1, name), Some((name.into(), 1, false)));
        }
        assert_eq!(at(2, "j"), Some(("j".into(), 1, false)), "the combined one");
        assert_eq!(at(3, "k"), Some(("j".into(), 2, true)));
        // After ten minutes without any they begin anew.
        assert_eq!(at(604, "l"), Some(("l".into(), 1, false)));
        assert_eq!(at(604, "a"), Some(("a".into(), 2, true)));
    }

    #[test]
    fn an_object_has_25_and_then_one_in_five_minutes() {
        let mut correlator = Correlator::default();
        let mut passes = |seconds| {
            let correlated = correlator.event_correlate(event("a", "m"), Time::from_secs(seconds));
            correlated.is_some()
        };
        assert!((0..25).all(|_| passes(10)));
        assert!(!passes(10) && !passes(309));
        assert!(passes(310) && !passes(310));
    }
}
