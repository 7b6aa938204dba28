//! Streams that go both ways, their flow control, and messages without an answer.

use std::time::Duration;

use wavetank_engine::*;

const WINDOW: u32 = 8;

static LINK: Transport = Transport {
    name: Name::new("link"),
    dial_timeout: Duration::from_secs(3),
    keepalive: None,
    window: Some(WINDOW),
};
const READ: Name = Name::new("read");
const TICK: Timer = Timer::new(Name::new("tick"), 0);

/// Sends as many parts as the client asks for, but never more than the window allows at once.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Server {
    stream: Option<Caller>,
    owed: u32,
    sent: u32,
    most: u32,
    casts: Vec<(ProcId, u32)>,
}

impl Server {
    fn pump(&mut self, cx: &mut Cx<'_>) {
        let Some(stream) = self.stream else {
            return;
        };
        while self.owed > 0 && cx.unacknowledged(stream) < WINDOW {
            cx.push(stream, self.sent);
            self.owed -= 1;
            self.sent += 1;
            self.most = self.most.max(cx.unacknowledged(stream));
        }
    }
}

impl Process for Server {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        cx.arm(TICK, Duration::from_secs(50));
        assert_eq!(cx.remaining(TICK), Some(Duration::from_secs(50)));
        cx.disarm(TICK);
        assert_eq!(cx.remaining(TICK), None);
    }
    fn request(&mut self, _: &mut Cx<'_>, caller: Caller, _: &Payload) {
        self.stream = Some(caller);
    }
    fn part(&mut self, cx: &mut Cx<'_>, caller: Caller, body: &Payload) {
        assert_eq!(self.stream, Some(caller));
        self.owed += body.expect::<u32>();
        self.pump(cx);
    }
    fn acknowledged(&mut self, cx: &mut Cx<'_>, caller: Caller) {
        assert_eq!(self.stream, Some(caller));
        self.pump(cx);
    }
    fn cast(&mut self, _: &mut Cx<'_>, from: ProcId, body: &Payload) {
        self.casts.push((from, *body.expect::<u32>()));
    }
    fn cancelled(&mut self, _: &mut Cx<'_>, caller: Caller) {
        assert_eq!(self.stream.take(), Some(caller));
    }
    fn crash(&mut self) {
        *self = Server::default();
    }
}

/// Asks twice for parts on one stream and reads them, one a second.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Client {
    server: ProcId,
}
static GOT: Cell<Vec<u32>> = Cell::new("got");

impl Process for Client {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        cx.spawn(Task::new(READ, ()));
        cx.cast(self.server, &LINK, 7_u32);
        cx.cast(self.server, &LINK, 8_u32);
    }
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn crash(&mut self) {}
    fn routine(&self, _: &Task) -> RoutineFuture {
        Box::pin(read(Rx::new(), self.server))
    }
}

async fn read(rx: Rx, server: ProcId) -> Outcome {
    let stream = rx.open_stream(&LINK, server, Payload::new(()));
    rx.send(stream, Payload::new(20_u32));
    rx.send(stream, Payload::new(10_u32));
    for _ in 0..30 {
        rx.sleep(Duration::from_secs(1)).await;
        let Ok(Some(part)) = rx.next(stream).await else {
            return Outcome::Done;
        };
        let number = *part.expect::<u32>();
        rx.update(&GOT, |got| got.push(number));
    }
    rx.close_stream(stream);
    // Nobody is there any more to take this.
    rx.send(stream, Payload::new(1_u32));
    Outcome::Done
}

fn world() -> (World, ProcId, ProcId) {
    let names = ["client", "server"];
    let (client, server) = (
        WorldBuilder::id_of("client", &names),
        WorldBuilder::id_of("server", &names),
    );
    let mut builder = WorldBuilder::new();
    builder.process("server", Server::default());
    builder.process("client", Client { server });
    let mut world = builder.build();
    for name in ["server", "client"] {
        let start = Action::Fault(Fault::Start {
            process: name.to_owned(),
        });
        let now = world.now();
        world
            .apply(now, Event::Act(&start), &mut |sent| sent.nominal)
            .expect("it is down");
    }
    (world, client, server)
}

fn step(world: &mut World) -> bool {
    let Some(entry) = world.next_entry().copied() else {
        return false;
    };
    world
        .apply(entry.at, Event::Pending(entry.seq), &mut |s| s.nominal)
        .expect("it is pending");
    true
}

#[test]
fn a_slow_reader_holds_the_sender_up() {
    let (mut world, client, server) = world();
    while step(&mut world) {
        let cached = world.digest();
        assert_eq!(cached, world.digest_from_scratch());
        world.cache_digests();
    }
    assert_eq!(world.cell(client, &GOT), (0..30).collect::<Vec<_>>());
    let state: &Server = world.process(server).expect("it is a server");
    assert_eq!((state.sent, state.most), (30, WINDOW));
    assert_eq!(state.stream, None, "the client has closed it");
}

#[test]
fn messages_without_an_answer_wait_for_the_connection_and_keep_their_order() {
    let (mut world, client, server) = world();
    while step(&mut world) {}
    let state: &Server = world.process(server).expect("it is a server");
    assert_eq!(state.casts, [(client, 7), (client, 8)]);
}

#[test]
fn a_copied_world_goes_on_as_the_original() {
    let (mut world, ..) = world();
    while step(&mut world) {
        let mut copy = world.unshared();
        assert_eq!(copy, world);
        let mut original = world.clone();
        assert_eq!(step(&mut copy), step(&mut original));
        assert_eq!(copy, original);
        assert_eq!(copy.digest(), original.digest());
    }
}
