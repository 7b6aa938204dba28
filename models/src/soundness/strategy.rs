//! How random worlds are drawn: a world has a number, from which everything in it follows. Every
//! [`Taste`] has much of some things and little of the others, so that those meet often.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;

use super::description::{
    Delay, Description, Do, Goal, Lie, Limits, On, Routine, Rule, Script, Serve, Settles, Strike,
    Watched,
};

/// How much there is of each kind of thing, against the others.
#[derive(Clone, Copy, Debug, Default)]
struct Taste {
    calls: u32,
    streams: u32,
    locks: u32,
    channels: u32,
    signals: u32,
    cells: u32,
    choices: u32,
    clocks: u32,
    timers: u32,
    lives: u32,
    nests: u32,
    /// Faults of connections and links, of processes, of routines and pauses, of clocks.
    links: u32,
    crashes: u32,
    holds: u32,
    skews: u32,
    tells: u32,
    /// In percent.
    recovers: f64,
}

/// A little of everything.
const MIXED: Taste = Taste {
    calls: 3,
    streams: 2,
    locks: 2,
    channels: 2,
    signals: 2,
    cells: 2,
    choices: 2,
    clocks: 2,
    timers: 2,
    lives: 1,
    nests: 2,
    links: 2,
    crashes: 2,
    holds: 2,
    skews: 1,
    tells: 3,
    recovers: 0.4,
};

const TASTES: [Taste; 10] = [
    MIXED,
    Taste {
        calls: 12,
        lives: 4,
        links: 8,
        tells: 6,
        ..MIXED
    },
    Taste {
        streams: 14,
        timers: 4,
        links: 5,
        ..MIXED
    },
    Taste {
        locks: 16,
        holds: 5,
        ..MIXED
    },
    Taste {
        channels: 12,
        signals: 8,
        choices: 4,
        ..MIXED
    },
    Taste {
        clocks: 12,
        timers: 10,
        skews: 4,
        tells: 8,
        recovers: 0.9,
        ..MIXED
    },
    Taste {
        holds: 12,
        links: 6,
        timers: 6,
        nests: 6,
        choices: 4,
        ..MIXED
    },
    Taste {
        lives: 8,
        crashes: 12,
        timers: 4,
        recovers: 0.8,
        ..MIXED
    },
    Taste {
        choices: 14,
        cells: 6,
        channels: 6,
        ..MIXED
    },
    Taste {
        timers: 12,
        cells: 6,
        tells: 10,
        recovers: 0.6,
        ..MIXED
    },
];

/// One in so many worlds has a process that lies about itself.
const LIARS: u64 = 40;

/// The worlds of this number.
pub(super) fn of(number: u64) -> BoxedStrategy<Description> {
    let taste = TASTES[(number % TASTES.len() as u64) as usize];
    let lie = match number % LIARS {
        18 => Lie::Hash,
        38 => Lie::Equality,
        _ => Lie::None,
    };
    description(taste, lie)
}

fn description(taste: Taste, lie: Lie) -> BoxedStrategy<Description> {
    let processes = prop_oneof![
        3 => vec(script(taste), 2),
        2 => vec(script(taste), 3),
        1 => vec(script(taste), 4),
    ];
    let watched = vec(watched(), 1..3);
    let settles = option::weighted(0.4, settles());
    (processes, watched, settles, limits(taste))
        .prop_map(move |(processes, watched, settles, limits)| Description {
            processes,
            watched,
            settles,
            limits,
            lie,
        })
        .boxed()
}

fn delay() -> impl Strategy<Value = Delay> + Clone {
    prop_oneof![
        30 => select(vec![500, 1000, 200, 1500, 100, 60, 30, 450, 550, 0, 1020, 1050, 2000, 700])
            .prop_map(Delay::Us),
        1 => Just(Delay::Hour),
        1 => Just(Delay::Ever),
    ]
}

/// Some delay that is not nothing: what goes on by itself must take time.
fn pause() -> impl Strategy<Value = Delay> + Clone {
    prop_oneof![
        30 => select(vec![500, 1000, 200, 1500, 100, 450, 550, 2000, 700]).prop_map(Delay::Us),
        1 => Just(Delay::Hour),
        1 => Just(Delay::Ever),
    ]
}

fn process() -> std::ops::Range<u8> {
    0..4
}

fn weighted<T: std::fmt::Debug + 'static>(all: Vec<(u32, BoxedStrategy<T>)>) -> BoxedStrategy<T> {
    Union::new_weighted(all.into_iter().filter(|(weight, _)| *weight > 0).collect()).boxed()
}

fn steps(taste: Taste, depth: u32) -> BoxedStrategy<Vec<Do>> {
    let most = if depth == 0 { 5 } else { 3 };
    vec(step(taste, depth), 1..most).boxed()
}

fn step(taste: Taste, depth: u32) -> BoxedStrategy<Do> {
    let limit = || option::weighted(0.3, delay());
    let two = 0..2_u8;
    let mut all = vec![
        (4, delay().prop_map(Do::Sleep).boxed()),
        (4, (0..3_u8).prop_map(|what| Do::Note { what }).boxed()),
        (
            1,
            (0..2_u8).prop_map(|further| Do::Spawn { further }).boxed(),
        ),
        (taste.calls, call(limit().boxed())),
        (taste.streams, stream()),
        (taste.lives.min(2), Just(Do::GoAway).boxed()),
        (
            taste.cells,
            (two.clone(), 1..4_u8)
                .prop_map(|(cell, by)| Do::Add { cell, by })
                .boxed(),
        ),
        (
            taste.cells,
            two.clone().prop_map(|cell| Do::Read { cell }).boxed(),
        ),
        (
            taste.choices,
            (2..4_u8).prop_map(|among| Do::Choose { among }).boxed(),
        ),
        (
            taste.choices / 4,
            (2..4_u8)
                .prop_map(|among| Do::ChooseApart { among })
                .boxed(),
        ),
        (
            taste.clocks,
            select(vec![Do::Clock, Do::Mark, Do::Age, Do::Mark, Do::Age]).boxed(),
        ),
        (taste.lives, life()),
        (1, select(vec![Do::Keep { by: 1 }, Do::Look]).boxed()),
        (
            taste.signals,
            two.clone().prop_map(|signal| Do::Wait { signal }).boxed(),
        ),
        (
            taste.signals,
            two.clone().prop_map(|signal| Do::Raise { signal }).boxed(),
        ),
        (
            taste.timers,
            (0..6_u8, pause())
                .prop_map(|(timer, after)| Do::Arm { timer, after })
                .boxed(),
        ),
        (
            taste.timers / 2,
            (0..6_u8).prop_map(|timer| Do::Disarm { timer }).boxed(),
        ),
    ];
    all.extend(channel(taste, limit().boxed()));
    if depth < 2 {
        all.extend(nested(taste, depth, limit().boxed()));
    }
    weighted(all)
}

fn call(limit: BoxedStrategy<Option<Delay>>) -> BoxedStrategy<Do> {
    (process(), 0..4_u8, 0..3_u8, limit)
        .prop_map(|(to, over, add, within)| Do::Call {
            to,
            over,
            add,
            within,
        })
        .boxed()
}

fn stream() -> BoxedStrategy<Do> {
    (
        process(),
        0..4_u8,
        0..3_u8,
        0..6_u8,
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(to, over, add, take, part, close)| Do::Stream {
            to,
            over,
            add,
            take,
            part,
            close,
        })
        .boxed()
}

fn life() -> BoxedStrategy<Do> {
    prop_oneof![
        2 => Just(Do::Exit),
        1 => pause().prop_map(|after| Do::Restart { after }),
        2 => delay().prop_map(Do::Deadline),
        2 => delay().prop_map(|within| Do::Done { within }),
        1 => (0..7_u8).prop_map(|at| Do::Panic { at }),
    ]
    .boxed()
}

fn channel(taste: Taste, limit: BoxedStrategy<Option<Delay>>) -> Vec<(u32, BoxedStrategy<Do>)> {
    let two = 0..2_u8;
    vec![
        (
            taste.channels,
            (two.clone(), limit.clone())
                .prop_map(|(channel, within)| Do::Recv { channel, within })
                .boxed(),
        ),
        (
            taste.channels,
            (two.clone(), limit.clone())
                .prop_map(|(channel, within)| Do::Send { channel, within })
                .boxed(),
        ),
        (
            taste.channels,
            two.clone()
                .prop_map(|channel| Do::TrySend { channel })
                .boxed(),
        ),
        (
            taste.channels / 2,
            two.clone().prop_map(|channel| Do::Len { channel }).boxed(),
        ),
        (
            taste.channels / 4,
            two.clone()
                .prop_map(|channel| Do::Close { channel })
                .boxed(),
        ),
        (
            taste.signals,
            (two.clone(), limit)
                .prop_map(|(condition, within)| Do::Changed { condition, within })
                .boxed(),
        ),
        (
            taste.signals,
            two.prop_map(|condition| Do::Broadcast { condition })
                .boxed(),
        ),
    ]
}

fn nested(
    taste: Taste,
    depth: u32,
    limit: BoxedStrategy<Option<Delay>>,
) -> Vec<(u32, BoxedStrategy<Do>)> {
    let inner = steps(taste, depth + 1);
    let two = || inner.clone();
    vec![
        (
            taste.locks,
            (0..2_u8, limit, inner.clone())
                .prop_map(|(lock, within, held)| Do::Lock { lock, within, held })
                .boxed(),
        ),
        (
            taste.locks / 4,
            (0..2_u8).prop_map(|lock| Do::TryLock { lock }).boxed(),
        ),
        (
            taste.locks / 4,
            (0..2_u8).prop_map(|lock| Do::HandOver { lock }).boxed(),
        ),
        (
            taste.nests + taste.choices,
            (0..3_u8, inner.clone())
                .prop_map(|(at, then)| Do::If { at, then })
                .boxed(),
        ),
        (
            taste.nests,
            (two(), two())
                .prop_map(|(one, other)| Do::Join(one, other))
                .boxed(),
        ),
        (
            taste.nests / 2,
            (two(), two())
                .prop_map(|(one, other)| Do::Select(one, other))
                .boxed(),
        ),
    ]
}

fn ons(taste: Taste, most: usize) -> BoxedStrategy<Vec<On>> {
    vec(on(taste), 0..=most).boxed()
}

fn on(taste: Taste) -> BoxedStrategy<On> {
    let two = 0..2_u8;
    weighted(vec![
        (3, (1..3_u8).prop_map(|by| On::Count { by }).boxed()),
        (1, Just(On::Keep { by: 1 }).boxed()),
        (4, (0..3_u8).prop_map(|what| On::Note { what }).boxed()),
        (
            3,
            (0..4_u8).prop_map(|routine| On::Spawn { routine }).boxed(),
        ),
        (
            taste.calls,
            (process(), 0..4_u8)
                .prop_map(|(to, over)| On::Cast { to, over })
                .boxed(),
        ),
        (
            taste.timers,
            (0..6_u8, pause())
                .prop_map(|(timer, after)| On::Arm { timer, after })
                .boxed(),
        ),
        (
            taste.timers / 2,
            (0..6_u8).prop_map(|timer| On::Disarm { timer }).boxed(),
        ),
        (
            taste.timers / 2,
            (0..6_u8).prop_map(|timer| On::Remaining { timer }).boxed(),
        ),
        (
            taste.timers / 2,
            (0..3_u8).prop_map(|timer| On::Timers { timer }).boxed(),
        ),
        (
            taste.channels,
            two.clone()
                .prop_map(|channel| On::TrySend { channel })
                .boxed(),
        ),
        (
            taste.cells,
            (two.clone(), 1..4_u8)
                .prop_map(|(cell, by)| On::Add { cell, by })
                .boxed(),
        ),
        (
            taste.signals,
            two.prop_map(|condition| On::Broadcast { condition })
                .boxed(),
        ),
        (taste.streams, Just(On::Unacknowledged).boxed()),
        (taste.lives / 4, Just(On::Exit).boxed()),
    ])
}

fn script(taste: Taste) -> BoxedStrategy<Script> {
    let routine = (1..3_u8, steps(taste, 0)).prop_map(|(rounds, steps)| Routine { rounds, steps });
    let begun = prop_oneof![
        2 => (0..4_u8).prop_map(|routine| vec![On::Spawn { routine }]),
        1 => vec((0..4_u8).prop_map(|routine| On::Spawn { routine }), 2),
        1 => Just(Vec::new()),
    ];
    let boot = (ons(taste, 2), begun).prop_map(|(mut first, begun)| {
        first.extend(begun);
        first
    });
    let stop = (ons(taste, 1), option::weighted(0.4, pause()));
    let heard = (ons(taste, 2), serve(), ons(taste, 1), ons(taste, 2));
    let channels = select(vec![[1, 0], [2, 1], [1, 1], [0, 0], [2, 0]]);
    let rest = (
        ons(taste, 3),
        stop,
        channels,
        option::weighted(0.2, 1..5_u8),
    );
    (vec(routine, 1..4), boot, vec(ons(taste, 2), 3), heard, rest)
        .prop_map(|(routines, boot, timers, heard, rest)| {
            let ((request, serve, part, cast), (told, stop, channels, deaf_at)) = (heard, rest);
            Script {
                routines,
                boot,
                timers,
                request,
                serve,
                part,
                cast,
                told,
                stop,
                channels,
                deaf_at,
            }
        })
        .boxed()
}

fn serve() -> impl Strategy<Value = Serve> {
    prop_oneof![
        3 => (0..4_u8).prop_map(|parts| Serve::Now { parts }),
        2 => (0..4_u8).prop_map(|routine| Serve::Routine { routine }),
        2 => (0..4_u8, 0..3_u8, pause())
            .prop_map(|(parts, timer, after)| Serve::Later { parts, timer, after }),
        1 => Just(Serve::Never),
    ]
}

fn watched() -> impl Strategy<Value = Watched> {
    let what = || 0..3_u8;
    let rule = prop_oneof![
        (what(), 0..4_u8).prop_map(|(what, times)| Rule::MoreThan { what, times }),
        (what(), what()).prop_map(|(first, then)| Rule::After { first, then }),
        (what(), what(), 0..3_u8).prop_map(|(first, then, rest)| Rule::RightAfter {
            first,
            then,
            rest
        }),
        (what(), 0..7_u8).prop_map(|(what, number)| Rule::With { what, number }),
    ];
    (rule, any::<bool>()).prop_map(|(rule, guaranteed)| Watched { rule, guaranteed })
}

fn settles() -> impl Strategy<Value = Settles> {
    let goals = vec![
        Goal::Volatile,
        Goal::Durable,
        Goal::Cell,
        Goal::Up,
        Goal::Idle,
    ];
    let within = select(vec![500, 2000, 4000]).prop_map(Delay::Us);
    (within, select(goals), any::<bool>()).prop_map(|(within, goal, stays)| Settles {
        within,
        goal,
        stays,
    })
}

fn limits(taste: Taste) -> BoxedStrategy<Limits> {
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
