//! A system of one's own under Wavetank, in two hundred lines: a vault that hands out a lock for a
//! few seconds, and writers that believe in it.
//!
//! A writer that takes the lock, is descheduled (or paused, or has a wall clock that jumps), and
//! then writes although the lock has long been somebody else's, overwrites the other's work: the
//! reason for fencing tokens (Kleppmann, "How to do distributed locking", 2016). The vault checks
//! the token; the defect `no-fencing` takes that check away.
//!
//! What a user writes: two [`Process`]es, one routine, one [`Property`], a [`Case`] that puts them
//! together, and in `tests/` one line that runs it under seeds.

use std::time::Duration;

use wavetank::case::{Case, Flip, Options};
use wavetank_engine::drive::seeded::{Budget, Latency, Weather, Workload};
use wavetank_engine::*;

/// How writers reach the vault.
static VAULT: Transport = Transport {
    name: Name::new("vault"),
    dial_timeout: Duration::from_secs(2),
    keepalive: None,
};

/// How long the lock is held for.
const HOLD: Duration = Duration::from_secs(5);
const EXPIRY: Timer = Timer::new(Name::new("expiry"), 0);
const WRITE: Name = Name::new("write");

/// What a writer asks of the vault.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Ask {
    /// The lock.
    Acquire,
    /// To store something under the lock with this token.
    Write(u64),
}

/// What the vault answers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Told {
    /// The lock is yours, with this token.
    Granted(u64),
    /// It is somebody else's, or your token is too old.
    Denied,
    /// Stored.
    Stored,
}

/// A note: something was stored under this token.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Written(pub u64);

/// Hands out the lock, one token after the other, and stores what is written.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Vault {
    token: u64,
    held: bool,
    newest: u64,
    /// The defect `no-fencing`.
    no_fencing: bool,
}

impl Process for Vault {
    fn boot(&mut self, cx: &mut Cx<'_>) {
        if self.held {
            cx.arm(EXPIRY, HOLD);
        }
    }

    fn request(&mut self, cx: &mut Cx<'_>, caller: Caller, body: &Payload) {
        match body.expect::<Ask>() {
            Ask::Acquire if self.held => cx.reply(caller, Told::Denied),
            Ask::Acquire => {
                self.held = true;
                self.token += 1;
                cx.arm(EXPIRY, HOLD);
                cx.reply(caller, Told::Granted(self.token));
            }
            Ask::Write(token) if *token < self.newest && !self.no_fencing => {
                cx.reply(caller, Told::Denied);
            }
            Ask::Write(token) => {
                self.newest = *token;
                cx.note(Written(*token));
                cx.reply(caller, Told::Stored);
            }
        }
    }

    fn timer(&mut self, _cx: &mut Cx<'_>, _timer: Timer) {
        self.held = false;
    }

    // The vault keeps everything on disk.
    fn crash(&mut self) {}
}

/// Writes, when told, under the lock.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Writer {
    vault: ProcId,
}

impl Process for Writer {
    fn boot(&mut self, _cx: &mut Cx<'_>) {}
    fn request(&mut self, _cx: &mut Cx<'_>, _caller: Caller, _body: &Payload) {}
    fn tell(
        &mut self,
        cx: &mut Cx<'_>,
        what: &str,
        _args: &serde_json::Value,
    ) -> Result<(), String> {
        if what != "write" {
            return Err(format!("knows `write`, not `{what}`"));
        }
        cx.spawn(Task::new(WRITE, self.vault));
        Ok(())
    }
    fn crash(&mut self) {}
    fn routine(&self, task: &Task) -> RoutineFuture {
        Box::pin(write(Rx::new(), *task.args()))
    }
}

/// Every await is a place where anything can happen in between.
async fn write(rx: Rx, vault: ProcId) -> Outcome {
    let Ok(answer) = rx.call(&VAULT, vault, Payload::new(Ask::Acquire)).await else {
        return Outcome::Done;
    };
    let Told::Granted(token) = *answer.expect() else {
        return Outcome::Done;
    };
    let since = rx.clock();
    let work = 100 * rx.choose(30).await;
    rx.sleep(Duration::from_millis(work)).await;
    // The wall clock says that the lock is still ours.
    if rx.clock().since(since) < HOLD {
        let _ = rx
            .call(&VAULT, vault, Payload::new(Ask::Write(token)))
            .await;
    }
    Outcome::Done
}

/// Guarantee: nobody overwrites what was written under a later lock.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct TokensNeverGoBack {
    newest: u64,
}

impl Property for TokensNeverGoBack {
    fn name(&self) -> &'static str {
        "tokens-never-go-back"
    }
    fn note(&mut self, _world: &World, note: &Note) -> Check {
        let Some(Written(token)) = note.body.get() else {
            return Check::Idle;
        };
        if *token < self.newest {
            return Check::Violated(Violation {
                kind: "vault",
                object: "vault".to_owned(),
                message: format!(
                    "token {token} overwrote what token {} had written",
                    self.newest
                ),
            });
        }
        self.newest = *token;
        Check::Held
    }
}

/// The system as something that can be simulated under seeds.
#[derive(Clone, Debug)]
pub struct Vaults {
    /// How many writers.
    pub writers: usize,
    /// Is the defect on?
    pub no_fencing: bool,
}

impl Vaults {
    fn writers(&self) -> Vec<String> {
        (1..=self.writers).map(|n| format!("w{n}")).collect()
    }
}

impl Case for Vaults {
    fn name(&self) -> &str {
        "vaults"
    }

    fn identity(&self) -> serde_json::Value {
        serde_json::json!({"writers": self.writers, "no-fencing": self.no_fencing})
    }

    fn derive(&self, _seed: u64) -> Options {
        Options::Null
    }

    fn world(&self, _options: &Options) -> Result<World, String> {
        let mut builder = WorldBuilder::new();
        let mut all = self.writers();
        all.push("vault".to_owned());
        let vault = WorldBuilder::id_of("vault", &all);
        for name in self.writers() {
            builder.process(&name, Writer { vault });
        }
        builder.process(
            "vault",
            Vault {
                no_fencing: self.no_fencing,
                ..Vault::default()
            },
        );
        builder.property(Box::new(TokensNeverGoBack::default()));
        Ok(builder.build())
    }

    fn weather(&self, _options: &Options) -> Weather {
        let ms = Duration::from_millis;
        let budget = |kind, lasts| Budget {
            kind,
            max: 5,
            lasts,
            gone_per_million: 0,
            amount: (1000, 20_000),
            targets: self.writers(),
        };
        Weather {
            storm: Time::from_secs(60),
            start_within: Duration::from_secs(1),
            start_first: vec!["vault".to_owned()],
            budgets: vec![
                budget(FaultKind::Pause, (ms(100), ms(10_000))),
                budget(FaultKind::Deschedule, (ms(100), ms(10_000))),
                budget(FaultKind::ClockJump, (ms(1), ms(1))),
                budget(FaultKind::Stall, (ms(100), ms(10_000))),
            ],
            workload: vec![Workload {
                processes: self.writers(),
                what: "write".to_owned(),
                every: ms(800),
            }],
            latency: Latency {
                base: (ms(1), ms(5)),
                tail_per_million: 10_000,
                tail: (ms(10), ms(300)),
            },
            directed: Vec::new(),
        }
    }

    fn calm(&self) -> Duration {
        Duration::from_secs(20)
    }

    fn flips(&self) -> Vec<Flip> {
        let defect = Flip {
            name: "no-fencing".to_owned(),
            about: "the vault does not look at the token".to_owned(),
        };
        if self.no_fencing { vec![defect] } else { vec![] }
    }

    fn flipped(&self, names: &[&str]) -> Option<Box<dyn Case>> {
        let no_fencing = self.no_fencing ^ names.contains(&"no-fencing");
        Some(Box::new(Vaults {
            no_fencing,
            ..self.clone()
        }))
    }
}
