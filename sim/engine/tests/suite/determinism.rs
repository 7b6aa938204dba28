//! One seed, one history: live or rebuilt, alone or cloned, and impurity is caught.

use crate::common;

use common::{END, Flaw, fault_schedule, lines, simulate, text, world};
use wavetank_engine::drive::plan::{FromPlan, Plan};
use wavetank_engine::drive::replay::{Fit, Replay, Replayed};
use wavetank_engine::drive::seeded::Seeded;
use wavetank_engine::drive::{Ending, Limits, Run};
use wavetank_engine::trace::{Line, Record};
use wavetank_engine::{Event, Time};

#[test]
fn the_storm_is_a_real_one() {
    let mut injected = [0; 15];
    let mut unknown = 0;
    for seed in 0..60 {
        let outcome = simulate(world(3, false, Flaw::None), seed, Limits::until(END));
        assert_eq!(outcome.ending, Ending::Clean, "seed {seed}");
        assert!(outcome.tallies.tested[0] > 10, "seed {seed}");
        assert_eq!(outcome.tallies.tested[1], 1, "seed {seed}");
        unknown += outcome.tallies.tested[2];
        for (total, n) in injected.iter_mut().zip(&outcome.tallies.injected) {
            *total += n;
        }
    }
    assert!(injected.iter().all(|n| *n >= 5), "{injected:?}");
    assert!(unknown > 0);
}

#[test]
fn one_seed_gives_one_trace() {
    for seed in 0..10 {
        let a = text(&simulate(
            world(3, false, Flaw::None),
            seed,
            Limits::until(END),
        ));
        let b = text(&simulate(
            world(3, false, Flaw::None),
            seed,
            Limits::until(END),
        ));
        assert_eq!(a, b, "seed {seed}");
        assert!(a.lines().count() > 500);
    }
}

#[test]
fn rebuilt_routines_make_no_difference() {
    for seed in 0..20 {
        let live = simulate(world(3, false, Flaw::None), seed, Limits::until(END));
        let rebuilding = Limits {
            rebuild: true,
            check_digests: true,
            ..Limits::until(END)
        };
        let rebuilt = simulate(world(3, false, Flaw::None), seed, rebuilding);
        assert_eq!(text(&live), text(&rebuilt), "seed {seed}");
        assert_eq!(live.world.rebuilt(), 0);
        assert!(rebuilt.world.rebuilt() > 100, "seed {seed}");
        assert!(live.world == rebuilt.world);
    }
}

#[test]
fn an_impure_routine_is_caught_when_it_is_rebuilt() {
    let rebuilding = Limits {
        rebuild: true,
        ..Limits::until(END)
    };
    let outcome = simulate(world(2, false, Flaw::Static), 1, rebuilding);
    let Ending::Violated(found) = outcome.ending else {
        panic!("not caught")
    };
    assert_eq!(found.property, "no-panic");
    assert!(found.message.contains("impure"), "{}", found.message);
    assert!(found.message.contains("Sleep"), "{}", found.message);
}

#[test]
fn hash_order_is_caught_by_rebuilding_and_by_a_second_run() {
    let rebuilding = Limits {
        rebuild: true,
        ..Limits::until(END)
    };
    let outcome = simulate(world(2, false, Flaw::HashOrder), 1, rebuilding);
    assert!(matches!(outcome.ending, Ending::Violated(found) if found.message.contains("impure")));

    let run = || {
        text(&simulate(
            world(2, false, Flaw::HashOrder),
            1,
            Limits::until(END),
        ))
    };
    assert_ne!(run(), run());
}

#[test]
fn a_clone_in_the_middle_goes_the_same_way() {
    for seed in 0..10 {
        let first = world(3, false, Flaw::None);
        let choices = Seeded::new(seed, &first, fault_schedule(3));
        let mut original = Run::new(
            first,
            choices.clone(),
            Limits::until(END),
            Record::default(),
        );
        for _ in 0..400 {
            assert_eq!(original.step(), Ok(true));
        }
        // A second run of the same choices, stopped at the same place, cloned and continued.
        let mut copy = Run::new(
            world(3, false, Flaw::None),
            choices.clone(),
            Limits::until(END),
            Record::default(),
        );
        for _ in 0..400 {
            assert_eq!(copy.step(), Ok(true));
        }
        let cloned = copy.clone();
        let (a, b, c) = (original.finish(), copy.finish(), cloned.finish());
        assert!(a.world == b.world && b.world == c.world, "seed {seed}");
        assert_eq!(a.world.digest(), c.world.digest_from_scratch());
        assert_eq!(text(&a), text(&c));
    }
}

#[test]
fn a_trace_replays_and_a_plan_simulates_to_the_same_world() {
    for seed in 0..10 {
        let outcome = simulate(world(3, false, Flaw::None), seed, Limits::until(END));
        let lines = lines(&outcome);
        let mut replay = Replay::new(world(3, false, Flaw::None), Fit::Strict);
        for line in &lines {
            match replay.follow(line) {
                Ok(Replayed::Panicked(found)) => panic!("{found:?}"),
                Ok(_) => {}
                Err(parting) => panic!("seed {seed}: {parting}"),
            }
        }
        assert!(*replay.world() == outcome.world);

        let plan = Plan::from_trace(lines.iter());
        let planned = Run::new(
            world(3, false, Flaw::None),
            FromPlan::new(&plan),
            Limits::until(END),
            Record::default(),
        )
        .finish();
        assert_eq!(text(&outcome), text(&planned), "seed {seed}");
    }
}

#[test]
fn a_replay_that_no_longer_fits_says_where() {
    let outcome = simulate(world(3, false, Flaw::None), 3, Limits::until(END));
    let lines = lines(&outcome);
    let mut replay = Replay::new(world(2, false, Flaw::None), Fit::Strict);
    let parting = lines
        .iter()
        .find_map(|line| replay.follow(line).err())
        .expect("a worker is missing");
    assert!(parting.world.contains("no process `w3`"), "{parting}");

    let mut replay = Replay::new(world(3, false, Flaw::None), Fit::Strict);
    let without = lines
        .iter()
        .filter(|line| !line.to_string().contains("request w1.1/follow#0.0"))
        .find_map(|line| replay.follow(line).err())
        .expect("a request is missing");
    assert!(without.to_string().contains("at event"), "{without}");
}

#[test]
fn a_shifted_world_is_equal_and_goes_on_equally() {
    use std::time::Duration;
    for seed in 0..10 {
        let first = world(3, false, Flaw::None);
        let choices = Seeded::new(seed, &first, fault_schedule(3));
        let mut run = Run::new(first, choices, Limits::until(END), Record::default());
        for _ in 0..300 + seed * 20 {
            assert_eq!(run.step(), Ok(true));
        }
        let mut here = run.world().clone();
        let mut later = here.clone();
        let by = Duration::from_secs(1000 + seed);
        later.shift(by);
        assert!(here == later);
        assert_eq!(here.digest(), later.digest());
        for _ in 0..200 {
            let Some(entry) = here.next_entry().copied() else {
                break;
            };
            let other = *later.next_entry().expect("as many");
            assert_eq!(entry.at + by, other.at);
            here.apply(entry.at, Event::Pending(entry.seq), &mut |s| s.nominal)
                .expect("pending");
            later
                .apply(other.at, Event::Pending(other.seq), &mut |s| s.nominal)
                .expect("pending");
            assert!(here == later);
            assert_eq!(here.digest(), later.digest());
        }
        assert!(here.now() > Time::ZERO);
    }
}

#[test]
fn a_careless_store_is_found_out() {
    let found = (0..20).find_map(|seed| {
        match simulate(world(3, true, Flaw::None), seed, Limits::until(END)).ending {
            Ending::Violated(found) => Some(found),
            Ending::Clean => None,
        }
    });
    assert_eq!(found.expect("found").property, "value-counts-versions");
}

#[test]
fn traces_survive_being_written_and_read() {
    let outcome = simulate(world(2, false, Flaw::None), 5, Limits::until(END));
    let lines = lines(&outcome);
    let head = serde_json::json!({"seed": 5});
    let mut bytes = Vec::new();
    wavetank_engine::trace::write(&mut bytes, &head, lines.iter().cloned()).expect("memory");
    let mut reader = wavetank_engine::trace::Reader::new(&bytes[..]).expect("a trace");
    assert_eq!(reader.head(), &head);
    let read: Vec<Line> = reader.rest().expect("whole");
    assert_eq!(read, lines);

    let cut = &bytes[..bytes.len() / 2];
    let mut reader = wavetank_engine::trace::Reader::new(cut).expect("the head is whole");
    let error = reader.rest().expect_err("cut off");
    let text = error.to_string();
    assert!(text.contains("line"), "{text}");
}
