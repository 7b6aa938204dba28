//! The search of this crate: it visits what stateright's does, on any number of threads, and what it
//! finds is written down as it happens again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::common::topology::fixed;
use stateright::{Checker, Model};
use wavetank_components::kube_apiserver::BootstrapDefect;
use wavetank_engine::drive::replay::{Fit, Replay};
use wavetank_engine::trace::{Line, TraceWhat};
use wavetank_engine::{Action, Class, Fault, Memo, Time};
use wavetank_models::{
    Bounds, Due, Ended, Explored, Explorer, Found, Move, Node, Recovery, Reduction, Shortening,
    WorldModel, retrace,
};
use wavetank_version::Selection;

use super::{WINDOW, stoppable};

/// Both apiservers are listed, and nothing is going on.
const IDLE: Time = Time::from_secs(5);

fn scope(defects: Selection, deviations: u32) -> WorldModel {
    stoppable(defects, IDLE, deviations)
}

fn broken() -> WorldModel {
    let unfixed = fixed().with(BootstrapDefect::FixRetryRemoveEndpoints, false);
    scope(unfixed, 0)
}

fn explore(model: &WorldModel, threads: usize) -> Explored {
    Explorer {
        model,
        recovery: None,
        reduction: Reduction::NONE,
        threads,
        watch: &|_| true,
    }
    .run()
}

#[track_caller]
fn found(explored: Explored) -> Found {
    match explored.ended {
        Ended::Violated(found) => *found,
        other => panic!("nothing was found: {other:?}"),
    }
}

#[test]
fn it_visits_the_states_that_stateright_visits() {
    for deviations in [0, 1] {
        let model = scope(fixed(), deviations);
        let checker = model.clone().checker().spawn_dfs().join();
        for threads in [1, 2, 3] {
            let explored = explore(&model, threads);
            assert_eq!(explored.ended, Ended::Complete);
            let unique = checker.unique_state_count() as u64;
            assert_eq!(explored.progress.unique, unique, "on {threads} threads");
            assert_eq!(explored.progress.depth + 1, checker.max_depth() as u64);
        }
    }
}

#[test]
fn what_it_finds_is_made_one_and_the_same_and_replays() {
    let model = broken();
    let first = model.first();
    let shortened = [1, 2].map(|threads| {
        let shortening = Shortening {
            model: &model,
            calm: None,
            steps: 100_000,
        };
        shortening.of(&first, found(explore(&model, threads)))
    });
    let [one, two] = &shortened;
    assert_eq!(one.found, two.found);
    assert_eq!(one.model.bounds.at_most, Some(2), "it takes both stops");
    assert!(one.model.bounds.horizon < model.bounds.horizon);

    let retraced = retrace(&one.model, None, &one.start, &one.found.path);
    assert_eq!(retraced.violated.as_deref(), Some(&one.found.violation));
    let mut replay = Replay::new(model.start.clone(), Fit::Strict);
    for event in retraced.events {
        let followed = replay.follow(&Line::Event(event));
        followed.unwrap_or_else(|parting| panic!("{parting}"));
    }
    assert_eq!(replay.violation(), Some(&one.found.violation));
}

#[test]
fn bounds_bound_it() {
    let within = |change: &dyn Fn(&mut Bounds)| {
        let mut model = broken();
        change(&mut model.bounds);
        explore(&model, 1)
    };
    let idle = broken().start.now();
    let clean = |explored: &Explored| explored.ended == Ended::Complete;
    let all = within(&|bounds| bounds.faults.clear());
    assert!(clean(&all) && all.progress.generated == all.progress.depth);
    assert!(clean(&within(&|bounds| bounds.at_most = Some(1))));
    assert!(clean(&within(&|bounds| bounds.horizon = idle)));
    assert!(!clean(&within(&|bounds| bounds.at_most = Some(2))));

    // What may come late by no time at all is what is due at the same time.
    let late_by = |late| {
        let mut model = scope(fixed(), 1);
        model.bounds.late_by = Some(late);
        explore(&model, 1).progress.unique
    };
    let any = explore(&scope(fixed(), 1), 1).progress.unique;
    let none = explore(&scope(fixed(), 0), 1).progress.unique;
    let (little, much) = (late_by(Duration::ZERO), late_by(WINDOW));
    assert!(none <= little && little < much, "{none} {little} {much}");
    assert_eq!(much, any);
}

#[test]
fn what_is_planned_happens_on_every_path() {
    let mut model = broken();
    let begin = model.start.now();
    let mut stops = std::mem::take(&mut model.bounds.faults).into_iter();
    let at = |micros| begin + Duration::from_micros(micros);
    let due = |micros, action| (at(micros), Due::Act(action));
    let second = stops.next_back().expect("of two");
    let first = stops.next().expect("of two");
    model.bounds.plan = vec![due(1_000, first.clone()), due(20_000, second.clone())];
    let far_apart = explore(&model, 1);
    assert_eq!(far_apart.ended, Ended::Complete);
    assert!(far_apart.coverage.plan(&model).missed.is_empty());
    // Close to each other they get in each other's way, whatever else happens.
    let paths = (0..20).filter_map(|half| {
        model.bounds.plan = vec![
            due(1_000, first.clone()),
            due(1_000 + 500 * half, second.clone()),
        ];
        match explore(&model, 1).ended {
            Ended::Violated(found) => Some(found.path),
            _ => None,
        }
    });
    let paths: Vec<Vec<Move>> = paths.collect();
    assert!(!paths.is_empty());
    for path in paths {
        let planned = path.iter().filter(|taken| **taken == Move::Planned);
        assert_eq!(planned.count(), 2);
    }
    // Beyond the horizon nothing is done.
    model.bounds.plan = vec![due(1_000, first), due(26_000, second)];
    let explored = explore(&model, 1);
    assert_eq!(explored.coverage.plan(&model).missed.len(), 1);
}

#[test]
fn it_ends_when_it_is_told_to() {
    let model = scope(fixed(), 1);
    let asked = AtomicU64::new(0);
    let explored = Explorer {
        model: &model,
        recovery: None,
        reduction: Reduction::NONE,
        threads: 2,
        watch: &|progress| {
            asked.fetch_add(1, Relaxed);
            progress.unique < 1_000
        },
    }
    .run();
    assert_eq!(explored.ended, Ended::Stopped);
    assert!(asked.into_inner() > 1);
    assert!((1_000..3_000).contains(&explored.progress.unique));
}

#[test]
fn it_says_what_was_reached() {
    let mut model = scope(fixed(), 0);
    let nobody = Fault::Crash {
        process: "a2".to_owned(),
    };
    model.bounds.faults.push(Action::Fault(nobody));
    model.bounds.at_most = Some(1);
    let explored = explore(&model, 1);
    let faults = explored.coverage.faults(&model);
    assert_eq!((faults.reached.len(), faults.missed.len()), (3, 0));
    let tested = explored.coverage.properties(&model, Class::Guarantee);
    assert_eq!(tested.reached, ["stopped-address-is-removed"]);
    model.bounds.at_most = Some(0);
    let explored = explore(&model, 1);
    assert_eq!(explored.coverage.faults(&model).missed.len(), 3);
    assert_eq!(
        explored.coverage.events().map(|(_, n)| n).sum::<u64>(),
        explored.progress.generated
    );
}

#[test]
fn recovery_is_looked_at_from_every_state() {
    let seconds = Duration::from_secs(1);
    let explore = |model: &WorldModel| {
        let recovery = Recovery::within(seconds);
        let explorer = Explorer {
            model,
            recovery: Some(&recovery),
            reduction: Reduction::NONE,
            threads: 2,
            watch: &|_| true,
        };
        explorer.run()
    };
    let fixed = scope(fixed(), 0);
    let explored = explore(&fixed);
    assert_eq!(explored.ended, Ended::Complete);
    let without = self::explore(&fixed, 1);
    assert_eq!(explored.progress.unique, without.progress.unique);

    // Some states are about to go wrong: their run to recovery does, before they do.
    let model = broken();
    let found = found(explore(&model));
    assert_eq!(found.path.last(), Some(&Move::Recover));
    let recovery = Recovery::within(seconds);
    let retraced = retrace(&model, Some(&recovery), &model.first(), &found.path);
    assert_eq!(retraced.violated.as_deref(), Some(&found.violation));
    let heals = TraceWhat::Act(Action::Fault(Fault::HealAll {}));
    assert!(retraced.events.iter().any(|event| event.what == heals));
}

/// A crashed server is started and crashes again while the end of its first connection is still under way to
/// etcd, so that there are two.
fn crashes_twice() -> WorldModel {
    let mut model = scope(fixed(), 0);
    let process = String::from("a1");
    let crash = Action::Fault(Fault::Crash {
        process: process.clone(),
    });
    let start = Action::Fault(Fault::Start { process });
    model.bounds.horizon = model.start.now() + Duration::from_millis(2);
    model.bounds.faults = vec![crash.clone(), start.clone(), crash, start];
    model
}

/// Every state, by the steps that are known or by running them.
fn walk(model: &WorldModel, mut memo: Memo) -> Vec<Node> {
    let (mut seen, mut to_do) = (BTreeMap::new(), vec![model.first()]);
    while let Some(node) = to_do.pop() {
        let mut moves = Vec::new();
        model.moves(&node, &mut moves);
        if seen.insert(node.fingerprint(), node.clone()).is_none() {
            let next = |taken: &Move| model.next(&mut memo, &node, *taken);
            to_do.extend(moves.iter().filter_map(next).map(|(node, _)| node));
        }
    }
    seen.into_values().collect()
}

#[test]
fn known_steps_of_servers_that_crash_again_are_right() {
    let model = crashes_twice();
    let run = walk(&model, Memo::off());
    assert_eq!(walk(&model, Memo::new()), run);
    assert_eq!(explore(&model, 2).progress.unique, run.len() as u64);
}

#[test]
fn faults_that_are_the_same_are_interchangeable() {
    let model = crashes_twice();
    let injected = |node: &Node, fault: usize| node.faults >> fault & 1 == 0;
    let states = walk(&model, Memo::new());
    for (first, second) in [(0, 2), (1, 3)] {
        let both = |node: &&Node| injected(node, first) && injected(node, second);
        assert!(states.iter().any(|node| both(&node)));
        assert!(
            states
                .iter()
                .all(|node| injected(node, first) || !injected(node, second))
        );
    }
}
