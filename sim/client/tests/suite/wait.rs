//! Loops that wait, on the bench: when their functions run.

use std::time::Duration;

use wavetank_client::wait::{Every, Stop, Turn, poll_immediate_until};
use wavetank_engine::*;
use wavetank_releases::Release;
use wavetank_version::Version;

const LOOP: Name = Name::new("loop");
const POLL: Name = Name::new("poll");
const END: Name = Name::new("end");
static STOP: Stop = Stop::new("stop");
const PERIOD: Duration = Duration::from_secs(2);

/// A function begins.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Runs;

/// A loop, by how its function runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Loop {
    sliding: bool,
    millis: u64,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Waits;

impl Process for Waits {
    fn boot(&mut self, _: &mut Cx<'_>) {}
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn crash(&mut self) {}
    fn command(
        &mut self,
        cx: &mut Cx<'_>,
        what: &str,
        args: &serde_json::Value,
    ) -> Result<(), String> {
        let millis = args["millis"].as_u64().unwrap_or_default();
        match what {
            "sliding" | "non-sliding" => {
                let sliding = what == "sliding";
                cx.spawn(Task::new(LOOP, Loop { sliding, millis }));
            }
            "stop" => cx.spawn(Task::new(END, millis)),
            release => {
                let release = Release::named(release).ok_or("no release")?.version;
                cx.spawn(Task::new(POLL, (release, millis)));
            }
        }
        Ok(())
    }
    fn routine(&self, task: &Task) -> RoutineFuture {
        let rx = Rx::new();
        if task.kind() == LOOP {
            return Box::pin(turn(rx, *task.args::<Loop>()));
        }
        if task.kind() == END {
            let millis = *task.args::<u64>();
            return Box::pin(async move {
                rx.sleep(Duration::from_millis(millis)).await;
                STOP.close(rx);
                Outcome::Done
            });
        }
        let (release, millis) = *task.args::<(Version, u64)>();
        Box::pin(async move {
            let mut tries = 0;
            let condition = || {
                tries += 1;
                let holds = tries == 4;
                async move {
                    run(rx, millis).await;
                    holds
                }
            };
            poll_immediate_until(rx, release, PERIOD, condition).await;
            Outcome::Done
        })
    }
}

async fn run(rx: Rx, millis: u64) {
    rx.note(Runs);
    rx.sleep(Duration::from_millis(millis)).await;
}

async fn turn(rx: Rx, of: Loop) -> Outcome {
    let every = Every::period(PERIOD);
    let turn = match of.sliding {
        true => {
            let once = async {
                run(rx, of.millis).await;
                Turn::Again
            };
            every.sliding(rx, &STOP, once).await
        }
        false => every.non_sliding(rx, &STOP, run(rx, of.millis)).await,
    };
    match turn {
        Turn::Again => Outcome::Become(Task::new(LOOP, of)),
        Turn::Over => Outcome::Done,
    }
}

/// When functions began, in seconds, within twelve of them.
fn runs(told: &[(&str, u64)]) -> Vec<f64> {
    let mut world = WorldBuilder::new().process("w", Waits).build();
    let process = || "w".to_owned();
    let mut actions = vec![Action::Fault(Fault::Start { process: process() })];
    actions.extend(told.iter().map(|(what, millis)| Action::Command {
        process: process(),
        what: (*what).to_owned(),
        args: serde_json::json!({ "millis": millis }),
    }));
    let mut seen = Vec::new();
    let mut keep = |world: &World, report: Box<Report>| {
        let runs = report
            .notes
            .iter()
            .filter(|note| note.body.get::<Runs>().is_some());
        seen.extend(runs.map(|_| world.now().secs_f64()));
    };
    for action in &actions {
        let applied = world.apply(Time::ZERO, Event::Act(action), &mut |sent| sent.nominal);
        keep(&world, applied.expect("it is there"));
    }
    while let Some(entry) = world.next_entry().copied() {
        if entry.at > Time::from_secs(12) {
            break;
        }
        let event = Event::Pending(entry.seq);
        let applied = world.apply(entry.at, event, &mut |sent| sent.nominal);
        keep(&world, applied.expect("it was pending"));
    }
    seen
}

#[test]
fn a_sliding_period_begins_when_the_function_has_ended() {
    assert_eq!(runs(&[("sliding", 500)]), [0.0, 2.5, 5.0, 7.5, 10.0]);
    assert_eq!(runs(&[("sliding", 3000)]), [0.0, 5.0, 10.0]);
}

#[test]
fn another_period_begins_with_the_function_and_never_interrupts_it() {
    let every = [0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0];
    assert_eq!(runs(&[("non-sliding", 500)]), every);
    assert_eq!(runs(&[("non-sliding", 3000)]), [0.0, 3.0, 6.0, 9.0, 12.0]);
}

#[test]
fn a_closed_channel_ends_a_loop() {
    assert_eq!(runs(&[("sliding", 500), ("stop", 4000)]), [0.0, 2.5]);
    assert_eq!(runs(&[("non-sliding", 500), ("stop", 4000)]), [0.0, 2.0]);
    // In the middle of the function, and while nothing has begun.
    assert_eq!(runs(&[("sliding", 500), ("stop", 2700)]), [0.0, 2.5]);
}

/// The ticker of the old one starts late and drops the ticks that nobody takes; the timer of the new one has fired when
/// the condition took longer.
#[test]
fn a_condition_is_tried_at_once_and_at_each_tick_until_it_holds() {
    assert_eq!(runs(&[("v1.20", 500)]), [0.0, 2.5, 4.5, 6.5]);
    assert_eq!(runs(&[("v1.36", 500)]), [0.0, 2.0, 4.0, 6.0]);
    assert_eq!(runs(&[("v1.20", 3000)]), [0.0, 5.0, 9.0]);
    assert_eq!(runs(&[("v1.36", 3000)]), [0.0, 3.0, 6.0, 9.0]);
}
