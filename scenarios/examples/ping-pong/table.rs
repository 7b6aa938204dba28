//! The game as a case, and a catalogue of its variants.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use wavetank::case::{Case, Flip, Options};
use wavetank::catalogue::{Catalogue, Composition, Listed};
use wavetank_engine::drive::random::Stream;
use wavetank_engine::drive::seeded::{Budget, FaultSchedule, Latency, Workload};
use wavetank_engine::drive::story::Describer;
use wavetank_engine::{FaultKind, Time, World, WorldBuilder};

use super::game::{Ping, Pong, Spectator, describe, properties};

const DEFECTS: [(&str, &str); 3] = [
    ("blind", "pong hits whatever comes"),
    (
        "renumbers",
        "ping gives a ball that it serves again another number",
    ),
    ("superstitious", "pong does not survive ball 44"),
];

/// One way to play. Its identity is all that it holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    pub scenario: String,
    pub defects: Vec<String>,
}

/// What a seed decides.
#[derive(Serialize, Deserialize)]
struct Hall {
    spectators: u64,
}

impl Table {
    pub fn new(scenario: &str, defects: &[&str]) -> Table {
        let mut defects: Vec<String> = defects.iter().map(|d| (*d).to_owned()).collect();
        defects.sort();
        Table {
            scenario: scenario.to_owned(),
            defects,
        }
    }

    fn has(&self, defect: &str) -> bool {
        self.defects.iter().any(|d| d == defect)
    }
}

impl Case for Table {
    fn name(&self) -> &str {
        &self.scenario
    }

    fn identity(&self) -> serde_json::Value {
        serde_json::json!(self)
    }

    fn derive(&self, seed: u64) -> Options {
        let spectators = Stream::new(seed, "spectators").below(4);
        serde_json::json!(Hall { spectators })
    }

    fn world(&self, options: &Options) -> Result<World, String> {
        let hall: Hall = serde_json::from_value(options.clone()).map_err(|e| e.to_string())?;
        let mut builder = WorldBuilder::new();
        // Processes are numbered by name, and a ping needs its pong's number: a trial world has it.
        let pong = builder
            .process("ping", Pong::default())
            .process("pong", Pong::default())
            .build()
            .find("pong")
            .ok_or("there is no pong")?;
        let plays = self.scenario != "idle";
        builder
            .process(
                "pong",
                Pong {
                    blind: self.has("blind"),
                    superstitious: self.has("superstitious"),
                    highest: None,
                },
            )
            .process(
                "ping",
                Ping {
                    pong,
                    plays,
                    renumbers: self.has("renumbers"),
                    ball: 0,
                },
            );
        for number in 0..hall.spectators {
            builder.process(&format!("spectator-{number}"), Spectator);
        }
        for property in properties(plays) {
            builder.property(property);
        }
        Ok(builder.build())
    }

    fn fault_schedule(&self, _: &Options) -> FaultSchedule {
        let players = || vec!["ping".to_owned(), "pong".to_owned()];
        let budget = |kind, max| Budget {
            kind,
            max,
            lasts: (Duration::from_millis(100), Duration::from_secs(8)),
            gone_per_million: 0,
            amount: (0, 0),
            targets: players(),
        };
        FaultSchedule {
            storm: Time::from_secs(40),
            start_within: Duration::from_secs(1),
            start_first: Vec::new(),
            budgets: vec![
                budget(FaultKind::Crash, 2),
                budget(FaultKind::Stall, 2),
                budget(FaultKind::LoseAnswer, 3),
                budget(FaultKind::Delay, 3),
            ],
            workload: vec![Workload {
                processes: vec!["ping".to_owned()],
                what: "cheer".to_owned(),
                every: Duration::from_secs(5),
                ends: false,
            }],
            latency: Latency {
                base: (Duration::from_millis(1), Duration::from_millis(20)),
                tail_per_million: 5_000,
                tail: (Duration::from_millis(20), Duration::from_secs(1)),
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
        let on = |(name, _): &&(&str, &str)| self.has(name);
        let flip = |(name, about): &(&str, &str)| Flip {
            name: (*name).to_owned(),
            about: (*about).to_owned(),
        };
        DEFECTS.iter().filter(on).map(flip).collect()
    }

    fn flipped(&self, names: &[&str]) -> Option<Box<dyn Case>> {
        let mut flipped = self.clone();
        flipped.defects.retain(|d| !names.contains(&d.as_str()));
        Some(Box::new(flipped))
    }

    fn smaller(&self, options: &Options) -> Vec<Options> {
        let now = options["spectators"].as_u64().unwrap_or(0);
        (0..now)
            .map(|spectators| serde_json::json!(Hall { spectators }))
            .collect()
    }

    fn expects(&self) -> Option<&str> {
        (self.scenario == "clumsy" && self.has("blind")).then_some("every-ball-is-hit-once")
    }
}

/// All tables.
pub struct Tables;

impl Catalogue for Tables {
    fn scenarios(&self) -> Vec<Listed> {
        vec![
            Listed::new(
                "clumsy",
                "expects a ball to be hit twice, and pong is blind",
            ),
            Listed::new("idle", "nobody plays, so nothing is put to the test"),
            Listed::new("ping-pong", "a game in a draughty hall"),
        ]
    }

    fn defects(&self) -> Vec<Listed> {
        let listed = |(name, about): &(&str, &str)| Listed::new(*name, *about);
        DEFECTS.iter().map(listed).collect()
    }

    fn open(&self, scenario: &str, composition: &Composition) -> Result<Box<dyn Case>, String> {
        let mut defects = composition.defects.clone();
        if scenario == "clumsy" && !composition.fixed {
            defects.push("blind".to_owned());
        }
        defects.retain(|d| !composition.without.contains(d));
        let known = |name: &str| DEFECTS.iter().any(|(defect, _)| *defect == name);
        if let Some(unknown) = defects.iter().find(|d| !known(d)) {
            return Err(format!("there is no defect `{unknown}`"));
        }
        let defects: Vec<&str> = defects.iter().map(String::as_str).collect();
        Ok(Box::new(Table::new(scenario, &defects)))
    }

    fn reopen(&self, identity: &serde_json::Value) -> Result<Box<dyn Case>, String> {
        let table: Table = serde_json::from_value(identity.clone()).map_err(|e| e.to_string())?;
        match self.scenarios().iter().any(|s| s.name == table.scenario) {
            true => Ok(Box::new(table)),
            false => Err(format!("there is no table `{}`", table.scenario)),
        }
    }
}
