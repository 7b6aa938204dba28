//! `EventRecorder`: what a controller reports of objects, for their users. Events are recorded at once, written later and by somebody else, so that
//! whoever records never waits. `correlator` says what becomes of an Event that is like others
//! (`client-go/tools/record`, v1.16 and v1.20), `series` writes those of v1.36
//! (`client-go/tools/events`). Nothing runs while there is nothing to write.

mod correlator;
mod series;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::EVENTS;
use wavetank_api::{Method, Reason, Request, Stamp};
use wavetank_engine::{Cell, Instant, Name, Outcome, RoutineFuture, Rx, Task, Time};

use crate::rest::{Failure, RestClient};

use correlator::{Correlated, Correlator};

use crate::gates;

/// `maxTriesPerEvent`
const TRIES: u32 = 12;
/// `defaultSleepDuration`
const RETRY: Duration = Duration::from_secs(10);
/// `maxQueuedEvents`: more are dropped.
const QUEUED: usize = 1000;

const RECORD: Name = Name::new("record-events");

/// The type of an Event.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EventType {
    /// `EventTypeNormal`
    Normal,
    /// `EventTypeWarning`
    Warning,
}

impl EventType {
    const fn name(self) -> &'static str {
        match self {
            EventType::Normal => "Normal",
            EventType::Warning => "Warning",
        }
    }
}

/// What is to be said of an object.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Report {
    /// Its type.
    pub event_type: EventType,
    /// Why, in one word.
    pub reason: &'static str,
    /// What was being done; Events of the core group do not say it.
    pub action: &'static str,
    /// The message.
    pub note: String,
}

/// What waits to be written (`watch.Broadcaster`), and what was.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Sink {
    queue: VecDeque<Event>,
    writes: bool,
    correlator: Correlator,
    /// No two Events have the same name: this is the last instant that was part of one.
    named: Instant,
}

/// An Event as it is to be stored. It is equal to one that differs in its instants.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Event(wavetank_api::Object);

impl Event {
    fn new(tree: Json) -> Event {
        Event(wavetank_api::Object::new(tree))
    }

    fn tree(&self) -> &Json {
        self.0.json()
    }

    fn post(&self) -> Request {
        let path = EVENTS.path(self.0.namespace(), "");
        Request::new(Method::Post, path).with(self.tree().clone())
    }

    fn patch(&self, patch: Json) -> Request {
        let path = EVENTS.path(self.0.namespace(), self.0.name());
        let mut request = Request::new(Method::Patch, path).with(patch);
        request.content_type = Some("application/strategic-merge-patch+json".into());
        request
    }
}

/// What came of writing an Event (`recordEvent`).
enum Wrote {
    /// It is stored like this.
    Stored(Json),
    /// The server does not want it.
    Refused,
    /// The server was not reached: to be tried again.
    Unreached,
}

/// Writes Events of one component. What it remembers goes by the component's name: a process may have several.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct EventRecorder {
    /// How it reaches apiservers.
    pub rest: RestClient,
    /// The component that reports.
    pub component: Name,
    /// The host that it runs on.
    pub host: Arc<str>,
    /// Its number among all recorders of the cluster: no two Events of one object get the same name.
    pub number: u64,
}

impl EventRecorder {
    fn sink(&self) -> Cell<Sink> {
        Cell::numbered(self.component.as_str(), 0)
    }

    /// `Eventf`
    pub fn eventf(&self, rx: Rx, about: &Json, report: Report) {
        let at = self.instant(rx);
        if self.rest.release.has(gates::EVENTS_IN_SERIES) {
            let event = self.make_series_event(about, &report, at);
            return self.record_in_series(rx, event);
        }
        let event = self.make_event(about, &report, at);
        let starts = rx.update(&self.sink(), |sink| {
            if sink.queue.len() < QUEUED {
                sink.queue.push_back(event);
            }
            !std::mem::replace(&mut sink.writes, true)
        });
        if starts {
            rx.spawn(Task::new(RECORD, self.component));
        }
    }

    /// Now, so that no two Events have the same name: really there is a nanosecond between any two, in
    /// virtual time there is none.
    fn instant(&self, rx: Rx) -> Time {
        let now = rx.clock();
        let at = rx.update(&self.sink(), |sink| {
            let at = now.max(sink.named.0 + Duration::from_micros(1));
            sink.named = Instant(at);
            at
        });
        at + Duration::from_nanos(self.number)
    }

    /// The future of a task, if it is one of this recorder.
    pub fn routine(&self, task: &Task) -> Option<RoutineFuture> {
        if task.kind() == RECORD {
            let own = *task.args::<Name>() == self.component;
            return own.then(|| Box::pin(self.clone().record_to_sink(Rx::new())) as RoutineFuture);
        }
        series::routine(self, task)
    }

    /// `recordToSink`, for the Event that has waited longest.
    async fn record_to_sink(self, rx: Rx) -> Outcome {
        let now = rx.clock();
        let next = rx.update(&self.sink(), |sink| {
            let next = sink.queue.pop_front();
            sink.writes = next.is_some();
            next.map(|event| sink.correlator.event_correlate(event, now))
        });
        match next {
            None => return Outcome::Done,
            Some(None) => {} // too many of its object
            Some(Some(correlated)) => self.try_to_write(rx, correlated).await,
        }
        Outcome::Become(Task::new(RECORD, self.component))
    }

    async fn try_to_write(&self, rx: Rx, correlated: Correlated) {
        for tries in 1..=TRIES {
            match self.record_event(rx, &correlated).await {
                Wrote::Stored(event) => {
                    let sink = self.sink();
                    rx.update(&sink, |sink| {
                        sink.correlator.update_state(Event::new(event))
                    });
                    return;
                }
                Wrote::Refused => return,
                Wrote::Unreached if tries == TRIES => return,
                Wrote::Unreached if tries == 1 => {
                    // Clients do not come back all at once; in steps of a hundredth.
                    let drawn = rx.choose(100).await as u32;
                    rx.sleep(RETRY * drawn / 100).await;
                }
                Wrote::Unreached => rx.sleep(RETRY).await,
            }
        }
    }

    /// `recordEvent`: a patch if it is known, and if it is gone, or new, a create.
    async fn record_event(&self, rx: Rx, correlated: &Correlated) -> Wrote {
        if let Some(patch) = &correlated.patch {
            let patched = self.send(rx, correlated.event.patch(patch.clone())).await;
            if !matches!(&patched, Err(error) if error.is(Reason::NotFound)) {
                return wrote(patched);
            }
        }
        wrote(self.send(rx, correlated.event.post()).await)
    }

    async fn send(&self, rx: Rx, request: Request) -> Result<Json, Failure> {
        let stored = self.rest.object(rx, request).await?;
        Ok(stored.json())
    }

    /// `makeEvent` of `tools/record`
    fn make_event(&self, about: &Json, report: &Report, at: Time) -> Event {
        let seconds = Stamp::of(at).seconds();
        Event::new(json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": metadata(about, at),
            "involvedObject": get_reference(about),
            "reason": report.reason,
            "message": report.note,
            "source": {"component": self.component.as_str()},
            "firstTimestamp": seconds,
            "lastTimestamp": seconds,
            "count": 1,
            "type": report.event_type.name(),
            "eventTime": null,
            "reportingComponent": "",
            "reportingInstance": "",
        }))
    }
}

fn wrote(answer: Result<Json, Failure>) -> Wrote {
    match answer {
        Ok(event) => Wrote::Stored(event),
        Err(Failure::Status(_)) => Wrote::Refused,
        Err(Failure::Net(_)) => Wrote::Unreached,
    }
}

/// The name is that of the object and an instant; what has no namespace is reported in the default one.
fn metadata(about: &Json, at: Time) -> Json {
    let of = |field| json::text(about, &["metadata", field]);
    let namespace = match of("namespace") {
        "" => "default",
        namespace => namespace,
    };
    json!({
        "name": format!("{}.{:x}", of("name"), Stamp::of(at).nanos()),
        "namespace": namespace,
    })
}

/// `reference.GetReference`
fn get_reference(about: &Json) -> Json {
    let of = |field| json::text(about, &["metadata", field]);
    let all = [
        ("kind", json::text(about, &["kind"])),
        ("namespace", of("namespace")),
        ("name", of("name")),
        ("uid", of("uid")),
        ("apiVersion", json::text(about, &["apiVersion"])),
        ("resourceVersion", of("resourceVersion")),
    ];
    let there = all.into_iter().filter(|(_, value)| !value.is_empty());
    there
        .map(|(field, value)| (field.to_owned(), value.into()))
        .collect::<json::Map>()
        .into()
}
