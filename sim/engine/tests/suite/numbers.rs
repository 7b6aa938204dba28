//! The number of a routine that is over goes to the next one of its kind. What the first one left behind is
//! not the second one's.

use std::time::Duration;

use wavetank_engine::*;

static LINK: Transport = Transport {
    name: Name::new("link"),
    dial_timeout: Duration::from_secs(3),
    keepalive: None,
    window: None,
};
const WORK: Name = Name::new("work");
static OPENED: Cell<Option<Stream>> = Cell::new("opened");
static READ: Cell<Option<bool>> = Cell::new("read");

/// Answers nothing until it is told to push to the first who asked.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Server {
    first: Option<Caller>,
}

impl Process for Server {
    fn boot(&mut self, _: &mut Cx<'_>) {}
    fn request(&mut self, _: &mut Cx<'_>, caller: Caller, _: &Payload) {
        self.first.get_or_insert(caller);
    }
    fn command(&mut self, cx: &mut Cx<'_>, _: &str, _: &serde_json::Value) -> Result<(), String> {
        cx.push(self.first.expect("somebody asked"), 1u32);
        Ok(())
    }
    fn crash(&mut self) {}
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Client {
    server: ProcId,
}

impl Process for Client {
    fn boot(&mut self, _: &mut Cx<'_>) {}
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn command(
        &mut self,
        cx: &mut Cx<'_>,
        what: &str,
        _: &serde_json::Value,
    ) -> Result<(), String> {
        cx.spawn(Task::new(WORK, what.to_owned()));
        Ok(())
    }
    fn crash(&mut self) {}
    fn routine(&self, task: &Task) -> RoutineFuture {
        Box::pin(work(Rx::new(), self.server, task.args::<String>().clone()))
    }
}

async fn work(rx: Rx, server: ProcId, what: String) -> Outcome {
    match what.as_str() {
        "open" => {
            let stream = rx.open_stream(&LINK, server, Payload::new(0u32));
            rx.update(&OPENED, |opened| *opened = Some(stream));
        }
        "call" => {
            let call = rx.call(&LINK, server, Payload::new(0u32));
            assert!(rx.timeout(Duration::from_secs(1), call).await.is_none());
        }
        _ => {
            let stream = rx.read(&OPENED).expect("it was opened");
            let part = rx.next(stream).await;
            rx.update(&READ, |read| *read = Some(matches!(part, Ok(Some(_)))));
        }
    }
    Outcome::Done
}

#[test]
fn a_call_that_is_given_up_is_not_the_stream_of_an_earlier_routine() {
    let server = WorldBuilder::id_of("server", &["server", "client"]);
    let mut builder = WorldBuilder::new();
    builder.process("server", Server::default());
    let mut world = builder.process("client", Client { server }).build();
    let mut now = Time::ZERO;
    let nominal = &mut |sent: Sent| sent.nominal;
    let start = |process: &str| {
        let process = process.to_owned();
        Action::Fault(Fault::Start { process })
    };
    let command = |process: &str, what: &str| Action::Command {
        process: process.to_owned(),
        what: what.to_owned(),
        args: serde_json::Value::Null,
    };
    let acts = [
        start("server"),
        start("client"),
        command("client", "open"),
        command("client", "call"),
        command("server", "push"),
        command("client", "read"),
    ];
    for act in acts {
        let until = now + Duration::from_secs(2);
        world
            .apply(now, Event::Act(&act), nominal)
            .expect("possible");
        while let Some(entry) = world
            .next_entry()
            .copied()
            .filter(|entry| entry.at <= until)
        {
            let event = Event::Pending(entry.seq);
            world.apply(entry.at, event, nominal).expect("pending");
        }
        now = until;
    }
    let client = world.find("client").expect("exists");
    assert_eq!(world.cell(client, &READ), Some(true));
}
