//! What a hosted operator asked for under a seed: to compare runs.

use wavetank::case::Case;
use wavetank_component::Apart;
use wavetank_engine::drive::seeded::Seeded;
use wavetank_engine::drive::{Applying, Choices, Limits, Run, Turn};
use wavetank_engine::trace::Record;
use wavetank_engine::{Entry, Report, Sent, Time, World};

use crate::apart::Forks;
use crate::observed::Asked;

/// Simulates a seed, and tells each request of the operators: when, who, what, with which body.
///
/// # Errors
/// If the simulation did not come to its end.
///
/// # Panics
/// If the case rejects the options that it has derived itself.
pub fn requests(case: &dyn Case, seed: u64) -> Result<Vec<String>, String> {
    let mut work = || {
        let options = case.derive(seed);
        let world = case
            .world(&options)
            .expect("a case accepts its own options");
        let mut listener = Listener {
            choices: Seeded::new(seed, &world, case.fault_schedule(&options)),
            heard: Vec::new(),
        };
        let limits = Limits::until(case.until(&options));
        Run::new(world, &mut listener, limits, Record::default()).finish();
        serde_json::to_vec(&listener.heard).expect("it is JSON")
    };
    let bytes = Forks.in_process(&mut work, &|| false)?;
    let bytes = bytes.expect("nobody stops it");
    Ok(serde_json::from_slice(&bytes).expect("the same program has written it"))
}

/// A seed's choices, by somebody who hears what is asked.
struct Listener {
    choices: Seeded,
    heard: Vec<String>,
}

impl Listener {
    fn hear(&mut self, world: &World, report: &Report) {
        for note in &report.notes {
            if let Some(asked) = note.body.get::<Asked>() {
                let (at, who) = (world.now(), world.name(note.process));
                self.heard.push(format!("{at} {who} {asked}"));
            }
        }
    }
}

impl Choices for Listener {
    fn latency(&mut self, sent: Sent) -> std::time::Duration {
        self.choices.latency(sent)
    }

    fn choose(&mut self, world: &World, entry: &Entry, domain: u64) -> u64 {
        self.choices.choose(world, entry, domain)
    }

    fn next_turn(&self) -> Option<Time> {
        self.choices.next_turn()
    }

    fn applying(&mut self, world: &World, what: Applying<'_>) {
        self.choices.applying(world, what);
    }

    fn turn(&mut self, world: &World) -> Turn {
        self.choices.turn(world)
    }

    fn applied(&mut self, world: &World, entry: Option<&Entry>, report: &Report) {
        self.hear(world, report);
        self.choices.applied(world, entry, report);
    }
}
