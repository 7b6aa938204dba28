//! Hash and equality: no collision over a million distinct worlds, whatever the part that differs.

use crate::common;

use std::collections::BTreeSet;

use common::{Flaw, simulate, world};
use proptest::prelude::*;
use wavetank_engine::drive::Limits;
use wavetank_engine::{
    Action, Caller, Cell, Check, Cx, Event, Fault, Name, Note, Outcome, Payload, Process, Property,
    RoutineFuture, Rx, Task, Time, World, WorldBuilder,
};

fn command(world: &mut World, process: &str, what: &str, args: u64) {
    let action = Action::Command {
        process: process.to_owned(),
        what: what.to_owned(),
        args: args.into(),
    };
    let now = world.now();
    world
        .apply(now, Event::Act(&action), &mut |s| s.nominal)
        .expect("possible");
}

#[test]
fn a_million_distinct_worlds_have_a_million_digests() {
    let mut start = world(3, false, Flaw::None);
    for process in ["store", "w1", "w2", "w3"] {
        let start_it = Action::Fault(Fault::Start {
            process: process.to_owned(),
        });
        start
            .apply(Time::ZERO, Event::Act(&start_it), &mut |s| s.nominal)
            .expect("possible");
    }
    start.cache_digests();
    // Distinct by construction: three small numbers in the memories of three processes, which is
    // what a hash that adds up its parts gets wrong first.
    let mut digests = Vec::with_capacity(1_000_000);
    for a in 0..100 {
        let mut with_a = start.clone();
        command(&mut with_a, "w1", "remember", a);
        with_a.cache_digests();
        for b in 0..100 {
            let mut with_b = with_a.clone();
            command(&mut with_b, "w2", "remember", b);
            with_b.cache_digests();
            for c in 0..100 {
                let mut with_c = with_b.clone();
                command(&mut with_c, "w3", "remember", c);
                digests.push(with_c.digest());
            }
        }
    }
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), 1_000_000);
}

#[test]
fn the_worlds_along_many_histories_collide_only_when_they_are_equal() {
    let mut seen: std::collections::BTreeMap<u64, World> = Default::default();
    let mut equal = 0;
    for seed in 0..6 {
        let first = world(2, false, Flaw::None);
        let choices = wavetank_engine::drive::seeded::Seeded::new(
            seed % 3,
            &first,
            common::fault_schedule(2),
        );
        let mut run = wavetank_engine::drive::Run::new(
            first,
            choices,
            Limits::until(Time::from_secs(20)),
            Default::default(),
        );
        while run.step() == Ok(true) {
            let here = run.world();
            match seen.get(&here.digest()) {
                Some(before) => {
                    assert!(before == here, "equal digests, different worlds");
                    equal += 1;
                }
                None => {
                    seen.insert(here.digest(), here.clone());
                }
            }
        }
    }
    assert!(seen.len() > 1000);
    // Seeds 3 to 5 are seeds 0 to 2 again.
    assert!(equal >= seen.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn cached_digests_are_right_after_every_event(seed in any::<u64>(), workers in 1_usize..4) {
        let limits = Limits { check_digests: true, ..Limits::until(Time::from_secs(15)) };
        let outcome = simulate(world(workers, false, Flaw::None), seed, limits);
        prop_assert!(outcome.tallies.events > 20);
        prop_assert_eq!(outcome.end().violation, None);
    }

    #[test]
    fn clones_do_not_touch_each_other(seed in any::<u64>(), steps in 50_usize..400) {
        let first = world(2, false, Flaw::None);
        let choices = wavetank_engine::drive::seeded::Seeded::new(seed, &first, common::fault_schedule(2));
        let mut run =
            wavetank_engine::drive::Run::new(first, choices, Limits::until(common::END), Default::default());
        for _ in 0..steps {
            run.step().expect("clean");
        }
        let kept = run.world().clone();
        let (digest, text) = (kept.digest_from_scratch(), format!("{kept:?}"));
        // Every pending event, each on a clone of its own: the checker's use.
        let mut after = BTreeSet::new();
        for entry in kept.pending() {
            let mut branch = kept.clone();
            branch
                .apply(entry.at, Event::Pending(entry.seq), &mut |s| s.nominal)
                .expect("pending");
            prop_assert_eq!(branch.digest(), branch.digest_from_scratch());
            after.insert(branch.digest());
        }
        prop_assert_eq!(kept.digest_from_scratch(), digest);
        prop_assert_eq!(format!("{kept:?}"), text);
        prop_assert!(!after.contains(&digest));
    }
}

/// Two types whose values are the same word.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Apple(u64);
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Pear(u64);

static APPLE: Cell<Apple> = Cell::new("fruit");
static PEAR: Cell<Pear> = Cell::new("fruit");

macro_rules! grower {
    ($grower:ident) => {
        #[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
        struct $grower(u64);

        impl Process for $grower {
            fn boot(&mut self, _: &mut Cx<'_>) {}
            fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
            fn crash(&mut self) {}
        }

        impl Property for $grower {
            fn name(&self) -> &'static str {
                "grower"
            }
            fn note(&mut self, _: &World, _: &Note) -> Check {
                Check::Idle
            }
        }
    };
}

grower!(GrowsApples);
grower!(GrowsPears);

/// Has an apple or a pear somewhere.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Grocer;

impl Process for Grocer {
    fn boot(&mut self, _: &mut Cx<'_>) {}
    fn request(&mut self, _: &mut Cx<'_>, _: Caller, _: &Payload) {}
    fn command(
        &mut self,
        cx: &mut Cx<'_>,
        what: &str,
        _: &serde_json::Value,
    ) -> Result<(), String> {
        let waits = Name::new("waits");
        match what {
            "apple in a cell" => cx.cell(&APPLE).0 = 1,
            "pear in a cell" => cx.cell(&PEAR).0 = 1,
            "apple for a task" => cx.spawn(Task::new(waits, Apple(1))),
            "pear for a task" => cx.spawn(Task::new(waits, Pear(1))),
            _ => return Err(format!("does not know what `{what}` means")),
        }
        Ok(())
    }
    fn crash(&mut self) {}
    fn routine(&self, _: &Task) -> RoutineFuture {
        Box::pin(async {
            Rx::new().done().await;
            Outcome::Done
        })
    }
}

#[test]
fn worlds_whose_values_have_two_types_have_two_digests() {
    let fresh = |builder: &mut WorldBuilder| {
        let world = builder.build();
        (world.digest(), world.exact_digest(), world)
    };
    let mut pairs = vec![
        (
            fresh(WorldBuilder::new().process("grower", GrowsApples(1))),
            fresh(WorldBuilder::new().process("grower", GrowsPears(1))),
        ),
        (
            fresh(WorldBuilder::new().property(Box::new(GrowsApples(1)))),
            fresh(WorldBuilder::new().property(Box::new(GrowsPears(1)))),
        ),
    ];
    let grocer = |has: &str| {
        let mut world = WorldBuilder::new().process("grocer", Grocer).build();
        let process = "grocer".to_owned();
        let start = Action::Fault(Fault::Start { process });
        let started = world.apply(Time::ZERO, Event::Act(&start), &mut |sent| sent.nominal);
        started.expect("it starts");
        command(&mut world, "grocer", has, 0);
        (world.digest(), world.exact_digest(), world)
    };
    for place in ["in a cell", "for a task"] {
        let has = |fruit: &str| grocer(&format!("{fruit} {place}"));
        pairs.push((has("apple"), has("pear")));
    }
    for ((common, exact, apples), (other_common, other_exact, pears)) in pairs {
        assert_ne!(apples, pears);
        assert_ne!(common, other_common, "{apples:?}");
        assert_ne!(exact, other_exact, "{apples:?}");
    }
    assert_ne!(Payload::new(Apple(1)), Payload::new(Pear(1)));
    assert_ne!(
        Payload::new(Apple(1)).digest(),
        Payload::new(Pear(1)).digest()
    );
}
