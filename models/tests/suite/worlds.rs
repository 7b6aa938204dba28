//! Small random worlds on which a search once was wrong, as `Description::as_rust` writes them.

use wavetank_models::soundness::description::{
    Delay, Description, Do, Goal, Lie, Limits, On, Routine, Rule, Script, Serve, Settles, Strike,
    Watched,
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
            plan: vec![(300, Some(Strike::Command(0)))],
            ..limits(1000)
        },
        lie: Lie::None,
    }
}

/// A timer arms itself again for ever, while no time passes: a search that comes back to a state that it knows
/// must not take that for an end.
pub fn circle() -> Description {
    let arms = On::Arm {
        timer: 0,
        after: Delay::Us(0),
    };
    let mut own = script(vec![], vec![arms.clone()]);
    own.timers = vec![vec![arms]];
    Description {
        processes: vec![own],
        watched: never(Rule::With { what: 2, number: 6 }),
        settles: None,
        limits: limits(1000),
        lie: Lie::None,
    }
}

/// The same, a step after the world begins.
pub fn circle_later() -> Description {
    let again = || {
        vec![On::Arm {
            timer: 0,
            after: Delay::Us(0),
        }]
    };
    let first = On::Arm {
        timer: 1,
        after: Delay::Us(0),
    };
    let mut world = circle();
    world.processes[0].boot = vec![first];
    world.processes[0].timers = vec![again(), again()];
    world
}

/// A routine that draws again at once until it draws the last of three, where the bounds leave out every other
/// answer.
pub fn drawn() -> Description {
    let (timer, after) = (0, Delay::Us(0));
    let again = Do::Arm { timer, after };
    let draws = once(vec![
        Do::Choose { among: 3 },
        Do::If {
            at: 0,
            then: vec![again],
        },
    ]);
    let mut own = script(vec![draws], vec![On::Arm { timer, after }]);
    own.timers = vec![begins(0..1)];
    Description {
        processes: vec![own],
        watched: never(Rule::With { what: 2, number: 6 }),
        settles: None,
        limits: Limits {
            widest_choice: Some(1),
            ..limits(1000)
        },
        lie: Lie::None,
    }
}

/// How long it is until a timer fires that never does: it once depended on when that was asked, and a step that
/// was remembered did not. World 3048 showed it.
pub fn for_ever() -> Description {
    let arm = |timer, after| On::Arm { timer, after };
    let mut own = script(vec![once(vec![asleep(500)])], begins(0..1));
    own.timers = vec![vec![], vec![On::Timers { timer: 2 }]];
    own.told = vec![arm(2, Delay::Ever), arm(4, Delay::Us(500))];
    Description {
        processes: vec![own],
        watched: never(Rule::With { what: 2, number: 6 }),
        settles: None,
        limits: Limits {
            faults: vec![Strike::Command(0)],
            ..limits(2000)
        },
        lie: Lie::None,
    }
}

/// Who panics on the way to recovery, while something else is due for the same routine: that could not be named any
/// more, so that the path could not be gone again. World 66793 showed it.
pub fn panics() -> Description {
    let sleeps = || script(vec![once(vec![asleep(500)])], begins(0..1));
    let locks = Do::Lock {
        lock: 0,
        within: Some(Delay::Us(0)),
        held: vec![Do::Panic { at: 0 }],
    };
    let panics = script(vec![once(vec![locks])], begins(0..1));
    Description {
        processes: vec![sleeps(), panics, sleeps()],
        watched: vec![],
        settles: None,
        limits: Limits {
            calm: Some(3000),
            ..limits(2000)
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

/// A world of one process that is searched for so long, and then recovers.
fn recovers(own: Script, rule: Rule, limits: Limits) -> Description {
    Description {
        processes: vec![own],
        watched: never(rule),
        settles: None,
        limits: Limits {
            calm: Some(6000),
            ..limits
        },
        lie: Lie::None,
    }
}

fn chosen(at: u8, then: Vec<Do>) -> Do {
    Do::If { at, then }
}

fn armed(micros: u32) -> Do {
    Do::Arm {
        timer: 0,
        after: Delay::Us(micros),
    }
}

/// Runs to recovery that come to one world at two times: how old something is then differs. Once the memory of
/// recovery left out the time.
pub fn ages() -> Description {
    let chooses = once(vec![
        Do::Mark,
        Do::Choose { among: 2 },
        chosen(0, vec![asleep(2000)]),
        chosen(1, vec![asleep(1000)]),
        armed(3000),
    ]);
    let tells = once(vec![Do::Age, Do::Note { what: 0 }]);
    let mut own = script(vec![chooses, tells], begins(0..1));
    own.timers = vec![begins(1..2)];
    recovers(own, Rule::With { what: 0, number: 2 }, limits(500))
}

/// Two worlds at one time that differ in nothing but an instant that a process remembers.
pub fn instants() -> Description {
    let marks = once(vec![
        Do::Choose { among: 2 },
        chosen(1, vec![Do::Mark]),
        asleep(1000),
        chosen(0, vec![Do::Mark]),
    ]);
    let tells = once(vec![asleep(3000), Do::Age, Do::Note { what: 0 }]);
    let own = script(vec![marks, tells], begins(0..2));
    recovers(own, Rule::With { what: 0, number: 1 }, limits(500))
}

/// Who was asked to stop by a fault is started again once it has ended, and who was by a plan is not.
pub fn stopping() -> Description {
    let boot = vec![
        On::Note { what: 0 },
        On::Arm {
            timer: 0,
            after: Delay::Us(200),
        },
    ];
    let mut own = script(vec![], boot);
    own.stop = (vec![], Some(Delay::Us(500)));
    let limits = Limits {
        plan: vec![(200, Some(Strike::Stop(0)))],
        faults: vec![Strike::Stop(0)],
        deviations: 1,
        ..limits(200)
    };
    recovers(own, Rule::MoreThan { what: 0, times: 1 }, limits)
}

/// Who takes its time to stop is up again some time after faults have ended.
pub fn stopped() -> Description {
    let mut own = script(vec![], vec![]);
    own.stop = (vec![], Some(Delay::Us(500)));
    let limits = Limits {
        faults: vec![Strike::Stop(0)],
        ..limits(500)
    };
    Description {
        settles: Some(Settles {
            within: Delay::Us(2000),
            goal: Goal::Up,
            stays: true,
        }),
        ..recovers(own, Rule::With { what: 2, number: 6 }, limits)
    }
}

/// Two timers of which one is due 350 us later, and then loses a race: the grain of the reduced search has to
/// be finer than that.
pub fn race() -> Description {
    let chooses = once(vec![
        Do::Choose { among: 2 },
        chosen(0, vec![armed(1050)]),
        chosen(1, vec![armed(1400)]),
    ]);
    let waits = once(vec![asleep(1520), Do::Note { what: 1 }]);
    let follows = once(vec![asleep(300), Do::Note { what: 2 }]);
    let mut own = script(vec![chooses, waits, follows], begins(0..2));
    own.timers = vec![begins(2..3)];
    Description {
        processes: vec![own],
        watched: never(Rule::After { first: 1, then: 2 }),
        settles: None,
        limits: limits(5000),
        lie: Lie::None,
    }
}

/// One world at two times, in which a process looks at its clock.
pub fn clock() -> Description {
    let chooses = once(vec![
        Do::Choose { among: 2 },
        chosen(0, vec![asleep(500)]),
        chosen(1, vec![asleep(1000)]),
        armed(3000),
    ]);
    let tells = once(vec![Do::Clock, Do::Note { what: 0 }]);
    let mut own = script(vec![chooses, tells], begins(0..1));
    own.timers = vec![begins(1..2)];
    Description {
        processes: vec![own],
        watched: never(Rule::With { what: 0, number: 1 }),
        settles: None,
        limits: limits(6000),
        lie: Lie::None,
    }
}

/// World 20, made smaller by the suite: a step asks which connections a process has. Once such a question was
/// missing in the memory of steps, and a step of another world was repeated.
pub fn go_away() -> Description {
    Description {
        processes: vec![
            Script {
                routines: vec![Routine {
                    rounds: 1,
                    steps: vec![Do::Sleep(Delay::Us(500))],
                }],
                boot: vec![On::Spawn { routine: 0 }],
                timers: vec![vec![], vec![], vec![]],
                request: vec![],
                serve: Serve::Now { parts: 0 },
                part: vec![],
                cast: vec![],
                told: vec![],
                stop: (vec![], None),
                channels: [1, 0],
                deaf_at: None,
            },
            Script {
                routines: vec![Routine {
                    rounds: 1,
                    steps: vec![Do::Call {
                        to: 1,
                        over: 0,
                        add: 0,
                        within: None,
                    }],
                }],
                boot: vec![On::Spawn { routine: 0 }],
                timers: vec![vec![], vec![], vec![]],
                request: vec![On::Cast { to: 2, over: 0 }],
                serve: Serve::Now { parts: 0 },
                part: vec![],
                cast: vec![],
                told: vec![],
                stop: (vec![], None),
                channels: [1, 0],
                deaf_at: None,
            },
            Script {
                routines: vec![Routine {
                    rounds: 1,
                    steps: vec![Do::Sleep(Delay::Us(500))],
                }],
                boot: vec![On::Spawn { routine: 0 }],
                timers: vec![vec![], vec![], vec![]],
                request: vec![],
                serve: Serve::Now { parts: 0 },
                part: vec![],
                cast: vec![],
                told: vec![],
                stop: (vec![], None),
                channels: [1, 0],
                deaf_at: None,
            },
            Script {
                routines: vec![Routine {
                    rounds: 1,
                    steps: vec![Do::Sleep(Delay::Us(500))],
                }],
                boot: vec![On::Spawn { routine: 0 }],
                timers: vec![vec![], vec![], vec![]],
                request: vec![],
                serve: Serve::Now { parts: 0 },
                part: vec![],
                cast: vec![],
                told: vec![],
                stop: (vec![], None),
                channels: [1, 0],
                deaf_at: None,
            },
        ],
        watched: vec![Watched {
            rule: Rule::MoreThan { what: 0, times: 0 },
            guaranteed: false,
        }],
        settles: None,
        limits: Limits {
            plan: vec![],
            faults: vec![Strike::Crash(1)],
            at_most: None,
            deviations: 0,
            late_by: None,
            widest_choice: Some(255),
            stay_down: false,
            horizon: 2000,
            calm: None,
        },
        lie: Lie::None,
    }
}

/// World 48, made smaller by the suite: a run to recovery comes to where an earlier one was, which had less time
/// left.
pub fn late() -> Description {
    Description {
        processes: vec![
            Script {
                routines: vec![Routine {
                    rounds: 1,
                    steps: vec![Do::Sleep(Delay::Us(500))],
                }],
                boot: vec![On::Spawn { routine: 0 }],
                timers: vec![vec![], vec![], vec![]],
                request: vec![],
                serve: Serve::Routine { routine: 0 },
                part: vec![],
                cast: vec![],
                told: vec![],
                stop: (vec![], None),
                channels: [1, 0],
                deaf_at: None,
            },
            Script {
                routines: vec![Routine {
                    rounds: 1,
                    steps: vec![
                        Do::Call {
                            to: 2,
                            over: 0,
                            add: 0,
                            within: None,
                        },
                        Do::Arm {
                            timer: 4,
                            after: Delay::Us(1000),
                        },
                    ],
                }],
                boot: vec![On::Spawn { routine: 0 }],
                timers: vec![vec![], vec![On::Note { what: 1 }], vec![]],
                request: vec![],
                serve: Serve::Now { parts: 0 },
                part: vec![],
                cast: vec![],
                told: vec![],
                stop: (vec![], None),
                channels: [1, 0],
                deaf_at: None,
            },
        ],
        watched: vec![Watched {
            rule: Rule::MoreThan { what: 1, times: 0 },
            guaranteed: true,
        }],
        settles: None,
        limits: Limits {
            plan: vec![],
            faults: vec![],
            at_most: None,
            deviations: 0,
            late_by: None,
            widest_choice: Some(255),
            stay_down: false,
            horizon: 2000,
            calm: Some(3000),
        },
        lie: Lie::None,
    }
}
