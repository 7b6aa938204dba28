//! A client from outside of the world: a service of a user, on a node of its own. Inside it is a process that asks what it
//! is told to, and notes what is answered; so it has connections like any other, over madsim's network.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use madsim::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use wavetank_engine::{
    Action, Caller, Cx, Either, Fault, Name, NetError, NotState, Note, Outcome, Payload, ProcId,
    Process, RoutineFuture, Rx, Signal, Stream, Task, Transport,
};

use crate::cluster::Cluster;

const CALL: Name = Name::new("call");
const FOLLOW: Name = Name::new("follow");
const SEND: Name = Name::new("send");
const END: Name = Name::new("end");
/// Nobody waits for the answer any more.
const GIVE_UP: &str = "give-up";

/// What is asked.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Asked {
    pub to: ProcId,
    pub transport: &'static Transport,
    pub body: Payload,
}

/// What came back.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Answered {
    number: u32,
    what: Back,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Back {
    Answer(Result<Payload, NetError>),
    /// `None` at the end of a stream.
    Part(Result<Option<Payload>, NetError>),
}

/// Between the tasks of the user and the process.
#[derive(Debug, Default)]
struct Desk {
    numbers: u32,
    asked: BTreeMap<u32, Asked>,
    sent: BTreeMap<u32, (u32, Payload)>,
    answers: BTreeMap<u32, oneshot::Sender<Result<Payload, NetError>>>,
    parts: BTreeMap<u32, mpsc::UnboundedSender<Result<Payload, NetError>>>,
}

type Shared = Arc<Mutex<Desk>>;

fn at(desk: &Shared) -> MutexGuard<'_, Desk> {
    desk.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The process.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Guest {
    streams: BTreeMap<u32, Stream>,
    desk: NotState<Shared>,
}

impl Process for Guest {
    fn boot(&mut self, _: &mut Cx<'_>) {}

    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}

    fn crash(&mut self) {
        self.streams.clear();
    }

    fn command(
        &mut self,
        cx: &mut Cx<'_>,
        what: &str,
        args: &serde_json::Value,
    ) -> Result<(), String> {
        let number = args.as_u64().ok_or("is told a number")? as u32;
        let asked = || {
            at(&self.desk)
                .asked
                .remove(&number)
                .ok_or("has no such request")
        };
        match what {
            "call" => cx.spawn(Task::new(CALL, (number, asked()?))),
            "follow" => cx.spawn(Task::new(FOLLOW, (number, Some(asked()?)))),
            "send" => {
                let sent = at(&self.desk).sent.remove(&number);
                cx.spawn(Task::new(SEND, sent.ok_or("has nothing to send")?));
            }
            "end" => cx.spawn(Task::new(END, number)),
            _ => return Err(format!("does not know what `{what}` means")),
        }
        Ok(())
    }

    fn routine(&self, task: &Task) -> RoutineFuture {
        let rx = Rx::new();
        match task.kind() {
            kind if kind == CALL => {
                let (number, asked) = task.args::<(u32, Asked)>().clone();
                Box::pin(call(rx, number, asked))
            }
            kind if kind == FOLLOW => {
                let (number, asked) = task.args::<(u32, Option<Asked>)>().clone();
                Box::pin(follow(rx, number, asked))
            }
            kind if kind == SEND => {
                let (number, body) = task.args::<(u32, Payload)>().clone();
                Box::pin(send(rx, number, body))
            }
            _ => Box::pin(end(rx, *task.args::<u32>())),
        }
    }
}

async fn call(rx: Rx, number: u32, asked: Asked) -> Outcome {
    let Asked {
        to,
        transport,
        body,
    } = asked;
    let given_up = rx.wait(Signal::numbered(GIVE_UP, number));
    if let Either::Left(answer) = rx.select(rx.call(transport, to, body), given_up).await {
        let what = Back::Answer(answer);
        rx.note(Answered { number, what });
    }
    Outcome::Done
}

/// One part; the next one is the next routine's.
async fn follow(rx: Rx, number: u32, asked: Option<Asked>) -> Outcome {
    if let Some(Asked {
        to,
        transport,
        body,
    }) = asked
    {
        let stream = rx.open_stream(transport, to, body);
        rx.process(|own: &mut Guest| {
            own.streams.insert(number, stream);
        });
    }
    let stream = rx.process(|own: &mut Guest| own.streams.get(&number).copied());
    let Some(stream) = stream else {
        return Outcome::Done;
    };
    let given_up = rx.wait(Signal::numbered(GIVE_UP, number));
    match rx.select(rx.next(stream), given_up).await {
        Either::Left(part) => {
            let goes_on = matches!(part, Ok(Some(_)));
            let what = Back::Part(part);
            rx.note(Answered { number, what });
            match goes_on {
                true => Outcome::Become(Task::new(FOLLOW, (number, None::<Asked>))),
                false => Outcome::Done,
            }
        }
        Either::Right(()) => {
            rx.close_stream(stream);
            Outcome::Done
        }
    }
}

async fn send(rx: Rx, number: u32, body: Payload) -> Outcome {
    let stream = rx.process(|own: &mut Guest| own.streams.get(&number).copied());
    if let Some(stream) = stream {
        rx.send(stream, body);
    }
    Outcome::Done
}

async fn end(rx: Rx, number: u32) -> Outcome {
    rx.raise(Signal::numbered(GIVE_UP, number));
    Outcome::Done
}

/// A process, and the desk that it has.
#[derive(Clone)]
pub(crate) struct Place {
    process: ProcId,
    name: String,
    desk: Shared,
}

/// A guest, for whoever asks through it. It leaves when this is dropped, as it is when its node is killed.
pub(crate) struct Visit {
    cluster: Cluster,
    place: Place,
}

impl Visit {
    /// A guest on the node on which this is called.
    pub fn new(cluster: &Cluster) -> Visit {
        let place = cluster.join();
        cluster.fault(&Fault::Start {
            process: place.name.clone(),
        });
        Visit {
            cluster: cluster.clone(),
            place,
        }
    }

    fn command(&self, what: &str, number: u32) {
        self.cluster.act(&Action::Command {
            process: self.place.name.clone(),
            what: what.to_owned(),
            args: number.into(),
        });
    }

    fn number(&self) -> u32 {
        let mut desk = at(&self.place.desk);
        desk.numbers += 1;
        desk.numbers
    }

    /// A request with one answer. Dropping the future gives it up.
    pub async fn call(&self, asked: Asked) -> Result<Payload, NetError> {
        let number = self.number();
        let (answer, answered) = oneshot::channel();
        {
            let mut desk = at(&self.place.desk);
            desk.asked.insert(number, asked);
            desk.answers.insert(number, answer);
        }
        self.command("call", number);
        let _waits = Waits {
            visit: self,
            number,
        };
        answered.await.unwrap_or(Err(NetError::Cancelled))
    }

    /// A request whose answer is a stream.
    pub fn follow(self: &Arc<Visit>, asked: Asked) -> Parts {
        let number = self.number();
        let (part, parts) = mpsc::unbounded_channel();
        {
            let mut desk = at(&self.place.desk);
            desk.asked.insert(number, asked);
            desk.parts.insert(number, part);
        }
        self.command("follow", number);
        Parts {
            visit: self.clone(),
            number,
            parts,
        }
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.cluster.lock().guests.remove(&self.place.process);
        // When the runtime itself ends nobody is left to be told.
        if Handle::try_current().is_ok() {
            let process = self.place.name.clone();
            self.cluster.fault(&Fault::Crash { process });
            self.cluster.lock().vacant.push(self.place.clone());
        }
    }
}

/// Somebody waits for an answer.
struct Waits<'a> {
    visit: &'a Visit,
    number: u32,
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        let waited = at(&self.visit.place.desk)
            .answers
            .remove(&self.number)
            .is_some();
        if waited && Handle::try_current().is_ok() {
            self.visit.command("end", self.number);
        }
    }
}

/// The parts of an answer.
pub(crate) struct Parts {
    visit: Arc<Visit>,
    number: u32,
    parts: mpsc::UnboundedReceiver<Result<Payload, NetError>>,
}

impl Parts {
    /// The next one; `None` after the last.
    pub async fn next(&mut self) -> Option<Result<Payload, NetError>> {
        self.parts.recv().await
    }

    /// A way to send further messages, as long as the parts are kept.
    pub fn sender(&self) -> Further {
        Further {
            visit: self.visit.clone(),
            number: self.number,
        }
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        let stood = at(&self.visit.place.desk)
            .parts
            .remove(&self.number)
            .is_some();
        if stood && Handle::try_current().is_ok() {
            self.visit.command("end", self.number);
        }
    }
}

/// Sends on a stream.
#[derive(Clone)]
pub(crate) struct Further {
    visit: Arc<Visit>,
    number: u32,
}

impl Further {
    pub fn send(&self, body: Payload) {
        let number = self.visit.number();
        at(&self.visit.place.desk)
            .sent
            .insert(number, (self.number, body));
        self.visit.command("send", number);
    }
}

/// Gives what was noted to whoever waits for it.
fn hand_out(desk: &Shared, note: &Note) {
    let Some(Answered { number, what }) = note.body.get() else {
        return;
    };
    let mut desk = at(desk);
    match what {
        Back::Answer(answer) => {
            if let Some(waits) = desk.answers.remove(number) {
                let _ = waits.send(answer.clone());
            }
        }
        Back::Part(Ok(Some(part))) => {
            if let Some(parts) = desk.parts.get(number) {
                let _ = parts.send(Ok(part.clone()));
            }
        }
        Back::Part(ended) => {
            if let Some(parts) = desk.parts.remove(number)
                && let Err(error) = ended
            {
                let _ = parts.send(Err(*error));
            }
        }
    }
}

impl Cluster {
    /// Lets a guest in, who runs on the node on which this is called: in the place of one that has left, or behind all
    /// others.
    fn join(&self) -> Place {
        let mut state = self.lock();
        let place = state.vacant.pop().unwrap_or_else(|| {
            let name = format!("~guest-{:05}", state.world.processes().len());
            let desk = Shared::default();
            let guest = Guest {
                streams: BTreeMap::new(),
                desk: NotState(desk.clone()),
            };
            let process = state.world.join(&name, guest);
            Place {
                process,
                name,
                desk,
            }
        });
        state
            .nodes
            .add_foreign(place.process, madsim::plugin::node());
        let desk = place.desk.clone();
        let on_note = Box::new(move |note: &Note| hand_out(&desk, note));
        state.guests.insert(place.process, on_note);
        place
    }
}
