//! One who runs pods: it lists them, and takes a few a step further. Which node a pod gets is drawn, but for those that are for one.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value as Json, json};
use wavetank_api::json;
use wavetank_api::kinds::PODS;
use wavetank_api::{Method, Request, Stamp, Stored};
use wavetank_client::RestClient;
use wavetank_engine::{
    Caller, Cx, Name, NotState, Outcome, Payload, Process, RoutineFuture, Rx, Task,
};
use wavetank_etcd::Revision;

use super::{NEVER_READY, SLOW, tasks};

const RUN: Name = Name::new("run-pods");
const FAIL: Name = Name::new("fail-pod");
const NODES: u64 = 3;
/// So many pods are taken a step further at a time.
const STEPS: usize = 4;
/// How long a request may take.
const LIMIT: Duration = Duration::from_secs(10);

/// What may be done to a pod next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    Bind,
    Start,
    /// A task may have done what it was to do.
    Finish,
    /// A task that is to go ends.
    Kill,
    End,
}

/// A runner of pods.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct PodRunner {
    rest: RestClient,
    /// The revisions at which pods were found to which nothing is to be done, in order: where there are many it takes longer than
    /// all else to look at them again.
    settled: NotState<Arc<[Revision]>>,
}

fn phase(pod: &Json) -> &str {
    json::text(pod, &["status", "phase"])
}

fn is_ready(pod: &Json) -> bool {
    let conditions = json::list(pod, &["status", "conditions"]);
    let mut ready = conditions.iter().filter(|own| own["type"] == "Ready");
    ready.any(|condition| condition["status"] == "True")
}

fn is_slow(pod: &Json) -> bool {
    let mut all = json::list(pod, &["spec", "containers"]).iter();
    all.any(|own| own["image"] == SLOW)
}

/// Does it say what it requests? Only who measures what pods use asks when one began.
fn is_measured(pod: &Json) -> bool {
    let mut all = json::list(pod, &["spec", "containers"]).iter();
    all.any(|own| json::at(own, &["resources", "requests"]).is_some())
}

/// What is to be done to a pod, if anything is.
fn step(pod: &Stored) -> Option<Step> {
    let json = pod.object.json();
    if tasks::is_task(json) {
        return tasks::step(json);
    }
    if pod.object.is_being_deleted() {
        return Some(Step::End);
    }
    if json::text(json, &["spec", "nodeName"]).is_empty() {
        return Some(Step::Bind);
    }
    let containers = json::list(json, &["spec", "containers"]);
    let starts = !containers.iter().any(|own| own["image"] == NEVER_READY);
    let runs = starts && matches!(phase(json), "Pending" | "Running");
    (runs && !is_ready(json)).then_some(Step::Start)
}

/// The node that a pod is for, if it says so by its affinity, as daemon pods do.
fn only_node(pod: &Json) -> Option<&str> {
    let path = [
        "spec",
        "affinity",
        "nodeAffinity",
        "requiredDuringSchedulingIgnoredDuringExecution",
        "nodeSelectorTerms",
    ];
    let terms = json::list(pod, &path).iter();
    let mut fields = terms.flat_map(|term| json::list(term, &["matchFields"]));
    let named = fields.find(|own| own["key"] == "metadata.name" && own["operator"] == "In")?;
    json::list(named, &["values"]).first()?.as_str()
}

impl PodRunner {
    pub fn new(rest: RestClient) -> PodRunner {
        PodRunner {
            rest,
            settled: NotState(Arc::default()),
        }
    }

    /// What becomes of a change shows in etcd.
    async fn ask(&self, rx: Rx, request: Request) {
        let _ = rx.timeout(LIMIT, self.rest.request(rx, request)).await;
    }

    async fn pods(&self, rx: Rx) -> Vec<Stored> {
        let list = Request::new(Method::Get, PODS.path("", ""));
        let listed = rx.timeout(LIMIT, self.rest.list(rx, list)).await;
        listed
            .and_then(Result::ok)
            .map_or(Vec::new(), |list| list.items)
    }

    /// The first pods that can be taken a step further.
    fn next<'a>(&self, rx: Rx, all: &'a [Stored]) -> Vec<(&'a Stored, Step)> {
        let mut next = Vec::new();
        let mut settled = Vec::new();
        for pod in all {
            let at = pod.resource_version;
            if self.settled.binary_search(&at).is_ok() {
                settled.push(at);
                continue;
            }
            if next.len() == STEPS {
                continue;
            }
            match step(pod) {
                Some(step) => next.push((pod, step)),
                None => settled.push(at),
            }
        }
        settled.sort_unstable();
        let settled: Arc<[Revision]> = settled.into();
        rx.process(|own: &mut PodRunner| own.settled.0 = settled);
        next
    }

    async fn run(self, rx: Rx) -> Outcome {
        let all = self.pods(rx).await;
        for (pod, step) in self.next(rx, &all) {
            let path = PODS.path(pod.object.namespace(), pod.object.name());
            match step {
                Step::Bind => {
                    let node = match only_node(pod.object.json()) {
                        Some(node) => node.to_owned(),
                        None => format!("n{}", rx.choose(NODES).await + 1),
                    };
                    let binding = json!({
                        "apiVersion": "v1",
                        "kind": "Binding",
                        "metadata": {"name": pod.object.name(), "uid": pod.object.uid()},
                        "target": {"kind": "Node", "name": node},
                    });
                    let post = Request::new(Method::Post, format!("{path}/binding"));
                    self.ask(rx, post.with(binding)).await;
                }
                Step::Start if !is_slow(pod.object.json()) => {
                    self.put_status(rx, pod, "Running", true).await;
                }
                Step::Start if phase(pod.object.json()) == "Pending" => {
                    self.put_status(rx, pod, "Running", false).await;
                }
                // One of four, so that they take a while.
                Step::Start if rx.choose(4).await == 0 => {
                    self.put_status(rx, pod, "Running", true).await;
                }
                Step::Start => {}
                // One of two, so that tasks run for a while.
                Step::Finish if rx.choose(2).await == 0 => {
                    let code = tasks::exit_code(pod.object.json());
                    self.end_task(rx, pod, code).await;
                }
                Step::Finish => {}
                Step::Kill => self.end_task(rx, pod, tasks::KILLED).await,
                Step::End => {
                    let options = json!({
                        "kind": "DeleteOptions",
                        "apiVersion": "v1",
                        "gracePeriodSeconds": 0,
                        "preconditions": {"uid": pod.object.uid()},
                    });
                    let delete = Request::new(Method::Delete, path).with(options);
                    self.ask(rx, delete).await;
                }
            }
        }
        Outcome::Done
    }

    /// One of those that run fails, or is ready no longer.
    async fn fail(self, rx: Rx) -> Outcome {
        let mut all = self.pods(rx).await;
        all.retain(|pod| {
            let runs = step(pod).is_none_or(|step| step == Step::Finish);
            runs && phase(pod.object.json()) == "Running"
        });
        if all.is_empty() {
            return Outcome::Done;
        }
        let pod = &all[rx.choose(all.len() as u64).await as usize];
        if tasks::is_task(pod.object.json()) {
            let code = rx.choose(tasks::CODES.len() as u64).await as usize;
            self.end_task(rx, pod, tasks::CODES[code]).await;
            return Outcome::Done;
        }
        match rx.choose(2).await {
            0 => self.put_status(rx, pod, "Failed", false).await,
            _ => self.put_status(rx, pod, "Running", false).await,
        }
        Outcome::Done
    }

    /// A task has ended with this exit code.
    async fn end_task(&self, rx: Rx, pod: &Stored, code: i64) {
        let object = tasks::ended(&pod.json(), code, Stamp::of(rx.clock()));
        let path = PODS.path(pod.object.namespace(), pod.object.name());
        let put = Request::new(Method::Put, format!("{path}/status"));
        self.ask(rx, put.with(object)).await;
    }

    async fn put_status(&self, rx: Rx, pod: &Stored, phase: &str, ready: bool) {
        let mut object = pod.json();
        let mut conditions = json::list(&object, &["status", "conditions"]).to_vec();
        conditions.retain(|condition| condition["type"] != "Ready");
        conditions.push(json!({
            "type": "Ready",
            "status": if ready { "True" } else { "False" },
            "lastTransitionTime": Stamp::of(rx.clock()).seconds(),
        }));
        object["status"]["phase"] = phase.into();
        object["status"]["conditions"] = conditions.into();
        let is_started = json::at(&object, &["status", "startTime"]).is_some();
        if !is_started && is_measured(&object) {
            object["status"]["startTime"] = Stamp::of(rx.clock()).seconds().into();
        }
        let path = PODS.path(pod.object.namespace(), pod.object.name());
        let put = Request::new(Method::Put, format!("{path}/status"));
        self.ask(rx, put.with(object)).await;
    }
}

impl Process for PodRunner {
    fn boot(&mut self, _: &mut Cx<'_>) {}

    fn request(&mut self, _: &mut Cx<'_>, _: Caller, body: &Payload) {
        unreachable!("nobody asks a client: {body:?}");
    }

    /// `run`: takes pods a step further; `fail`: one of them fails or becomes unready.
    fn command(&mut self, cx: &mut Cx<'_>, what: &str, _: &Json) -> Result<(), String> {
        let task = match what {
            "run" => RUN,
            "fail" => FAIL,
            _ => return Err(format!("knows `run` and `fail`, not `{what}`")),
        };
        cx.spawn(Task::new(task, ()));
        Ok(())
    }

    fn crash(&mut self) {}

    fn routine(&self, task: &Task) -> RoutineFuture {
        let own = self.clone();
        match task.kind() == FAIL {
            true => Box::pin(own.fail(Rx::new())),
            false => Box::pin(own.run(Rx::new())),
        }
    }
}
