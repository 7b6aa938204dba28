//! Who carries a program's requests: each has a connection to a server behind the balancer, and what comes of it wakes the
//! program.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use wavetank_api::http::{Content, WatchEvent, WatchPart};
use wavetank_api::{Request, Response};
use wavetank_client::LoadBalancer;
use wavetank_client::cut_off::counts;
use wavetank_components::sieve::path::Path;
use wavetank_engine::{
    Condition, Either, Instant, Keepalive, Name, NetError, Outcome, Payload, ProcId, Rx, Stream,
    Task, Time, Transport,
};

use crate::http::{self, Head};
use crate::observed::{Answered, Came};
use crate::process::{Hosted, RELEASED, WATCH, deliver, now};
use crate::sieve;
use crate::wire::Incoming;

/// Requests that the program no longer waits for, by number.
pub(crate) const FORGOTTEN: &str = "forgotten";

/// `Config::new` of kube (`kube-client/src/config/mod.rs`, 5.0).
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// `pool_idle_timeout` of hyper-util.
const IDLE_TIMEOUT: Duration = Duration::from_secs(90);
/// So long Linux sends again what nobody acknowledges (`tcp_retries2`), before a connection has failed.
pub(crate) const GIVEN_UP_AFTER: Duration = Duration::from_secs(924);
/// The last of these.
const LAST_TRY: Duration = Duration::from_secs(120);

/// A connection of kube's client: it has no limit for reading and sends no pings, so that only the kernel notices a dead
/// one, while a request is under way.
static CONNECTION: Transport = Transport {
    name: Name::new("kube"),
    dial_timeout: CONNECT_TIMEOUT,
    keepalive: Some(Keepalive {
        after: GIVEN_UP_AFTER.saturating_sub(LAST_TRY),
        limit: LAST_TRY,
        idle: false,
    }),
    window: Some(1024),
};

/// The connections of its client that carry nothing: to which server each goes, and since when. With HTTP/1.1 a request has
/// a connection for itself, and takes the one that was used last (`hyper-util/src/client/legacy/pool.rs`, 0.1.21).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Idle(Vec<(u32, Instant)>);

impl Idle {
    pub fn take(&mut self, now: Time) -> Option<u32> {
        self.0
            .retain(|(_, since)| now.since(since.0) < IDLE_TIMEOUT);
        self.0.pop().map(|(server, _)| server)
    }

    pub fn give(&mut self, server: u32, now: Time) {
        self.0.push((server, Instant(now)));
    }

    /// The link to this server broke.
    pub fn forget(&mut self, server: u32) {
        self.0.retain(|(own, _)| *own != server);
    }
}

/// What a program sees of a failure, as hyper shows it.
fn seen(error: NetError) -> io::ErrorKind {
    match error {
        NetError::Refused => io::ErrorKind::ConnectionRefused,
        NetError::DialTimeout => io::ErrorKind::TimedOut,
        NetError::Reset => io::ErrorKind::ConnectionReset,
        NetError::Cancelled => io::ErrorKind::ConnectionAborted,
    }
}

fn answer(response: &Response) -> Vec<Incoming> {
    vec![
        Incoming::Head(Head::of(response)),
        Incoming::Bytes(http::body(response)),
        Incoming::End,
    ]
}

fn came(response: &Response) -> Came {
    let text: Arc<str> = match &response.content {
        Content::Status(status) if !status.success => status.message.as_str().into(),
        Content::One(stored) => format!("resourceVersion {}", stored.resource_version).into(),
        Content::List(list) => {
            let (count, revision) = (list.items.len(), list.resource_version);
            format!("{count} items of resourceVersion {revision}").into()
        }
        _ => "".into(),
    };
    Came::Code(response.code, text)
}

/// One request.
pub(crate) async fn ask(rx: Rx, balancer: LoadBalancer, id: u64, request: Request) -> Outcome {
    let what: Arc<str> = request.to_string().into();
    let writes = counts(&request);
    let asked = async {
        let at = Time::from_nanos(now(rx));
        let server = match rx.process(|own: &mut Hosted| own.idle.take(at)) {
            Some(server) => server,
            None => balancer.draw(rx).await,
        };
        if !rx.process(|own: &mut Hosted| own.waits_for(id)) {
            return None;
        }
        let to = balancer.servers[server as usize];
        let call = rx.call(&CONNECTION, to, Payload::new(request));
        Some((server, call.await))
    };
    let forgotten = rx.changed(Condition::new(FORGOTTEN, id));
    let Either::Left(Some((server, answered))) = rx.select(asked, forgotten).await else {
        return Outcome::Done;
    };
    let (came, all) = match answered {
        Ok(payload) => {
            let response = payload.expect::<Response>();
            let at = Time::from_nanos(now(rx));
            rx.process(|own: &mut Hosted| own.idle.give(server, at));
            if writes && response.code < 300 && sieve::is_cut_off(rx, id, &what) {
                return Outcome::Done;
            }
            (came(response), answer(response))
        }
        Err(error) => {
            rx.process(|own: &mut Hosted| own.idle.forget(server));
            (Came::Broken(error), vec![Incoming::Broken(seen(error))])
        }
    };
    rx.note(Answered { id, what, came });
    deliver(rx, id, all)
}

/// A watch that is under way.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Watch {
    id: u64,
    request: Request,
    /// Once it is sent.
    at: Option<(ProcId, Stream)>,
    /// What has come, and the program has not read.
    kept: Vec<(Came, Vec<Incoming>)>,
}

impl Watch {
    pub fn new(id: u64, request: Request) -> Watch {
        Watch {
            id,
            request,
            at: None,
            kept: Vec::new(),
        }
    }

    /// Has its end come?
    fn has_ended(&self) -> bool {
        let last = self.kept.last().and_then(|(_, all)| all.last());
        matches!(last, Some(Incoming::End | Incoming::Broken(_)))
    }

    /// When the program reads what was kept; never if there is nothing.
    async fn released(&self, rx: Rx) {
        let resource = self.resource();
        while self.kept.is_empty() || rx.process(|own: &mut Hosted| own.is_held(&resource)) {
            rx.changed(RELEASED).await;
        }
    }

    /// The program reads all that has come.
    fn hand_over(mut self, rx: Rx) -> Outcome {
        let id = self.id;
        let what: Arc<str> = self.request.to_string().into();
        let has_ended = self.has_ended();
        let (told, all): (Vec<_>, Vec<_>) = std::mem::take(&mut self.kept).into_iter().unzip();
        if !has_ended {
            rx.spawn(Task::new(WATCH, self));
        }
        for came in told {
            let what = what.clone();
            rx.note(Answered { id, what, came });
        }
        deliver(rx, id, all.into_iter().flatten().collect())
    }

    /// What is watched, `websites.example.com`.
    fn resource(&self) -> String {
        Path::of(&self.request.path).qualified()
    }
}

/// A watch has a connection of its own, as each request has; each turn of this takes one part of it. What comes while the
/// watch is held back waits, as in the buffer of a socket, and is then read at once.
pub(crate) async fn watch(rx: Rx, balancer: LoadBalancer, mut watch: Watch) -> Outcome {
    let id = watch.id;
    let forgotten = || rx.changed(Condition::new(FORGOTTEN, id));
    let (server, stream) = match watch.at {
        Some(at) => at,
        None => {
            let drawn = rx.select(balancer.draw(rx), forgotten()).await;
            let Either::Left(drawn) = drawn else {
                return Outcome::Done;
            };
            if !rx.process(|own: &mut Hosted| own.waits_for(id)) {
                return Outcome::Done;
            }
            let server = balancer.servers[drawn as usize];
            let body = Payload::new(watch.request.clone());
            (server, rx.open_stream(&CONNECTION, server, body))
        }
    };
    watch.at = Some((server, stream));
    let resource = watch.resource();
    let is_held = || rx.process(|own: &mut Hosted| own.is_held(&resource));
    if watch.has_ended() {
        // It has all been kept.
        while is_held() {
            if let Either::Right(()) = rx.select(rx.changed(RELEASED), forgotten()).await {
                return Outcome::Done;
            }
        }
        return watch.hand_over(rx);
    }
    let part = rx.select(rx.next(stream), watch.released(rx));
    let part = match rx.select(part, forgotten()).await {
        Either::Left(Either::Left(part)) => part,
        Either::Left(Either::Right(())) => return watch.hand_over(rx),
        Either::Right(()) => {
            rx.close_stream(stream);
            return Outcome::Done;
        }
    };
    watch.kept.push(parted(&part));
    if watch.has_ended() {
        rx.close_stream(stream);
    }
    match is_held() {
        true => Outcome::Become(Task::new(WATCH, watch)),
        false => watch.hand_over(rx),
    }
}

/// A part of a watch, as it is told and as the program gets it.
fn parted(part: &Result<Option<Payload>, NetError>) -> (Came, Vec<Incoming>) {
    let payload = match part {
        Err(error) => return (Came::Broken(*error), vec![Incoming::Broken(seen(*error))]),
        Ok(None) => return (Came::Closed, vec![Incoming::End]),
        Ok(Some(payload)) => payload,
    };
    let Some(part) = payload.get::<WatchPart>() else {
        // A path that names an object is no watch: it is answered like any GET.
        let response = payload.expect::<Response>();
        return (came(response), answer(response));
    };
    match part {
        WatchPart::Accepted => {
            let head = Incoming::Head(Head::of_watch());
            (Came::Code(200, "".into()), vec![head])
        }
        WatchPart::Refused(response) => (came(response), answer(response)),
        WatchPart::Event(event) => (told(event), vec![Incoming::Bytes(line(event))]),
        WatchPart::Closed => (Came::Closed, vec![Incoming::End]),
    }
}

fn told(event: &WatchEvent) -> Came {
    let of = match event {
        WatchEvent::Object(_, stored) => {
            let object = &stored.object;
            let revision = stored.resource_version;
            match object.namespace() {
                "" => format!("{} of {revision}", object.name()),
                namespace => format!("{namespace}/{} of {revision}", object.name()),
            }
        }
        WatchEvent::Bookmark {
            resource_version, ..
        } => format!("of {resource_version}"),
        WatchEvent::Error(status) => status.message.clone(),
    };
    Came::Event(event.kind().name(), of.into())
}

/// An event as it comes over the network.
fn line(event: &WatchEvent) -> Bytes {
    let mut line = serde_json::to_vec(&event.json()).expect("it is JSON");
    line.push(b'\n');
    line.into()
}
