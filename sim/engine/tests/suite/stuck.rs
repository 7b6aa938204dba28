//! What no world is to do, whatever its properties are: stand still for ever, or grow for ever.

use std::time::Duration;

use wavetank_engine::drive::plan::{FromPlan, Plan, Planned};
use wavetank_engine::drive::replay::{Fit, Replay};
use wavetank_engine::drive::{Ending, Limits, Outcome as Ran, Run};
use wavetank_engine::trace::Record;
use wavetank_engine::*;

const PAIR: Name = Name::new("pair");
const MULTIPLY: Name = Name::new("multiply");
const IN_TURN: Name = Name::new("in-turn");
/// So many are told to have the ink in turn.
const CROWD: usize = 1_500;
const INK: Lock = Lock::new("ink");
const PEN: Lock = Lock::new("pen");
/// How a clerk reminds itself.
static TO_MYSELF: Transport = Transport {
    name: Name::new("myself"),
    dial_timeout: Duration::from_secs(1),
    keepalive: None,
    window: None,
};

/// A process whose routines take two locks, one after the other; or become more and more; or that reminds itself of two
/// things whenever it is reminded of one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Clerk;

impl Process for Clerk {
    fn boot(&mut self, _: &mut Cx<'_>) {}
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn crash(&mut self) {}

    fn cast(&mut self, cx: &mut Cx<'_>, _: ProcId, _: &Payload) {
        cx.cast(cx.me(), &TO_MYSELF, ());
        cx.cast(cx.me(), &TO_MYSELF, ());
    }

    fn command(
        &mut self,
        cx: &mut Cx<'_>,
        what: &str,
        _: &serde_json::Value,
    ) -> Result<(), String> {
        match what {
            "multiply" => cx.spawn(Task::new(MULTIPLY, ())),
            "remind" => cx.cast(cx.me(), &TO_MYSELF, ()),
            "crowd" => {
                for _ in 0..CROWD {
                    cx.spawn(Task::new(IN_TURN, ()));
                }
            }
            "write" | "fill" | "fill-in-time" => cx.spawn(Task::new(PAIR, what.to_owned())),
            _ => return Err(format!("does not know what `{what}` means")),
        }
        Ok(())
    }

    fn routine(&self, task: &Task) -> RoutineFuture {
        let rx = Rx::new();
        match task.kind().as_str() {
            "pair" => Box::pin(pair(rx, task.args::<String>().clone())),
            "in-turn" => Box::pin(async move {
                let _ink = rx.lock(INK).await;
                rx.sleep(Duration::from_millis(1)).await;
                Outcome::Done
            }),
            _ => Box::pin(multiply(rx)),
        }
    }
}

/// Takes both locks, the second one a second later.
async fn pair(rx: Rx, what: String) -> Outcome {
    let (first, second) = if what == "write" {
        (INK, PEN)
    } else {
        (PEN, INK)
    };
    let _first = rx.lock(first).await;
    rx.sleep(Duration::from_secs(1)).await;
    if what == "fill-in-time" {
        rx.timeout(Duration::from_secs(1), rx.lock(second)).await;
    } else {
        let _second = rx.lock(second).await;
    }
    Outcome::Done
}

async fn multiply(rx: Rx) -> Outcome {
    rx.sleep(Duration::from_secs(1)).await;
    rx.spawn(Task::new(MULTIPLY, ()));
    Outcome::Become(Task::new(MULTIPLY, ()))
}

fn world() -> World {
    WorldBuilder::new().process("clerk", Clerk).build()
}

/// What the clerk is told, and when in milliseconds.
fn run(what: &[(u64, &str)]) -> Ran {
    let process = "clerk".to_owned();
    let command = |(at, what): &(u64, &str)| {
        let action = Action::Command {
            process: process.clone(),
            what: (*what).to_owned(),
            args: serde_json::Value::Null,
        };
        (*at, action)
    };
    let start = Action::Fault(Fault::Start {
        process: process.clone(),
    });
    let all = std::iter::once((0, start)).chain(what.iter().map(command));
    let planned = |(at, action)| Planned {
        at: Time::ZERO + Duration::from_millis(at),
        after: None,
        action,
    };
    let plan = Plan {
        actions: all.map(planned).collect(),
        ..Plan::default()
    };
    let limits = Limits {
        size: 2 * CROWD,
        ..Limits::until(Time::from_secs(60))
    };
    Run::new(world(), FromPlan::new(&plan), limits, Record::default()).finish()
}

#[track_caller]
fn violated(outcome: &Ran) -> (&str, &str) {
    match &outcome.ending {
        Ending::Violated(found) => (&found.property, &found.message),
        Ending::Clean => panic!("nothing was found"),
    }
}

#[test]
fn who_waits_for_each_other_is_told_of() {
    let outcome = run(&[(0, "write"), (500, "fill")]);
    let circle = "clerk: pair#1 waits for `ink`, pair#0 waits for `pen`, which the next one holds";
    assert_eq!(violated(&outcome), ("no-deadlock", circle));
    assert_eq!(
        outcome.at,
        Time::ZERO + Duration::from_millis(1_500),
        "at once"
    );

    let name = |p: ProcId| outcome.world.name(p).to_owned();
    let mut replay = Replay::new(world(), Fit::Strict);
    for line in outcome.record.lines(&name, outcome.end()) {
        replay.follow(&line).expect("it comes to the same verdict");
    }
}

#[test]
fn who_waits_in_turn_is_not() {
    for what in [
        [(0, "write"), (500, "write")],
        [(0, "write"), (2_500, "fill")],
        // The first one is let through when the other one has had enough.
        [(0, "write"), (500, "fill-in-time")],
        [(0, "fill-in-time"), (500, "write")],
    ] {
        assert_eq!(run(&what).ending, Ending::Clean, "{what:?}");
    }
}

#[test]
fn what_grows_for_ever_is_told_of() {
    // Routines; frames of one connection, of which the first one only is a pending event.
    for what in ["multiply", "remind"] {
        let outcome = run(&[(0, what)]);
        let (property, message) = violated(&outcome);
        assert_eq!(property, "no-unbounded-growth", "{what}");
        assert!(
            message.ends_with("routines and frames under way"),
            "{message}"
        );
        assert!(outcome.at < Time::from_secs(20), "{}", outcome.at);
    }
}

#[test]
fn a_crowd_that_wants_one_lock_has_it_in_turn() {
    // Each time it is free, it is offered to all of them: this takes minutes if that costs more than there
    // are of them.
    let outcome = run(&[(0, "crowd")]);
    assert_eq!(outcome.ending, Ending::Clean);
    let clerk = outcome.world.find("clerk").expect("the only one");
    assert_eq!(outcome.world.routines(clerk).len(), 0);
    assert_eq!(outcome.tallies.events as usize, 2 + 2 * CROWD);
}
