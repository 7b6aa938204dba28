//! The guest: a client that comes into a world from outside, with one request.

use wavetank_api::{Request, Response, WatchPart};
use wavetank_client::HTTPS;
use wavetank_engine::{
    Caller, Cell, Cx, Name, NetError, Outcome, Payload, ProcId, Process, RoutineFuture, Rx, Stream,
    Task,
};

const ASK: Name = Name::new("ask");

/// What has come back.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Answer {
    pub response: Option<Response>,
    /// The parts of a watch.
    pub parts: Vec<WatchPart>,
    pub broken: Option<NetError>,
    /// Nothing more comes.
    pub is_over: bool,
}

impl Answer {
    /// Has anything of a watch come?
    pub fn has_begun(&self) -> bool {
        self.response.is_some() || !self.parts.is_empty()
    }
}

pub(super) static ANSWER: Cell<Answer> = Cell::new("answer");

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Guest {
    server: ProcId,
    request: Request,
    watch: bool,
}

impl Guest {
    pub fn new(server: ProcId, request: Request, watch: bool) -> Guest {
        Guest {
            server,
            request,
            watch,
        }
    }
}

impl Process for Guest {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        cx.spawn(Task::new(ASK, None::<Stream>));
    }

    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}

    fn crash(&mut self) {}

    fn routine(&self, task: &Task) -> RoutineFuture {
        let (server, request) = (self.server, self.request.clone());
        match self.watch {
            true => Box::pin(watch(Rx::new(), server, request, *task.args())),
            false => Box::pin(ask(Rx::new(), server, request)),
        }
    }
}

async fn ask(rx: Rx, server: ProcId, request: Request) -> Outcome {
    let answer = rx.call(&HTTPS, server, Payload::new(request)).await;
    rx.update(&ANSWER, |kept| {
        kept.is_over = true;
        match &answer {
            Ok(response) => kept.response = Some(response.expect::<Response>().clone()),
            Err(error) => kept.broken = Some(*error),
        }
    });
    Outcome::Done
}

/// One part; the next one is the next routine's.
async fn watch(rx: Rx, server: ProcId, request: Request, stream: Option<Stream>) -> Outcome {
    let stream = stream.unwrap_or_else(|| rx.open_stream(&HTTPS, server, Payload::new(request)));
    match rx.next(stream).await {
        Ok(Some(part)) => {
            // A path that names an object is no watch: it is answered like any GET.
            rx.update(&ANSWER, |kept| match part.get::<WatchPart>() {
                Some(part) => kept.parts.push(part.clone()),
                None => kept.response = Some(part.expect::<Response>().clone()),
            });
            Outcome::Become(Task::new(ASK, Some(stream)))
        }
        ended => {
            rx.update(&ANSWER, |kept| {
                kept.is_over = true;
                kept.broken = ended.err();
            });
            Outcome::Done
        }
    }
}
