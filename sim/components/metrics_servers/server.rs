//! The process: it looks at all pods again and again (`--metric-resolution`), and answers with what it has measured last. What it
//! has measured goes with it when it crashes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::kinds::{CONFIG_MAPS, PODS};
use wavetank_api::selector::LabelSelector;
use wavetank_api::{Json, Method, Request, Stamp};
use wavetank_client::RestClient;
use wavetank_engine::{
    Caller, Cell, Cx, Keepalive, Name, Outcome, Payload, Process, RoutineFuture, Rx, Task, Timer,
    Transport,
};

use super::LOAD;
use super::samples::{PodMetrics, measure, runs};

/// `--metric-resolution`
const RESOLUTION: Duration = Duration::from_secs(15);
/// How long each of the two requests of a look may take: it is over before the next one begins, as in `tick`.
const LIMIT: Duration = Duration::from_secs(7);
/// The namespace of all load.
const NAMESPACE: &str = "default";

const SCRAPE: Name = Name::new("scrape");
const LOSE: Name = Name::new("lose-samples");
const AGAIN: Timer = Timer::new(SCRAPE, 0);

/// How it is asked. Who gives a request up after a minute finds out before that a server is silent.
pub static METRICS: Transport = Transport {
    name: Name::new("metrics"),
    dial_timeout: Duration::from_secs(30),
    keepalive: Some(Keepalive {
        after: Duration::from_secs(30),
        limit: Duration::from_secs(15),
        idle: false,
    }),
    window: None,
};

/// What pods with these labels use, in the namespace of all load.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ListPodMetrics {
    /// `labelSelector`
    pub selector: LabelSelector,
}

/// The answer, in the order of names.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PodMetricsList(pub Vec<PodMetrics>);

/// What was measured last, and the labels of those pods; and which pods ran then.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Measured {
    ran: BTreeSet<Arc<str>>,
    samples: BTreeMap<Arc<str>, PodMetrics>,
    pods: BTreeMap<Arc<str>, wavetank_api::Object>,
}

static MEASURED: Cell<Measured> = Cell::new("measured");

/// A server of metrics.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct MetricsServer {
    rest: RestClient,
}

impl MetricsServer {
    pub fn new(rest: RestClient) -> MetricsServer {
        MetricsServer { rest }
    }

    /// One look at all pods. If it fails, what was measured before stays.
    async fn scrape(self, rx: Rx) -> Outcome {
        let now = Stamp::of(rx.clock());
        let list = Request::new(Method::Get, PODS.path(NAMESPACE, ""));
        let pods = rx.timeout(LIMIT, self.rest.list(rx, list)).await;
        let get = Request::new(Method::Get, CONFIG_MAPS.path(NAMESPACE, LOAD));
        let load = self.rest.object_within(rx, get, LIMIT).await;
        let (Some(Ok(pods)), Ok(load)) = (pods, load) else {
            return Outcome::Done;
        };
        let pods = pods.items;
        rx.update(&MEASURED, |measured| {
            let load = load.object.json();
            measured.samples = measure(&pods, &measured.ran, load, now, RESOLUTION);
            let running = pods.iter().filter(|pod| runs(pod));
            measured.ran = running.map(|pod| pod.object.uid().into()).collect();
            let all = pods
                .iter()
                .map(|pod| (pod.object.name().into(), pod.object.clone()));
            measured.pods = all.collect();
        });
        Outcome::Done
    }

    /// Of each pod it is drawn whether its sample is lost.
    async fn lose(self, rx: Rx) -> Outcome {
        let names: Vec<Arc<str>> = rx.look(&MEASURED, |own| own.samples.keys().cloned().collect());
        for name in names {
            if rx.choose(2).await == 1 {
                rx.update(&MEASURED, |measured| {
                    measured.samples.remove(&name);
                });
            }
        }
        Outcome::Done
    }
}

impl Process for MetricsServer {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        cx.arm(AGAIN, RESOLUTION);
        cx.spawn(Task::new(SCRAPE, ()));
    }

    fn request(&mut self, cx: &mut Cx<'_>, caller: Caller, body: &Payload) {
        let ListPodMetrics { selector } = body.expect();
        let measured = cx.cell(&MEASURED);
        let wanted = |name: &Arc<str>| {
            let pod = measured.pods.get(name);
            pod.is_some_and(|pod| selector.matches(pod.json()))
        };
        let all = measured.samples.iter();
        let all = all.filter(|(name, _)| wanted(name));
        let list = PodMetricsList(all.map(|(_, own)| own.clone()).collect());
        cx.reply(caller, list);
    }

    fn timer(&mut self, cx: &mut Cx<'_>, timer: Timer) {
        cx.arm(timer, RESOLUTION);
        cx.spawn(Task::new(SCRAPE, ()));
    }

    /// `lose`: what was measured of some pods is lost.
    fn command(&mut self, cx: &mut Cx<'_>, what: &str, _: &Json) -> Result<(), String> {
        if what != "lose" {
            return Err(format!("knows `lose`, not `{what}`"));
        }
        cx.spawn(Task::new(LOSE, ()));
        Ok(())
    }

    fn crash(&mut self) {}

    fn routine(&self, task: &Task) -> RoutineFuture {
        let own = self.clone();
        match task.kind() == LOSE {
            true => Box::pin(own.lose(Rx::new())),
            false => Box::pin(own.scrape(Rx::new())),
        }
    }
}
