//! Events of v1.36 (`client-go/tools/events/event_broadcaster.go`): the second one that is like another
//! makes a series of it, and those after it are only counted, and written when the series has ended.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use wavetank_api::json::{self, Json};
use wavetank_api::{Reason, Stamp};
use wavetank_engine::{Cell, Lock, Name, Outcome, RoutineFuture, Rx, Task, Time, mutant};

use super::{Event, EventRecorder, RETRY, Report, TRIES, Wrote, get_reference, metadata, wrote};
use crate::wait::{JITTER, jitter};

/// `finishTime`
const FINISH: Duration = Duration::from_secs(360);
/// `refreshTime`, in times of [`FINISH`].
const REFRESH: u32 = 5;
/// `wait.Jitter(sleepDuration, 0.25)`
const QUARTER: u32 = 250;

const RECORD: Name = Name::new("record-event");
const FINISHER: Name = Name::new("finish-event-series");
const MU: Lock = Lock::new("event-cache");

/// `eventCache`, by everything but the note (`eventKey`).
type Cache = BTreeMap<String, Event>;

pub(super) fn routine(own: &EventRecorder, task: &Task) -> Option<RoutineFuture> {
    let (rx, of) = (Rx::new(), own.component);
    if task.kind() == RECORD {
        let (component, event) = task.args::<(Name, Event)>().clone();
        let future = || Box::pin(own.clone().record_series_to_sink(rx, event)) as RoutineFuture;
        return (component == of).then(future);
    }
    if task.kind() == FINISHER {
        let (component, turn) = *task.args::<(Name, u32)>();
        let future = || Box::pin(own.clone().finish_series(rx, turn)) as RoutineFuture;
        return (component == of).then(future);
    }
    None
}

/// `getKey`; who reports is the same in all of them.
fn get_key(event: &Json) -> String {
    let text = |field| json::text(event, &[field]);
    let regarding = &event["involvedObject"];
    format!("{}\n{}\n{regarding}", text("action"), text("reason"))
}

/// When it, or the last one of its series, was observed.
fn observed(event: &Json) -> Option<Time> {
    let last = match event.get("series") {
        Some(series) => json::text(series, &["lastObservedTime"]),
        None => json::text(event, &["eventTime"]),
    };
    Stamp::parse(last)?.clock()
}

impl EventRecorder {
    fn cache(&self) -> Cell<Cache> {
        Cell::numbered(self.component.as_str(), 1)
    }

    /// As `makeEvent` of `tools/events` does, in the form in which the server stores it.
    pub(super) fn make_series_event(&self, about: &Json, report: &Report, at: Time) -> Event {
        let (component, host) = (self.component.as_str(), &self.host);
        Event::new(json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": metadata(about, at),
            "involvedObject": get_reference(about),
            "reason": report.reason,
            "message": report.note,
            "source": {},
            "firstTimestamp": null,
            "lastTimestamp": null,
            "type": report.event_type.name(),
            "eventTime": Stamp::of(at).micros(),
            "action": report.action,
            "reportingComponent": component,
            "reportingInstance": format!("{component}-{host}"),
        }))
    }

    pub(super) fn record_in_series(&self, rx: Rx, event: Event) {
        rx.spawn(Task::new(RECORD, (self.component, event)));
    }

    /// As `recordToSink` of `tools/events` does.
    async fn record_series_to_sink(self, rx: Rx, event: Event) -> Outcome {
        let event = {
            let _mu = rx.lock(MU).await;
            self.observe(rx, event)
        };
        if let Some(event) = event {
            self.attempt_recording(rx, &event).await;
        }
        Outcome::Done
    }

    /// What is to be written of it.
    fn observe(&self, rx: Rx, event: Event) -> Option<Event> {
        let now = Stamp::of(rx.clock()).micros();
        let (was_empty, to_write) = rx.update(&self.cache(), |cache| {
            let was_empty = cache.is_empty();
            let Some(known) = cache.get_mut(&get_key(event.tree())) else {
                cache.insert(get_key(event.tree()), event.clone());
                return (was_empty, Some(event));
            };
            let count = json::number(known.tree(), &["series", "count"]);
            let mut tree = known.tree().clone();
            let series = json!({"count": count.unwrap_or(1) + 1, "lastObservedTime": now});
            json::set(&mut tree, &["series"], series);
            *known = Event::new(tree);
            (was_empty, count.is_none().then(|| known.clone()))
        });
        if was_empty {
            rx.spawn(Task::new(FINISHER, (self.component, 1_u32)));
        }
        to_write
    }

    /// `attemptRecording`
    async fn attempt_recording(&self, rx: Rx, event: &Event) {
        for tries in 1..=TRIES {
            let wrote = self.record_series_event(rx, event).await;
            if tries == TRIES || !matches!(wrote, Wrote::Unreached) {
                return;
            }
            let drawn = rx.choose(JITTER).await;
            rx.sleep(jitter(RETRY, QUARTER, drawn)).await;
        }
    }

    /// As `recordEvent` of `tools/events` does: a series is a patch, and a create if there is nothing to patch.
    async fn record_series_event(&self, rx: Rx, event: &Event) -> Wrote {
        let Some(series) = event.tree().get("series") else {
            return wrote(self.send(rx, event.post()).await);
        };
        let patched = self.send(rx, event.patch(json!({"series": series}))).await;
        if !matches!(&patched, Err(error) if error.is(Reason::NotFound))
            || mutant!(
                "series-is-not-made-anew",
                "a series whose event is gone is not written again"
            )
        {
            return wrote(patched);
        }
        match self.send(rx, event.post()).await {
            // The one that it is a series of was created in between.
            Err(error) if error.is(Reason::AlreadyExists) => Wrote::Unreached,
            created => wrote(created),
        }
    }

    /// `finishSeries` and `refreshExistingEventSeries`: what has not been observed for a while is
    /// forgotten, a series after its count is written. Upstream ticks from its start on, here from the
    /// first Event.
    async fn finish_series(self, rx: Rx, turn: u32) -> Outcome {
        rx.sleep(FINISH).await;
        let _mu = rx.lock(MU).await;
        for (key, event) in rx.read(&self.cache()) {
            let series = event.tree().get("series").is_some();
            let is_old = observed(event.tree()).is_none_or(|at| rx.clock().since(at) > FINISH);
            let refresh = turn.is_multiple_of(REFRESH) && series && !is_old;
            let mut forget = is_old;
            if (is_old && series) || refresh {
                let unreached =
                    matches!(self.record_series_event(rx, &event).await, Wrote::Unreached);
                forget &= !unreached;
            }
            if forget {
                rx.update(&self.cache(), |cache| cache.remove(&key));
            }
        }
        match rx.look(&self.cache(), Cache::is_empty) {
            true => Outcome::Done,
            false => Outcome::Become(Task::new(FINISHER, (self.component, turn + 1))),
        }
    }
}
