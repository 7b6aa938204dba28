//! Small random worlds on which a search once was wrong, as `Description::as_rust` writes them.

use wavetank_models::soundness::description::{
    Delay, Description, Do, Lie, Limits, On, Routine, Rule, Script, Serve, Strike, Watched,
};

/// What has nothing to do with any of them.
fn script(routines: Vec<Routine>, boot: Vec<On>) -> Script {
    Script {
        routines,
        boot,
        timers: vec![],
        request: vec![],
        serve: Serve::Never,
        part: vec![],
        cast: vec![],
        told: vec![],
        stop: (vec![], None),
        channels: [1, 0],
        deaf_at: None,
    }
}

fn once(steps: Vec<Do>) -> Routine {
    Routine { rounds: 1, steps }
}

fn limits(horizon: u32) -> Limits {
    Limits {
        plan: vec![],
        faults: vec![],
        at_most: None,
        deviations: 0,
        late_by: None,
        widest_choice: None,
        stay_down: false,
        horizon,
        calm: None,
    }
}

fn never(rule: Rule) -> Vec<Watched> {
    vec![Watched {
        rule,
        guaranteed: true,
    }]
}

fn begins(routines: std::ops::Range<u8>) -> Vec<On> {
    routines.map(|routine| On::Spawn { routine }).collect()
}

fn asleep(micros: u32) -> Do {
    Do::Sleep(Delay::Us(micros))
}

/// Two values of two types that hold the same words: once they had one digest, and only the first that was
/// met was ever taken from the channel.
pub fn types() -> Description {
    let puts = once(vec![Do::Choose { among: 2 }, Do::TrySend { channel: 0 }]);
    let takes = once(vec![
        asleep(500),
        Do::Recv {
            channel: 0,
            within: None,
        },
        Do::Note { what: 0 },
    ]);
    Description {
        processes: vec![script(vec![puts, takes], begins(0..2))],
        watched: never(Rule::With { what: 0, number: 1 }),
        settles: None,
        limits: limits(5000),
        lie: Lie::None,
    }
}

/// One holds the second lock and tries the first without waiting for it, while the other holds the first and
/// waits for the second. Once that was said to be a deadlock.
pub fn no_deadlock() -> Description {
    let lock = |lock, held| Do::Lock {
        lock,
        within: None,
        held,
    };
    let tries = once(vec![lock(1, vec![asleep(500), Do::TryLock { lock: 0 }])]);
    let waits = vec![asleep(200), lock(1, vec![Do::Note { what: 0 }])];
    let waits = once(vec![lock(0, waits)]);
    Description {
        processes: vec![script(vec![tries, waits], begins(0..2))],
        watched: never(Rule::With { what: 2, number: 6 }),
        settles: None,
        limits: limits(5000),
        lie: Lie::None,
    }
}

/// A sleep of a routine that may be held, and a timer that may not, are due at one instant: which of them was
/// entered first was once no part of a state, and decided which comes first after the hold.
pub fn parked() -> Description {
    let (first, second) = (Do::Spawn { further: 0 }, Do::Spawn { further: 1 });
    let begins_both = once(vec![
        Do::Choose { among: 2 },
        Do::If {
            at: 0,
            then: vec![first.clone(), second.clone()],
        },
        Do::If {
            at: 1,
            then: vec![second, first],
        },
    ]);
    let sleeps = once(vec![Do::Join(
        vec![asleep(500), Do::Note { what: 0 }],
        vec![asleep(1000), Do::Note { what: 1 }],
    )]);
    let arms = once(vec![Do::Arm {
        timer: 0,
        after: Delay::Us(1000),
    }]);
    let mut own = script(vec![begins_both, sleeps, arms], begins(0..1));
    own.timers = vec![vec![On::Note { what: 2 }]];
    let (process, routine) = (0, 1);
    Description {
        processes: vec![own],
        watched: never(Rule::After { first: 2, then: 1 }),
        settles: None,
        limits: Limits {
            faults: vec![
                Strike::Deschedule { process, routine },
                Strike::Reschedule { process, routine },
            ],
            ..limits(5000)
        },
        lie: Lie::None,
    }
}

/// Once it is told to, a process restarts as soon as it begins, and each life leaves a connection behind: it
/// took minutes to see that there is no end of it, all within one event.
pub fn restarts() -> Description {
    let restart = Do::Restart {
        after: Delay::Us(0),
    };
    let restarts = once(vec![
        Do::Keep { by: 0 },
        Do::If {
            at: 1,
            then: vec![restart],
        },
    ]);
    let boot = vec![On::Cast { to: 1, over: 0 }, On::Spawn { routine: 0 }];
    let mut own = script(vec![restarts], boot);
    own.told = vec![On::Keep { by: 1 }, On::Spawn { routine: 0 }];
    Description {
        processes: vec![own, script(vec![], vec![])],
        watched: never(Rule::With { what: 2, number: 6 }),
        settles: None,
        limits: Limits {
            plan: vec![(300, Some(Strike::Tell(0)))],
            ..limits(1000)
        },
        lie: Lie::None,
    }
}

/// A number that its process hides from whoever looks, and that it tells later.
pub fn lies(lie: Lie) -> Description {
    let keeps = once(vec![
        asleep(300),
        Do::Choose { among: 2 },
        Do::If {
            at: 1,
            then: vec![Do::Keep { by: 1 }],
        },
    ]);
    let tells = once(vec![asleep(900), Do::Keep { by: 0 }, Do::Note { what: 0 }]);
    Description {
        processes: vec![script(vec![keeps, tells], begins(0..2))],
        watched: vec![Watched {
            rule: Rule::With { what: 0, number: 1 },
            guaranteed: true,
        }],
        settles: None,
        limits: limits(5000),
        lie,
    }
}
