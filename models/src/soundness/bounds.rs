//! How the bounds of a random world are drawn: what is planned, which faults may strike, how far the search
//! goes.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::description::{Limits, Strike};
use super::strategy::{Taste, process, weighted};

pub(super) fn limits(taste: Taste) -> BoxedStrategy<Limits> {
    let faults = vec(strikes(taste), 0..4).prop_map(|all| all.concat());
    let calm = option::weighted(taste.recovers, select(vec![3000, 6000]));
    let late_by = option::weighted(0.6, select(vec![0, 50, 300, 1000]));
    let widest = option::weighted(0.3, 1..4_u8);
    let counts = (option::weighted(0.7, 0..3_u8), select(vec![0, 1, 0, 1, 2]));
    let horizon = select(vec![2000, 4000, 8000]);
    (
        plan(taste),
        faults,
        counts,
        late_by,
        widest,
        (any::<bool>(), horizon, calm),
    )
        .prop_map(|(plan, faults, counts, late_by, widest, rest)| {
            let ((at_most, deviations), (stay_down, horizon, calm)) = (counts, rest);
            Limits {
                plan,
                at_most: at_most.or((faults.len() > 3).then_some(3)),
                faults,
                deviations,
                late_by,
                // Nothing is drawn from very many but the last.
                widest_choice: Some(widest.unwrap_or(u8::MAX)),
                stay_down,
                horizon,
                calm,
            }
        })
        .boxed()
}

fn plan(taste: Taste) -> impl Strategy<Value = Vec<(u32, Option<Strike>)>> {
    let strike = strikes(taste).prop_map(|mut all| all.remove(0));
    let early = option::weighted(0.4, (select(vec![500, 1000, 1700]), strike.clone()));
    let late = option::weighted(0.25, (select(vec![2000, 2500]), strike));
    let calm = option::weighted(0.4, select(vec![3000, 3500]));
    (early, late, calm).prop_map(|(early, late, calm)| {
        let injected = early.into_iter().chain(late);
        let injected = injected.map(|(when, strike)| (when, Some(strike)));
        injected.chain(calm.map(|when| (when, None))).collect()
    })
}

/// One, and perhaps its end, or the same again.
fn strikes(taste: Taste) -> BoxedStrategy<Vec<Strike>> {
    let two = || (process(), process());
    let over = || (process(), process(), 0..4_u8);
    let alone = |strike: BoxedStrategy<Strike>| strike.prop_map(|strike| vec![strike]).boxed();
    let links = prop_oneof![
        over().prop_map(|(client, server, over)| vec![Strike::Reset {
            client,
            server,
            over
        }]),
        over().prop_map(|(client, server, over)| vec![Strike::HalfOpen {
            client,
            server,
            over
        }]),
        ended(two(), |(from, to)| [
            Strike::Stall { from, to },
            Strike::Unstall { from, to }
        ]),
        ended((two(), any::<bool>()), |((left, right), one_way)| {
            [
                Strike::Partition {
                    left,
                    right,
                    one_way,
                },
                Strike::Heal {
                    left,
                    right,
                    one_way,
                },
            ]
        }),
        ended(two(), |(left, right)| [
            Strike::Slow { left, right },
            Strike::Unslow { left, right }
        ]),
        two().prop_map(|(from, to)| vec![Strike::Delay { from, to }]),
        two().prop_map(|(client, server)| vec![Strike::LoseAnswer { client, server }]),
    ];
    let crashes = prop_oneof![
        ended(process(), |process| [
            Strike::Crash(process),
            Strike::Start(process)
        ]),
        ended(process(), |process| [
            Strike::PowerLoss(process),
            Strike::Start(process)
        ]),
        ended(process(), |process| [
            Strike::Stop(process),
            Strike::Start(process)
        ]),
    ];
    let holds = prop_oneof![
        ended((process(), 0..3_u8), |(process, order)| {
            [Strike::Pause(process), Strike::Resume { process, order }]
        }),
        ended((process(), 0..4_u8), |(process, routine)| {
            [
                Strike::Deschedule { process, routine },
                Strike::Reschedule { process, routine },
            ]
        }),
    ];
    let skews = prop_oneof![
        (process(), any::<bool>()).prop_map(|(process, slow)| Strike::ClockRate { process, slow }),
        process().prop_map(|process| Strike::ClockJump { process }),
    ];
    let tells = (process(), any::<bool>()).prop_map(|(process, twice)| {
        let mut tells = vec![Strike::Command(process)];
        tells.extend(twice.then_some(Strike::Command(process)));
        tells
    });
    weighted(vec![
        (taste.links, links.boxed()),
        (taste.crashes, crashes.boxed()),
        (taste.holds, holds.boxed()),
        (taste.skews, alone(skews.boxed())),
        (taste.tells, tells.boxed()),
    ])
}

fn ended<V: std::fmt::Debug + Clone + 'static>(
    of: impl Strategy<Value = V> + 'static,
    both: impl Fn(V) -> [Strike; 2] + 'static,
) -> BoxedStrategy<Vec<Strike>> {
    let ends = proptest::bool::weighted(0.7);
    (of, ends)
        .prop_map(move |(of, ends)| {
            let [strike, end] = both(of);
            if ends {
                vec![strike, end]
            } else {
                vec![strike]
            }
        })
        .boxed()
}
