//! Stand-ins for etcd and apiservers: one truth, and fronts that follow it, each as far as its link lets
//! it. A front lists and watches ConfigMaps as a watch cache does.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::http::{Content, List, WatchPart};
use wavetank_api::kinds::CONFIG_MAPS;
use wavetank_api::{Object, Reason, Request, Response, Status, Stored, WatchEvent, WatchKind};
use wavetank_engine::{
    Caller, Cx, Keepalive, Name, Outcome, Payload, ProcId, Process, RoutineFuture, Rx, Task, Timer,
    Transport,
};
use wavetank_etcd::{Cause, Change, Committed, KeyValue, Revision};

static LINK: Transport = Transport {
    name: Name::new("truth"),
    dial_timeout: Duration::from_secs(3),
    keepalive: Some(Keepalive {
        after: Duration::from_secs(5),
        limit: Duration::from_secs(5),
        idle: true,
    }),
    window: None,
};
/// A front asks whether it has missed something.
const POLL: Timer = Timer::new(Name::new("poll"), 0);
/// It takes something again.
const AWAKE: Timer = Timer::new(Name::new("awake"), 0);
const POLL_EVERY: Duration = Duration::from_secs(5);
const SERVE: Name = Name::new("serve");
const TIMEOUT: Name = Name::new("watch-timeout");
/// As the watch cache waits for a revision.
const FRESH_WITHIN: Duration = Duration::from_secs(3);

/// One revision.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Commit {
    pub revision: Revision,
    pub name: Arc<str>,
    pub now: Option<Object>,
    /// What it was, and since when.
    pub before: Option<Stored>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Follow {
    from: Revision,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Current;

fn newest(history: &[Commit]) -> Revision {
    history.last().map_or(1, |commit| commit.revision)
}

/// What a history leaves behind.
fn content(history: &[Commit]) -> Vec<Stored> {
    let mut held = BTreeMap::new();
    for commit in history {
        match &commit.now {
            Some(object) => held.insert(
                &commit.name,
                Stored {
                    object: object.clone(),
                    resource_version: commit.revision,
                },
            ),
            None => held.remove(&commit.name),
        };
    }
    held.into_values().collect()
}

fn object(name: &str, args: &serde_json::Value, revision: Revision) -> Object {
    Object::new(serde_json::json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": "ns", "name": name, "labels": args["labels"]},
        "data": {"at": revision.to_string()},
    }))
}

/// etcd: told to `put` and `delete`, or to do what its number says with one of a few objects.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Truth {
    history: Vec<Commit>,
    /// What it leaves behind.
    held: BTreeMap<Arc<str>, Stored>,
    fronts: Vec<ProcId>,
}

impl Truth {
    fn write(&mut self, cx: &mut Cx<'_>, name: &str, now: Option<Object>) {
        let before = self.held.remove(name);
        if before.is_none() && now.is_none() {
            return;
        }
        let revision = newest(&self.history) + 1;
        if let Some(object) = &now {
            let object = object.clone();
            let resource_version = revision;
            let stored = Stored {
                object,
                resource_version,
            };
            self.held.insert(name.into(), stored);
        }
        let commit = Commit {
            revision,
            name: name.into(),
            now,
            before,
        };
        self.history.push(commit.clone());
        let key = CONFIG_MAPS.key("ns", name);
        let kv = |value: &Object, mod_revision| KeyValue {
            key: key.clone(),
            value: value.clone(),
            create_revision: mod_revision,
            mod_revision,
            version: 1,
            lease: None,
        };
        let before = commit.before.as_ref();
        cx.note(Committed {
            index: revision,
            revision,
            changes: vec![Change {
                key: key.clone(),
                revision,
                now: commit.now.as_ref().map(|o| kv(o, revision)),
                before: before.map(|s| kv(&s.object, s.resource_version)),
            }]
            .into(),
            cause: Cause::Internal,
        });
        for front in self.fronts.clone() {
            cx.cast(front, &LINK, vec![commit.clone()]);
        }
    }
}

impl Process for Truth {
    fn boot(&mut self, _: &mut Cx<'_>) {}

    fn request(&mut self, cx: &mut Cx<'_>, caller: Caller, body: &Payload) {
        body.expect::<Current>();
        cx.reply(caller, self.history.clone());
    }

    fn cast(&mut self, cx: &mut Cx<'_>, from: ProcId, body: &Payload) {
        let after = body.expect::<Follow>().from;
        if !self.fronts.contains(&from) {
            self.fronts.push(from);
        }
        let missing = self.history.iter().filter(|c| c.revision > after).cloned();
        cx.cast(from, &LINK, missing.collect::<Vec<Commit>>());
    }

    fn command(
        &mut self,
        cx: &mut Cx<'_>,
        what: &str,
        args: &serde_json::Value,
    ) -> Result<(), String> {
        let next = newest(&self.history) + 1;
        match what {
            "put" => {
                let name = args["name"].as_str().ok_or("no name")?;
                self.write(cx, name, Some(object(name, args, next)));
            }
            "delete" => self.write(cx, args["name"].as_str().ok_or("no name")?, None),
            // A workload without arguments: two are made, one goes, one changes. No name comes again, so
            // that later events mend nothing.
            "stir" => {
                let app = if next.is_multiple_of(2) { "x" } else { "y" };
                let labels = serde_json::json!({"labels": {"app": app}});
                let (name, gone) = match next % 4 {
                    2 => (next - 1, true),
                    3 => (next - 3, false),
                    _ => (next, false),
                };
                let name = format!("o{name}");
                let there = self.held.contains_key(&*name);
                let now = (!gone || !there).then(|| object(&name, &labels, next));
                self.write(cx, &name, now);
            }
            other => return Err(format!("does not know `{other}`")),
        }
        Ok(())
    }

    /// It is on disk.
    fn crash(&mut self) {
        self.fronts.clear();
    }
}

/// What a front is like.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Like {
    /// It knows `sendInitialEvents`.
    pub watch_list: bool,
    /// It has no watch cache, so that lists come in pages.
    pub pages: bool,
    /// It closes a watch-list before its end, after so many seconds.
    pub stingy: Option<u64>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Watch {
    number: u64,
    caller: Caller,
    /// Sent up to here.
    sent: Revision,
    selects: Selects,
}

/// A label and its value, if a selector names one.
type Selects = Option<(Arc<str>, Arc<str>)>;

/// An apiserver.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Front {
    truth: ProcId,
    like: Like,
    history: Vec<Commit>,
    ready: bool,
    /// It takes nothing more from the truth.
    lags: bool,
    /// Watches from below are refused as expired.
    floor: Revision,
    watches: Vec<Watch>,
    opened: u64,
    /// The next requests get this answer.
    refusals: Vec<Response>,
}

impl Front {
    pub fn new(truth: ProcId, like: Like) -> Front {
        Front {
            truth,
            like,
            history: Vec::new(),
            ready: false,
            lags: false,
            floor: 0,
            watches: Vec::new(),
            opened: 0,
            refusals: Vec::new(),
        }
    }

    fn revision(&self) -> Revision {
        match self.ready {
            true => newest(&self.history),
            false => 0,
        }
    }

    fn pump(&mut self, cx: &mut Cx<'_>) {
        for watch in &mut self.watches {
            for commit in &self.history {
                if commit.revision > watch.sent {
                    if let Some(event) = event(commit, &watch.selects) {
                        cx.push(watch.caller, WatchPart::Event(event));
                    }
                    watch.sent = commit.revision;
                }
            }
        }
    }

    fn end_all(&mut self, cx: &mut Cx<'_>, with: Option<Status>) {
        for watch in std::mem::take(&mut self.watches) {
            if let Some(status) = &with {
                let error = WatchEvent::Error(status.clone());
                cx.push(watch.caller, WatchPart::Event(error));
            }
            cx.reply(watch.caller, WatchPart::Closed);
            cx.disarm(Timer::new(TIMEOUT, watch.number));
        }
    }
}

fn selected(object: &Object, selects: &Selects) -> bool {
    selects.as_ref().is_none_or(|(key, value)| {
        wavetank_api::json::text(object.json(), &["metadata", "labels", key]) == &**value
    })
}

fn event(commit: &Commit, selects: &Selects) -> Option<WatchEvent> {
    let now = commit.now.as_ref().filter(|o| selected(o, selects));
    let before = commit.before.as_ref().map(|stored| &stored.object);
    let before = before.filter(|o| selected(o, selects));
    let (kind, object) = match (before, now) {
        (None, None) => return None,
        (None, Some(now)) => (WatchKind::Added, now),
        (Some(_), Some(now)) => (WatchKind::Modified, now),
        (Some(before), None) => (WatchKind::Deleted, before),
    };
    let stored = Stored {
        object: object.clone(),
        resource_version: commit.revision,
    };
    Some(WatchEvent::Object(kind, stored))
}

fn bookmark(revision: Revision, end: bool) -> WatchPart {
    WatchPart::Event(WatchEvent::Bookmark {
        resource_version: revision,
        initial_events_end: end,
        of: &CONFIG_MAPS,
    })
}

impl Process for Front {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        cx.cast(self.truth, &LINK, Follow { from: 1 });
        cx.arm(POLL, POLL_EVERY);
    }

    fn request(&mut self, cx: &mut Cx<'_>, caller: Caller, body: &Payload) {
        let request: &Request = body.expect();
        if !self.refusals.is_empty() {
            let response = self.refusals.remove(0);
            return match request.query.get("watch") {
                Some(_) => cx.reply(caller, WatchPart::Refused(response)),
                None => cx.reply(caller, response),
            };
        }
        cx.spawn(Task::new(SERVE, (caller, request.clone())));
    }

    fn cast(&mut self, cx: &mut Cx<'_>, _: ProcId, body: &Payload) {
        let commits = body.expect::<Vec<Commit>>();
        if self.lags {
            return;
        }
        self.ready = true;
        for commit in commits {
            let known = newest(&self.history);
            if commit.revision == known + 1 {
                self.history.push(commit.clone());
            } else if commit.revision > known + 1 {
                // Something was lost with a connection.
                cx.cast(self.truth, &LINK, Follow { from: known });
                break;
            }
        }
        self.pump(cx);
    }

    fn cancelled(&mut self, cx: &mut Cx<'_>, caller: Caller) {
        if let Some(at) = self.watches.iter().position(|w| w.caller == caller) {
            let watch = self.watches.remove(at);
            cx.disarm(Timer::new(TIMEOUT, watch.number));
        }
    }

    fn timer(&mut self, cx: &mut Cx<'_>, timer: Timer) {
        if timer == AWAKE {
            self.lags = false;
            return;
        }
        if timer == POLL {
            let from = newest(&self.history);
            cx.cast(self.truth, &LINK, Follow { from });
            return cx.arm(POLL, POLL_EVERY);
        }
        if let Some(at) = self.watches.iter().position(|w| w.number == timer.arg) {
            let watch = self.watches.remove(at);
            if self.like.stingy.is_none() {
                cx.push(watch.caller, bookmark(watch.sent, false));
            }
            cx.reply(watch.caller, WatchPart::Closed);
        }
    }

    fn command(
        &mut self,
        cx: &mut Cx<'_>,
        what: &str,
        args: &serde_json::Value,
    ) -> Result<(), String> {
        match what {
            "lag" => self.lags = args["lags"] != false,
            "nap" => {
                self.lags = true;
                cx.arm(AWAKE, Duration::from_secs(70));
            }
            "compact" => self.floor = self.revision(),
            "close" => self.end_all(cx, None),
            "expire" => {
                self.floor = self.revision();
                self.end_all(
                    cx,
                    Some(Status::new_resource_expired("too old resource version")),
                );
            }
            "bookmark" => {
                for watch in &self.watches {
                    cx.push(watch.caller, bookmark(watch.sent, false));
                }
            }
            "busy" => {
                let status = Status::new_too_many_requests("busy", 1);
                let mut response = Response::status(status);
                if args["retry"] == false {
                    response.retry_after = None;
                }
                let times = args["times"].as_u64().unwrap_or(1) as usize;
                self.refusals.extend(vec![response; times]);
            }
            other => return Err(format!("does not know `{other}`")),
        }
        Ok(())
    }

    fn crash(&mut self) {
        *self = Front::new(self.truth, self.like);
    }

    fn routine(&self, task: &Task) -> RoutineFuture {
        let (caller, request) = task.args::<(Caller, Request)>().clone();
        Box::pin(serve(Rx::new(), self.truth, self.like, caller, request))
    }
}

async fn serve(rx: Rx, truth: ProcId, like: Like, caller: Caller, request: Request) -> Outcome {
    let asked: Option<Revision> = request
        .query
        .get("resourceVersion")
        .and_then(|text| text.parse().ok());
    let initial = request.query.get("sendInitialEvents").is_some();
    let watch = request.query.get("watch").is_some();
    let selects: Selects = request.query.get("labelSelector").map(|text| {
        let (key, value) = text.split_once(" in (").expect("as tests write them");
        (key.into(), value.trim_end_matches(')').into())
    });
    let refuse = |status| {
        let response = Response::status(status);
        match watch {
            true => rx.reply(caller, Payload::new(WatchPart::Refused(response))),
            false => rx.reply(caller, Payload::new(response)),
        }
        Outcome::Done
    };
    if initial && !like.watch_list {
        return refuse(Status::of(
            Reason::Invalid,
            "sendInitialEvents is forbidden",
        ));
    }
    let needed = match asked {
        Some(revision) if watch && !initial => revision.min(1),
        Some(revision) => revision.max(1),
        None => match rx.call(&LINK, truth, Payload::new(Current)).await {
            Ok(answer) => {
                let history = answer.expect::<Vec<Commit>>();
                if !watch {
                    // Straight from etcd.
                    let token = Token::of(&request);
                    let response = page(history, &request, token, like.pages, &selects);
                    rx.reply(caller, Payload::new(response));
                    return Outcome::Done;
                }
                newest(history)
            }
            Err(_) => return refuse(Status::new_internal_error("no etcd")),
        },
    };
    let fresh = async {
        loop {
            let known = rx.process(|front: &mut Front| front.revision());
            if known >= needed {
                return;
            }
            rx.sleep(Duration::from_millis(20)).await;
        }
    };
    if rx.timeout(FRESH_WITHIN, fresh).await.is_none() {
        let known = rx.process(|front: &mut Front| front.revision());
        let status = Status::new_too_large_resource_version_error(needed, known, 1);
        if initial {
            // The watch cache says so on the stream.
            rx.push(caller, Payload::new(WatchPart::Accepted));
            let error = WatchPart::Event(WatchEvent::Error(status));
            rx.push(caller, Payload::new(error));
            rx.reply(caller, Payload::new(WatchPart::Closed));
            return Outcome::Done;
        }
        return refuse(status);
    }
    if watch {
        let from = asked.filter(|from| *from > 0 && !initial);
        let timeout = request.query.get("timeoutSeconds");
        let timeout = timeout.and_then(|s| s.parse().ok()).unwrap_or(300);
        let timeout = like.stingy.filter(|_| initial).unwrap_or(timeout);
        begin_watch(rx, caller, from, initial, selects, timeout);
    } else {
        let token = Token::of(&request);
        let response = rx.process(move |front: &mut Front| match token {
            Some(token) if token.revision < front.floor => {
                Response::status(Status::new_resource_expired("the token is too old"))
            }
            token => page(&front.history, &request, token, like.pages, &selects),
        });
        rx.reply(caller, Payload::new(response));
    }
    Outcome::Done
}

/// Where a page begins.
#[derive(Clone, Copy)]
struct Token {
    revision: Revision,
    at: usize,
}

impl Token {
    fn of(request: &Request) -> Option<Token> {
        let (revision, at) = request.query.get("continue")?.split_once(':')?;
        Some(Token {
            revision: revision.parse().ok()?,
            at: at.parse().ok()?,
        })
    }
}

/// A page, or all.
fn page(
    history: &[Commit],
    request: &Request,
    token: Option<Token>,
    pages: bool,
    selects: &Selects,
) -> Response {
    let limit: Option<usize> = request.query.get("limit").and_then(|l| l.parse().ok());
    let limit = limit.filter(|_| pages);
    let revision = token.map_or(newest(history), |token| token.revision);
    let upto = history.partition_point(|commit| commit.revision <= revision);
    let mut items = content(&history[..upto]);
    items.retain(|stored| selected(&stored.object, selects));
    let begin = token.map_or(0, |token| token.at);
    let end = limit.map_or(items.len(), |limit| items.len().min(begin + limit));
    let continues = (end < items.len()).then(|| format!("{revision}:{end}").into());
    Response::of(
        200,
        Content::List(List {
            of: &CONFIG_MAPS,
            items: items[begin..end].to_vec(),
            resource_version: revision,
            continues,
            remaining: None,
        }),
    )
}

fn begin_watch(
    rx: Rx,
    caller: Caller,
    from: Option<Revision>,
    initial: bool,
    selects: Selects,
    timeout: u64,
) {
    let (parts, number) = rx.process(move |front: &mut Front| {
        let mut parts = vec![WatchPart::Accepted];
        if from.is_some_and(|from| from < front.floor) {
            let status = Status::new_resource_expired("too old resource version");
            parts.push(WatchPart::Event(WatchEvent::Error(status)));
            return (parts, 0);
        }
        let mut sent = front.revision();
        if let Some(from) = from {
            sent = from;
            for commit in &front.history {
                if commit.revision > sent {
                    parts.extend(event(commit, &selects).map(WatchPart::Event));
                    sent = commit.revision;
                }
            }
        } else {
            for stored in content(&front.history) {
                if selected(&stored.object, &selects) {
                    let added = WatchEvent::Object(WatchKind::Added, stored);
                    parts.push(WatchPart::Event(added));
                }
            }
            if initial && front.like.stingy.is_none() {
                parts.push(bookmark(sent, true));
            }
        }
        front.opened += 1;
        front.watches.push(Watch {
            number: front.opened,
            caller,
            sent,
            selects,
        });
        (parts, front.opened)
    });
    for part in parts {
        rx.push(caller, Payload::new(part));
    }
    match number {
        0 => rx.reply(caller, Payload::new(WatchPart::Closed)),
        number => rx.arm(Timer::new(TIMEOUT, number), Duration::from_secs(timeout)),
    }
}
