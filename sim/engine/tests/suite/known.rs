//! A step that is known does what running it does, whatever it asked of the world around it.

use crate::common;

use std::collections::BTreeSet;
use std::time::Duration;

use common::{Flaw, world};
use proptest::prelude::*;
use wavetank_engine::drive::seeded::Seeded;
use wavetank_engine::drive::{Limits, Run};
use wavetank_engine::{
    Action, Caller, Cell, Cx, Event, Fault, Instant, Memo, Name, Outcome, Payload, ProcId, Process,
    RoutineFuture, Rx, Task, Time, Timer, Transport, What, World, WorldBuilder, exactly,
};

/// Applies an event to two copies, once with what is known, and says how they differ. The copy for
/// which nothing was known is given back.
fn both(memo: &mut Memo, before: &World, at: Time, event: Event<'_>) -> (World, Option<String>) {
    let (mut known, mut run) = (before.clone(), before.clone());
    let told = known.apply_known(memo, at, event);
    let ran = run.apply(at, event, &mut |sent| sent.nominal);
    let words = |report| format!("{report:?}");
    let differs = if words(&told) != words(&ran) {
        Some(format!("{told:?} and not {ran:?}"))
    } else if exactly(|| known != run)
        || known.exact_digest() != exactly(|| run.digest_from_scratch())
    {
        Some(format!("{known:?} and not {run:?}"))
    } else {
        None
    };
    (run, differs)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn along_histories_with_faults_known_steps_are_right(seed in any::<u64>()) {
        let first = world(2, false, Flaw::None);
        let mut memo = Memo::new();
        for seed in [seed, seed ^ 1] {
            let choices = Seeded::new(seed, &first, common::fault_schedule(2));
            let limits = Limits::until(Time::from_secs(8));
            let mut run = Run::new(first.clone(), choices, limits, Default::default());
            while run.step() == Ok(true) {
                let here = run.world();
                for entry in here.pending() {
                    let event = match entry.what {
                        What::Choose { domain, .. } => Event::Choice(entry.seq, seed % domain),
                        _ => Event::Pending(entry.seq),
                    };
                    let (_, differs) = both(&mut memo, here, entry.at, event);
                    prop_assert_eq!(differs, None);
                }
            }
        }
        let (known, run) = memo.uses();
        prop_assert!(known * 2 > run, "{} steps were known, {} were not", known, run);
    }
}

const LOOK: Timer = Timer::new(Name::new("look"), 0);
const ALARM: Name = Name::new("alarm");
static SEEN: Cell<Seen> = Cell::new("seen");

/// What was seen, and an instant that is kept out of sight.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Seen {
    began: Instant,
    what: Vec<u64>,
}

/// Looks at all that is around it, half a second after it is told to.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Curious(&'static str);

impl Process for Curious {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        cx.spawn(Task::new(Name::new("begin"), ()));
    }
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn timer(&mut self, cx: &mut Cx<'_>, _: Timer) {
        let nanos = |left: Duration| left.as_nanos() as u64;
        let seen = match self.0 {
            "one timer" => cx
                .remaining(Timer::new(ALARM, 1))
                .map(nanos)
                .into_iter()
                .collect(),
            "timers" => cx.timers(ALARM).map(|(_, left)| nanos(left)).collect(),
            _ => return cx.spawn(Task::new(Name::new("look"), self.0)),
        };
        cx.cell(&SEEN).what = seen;
    }
    fn command(
        &mut self,
        cx: &mut Cx<'_>,
        what: &str,
        args: &serde_json::Value,
    ) -> Result<(), String> {
        let millis = args.as_u64().ok_or("needs a number")?;
        let after = Duration::from_millis(millis);
        match what {
            "look" => cx.arm(LOOK, Duration::from_millis(500)),
            _ => cx.arm(Timer::new(ALARM, millis % 2), after),
        }
        Ok(())
    }
    fn crash(&mut self) {}
    fn routine(&self, task: &Task) -> RoutineFuture {
        let rx = Rx::new();
        match task.kind().as_str() {
            "begin" => Box::pin(async move {
                rx.update_at(&SEEN, |seen, now| seen.began = Instant(now));
                Outcome::Done
            }),
            _ if *task.args::<&str>() == "clock" => Box::pin(async move {
                let now = rx.clock().nanos();
                rx.update(&SEEN, |seen| seen.what = vec![now]);
                Outcome::Done
            }),
            _ => Box::pin(async move {
                rx.update_at(&SEEN, |seen, now| {
                    seen.what = vec![now.since(seen.began.0).as_nanos() as u64];
                });
                Outcome::Done
            }),
        }
    }
}

fn act(world: &mut World, at: Time, action: &Action) {
    let applied = world.apply(at, Event::Act(action), &mut |sent| sent.nominal);
    applied.expect("possible");
}

fn command(world: &mut World, at: Time, what: &str, millis: u64) {
    let action = Action::Command {
        process: "curious".to_owned(),
        what: what.to_owned(),
        args: millis.into(),
    };
    act(world, at, &action);
}

/// The process, begun at one time and told to look at another, with alarms that are due later.
fn about_to_look(at: &'static str, began: u64, told: u64, alarms: &[u64]) -> World {
    let mut world = WorldBuilder::new().process("curious", Curious(at)).build();
    let start = Action::Fault(Fault::Start {
        process: "curious".to_owned(),
    });
    act(&mut world, Time::from_secs(began), &start);
    let told = Time::from_secs(told);
    for millis in alarms {
        command(&mut world, told, "alarm", *millis);
    }
    command(&mut world, told, "look", 0);
    world.cache_digests();
    world
}

#[test]
fn a_step_is_known_only_where_all_that_it_looked_at_is_the_same() {
    for at in ["one timer", "timers", "clock", "age"] {
        let mut memo = Memo::new();
        let mut seen = BTreeSet::new();
        for (began, told) in [(1, 5), (2, 5), (1, 6)] {
            for alarms in [&[][..], &[701], &[801], &[801, 900], &[801, 902]] {
                let before = about_to_look(at, began, told, alarms);
                let look = before.next_entry().expect("it was told to");
                for _ in 0..2 {
                    let event = Event::Pending(look.seq);
                    let (after, differs) = both(&mut memo, &before, look.at, event);
                    assert_eq!(differs, None, "{at}");
                    let curious = after.find("curious").expect("the only one");
                    seen.insert(after.cell(curious, &SEEN).what);
                }
            }
        }
        let (known, _) = memo.uses();
        assert!(
            known >= 15,
            "{at}: each was known the second time, {known} were"
        );
        assert!(seen.len() > 1, "{at}: it sees {seen:?}");
    }
}

const GREET: Name = Name::new("greet");
static TO_ALL: Transport = Transport {
    name: Name::new("all"),
    dial_timeout: Duration::from_secs(2),
    keepalive: None,
    window: None,
};

/// Greets others, or sends them all away, half a second after it is told to.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Polite(&'static str);

impl Process for Polite {
    fn boot(&mut self, _: &mut Cx<'_>) {}
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn cast(&mut self, _: &mut Cx<'_>, _: ProcId, _: &Payload) {}
    fn timer(&mut self, cx: &mut Cx<'_>, _: Timer) {
        match self.0 {
            "greets" => cx.cast(id_of("host"), &TO_ALL, ()),
            _ => cx.spawn(Task::new(GREET, ())),
        }
    }
    fn command(
        &mut self,
        cx: &mut Cx<'_>,
        what: &str,
        _: &serde_json::Value,
    ) -> Result<(), String> {
        match what {
            "look" => cx.arm(LOOK, Duration::from_millis(500)),
            to => cx.cast(id_of(to), &TO_ALL, ()),
        }
        Ok(())
    }
    fn crash(&mut self) {}
    fn routine(&self, _: &Task) -> RoutineFuture {
        Box::pin(async move {
            Rx::new().go_away();
            Outcome::Done
        })
    }
}

const POLITE: [&str; 3] = ["guest", "host", "neighbour"];

fn id_of(name: &str) -> ProcId {
    WorldBuilder::id_of(name, &POLITE)
}

/// Guest and neighbour have greeted the host, or not, or the host one of them, and the guest's connection
/// was reset, or not.
fn acquainted(how: &'static str, greeted: [bool; 2], visits: Option<&str>, reset: bool) -> World {
    let mut builder = WorldBuilder::new();
    for name in POLITE {
        builder.process(name, Polite(how));
    }
    let mut world = builder.build();
    for name in POLITE {
        let process = name.to_owned();
        act(
            &mut world,
            Time::ZERO,
            &Action::Fault(Fault::Start { process }),
        );
    }
    let command = |process: &str, what: &str| Action::Command {
        process: process.to_owned(),
        what: what.to_owned(),
        args: serde_json::Value::Null,
    };
    for (name, greets) in ["guest", "neighbour"].into_iter().zip(greeted) {
        if greets {
            act(&mut world, Time::ZERO, &command(name, "host"));
        }
    }
    if let Some(whom) = visits {
        act(&mut world, Time::ZERO, &command("host", whom));
    }
    let settle = |world: &mut World| {
        while let Some(entry) = world.next_entry().copied() {
            let event = Event::Pending(entry.seq);
            let applied = world.apply(entry.at, event, &mut |sent| sent.nominal);
            applied.expect("pending");
        }
    };
    settle(&mut world);
    if reset {
        let reset = Fault::Reset {
            client: "guest".to_owned(),
            server: "host".to_owned(),
            transport: "all".to_owned(),
        };
        act(&mut world, Time::from_secs(1), &Action::Fault(reset));
        settle(&mut world);
    }
    let who = if how == "greets" { "guest" } else { "host" };
    act(&mut world, Time::from_secs(2), &command(who, "look"));
    world.cache_digests();
    world
}

#[test]
fn a_step_is_known_only_where_the_same_connections_are_open() {
    for how in ["greets", "says good-bye"] {
        let mut memo = Memo::new();
        let mut sent = BTreeSet::new();
        let greeted = [[false, false], [false, true], [true, false], [true, true]];
        let visits = [None, Some("guest"), Some("neighbour")];
        let all = greeted
            .into_iter()
            .flat_map(|who| visits.map(|visits| (who, visits)));
        for (greeted, visits) in all {
            for reset in [false, true] {
                let before = acquainted(how, greeted, visits, reset);
                let look = before.next_entry().expect("it was told to");
                for _ in 0..2 {
                    let event = Event::Pending(look.seq);
                    let (after, differs) = both(&mut memo, &before, look.at, event);
                    assert_eq!(differs, None, "{how} {greeted:?} {visits:?} {reset}");
                    sent.insert(format!("{:?}", after.in_flight().collect::<Vec<_>>()));
                    sent.insert(format!("{:?}", after.connections().count()));
                }
            }
        }
        assert!(sent.len() > 2, "{how}: {sent:?}");
    }
}

/// Sleeps as long as there is time.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Sleeper;

impl Process for Sleeper {
    fn boot(&mut self, _: &mut Cx<'_>) {}
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn timer(&mut self, cx: &mut Cx<'_>, _: Timer) {
        cx.spawn(Task::new(Name::new("sleep"), ()));
    }
    fn command(&mut self, cx: &mut Cx<'_>, _: &str, _: &serde_json::Value) -> Result<(), String> {
        cx.arm(LOOK, Duration::from_millis(500));
        Ok(())
    }
    fn crash(&mut self) {}
    fn routine(&self, _: &Task) -> RoutineFuture {
        Box::pin(async move {
            Rx::new().sleep(Duration::MAX).await;
            Outcome::Done
        })
    }
}

#[test]
fn what_is_never_due_is_never_due_whenever_it_begins() {
    let mut memo = Memo::new();
    let mut after = Vec::new();
    for seconds in [5, 1, 9] {
        let mut world = WorldBuilder::new().process("sleeper", Sleeper).build();
        let process = "sleeper".to_owned();
        let start = Fault::Start {
            process: process.clone(),
        };
        act(&mut world, Time::ZERO, &Action::Fault(start));
        let (what, args) = (String::new(), serde_json::Value::Null);
        let told = Action::Command {
            process,
            what,
            args,
        };
        act(&mut world, Time::from_secs(seconds), &told);
        world.cache_all_digests();
        let sleep = *world.next_entry().expect("it was told to");
        let (slept, differs) = both(&mut memo, &world, sleep.at, Event::Pending(sleep.seq));
        assert_eq!(differs, None);
        assert_eq!(slept.next_entry().expect("it sleeps").at, Time::NEVER);
        after.push(slept);
    }
    let (known, _) = memo.uses();
    assert_eq!(known, 2, "all but the first");
    assert_eq!(after[0], after[1], "but for the time");
    assert_eq!(after[0].digest(), after[2].digest());
}
