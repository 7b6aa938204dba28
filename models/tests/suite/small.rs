//! The models of single algorithms: upstream's rule holds in every state, and each weaker one does not.

use stateright::{Checker, Model};
use wavetank_models::small::{bookmark, lease, repair};

/// The number of states, if the properties hold, else the steps of the shortest way to where one does not.
fn verdict<M>(model: M) -> Result<usize, Vec<M::Action>>
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + std::fmt::Debug + std::hash::Hash + Send + Sync + PartialEq,
    M::Action: Clone + std::fmt::Debug + Send + Sync + PartialEq,
{
    let checker = model.checker().spawn_bfs().join();
    let violated = checker
        .model()
        .properties()
        .into_iter()
        .find_map(|property| {
            let found = checker.discovery(property.name);
            match property.expectation {
                stateright::Expectation::Always => found,
                stateright::Expectation::Sometimes => {
                    assert!(found.is_some(), "`{}` is never reached", property.name);
                    None
                }
                stateright::Expectation::Eventually => unreachable!("none of them says so"),
            }
        });
    match violated {
        None => Ok(checker.unique_state_count()),
        Some(path) => Err(path.into_actions()),
    }
}

fn rule(times: u8) -> repair::Rule {
    repair::Rule {
        times,
        create_takes: 1,
        attempts: 3,
        attempts_count: false,
    }
}

#[test]
fn a_leak_seen_three_times_is_one() {
    use repair::Step::{Conflict, Write};
    assert_eq!(verdict(rule(3)), Ok(40));
    // One round may end while a create is in flight, but two may look at it: so twice is not enough.
    let rounds = |path: &[repair::Step]| path.iter().filter(|step| **step == Write).count();
    let path = verdict(rule(2)).expect_err("two rounds look");
    assert_eq!(rounds(&path), 2, "{path:?}");
    let path = verdict(rule(1)).expect_err("one round looks");
    assert_eq!(rounds(&path), 1, "{path:?}");
    // FINDINGS.md, 7: three attempts of one round are not three rounds.
    let upstream = repair::Rule {
        attempts_count: true,
        ..rule(3)
    };
    let path = verdict(upstream).expect_err("fewer rounds are enough");
    assert!(rounds(&path) < 3 && path.contains(&Conflict), "{path:?}");
    // Creates that take three rounds are freed by any such rule.
    let slow = repair::Rule {
        create_takes: 3,
        ..rule(3)
    };
    assert!(verdict(slow).is_err());
}

#[test]
fn a_lease_outlives_a_slow_renewal() {
    let upstream = |slow| lease::Times {
        interval: 10,
        ttl: 15,
        slow,
    };
    assert!(verdict(upstream(4)).is_ok());
    assert!(verdict(upstream(5)).is_err());
    let tight = lease::Times {
        ttl: 10,
        ..upstream(1)
    };
    assert_eq!(
        verdict(tight)
            .expect_err("it ends before it is renewed")
            .len(),
        10
    );
}

#[test]
fn a_bookmark_tells_of_what_was_sent() {
    use bookmark::Step::{Bookmark, Resume, TakeIn};
    let cache = |from| bookmark::Cache { from, events: 3 };
    assert!(verdict(cache(bookmark::From::Dispatched)).is_ok());
    let path = verdict(cache(bookmark::From::TakenIn)).expect_err("events wait");
    assert!(
        path.starts_with(&[TakeIn, Bookmark]) && path.ends_with(&[Resume]),
        "{path:?}"
    );
}
