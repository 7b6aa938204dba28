//! Vault and writers as something that can be simulated under seeds.
//!
//! A case says how to build the world, which faults it is put through, and what there is to blame.
//! From a trace's head it can be built again: [`Case::identity`] and the options are all of it.

use std::time::Duration;

use serde_json::json;
use wavetank::case::{Case, Flip, Options};
use wavetank_engine::drive::random::Stream;
use wavetank_engine::drive::seeded::{Budget, FaultSchedule, Latency, Workload};
use wavetank_engine::drive::story::{Describer, Description};
use wavetank_engine::{FaultKind, Note, Time, World, WorldBuilder};

use crate::properties::{self, VAULT};
use crate::vault::{Vault, VaultNote};
use crate::writer::{WRITE, Writer};

/// The defect's name, as in reports.
pub const NO_FENCING: &str = "no-fencing";

const FEWEST_WRITERS: u64 = 2;
const MOST_WRITERS: u64 = 4;

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A vault with some writers.
#[derive(Clone, Debug, Default)]
pub struct Vaults {
    /// Is the defect on?
    pub no_fencing: bool,
}

impl Case for Vaults {
    fn name(&self) -> &str {
        "vaults"
    }

    fn identity(&self) -> serde_json::Value {
        json!({ NO_FENCING: self.no_fencing })
    }

    /// A seed decides how many writers there are. Every concern draws from a stream of its own, so
    /// that a new one does not change what the others draw.
    fn derive(&self, seed: u64) -> Options {
        options(Stream::new(seed, "writers").within(FEWEST_WRITERS, MOST_WRITERS))
    }

    fn world(&self, options: &Options) -> Result<World, String> {
        let writers = writers(options)?;
        let mut everybody = writers.clone();
        everybody.push(VAULT.to_owned());
        let vault = WorldBuilder::id_of(VAULT, &everybody);
        let mut builder = WorldBuilder::new();
        builder.process(VAULT, Vault::new(self.no_fencing));
        for name in &writers {
            builder.process(name, Writer::new(vault));
        }
        for property in properties::all() {
            builder.property(property);
        }
        Ok(builder.build())
    }

    /// What makes a writer late, and a vault that crashes now and then: the seed draws from it.
    fn fault_schedule(&self, options: &Options) -> FaultSchedule {
        let writers = writers(options).unwrap_or_default();
        let budget = |kind, targets: &[String]| Budget {
            kind,
            max: 5,
            lasts: (ms(1_000), ms(20_000)),
            gone_per_million: 0,
            // Of a jump, in milliseconds.
            amount: (1_000, 20_000),
            targets: targets.to_vec(),
        };
        FaultSchedule {
            storm: Time::from_secs(60),
            start_within: ms(1_000),
            start_first: vec![VAULT.to_owned()],
            budgets: vec![
                budget(FaultKind::Pause, &writers),
                budget(FaultKind::Deschedule, &writers),
                budget(FaultKind::Stall, &writers),
                budget(FaultKind::ClockJump, &writers),
                budget(FaultKind::Crash, &[VAULT.to_owned()]),
            ],
            workload: vec![Workload {
                processes: writers,
                what: WRITE.to_string(),
                every: ms(800),
                ends: false,
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

    fn describer(&self) -> Describer {
        Describer::new(describe)
    }

    fn flips(&self) -> Vec<Flip> {
        let defect = Flip {
            name: NO_FENCING.to_owned(),
            about: "the vault does not look at the token of a write".to_owned(),
        };
        Vec::from_iter(self.no_fencing.then_some(defect))
    }

    /// Blame: where the violation is gone without the defect, the defect explains it.
    fn flipped(&self, names: &[&str]) -> Option<Box<dyn Case>> {
        let no_fencing = self.no_fencing ^ names.contains(&NO_FENCING);
        Some(Box::new(Vaults { no_fencing }))
    }

    /// Shrinking tries with fewer writers, too.
    fn smaller(&self, now: &Options) -> Vec<Options> {
        let writers = count(now).unwrap_or(FEWEST_WRITERS);
        (FEWEST_WRITERS..writers).map(options).collect()
    }
}

fn options(writers: u64) -> Options {
    json!({ "writers": writers })
}

fn count(options: &Options) -> Result<u64, String> {
    let writers = options["writers"].as_u64();
    writers.ok_or_else(|| format!("how many `writers` are there in {options}?"))
}

fn writers(options: &Options) -> Result<Vec<String>, String> {
    Ok((1..=count(options)?).map(|n| format!("w{n}")).collect())
}

/// Puts notes into words for the story of a violation.
fn describe(world: &World, note: &Note) -> Option<Description> {
    let text = match note.body.get()? {
        VaultNote::Granted(token, to) => {
            format!("gives {} the lock with token {token}", world.name(*to))
        }
        VaultNote::Expired(token) => format!("takes the lock with token {token} back"),
        VaultNote::Written(token, by) => {
            format!("stores what {} wrote with token {token}", world.name(*by))
        }
        VaultNote::Refused(token, by) => {
            format!("refuses what {} wrote with token {token}", world.name(*by))
        }
    };
    // The story of one object holds together; here there is only one.
    let about = vec![VAULT.to_owned()];
    Some(Description { text, about })
}
