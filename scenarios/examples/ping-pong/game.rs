//! The game: ping serves numbered balls, pong returns them. A ball may get lost, then ping serves
//! it again; pong must not take it for a new one.

use std::time::Duration;

use wavetank_engine::drive::story::Description;
use wavetank_engine::{
    Always, Caller, Check, Class, Cx, Keepalive, Name, Note, Outcome, Payload, ProcId, Process,
    Property, Reached, RoutineFuture, Rx, Task, Timer, Transport, Violation, World,
};

static TABLE: Transport = Transport {
    name: Name::new("table"),
    dial_timeout: Duration::from_secs(1),
    keepalive: Some(Keepalive {
        after: Duration::from_secs(5),
        limit: Duration::from_secs(2),
        idle: false,
    }),
    window: None,
};

/// A ball on its way. Its number is how pong tells balls apart.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Ball {
    ball: u64,
    number: u64,
}

/// The answer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Returned;

/// A note: pong hit a ball.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Hit(u64);

/// A note: ping does not know what became of a ball.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Lost(u64);

const SERVE: Name = Name::new("serve");

/// Serves.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Ping {
    pub pong: ProcId,
    /// Does it play at all?
    pub plays: bool,
    /// A defect: a ball that is served again gets another number.
    pub renumbers: bool,
    /// Durable: the ball to serve.
    pub ball: u64,
}

impl Process for Ping {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        if self.plays {
            cx.spawn(Task::new(SERVE, 0_u64));
        }
    }

    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}

    fn command(&mut self, _: &mut Cx<'_>, what: &str, _: &serde_json::Value) -> Result<(), String> {
        match what {
            "cheer" => Ok(()),
            _ => Err(format!("a player does not know what `{what}` means")),
        }
    }

    fn crash(&mut self) {}

    fn routine(&self, task: &Task) -> RoutineFuture {
        Box::pin(serve(Rx::new(), self.pong, self.renumbers, *task.args()))
    }
}

/// One attempt at one ball.
async fn serve(rx: Rx, pong: ProcId, renumbers: bool, attempt: u64) -> Outcome {
    let ball = rx.process(|ping: &mut Ping| ping.ball);
    let breath = 300 + 100 * rx.choose(3).await;
    rx.sleep(Duration::from_millis(breath)).await;
    let number = ball * 1_000 + if renumbers { attempt } else { 0 };
    let sent = rx.call(&TABLE, pong, Payload::new(Ball { ball, number }));
    match rx.timeout(Duration::from_secs(2), sent).await {
        Some(Ok(_)) => {
            rx.process(|ping: &mut Ping| ping.ball += 1);
            Outcome::Become(Task::new(SERVE, 0_u64))
        }
        Some(Err(_)) | None => {
            rx.note(Lost(ball));
            Outcome::Become(Task::new(SERVE, attempt + 1))
        }
    }
}

/// Returns.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Pong {
    /// A defect: it hits whatever comes.
    pub blind: bool,
    /// A defect: it does not survive ball 44.
    pub superstitious: bool,
    /// Durable: the highest number that it has hit.
    pub highest: Option<u64>,
}

impl Process for Pong {
    fn boot(&mut self, _: &mut Cx<'_>) {}

    fn request(&mut self, cx: &mut Cx<'_>, caller: Caller, body: &Payload) {
        let Ball { ball, number } = *body.expect();
        assert!(ball != 44 || !self.superstitious, "ball 44");
        if self.blind || self.highest.is_none_or(|highest| number > highest) {
            self.highest = Some(number);
            cx.note(Hit(ball));
        }
        cx.reply(caller, Returned);
    }

    fn crash(&mut self) {}
}

/// Does nothing but breathe; a smaller hall has fewer of them.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Spectator;

impl Process for Spectator {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        cx.arm(Timer::new(Name::new("breathe"), 0), Duration::from_secs(4));
    }
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn timer(&mut self, cx: &mut Cx<'_>, timer: Timer) {
        cx.arm(timer, Duration::from_secs(4));
    }
    fn crash(&mut self) {}
}

/// Guarantee: pong hits every ball once.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct HitOnce {
    next: u64,
}

impl Property for HitOnce {
    fn name(&self) -> &'static str {
        "every-ball-is-hit-once"
    }

    fn note(&mut self, _: &World, note: &Note) -> Check {
        let Some(Hit(ball)) = note.body.get() else {
            return Check::Idle;
        };
        if *ball == self.next {
            self.next += 1;
            return Check::Held;
        }
        Check::Violated(Violation {
            kind: "ball",
            object: ball.to_string(),
            message: format!("hit, but it was the turn of ball {}", self.next),
        })
    }
}

/// A ball that is under way when the calm begins may hold up its connection until keepalive gives
/// it up (7 s). Then come an attempt that was cut short by it (3 s), a dial (1 s) and an attempt
/// that succeeds (3 s).
const BOUND: Duration = Duration::from_secs(14);

/// Guarantee: within [`BOUND`] of calm a ball is hit.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct GoesOn {
    calm: bool,
    hit: bool,
}

impl Property for GoesOn {
    fn name(&self) -> &'static str {
        "the-game-goes-on"
    }

    fn note(&mut self, _: &World, note: &Note) -> Check {
        self.hit |= self.calm && note.body.get::<Hit>().is_some();
        Check::Idle
    }

    fn calm(&mut self, _: &World) -> Option<Duration> {
        self.calm = true;
        Some(BOUND)
    }

    fn deadline(&mut self, _: &World) -> Check {
        match self.hit {
            true => Check::Held,
            false => Check::Violated(Violation {
                kind: "game",
                object: String::new(),
                message: "no ball was hit in the calm".to_owned(),
            }),
        }
    }
}

/// All properties of the game; of one that nobody plays only the first.
pub fn properties(plays: bool) -> Vec<Box<dyn Property>> {
    let mut properties: Vec<Box<dyn Property>> = vec![Box::new(HitOnce::default())];
    if plays {
        properties.push(Box::new(GoesOn::default()));
        properties.push(Box::new(Reached {
            name: "a-ball-was-lost",
            here: |_, note| note.body.get::<Lost>().is_some(),
        }));
        properties.push(Box::new(Always {
            name: "no-ball-is-lost",
            class: Class::Observation,
            check: no_ball_is_lost,
        }));
    }
    properties
}

fn no_ball_is_lost(_: &World, note: &Note) -> Check {
    match note.body.get() {
        None => Check::Idle,
        Some(Lost(ball)) => Check::Violated(Violation {
            kind: "ball",
            object: ball.to_string(),
            message: "ping does not know what became of it".to_owned(),
        }),
    }
}

/// Notes in words.
pub fn describe(_: &World, note: &Note) -> Option<Description> {
    let (text, ball) = match (note.body.get(), note.body.get()) {
        (Some(Hit(ball)), _) => (format!("hits ball {ball}"), ball),
        (_, Some(Lost(ball))) => (format!("has lost ball {ball}"), ball),
        _ => return None,
    };
    Some(Description {
        text,
        about: vec![format!("ball {ball}")],
    })
}
