//! How processes end, and begin again.

use std::time::Duration;

use wavetank_engine::drive::plan::{FromPlan, Plan, Planned};
use wavetank_engine::drive::{Ending, Limits, Run};
use wavetank_engine::trace::Record;
use wavetank_engine::*;

const RUN: Name = Name::new("run");
static MEMORY: Cell<u64> = Cell::new("memory");

/// Ends a second after it began: in its first two lives it is started again.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Mortal {
    lives: u64,
}

impl Process for Mortal {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        assert_eq!(*cx.cell(&MEMORY), 0, "nothing is left of the last life");
        *cx.cell(&MEMORY) = 1;
        cx.spawn(Task::new(RUN, self.lives));
    }
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn crash(&mut self) {
        self.lives += 1;
    }
    fn routine(&self, task: &Task) -> RoutineFuture {
        let lives = *task.args::<u64>();
        Box::pin(async move {
            let rx = Rx::new();
            rx.sleep(Duration::from_secs(1)).await;
            match lives {
                0 | 1 => rx.restart(),
                _ => rx.exit(),
            }
            rx.note("what a process does last is told");
            Outcome::Done
        })
    }
}

#[test]
fn a_process_that_restarts_begins_its_next_life_at_once() {
    let mut world = WorldBuilder::new().process("p", Mortal::default()).build();
    let process = "p".to_owned();
    let start = Event::Act(&Action::Fault(Fault::Start { process }));
    let nominal = &mut |sent: Sent| sent.nominal;
    world
        .apply(Time::ZERO, start, nominal)
        .expect("it is there");
    let p = world.find("p").expect("it is there");
    let mut seen = Vec::new();
    while let Some(entry) = world.next_entry().copied() {
        let applied = world.apply(entry.at, Event::Pending(entry.seq), nominal);
        let notes = applied.expect("it was pending").notes.len();
        let state = (world.incarnation(p), world.status(p), notes);
        seen.push((world.now().secs_f64(), state));
        assert_eq!(world.digest_from_scratch(), world.digest());
    }
    let expected = [
        (1.0, (2, Status::Up, 1)),
        (2.0, (3, Status::Up, 1)),
        (3.0, (3, Status::Down, 1)),
    ];
    assert_eq!(seen, expected);
}

/// Restarts as soon as it begins.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Mayfly;

impl Process for Mayfly {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        cx.spawn(Task::new(RUN, ()));
    }
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn crash(&mut self) {}
    fn routine(&self, _: &Task) -> RoutineFuture {
        Box::pin(async {
            Rx::new().restart();
            Outcome::Done
        })
    }
}

#[test]
fn a_process_that_does_nothing_but_restart_is_a_livelock_after_a_hundred_lives() {
    let mut world = WorldBuilder::new().process("mayfly", Mayfly).build();
    let process = "mayfly".to_owned();
    let start = Event::Act(&Action::Fault(Fault::Start { process }));
    let report = world.apply(Time::ZERO, start, &mut |sent: Sent| sent.nominal);
    let livelock = report.expect("it is there").livelock;
    assert_eq!(
        livelock.as_deref(),
        Some("100 lives began within one event, the last one of mayfly")
    );
}

/// Takes a second longer to end than it was given in the run that was planned.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Slow;

impl Process for Slow {
    fn boot(&mut self, _: &mut Cx<'_>) {}
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn crash(&mut self) {}
    fn stop(&mut self, cx: &mut Cx<'_>) {
        cx.spawn(Task::new(RUN, ()));
    }
    fn routine(&self, _: &Task) -> RoutineFuture {
        Box::pin(async {
            let rx = Rx::new();
            rx.sleep(Duration::from_secs(2)).await;
            rx.exit();
            Outcome::Done
        })
    }
}

#[test]
fn a_planned_start_waits_until_its_process_has_ended() {
    let process = || "p".to_owned();
    let planned = |seconds: u64, fault: Fault| Planned {
        at: Time::from_secs(seconds),
        after: None,
        action: Action::Fault(fault),
    };
    let plan = |last: u64| Plan {
        actions: vec![
            planned(0, Fault::Start { process: process() }),
            planned(1, Fault::Stop { process: process() }),
            planned(2, Fault::Start { process: process() }),
        ],
        calm: Some(Time::from_secs(last)),
        ..Plan::default()
    };
    for calm in [2, 10] {
        let world = WorldBuilder::new().process("p", Slow).build();
        let choices = FromPlan::new(&plan(calm));
        let limits = Limits::until(Time::from_secs(20));
        let outcome = Run::new(world, choices, limits, Record::default()).finish();
        assert_eq!(outcome.ending, Ending::Clean);
        let p = outcome.world.find("p").expect("it is there");
        let state = (outcome.world.status(p), outcome.world.incarnation(p));
        assert_eq!(state, (Status::Up, 2), "calm at {calm} s");
    }
}
