//! Channels and conditions: order, capacity, closing, cancelling, crashing; live as rebuilt.

use std::time::Duration;

use wavetank_engine::drive::replay::{Fit, Replay};
use wavetank_engine::drive::seeded::{Budget, FaultSchedule, Latency, Seeded, Workload};
use wavetank_engine::drive::{Ending, Limits, Run};
use wavetank_engine::trace::{Line, Record};
use wavetank_engine::*;

const MAKE: Name = Name::new("make");
const SEND: Name = Name::new("send");
const TAKE: Name = Name::new("take");
const MOST: Name = Name::new("most");
const REACH: Name = Name::new("reach");
const GIFT: Name = Name::new("gift");
const PIPE: Channel = Channel::new("pipe", 7);
const GREW: Condition = Condition::new("grew", 7);
/// What each routine saw, in order.
static SEEN: Cell<Vec<String>> = Cell::new("seen");
static LEVEL: Cell<u64> = Cell::new("level");

/// A process whose routines do what it is told: `make`, `send` (waits), `take` (waits), …
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Plumber;

impl Process for Plumber {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        cx.spawn(Task::new(MAKE, 2_u32));
    }
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn command(
        &mut self,
        cx: &mut Cx<'_>,
        what: &str,
        args: &serde_json::Value,
    ) -> Result<(), String> {
        let number = args.as_u64().unwrap_or_default();
        match what {
            "send" => cx.spawn(Task::new(SEND, number)),
            "take" => cx.spawn(Task::new(TAKE, number)),
            "most" => cx.spawn(Task::new(MOST, number)),
            "reach" => cx.spawn(Task::new(REACH, number)),
            "gift" => cx.spawn(Task::new(GIFT, ())),
            "try" => {
                let sent = cx.try_send(PIPE, number);
                cx.cell(&SEEN).push(format!("tried {number}: {sent}"));
            }
            "close" => cx.close(PIPE),
            "level" => {
                let level = cx.cell(&LEVEL);
                *level = if number == 0 { *level + 1 } else { number };
                cx.broadcast(GREW);
            }
            _ => return Err(format!("does not know what `{what}` means")),
        }
        Ok(())
    }
    fn crash(&mut self) {}
    fn routine(&self, task: &Task) -> RoutineFuture {
        let rx = Rx::new();
        match task.kind().as_str() {
            "make" => Box::pin(make(rx, *task.args())),
            "send" => Box::pin(send(rx, *task.args())),
            "take" => Box::pin(take(rx, *task.args())),
            "most" => Box::pin(most(rx, *task.args())),
            "reach" => Box::pin(reach(rx, *task.args())),
            "gift" => Box::pin(gift(rx)),
            other => panic!("no routine {other}"),
        }
    }
}

fn saw(rx: Rx, what: String) {
    rx.update(&SEEN, |seen| seen.push(what));
}

async fn make(rx: Rx, capacity: u32) -> Outcome {
    rx.make(PIPE, capacity);
    Outcome::Done
}

async fn send(rx: Rx, number: u64) -> Outcome {
    let sent = rx.send_to(PIPE, Payload::new(number)).await;
    saw(rx, format!("sent {number}: {sent}"));
    Outcome::Done
}

async fn take(rx: Rx, me: u64) -> Outcome {
    let item = rx.recv(PIPE).await;
    let item = item.map(|item| *item.expect::<u64>());
    saw(rx, format!("{me} took {item:?}"));
    Outcome::Done
}

/// Takes until nothing comes for a second; sends back every third, if there is room.
async fn most(rx: Rx, me: u64) -> Outcome {
    match rx.timeout(Duration::from_secs(1), rx.recv(PIPE)).await {
        Some(Some(item)) => {
            let number = *item.expect::<u64>();
            let left = rx.len(PIPE);
            let again = number.is_multiple_of(3) && rx.try_send(PIPE, Payload::new(number + 1));
            saw(rx, format!("{me} took {number} of {left}, {again}"));
            Outcome::Become(Task::new(MOST, me))
        }
        Some(None) => {
            saw(rx, format!("{me} found it closed: {}", rx.is_closed(PIPE)));
            Outcome::Done
        }
        None => {
            saw(rx, format!("{me} waited in vain"));
            Outcome::Done
        }
    }
}

/// Waits until the level is high enough (0: higher than now), at most three seconds.
async fn reach(rx: Rx, wanted: u64) -> Outcome {
    let wanted = match wanted {
        0 => rx.read(&LEVEL) + 1,
        wanted => wanted,
    };
    let reached = rx
        .timeout(Duration::from_secs(3), async {
            while rx.read(&LEVEL) < wanted {
                rx.changed(GREW).await;
            }
        })
        .await;
    saw(rx, format!("reached {wanted}: {}", reached.is_some()));
    Outcome::Done
}

/// Receives in a future that nobody looks at any more when it is answered.
async fn gift(rx: Rx) -> Outcome {
    {
        let mut unseen = std::pin::pin!(rx.recv(PIPE));
        rx.select(unseen.as_mut(), rx.sleep(Duration::from_millis(10)))
            .await;
        rx.sleep(Duration::from_secs(1)).await;
    }
    saw(rx, "the gift went back".to_owned());
    Outcome::Done
}

fn world() -> World {
    let mut world = WorldBuilder::new().process("p", Plumber).build();
    let start = Fault::Start {
        process: "p".to_owned(),
    };
    act(&mut world, Action::Fault(start));
    world
}

fn act(world: &mut World, action: Action) {
    world
        .apply(world.now(), Event::Act(&action), &mut |s| s.nominal)
        .expect("possible");
    same(world);
}

fn command(world: &mut World, what: &str, number: u64) {
    let action = Action::Command {
        process: "p".to_owned(),
        what: what.to_owned(),
        args: number.into(),
    };
    act(world, action);
}

/// Cached and uncached digests agree, and a world without futures is the same world.
fn same(world: &mut World) {
    world.cache_digests();
    assert_eq!(world.digest(), world.digest_from_scratch());
    let other = world.unshared();
    assert!(other == *world);
    assert_eq!(other.digest_from_scratch(), world.digest());
}

fn names(world: &World) -> Vec<String> {
    let name = |entry| world.render(&world.entry_name(entry));
    world.pending().map(name).collect()
}

/// Applies the pending entry with this name; of the world and of a copy that has no futures.
fn step(world: &mut World, name: &str) {
    let wanted = |w: &World| {
        let mut all = w.pending();
        let found = all.find(|e| w.render(&w.entry_name(e)) == name).copied();
        found.unwrap_or_else(|| panic!("{name} is not among {:?}", names(w)))
    };
    let mut rebuilt = world.unshared();
    for each in [&mut *world, &mut rebuilt] {
        let entry = wanted(each);
        each.apply(entry.at, Event::Pending(entry.seq), &mut |s| s.nominal)
            .expect("pending");
    }
    assert!(*world == rebuilt, "after {name}");
    same(world);
}

/// Lets the default order go on.
fn run(world: &mut World) {
    while let Some(entry) = world.next_entry().copied() {
        let name = world.render(&world.entry_name(&entry));
        step(world, &name);
    }
}

fn seen(world: &World) -> Vec<String> {
    world.cell(world.find("p").expect("there is one"), &SEEN)
}

#[test]
fn items_come_out_in_order_and_no_more_than_fit_are_inside() {
    let mut world = world();
    for number in 1..=3 {
        command(&mut world, "send", number);
    }
    assert_eq!(
        names(&world),
        [
            "send p.1/send#0.0",
            "send p.1/send#1.0",
            "send p.1/send#2.0"
        ]
    );
    step(&mut world, "send p.1/send#1.0");
    step(&mut world, "send p.1/send#0.0");
    assert_eq!(names(&world), [""; 0], "it is full");
    command(&mut world, "try", 9);
    command(&mut world, "take", 1);
    assert_eq!(names(&world), ["recv p.1/take#0.0"]);
    step(&mut world, "recv p.1/take#0.0");
    assert_eq!(names(&world), ["send p.1/send#2.0"]);
    command(&mut world, "try", 4);
    assert_eq!(names(&world), [""; 0], "the try was faster");
    for taker in 2..=4 {
        command(&mut world, "take", taker);
    }
    run(&mut world);
    assert_eq!(
        seen(&world),
        [
            "sent 2: true",
            "sent 1: true",
            "tried 9: false",
            "1 took Some(2)",
            "tried 4: true",
            "2 took Some(1)",
            "3 took Some(4)",
            "sent 3: true",
            "4 took Some(3)",
        ]
    );
}

#[test]
fn several_receivers_wait_and_any_of_them_may_be_next() {
    let mut world = world();
    for taker in 1..=3 {
        command(&mut world, "take", taker);
    }
    assert_eq!(names(&world), [""; 0]);
    command(&mut world, "try", 5);
    assert_eq!(names(&world).len(), 3);
    step(&mut world, "recv p.1/take#2.0");
    assert_eq!(names(&world), [""; 0], "there was one only");
    command(&mut world, "try", 6);
    run(&mut world);
    assert_eq!(
        seen(&world),
        [
            "tried 5: true",
            "3 took Some(5)",
            "tried 6: true",
            "1 took Some(6)"
        ]
    );
}

#[test]
fn a_closed_channel_gives_what_it_has_and_takes_nothing() {
    let mut world = world();
    command(&mut world, "try", 1);
    command(&mut world, "try", 2);
    command(&mut world, "send", 3);
    command(&mut world, "close", 0);
    command(&mut world, "close", 0);
    command(&mut world, "try", 4);
    for taker in 1..=3 {
        command(&mut world, "take", taker);
    }
    run(&mut world);
    command(&mut world, "send", 5);
    command(&mut world, "take", 4);
    run(&mut world);
    assert_eq!(
        seen(&world),
        [
            "tried 1: true",
            "tried 2: true",
            "tried 4: false",
            "sent 3: false",
            "1 took Some(1)",
            "2 took Some(2)",
            "3 took None",
            "sent 5: false",
            "4 took None",
        ]
    );
}

#[test]
fn those_who_wait_learn_that_it_is_closed() {
    let mut world = world();
    command(&mut world, "most", 1);
    command(&mut world, "take", 2);
    command(&mut world, "close", 0);
    run(&mut world);
    assert_eq!(seen(&world), ["1 found it closed: true", "2 took None"]);
}

#[test]
fn who_gives_up_takes_nothing_along() {
    let mut world = world();
    command(&mut world, "most", 1);
    command(&mut world, "try", 3);
    assert_eq!(names(&world), ["recv p.1/most#0.0", "sleep p.1/most#0.0"]);
    step(&mut world, "sleep p.1/most#0.0");
    assert_eq!(names(&world), [""; 0]);
    command(&mut world, "take", 2);
    run(&mut world);
    assert_eq!(
        seen(&world),
        ["tried 3: true", "1 waited in vain", "2 took Some(3)"]
    );
}

#[test]
fn what_was_given_and_never_seen_goes_back_to_the_front() {
    for closed in [false, true] {
        let mut world = world();
        command(&mut world, "gift", 0);
        step(&mut world, "sleep p.1/gift#0.0");
        command(&mut world, "try", 3);
        command(&mut world, "try", 4);
        step(&mut world, "recv p.1/gift#0.0");
        if closed {
            command(&mut world, "take", 1);
            command(&mut world, "close", 0);
            step(&mut world, "recv p.1/take#0.0");
        }
        command(&mut world, "take", 2);
        run(&mut world);
        command(&mut world, "take", 3);
        run(&mut world);
        let last = match closed {
            false => ["2 took Some(4)", "the gift went back", "3 took Some(3)"],
            true => ["2 took None", "the gift went back", "3 took Some(3)"],
        };
        let all = seen(&world);
        assert_eq!(all[all.len() - 3..], last, "{closed}");
    }
}

#[test]
fn a_crash_empties_channels_and_forgets_who_waits() {
    let mut world = world();
    command(&mut world, "try", 1);
    command(&mut world, "reach", 5);
    command(&mut world, "send", 2);
    let process = || "p".to_owned();
    act(
        &mut world,
        Action::Fault(Fault::Crash { process: process() }),
    );
    assert_eq!(names(&world), [""; 0]);
    act(
        &mut world,
        Action::Fault(Fault::Start { process: process() }),
    );
    command(&mut world, "take", 1);
    command(&mut world, "level", 7);
    assert_eq!(names(&world), [""; 0]);
    command(&mut world, "try", 3);
    run(&mut world);
    assert_eq!(seen(&world), ["tried 3: true", "1 took Some(3)"]);
}

#[test]
fn a_held_receiver_leaves_the_item_to_others() {
    let mut world = world();
    command(&mut world, "take", 1);
    command(&mut world, "take", 2);
    let named = |routine: &str| (routine.to_owned(), "p".to_owned());
    let (routine, process) = named("take#0");
    act(
        &mut world,
        Action::Fault(Fault::Deschedule { process, routine }),
    );
    command(&mut world, "try", 1);
    assert_eq!(names(&world), ["recv p.1/take#1.0"]);
    run(&mut world);
    let (routine, process) = named("take#0");
    act(
        &mut world,
        Action::Fault(Fault::Reschedule { process, routine }),
    );
    assert_eq!(names(&world), [""; 0]);
    assert_eq!(seen(&world), ["tried 1: true", "2 took Some(1)"]);
}

#[test]
fn no_wake_up_is_lost_and_each_broadcast_wakes_those_who_wait() {
    let mut world = world();
    command(&mut world, "reach", 2);
    command(&mut world, "reach", 1);
    command(&mut world, "level", 1);
    assert_eq!(
        names(&world),
        [
            "wake p.1/reach#0.0",
            "wake p.1/reach#1.0",
            "sleep p.1/reach#0.0",
            "sleep p.1/reach#1.0"
        ]
    );
    // What happens before a woken routine runs, it sees.
    command(&mut world, "level", 2);
    step(&mut world, "wake p.1/reach#0.0");
    command(&mut world, "reach", 3);
    command(&mut world, "level", 2);
    step(&mut world, "wake p.1/reach#0.0");
    assert!(names(&world).contains(&"wake p.1/reach#1.0".to_owned()));
    run(&mut world);
    assert_eq!(
        seen(&world),
        ["reached 2: true", "reached 1: true", "reached 3: false"]
    );
}

fn storm(seed: u64, limits: Limits) -> wavetank_engine::drive::Outcome {
    let world = WorldBuilder::new().process("p", Plumber).build();
    let ms = Duration::from_millis;
    let command = |what: &str, every| Workload {
        processes: vec!["p".to_owned()],
        what: what.to_owned(),
        every: ms(every),
        ends: false,
    };
    let budget = |kind| Budget {
        kind,
        max: 4,
        lasts: (ms(1), ms(3000)),
        gone_per_million: 0,
        amount: (1, 1),
        targets: vec!["p".to_owned()],
    };
    let fault_schedule = FaultSchedule {
        storm: Time::from_secs(30),
        start_within: ms(10),
        start_first: Vec::new(),
        budgets: [FaultKind::Crash, FaultKind::Pause, FaultKind::Deschedule]
            .map(budget)
            .into(),
        workload: vec![
            command("send", 90),
            command("try", 150),
            command("take", 300),
            command("most", 700),
            command("reach", 900),
            command("level", 1100),
            command("gift", 2500),
        ],
        latency: Latency {
            base: (ms(1), ms(2)),
            tail_per_million: 0,
            tail: (ms(1), ms(2)),
        },
        directed: Vec::new(),
    };
    let choices = Seeded::new(seed, &world, fault_schedule);
    Run::new(world, choices, limits, Record::default()).finish()
}

fn lines(outcome: &wavetank_engine::drive::Outcome) -> Vec<Line> {
    let name = |p: ProcId| outcome.world.name(p).to_owned();
    outcome.record.lines(&name, outcome.end()).collect()
}

#[test]
fn a_storm_goes_the_same_way_live_rebuilt_and_replayed() {
    let mut kinds = [0; 3];
    for seed in 0..12 {
        let limits = Limits::until(Time::from_secs(40));
        let live = storm(seed, limits);
        assert_eq!(live.ending, Ending::Clean, "seed {seed}");
        let strict = Limits {
            rebuild: true,
            check_digests: true,
            ..limits
        };
        let rebuilt = storm(seed, strict);
        let (told, again) = (lines(&live), lines(&rebuilt));
        assert_eq!(told, again, "seed {seed}");
        assert!(live.world == rebuilt.world);
        assert!(rebuilt.world.rebuilt() > 100, "seed {seed}");
        for (kind, verb) in kinds.iter_mut().zip(["recv ", "send ", "wake "]) {
            *kind += told.iter().filter(|l| l.to_string().contains(verb)).count();
        }
        let fresh = WorldBuilder::new().process("p", Plumber).build();
        let mut replay = Replay::new(fresh, Fit::Strict);
        for line in &told {
            if let Err(parting) = replay.follow(line) {
                panic!("seed {seed}: {parting}");
            }
        }
        assert!(*replay.world() == live.world, "seed {seed}");
    }
    assert!(kinds.iter().all(|n| *n > 20), "{kinds:?}");
}
