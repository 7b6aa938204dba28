//! The smallest worlds of which a search once said something that is not true. Each is searched in full
//! and reduced, and its counterexample is followed again.

use std::hash::Hash;
use std::time::Duration;

use wavetank_engine::*;
use wavetank_models::{Bounds, Due, Ended, Explorer, Recovery, Reduction, WorldModel, retrace};

/// A process that plays parts: each is a routine, and so is what a timer of that name starts.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Player {
    first: Vec<Name>,
    /// Asked to stop, it plays this before it ends.
    last: Option<Name>,
}

const PARTS: Cell<Option<Instant>> = Cell::new("begun");
const SHELF: Channel = Channel::new("shelf", 0);
const INK: Lock = Lock::new("ink");
const PEN: Lock = Lock::new("pen");

impl Process for Player {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        for part in &self.first {
            cx.spawn(Task::new(*part, ()));
        }
    }
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn timer(&mut self, cx: &mut Cx<'_>, timer: Timer) {
        cx.spawn(Task::new(timer.tag, ()));
    }
    fn stop(&mut self, cx: &mut Cx<'_>) {
        match self.last {
            Some(part) => cx.spawn(Task::new(part, ())),
            None => cx.exit(),
        }
    }
    fn crash(&mut self) {}
    fn routine(&self, task: &Task) -> RoutineFuture {
        let part = task.kind().as_str();
        Box::pin(async move { play(Rx::new(), part).await })
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Apple(u64);
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Pear(u64);

fn us(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

fn part(name: &'static str) -> Task {
    Task::new(Name::new(name), ())
}

fn arm(rx: Rx, name: &'static str, after: u64) {
    rx.arm(Timer::new(Name::new(name), 0), us(after));
}

/// Each theme plays its own parts, and leaves the others.
async fn play(rx: Rx, name: &'static str) -> Outcome {
    let mut played = play_with_time(rx, name).await;
    if played.is_none() {
        played = play_with_shelves(rx, name).await;
    }
    if played.is_none() {
        played = play_with_locks(rx, name).await;
    }
    if played.is_none() {
        played = play_for_ever(rx, name).await;
    }
    if played.is_none() {
        played = play_in_passing(rx, name).await;
    }
    played.unwrap_or_else(|| panic!("there is no part `{name}`"))
}

/// Parts about when something is due.
async fn play_with_time(rx: Rx, name: &'static str) -> Option<Outcome> {
    match name {
        // A sleep of a routine that may be held, and a timer that may not, are due at one instant: which
        // began first, is chosen.
        "sleep and timer" => {
            let (first, second) = match rx.choose(2).await {
                0 => ("sleeps", "arms"),
                _ => ("arms", "sleeps"),
            };
            rx.spawn(part(first));
            rx.spawn(part(second));
        }
        "sleeps" => {
            let early = async {
                rx.sleep(us(500)).await;
                rx.note("early");
            };
            let late = async {
                rx.sleep(us(1000)).await;
                rx.note("sleep");
            };
            rx.join(early, late).await;
        }
        "arms" => arm(rx, "timer", 1000),

        // What is kept is the same, and the time is another.
        "short or long" | "long or short" => {
            rx.update_at(&PARTS, |begun, now| *begun = Some(Instant(now)));
            let is_first = rx.choose(2).await == 0;
            let is_short = is_first == (name == "short or long");
            rx.sleep(us(if is_short { 1000 } else { 2000 })).await;
            arm(rx, "how old", 3000);
        }
        "how old" => {
            let is_young = |begun: &mut Option<Instant>, now: Time| {
                now.since(begun.expect("it began").0) < us(4100)
            };
            if rx.update_at(&PARTS, is_young) {
                rx.note("young");
            }
        }
        _ => return None,
    }
    Some(Outcome::Done)
}

/// Parts about what is kept.
async fn play_with_shelves(rx: Rx, name: &'static str) -> Option<Outcome> {
    match name {
        // Two values of two types that are the same word.
        "shelf" => {
            rx.make(SHELF, 1);
            let item = match rx.choose(2).await {
                0 => Payload::new(Apple(1)),
                _ => Payload::new(Pear(1)),
            };
            rx.try_send(SHELF, item);
            arm(rx, "take", 500);
        }
        "take" => {
            let item = rx.recv(SHELF).await.expect("it was put there");
            rx.note(match item.get::<Apple>() {
                Some(_) => "apple",
                None => "pear",
            });
        }
        _ => return None,
    }
    Some(Outcome::Done)
}

/// Parts about who waits for whom.
async fn play_with_locks(rx: Rx, name: &'static str) -> Option<Outcome> {
    match name {
        // One holds the ink and waits for the pen; the others want the ink for a moment only, or let go of
        // the pen in the same breath.
        "ink, then pen" => {
            let _ink = rx.lock(INK).await;
            rx.sleep(us(200)).await;
            let _pen = rx.lock(PEN).await;
            rx.note("written");
        }
        "pen, tries ink" => {
            let _pen = rx.lock(PEN).await;
            rx.sleep(us(500)).await;
            rx.select(rx.lock(INK), async {}).await;
        }
        "pen for ink" => {
            let pen = rx.lock(PEN).await;
            rx.sleep(us(500)).await;
            let (_ink, ()) = rx.join(rx.lock(INK), async move { drop(pen) }).await;
        }
        // It waits for the ink, and for a moment for something else besides.
        "pen, waits for ink" => {
            let _pen = rx.lock(PEN).await;
            rx.sleep(us(500)).await;
            let (_ink, ()) = rx.join(rx.lock(INK), rx.sleep(us(100))).await;
        }
        _ => return None,
    }
    Some(Outcome::Done)
}

/// Parts that may have no end.
async fn play_for_ever(rx: Rx, name: &'static str) -> Option<Outcome> {
    match name {
        // They go on for ever at one instant.
        "again and again" => {
            rx.sleep(Duration::ZERO).await;
            return Some(Outcome::Become(part("again and again")));
        }
        "to" => {
            rx.sleep(Duration::ZERO).await;
            return Some(Outcome::Become(part("fro")));
        }
        "fro" => {
            rx.sleep(Duration::ZERO).await;
            return Some(Outcome::Become(part("to")));
        }
        "later again and again" => {
            rx.sleep(us(1500)).await;
            return Some(Outcome::Become(part("to")));
        }
        "more and more" => {
            rx.sleep(Duration::ZERO).await;
            rx.update(&COUNT, |count| *count += 1);
            return Some(Outcome::Become(part("more and more")));
        }
        // They go on for ever within one event.
        "without an await" => return Some(Outcome::Become(part("without an await"))),
        "restarts" => rx.restart(),
        // It goes on as long as it is drawn.
        "as it is drawn" => {
            if rx.choose(2).await == 1 {
                return Some(Outcome::Become(part("as it is drawn")));
            }
        }
        // Only the last answer ends it.
        "until the last is drawn" => {
            rx.sleep(Duration::ZERO).await;
            if rx.choose(9).await != 8 {
                return Some(Outcome::Become(part("until the last is drawn")));
            }
        }
        _ => return None,
    }
    Some(Outcome::Done)
}

/// Parts that others are compared with.
async fn play_in_passing(rx: Rx, name: &'static str) -> Option<Outcome> {
    match name {
        "other" => {
            rx.sleep(us(700)).await;
            rx.note("other");
        }
        "slow" => {
            rx.sleep(us(1520)).await;
            rx.note("slow");
        }
        "good-bye" => {
            rx.sleep(us(700)).await;
            rx.exit();
        }
        "timer" => rx.note("timer"),
        _ => return None,
    }
    Some(Outcome::Done)
}

const COUNT: Cell<u64> = Cell::new("count");

/// Violated once just this has been told, in this order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct NeverInThisOrder {
    told: Vec<&'static str>,
    never: Vec<&'static str>,
}

impl Property for NeverInThisOrder {
    fn name(&self) -> &'static str {
        "never-in-this-order"
    }
    fn note(&mut self, _: &World, note: &Note) -> Check {
        self.told.push(note.body.expect::<&'static str>());
        match self.told == self.never {
            false => Check::Held,
            true => Check::Violated(Violation {
                kind: "order",
                object: String::new(),
                message: self.told.join(", "),
            }),
        }
    }
}

fn player(first: &[&'static str], last: Option<&'static str>) -> WorldBuilder {
    let mut builder = WorldBuilder::new();
    let player = Player {
        first: first.iter().map(|name| Name::new(name)).collect(),
        last: last.map(Name::new),
    };
    builder.process("player", player);
    builder
}

fn start() -> Action {
    Action::Fault(Fault::Start {
        process: "player".to_owned(),
    })
}

fn begun(mut builder: WorldBuilder) -> World {
    let mut world = builder.build();
    let started = world.apply(Time::ZERO, Event::Act(&start()), &mut |sent| sent.nominal);
    started.expect("it starts");
    world
}

/// A world with one player, in which what is told never comes in this order.
fn world(first: &[&'static str], never: &[&'static str]) -> World {
    let mut builder = player(first, None);
    let (told, never) = (Vec::new(), never.to_vec());
    builder.property(Box::new(NeverInThisOrder { told, never }));
    begun(builder)
}

fn bounds(millis: u64) -> Bounds {
    Bounds {
        horizon: Time::ZERO + Duration::from_millis(millis),
        ..Bounds::default()
    }
}

/// What both searches find: the property that is violated. A counterexample replays.
fn verdict(start: World, bounds: Bounds, calm: Option<Duration>) -> Option<String> {
    let model = WorldModel { start, bounds };
    let search = |reduction| {
        let recovery = calm.map(Recovery::within);
        let explorer = Explorer {
            model: &model,
            recovery: recovery.as_ref(),
            reduction,
            threads: 1,
            watch: &|progress| progress.generated < 100_000,
        };
        match explorer.run().ended {
            Ended::Complete => None,
            Ended::Stopped => panic!("it goes on and on"),
            Ended::Violated(found) => {
                let again = retrace(&model, recovery.as_ref(), &model.first(), &found.path);
                let violated = again.violated.expect("it is violated again");
                assert_eq!(*violated, found.violation);
                Some(found.violation.property)
            }
        }
    };
    let (full, reduced) = (search(Reduction::NONE), search(Reduction::ORDERS));
    assert_eq!(full, reduced, "in full, and reduced");
    full
}

const NEVER: Option<String> = None;

fn some(property: &str) -> Option<String> {
    Some(property.to_owned())
}

#[test]
fn what_was_held_comes_after_what_is_due_at_that_instant() {
    let routine = "sleeps#0".to_owned();
    let process = "player".to_owned();
    let hold = Fault::Deschedule {
        process: process.clone(),
        routine: routine.clone(),
    };
    let release = Fault::Reschedule { process, routine };
    let faults = vec![Action::Fault(hold), Action::Fault(release)];
    let bounds = Bounds {
        faults,
        ..bounds(5)
    };
    let order = |last: [&'static str; 2]| {
        // Only who is held is early after the other one.
        let order = ["other", "early", last[0], last[1]];
        let start = world(&["sleep and timer", "other"], &order);
        verdict(start, bounds.clone(), None)
    };
    assert_eq!(order(["timer", "sleep"]), some("never-in-this-order"));
    assert_eq!(order(["sleep", "timer"]), NEVER);
}

#[test]
fn a_run_to_recovery_is_known_only_at_the_same_time() {
    for first in ["short or long", "long or short"] {
        let start = world(&[first], &["young"]);
        let found = verdict(start, bounds(2), Some(us(3200)));
        assert_eq!(found, some("never-in-this-order"), "{first}");
    }
}

#[test]
fn values_of_two_types_are_two_values() {
    for item in ["apple", "pear"] {
        let found = verdict(world(&["shelf"], &[item]), bounds(5), None);
        assert_eq!(found, some("never-in-this-order"), "{item}");
    }
}

#[test]
fn nobody_waits_for_ever_who_lets_go_in_the_same_breath() {
    for other in ["pen, tries ink", "pen for ink"] {
        let start = world(&["ink, then pen", other], &[]);
        assert_eq!(verdict(start, bounds(5), None), NEVER, "{other}");
    }
    let start = world(&["ink, then pen", "pen, waits for ink"], &[]);
    assert_eq!(verdict(start, bounds(5), None), some("no-deadlock"));
}

#[test]
fn what_goes_on_for_ever_at_one_instant_is_found() {
    let endless = [
        "again and again",
        "to",
        "later again and again",
        "more and more",
    ];
    for first in endless {
        for calm in [None, Some(us(4000))] {
            let found = verdict(world(&[first], &[]), bounds(5), calm);
            assert_eq!(found, some("no-livelock"), "{first}, {calm:?}");
        }
    }
    // Only the calm goes on until then.
    let late = verdict(
        world(&["later again and again"], &[]),
        bounds(1),
        Some(us(4000)),
    );
    assert_eq!(late, some("no-livelock"));
    // Whoever draws is not drawn for ever.
    let drawn = verdict(world(&["as it is drawn"], &[]), bounds(5), None);
    assert_eq!(drawn, NEVER);
    // Bounds that leave out the usual answer do not hide that it leads nowhere.
    let bounds = Bounds {
        widest_choice: Some(3),
        ..bounds(5)
    };
    let drawn = verdict(world(&["until the last is drawn"], &[]), bounds, None);
    assert_eq!(drawn, some("no-livelock"));
}

#[test]
fn what_goes_on_for_ever_within_one_event_is_found() {
    for first in ["without an await", "restarts"] {
        let plan = vec![(Time::ZERO, Due::Act(start()))];
        let bounds = Bounds { plan, ..bounds(5) };
        let found = verdict(player(&[first], None).build(), bounds, None);
        assert_eq!(found, some("no-livelock"), "{first}");
    }
}

#[test]
fn a_deadline_comes_when_it_is_due() {
    let ends = |world: &World| {
        let player = world.find("player").expect("the only one");
        match world.routines(player).len() {
            0 => Check::Held,
            _ => Check::Violated(Violation {
                kind: "player",
                object: String::new(),
                message: "still plays".to_owned(),
            }),
        }
    };
    for (within, expected) in [(3000, NEVER), (1000, some("it-ends"))] {
        for late_by in [None, Some(us(1000))] {
            let mut builder = player(&["slow"], None);
            let ends = Eventually::new("it-ends", us(within), |_| true, ends);
            builder.property(Box::new(ends));
            let bounds = Bounds {
                plan: vec![(Time::ZERO, Due::Calm)],
                deviations: 1,
                late_by,
                ..bounds(5)
            };
            let found = verdict(begun(builder), bounds, None);
            assert_eq!(found, expected, "within {within}, late by {late_by:?}");
        }
    }
}

#[test]
fn who_is_stopped_and_takes_its_time_is_started_again() {
    let is_up = |world: &World| {
        let player = world.find("player").expect("the only one");
        match world.status(player) {
            Status::Up => Check::Held,
            status => Check::Violated(Violation {
                kind: "player",
                object: String::new(),
                message: format!("{status:?}"),
            }),
        }
    };
    let stop = Fault::Stop {
        process: "player".to_owned(),
    };
    for (stay_down, expected) in [(false, NEVER), (true, some("it-is-up"))] {
        let mut builder = player(&["slow"], Some("good-bye"));
        builder.property(Box::new(Stable::new(
            "it-is-up",
            us(1000),
            |_, _| Check::Idle,
            is_up,
        )));
        let bounds = Bounds {
            faults: vec![Action::Fault(stop.clone())],
            stay_down,
            ..bounds(2)
        };
        let found = verdict(begun(builder), bounds, Some(us(1500)));
        assert_eq!(found, expected, "stays down: {stay_down}");
    }
}
