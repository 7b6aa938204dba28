//! The client of the simulated etcd: a process that does what it is told from outside the world,
//! and tells what came of it.
//!
//! What it is told to do, and when, does not belong here.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use wavetank_engine::{
    Caller, Cell, Cx, Name, NetError, NotState, Outcome, Payload, Process, RoutineFuture, Rx,
    Stream, Task,
};
use wavetank_etcd::{Client, EtcdError, Request, Response, WatchPart, WatchRequest};

use crate::etcd::side::Bytes;

/// Something to do.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Pull {
    /// Sends a request.
    Call(Request<Bytes>),
    /// Opens a watch stream, under a number that no other one had.
    Open(u64),
    /// Sends something on it.
    Send(u64, WatchRequest),
    /// Closes it.
    Close(u64),
}

/// Told when a request is answered.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Answered(pub(crate) Result<Response<Bytes>, EtcdError>);

/// Told when something comes on a watch stream, or when it ends.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Came(
    pub(crate) u64,
    pub(crate) Result<Option<WatchPart<Bytes>>, NetError>,
);

/// What is to be done, on its way into the world. It is empty between events, so it is no part of
/// the state.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) struct Strings(NotState<Arc<Mutex<VecDeque<Pull>>>>);

impl Strings {
    /// To be followed by a stimulus, whatever it says.
    pub(crate) fn pull(&self, pull: Pull) {
        let mut pulls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pulls.push_back(pull);
    }

    fn taken(&self) -> VecDeque<Pull> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The process.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Puppet {
    client: Client,
    strings: Strings,
}

const OBEY: Name = Name::new("obey");
const READ: Name = Name::new("read");
static STREAMS: Cell<BTreeMap<u64, Stream>> = Cell::new("streams");

impl Puppet {
    pub(crate) fn new(client: Client, strings: Strings) -> Puppet {
        Puppet { client, strings }
    }
}

impl Process for Puppet {
    fn boot(&mut self, _: &mut Cx<'_>) {}

    fn request(&mut self, _: &mut Cx<'_>, _: Caller, body: &Payload) {
        panic!("a client is asked nothing: {body:?}");
    }

    fn command(&mut self, cx: &mut Cx<'_>, _: &str, _: &serde_json::Value) -> Result<(), String> {
        for pull in self.strings.taken() {
            cx.spawn(Task::new(OBEY, pull));
        }
        Ok(())
    }

    fn crash(&mut self) {}

    fn routine(&self, task: &Task) -> RoutineFuture {
        match task.kind() {
            kind if kind == OBEY => {
                Box::pin(obey(Rx::new(), self.client, task.args::<Pull>().clone()))
            }
            kind if kind == READ => Box::pin(read(Rx::new(), *task.args::<(u64, Stream)>())),
            other => panic!("no routine `{other}`"),
        }
    }
}

async fn obey(rx: Rx, client: Client, pull: Pull) -> Outcome {
    let stream_of = |number| rx.read(&STREAMS).get(&number).copied();
    match pull {
        Pull::Call(request) => {
            let answer = client.once(rx, request).await;
            rx.note(Answered(answer));
        }
        Pull::Open(number) => {
            let stream = client.watch_stream::<Bytes>(rx, false);
            rx.update(&STREAMS, |streams| streams.insert(number, stream).is_none());
            return Outcome::Become(Task::new(READ, (number, stream)));
        }
        Pull::Send(number, request) => {
            if let Some(stream) = stream_of(number) {
                rx.send(stream, Payload::new(request));
            }
        }
        Pull::Close(number) => {
            if let Some(stream) = stream_of(number) {
                rx.update(&STREAMS, |streams| streams.remove(&number).is_some());
                rx.close_stream(stream);
            }
        }
    }
    Outcome::Done
}

/// One part, then the next.
async fn read(rx: Rx, (number, stream): (u64, Stream)) -> Outcome {
    let part = rx.next(stream).await;
    let part = part.map(|part| part.map(|part| part.expect::<WatchPart<Bytes>>().clone()));
    let goes_on = matches!(part, Ok(Some(WatchPart::Message(_))));
    rx.note(Came(number, part));
    if goes_on {
        Outcome::Become(Task::new(READ, (number, stream)))
    } else {
        Outcome::Done
    }
}
