//! What a hosted operator asked for under a seed: to compare runs.

use serde::{Deserialize, Serialize};
use wavetank::case::Case;
use wavetank_component::Apart;
use wavetank_engine::drive::seeded::Seeded;
use wavetank_engine::drive::{Applying, Choices, Limits, Run, Turn};
use wavetank_engine::trace::Record;
use wavetank_engine::{Entry, Report, Sent, Time, World};

use crate::apart::Forks;
use crate::observed::Asked;
use crate::process::Hosted;

/// A request of an operator.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Logged {
    /// When, and of which replica, as logs show it.
    pub at: String,
    /// The key of these replicas.
    pub program: String,
    /// The namespace of its pods.
    pub namespace: String,
    pub asked: Asked,
}

/// Simulates a seed, and tells each request of the operators: when, who, what, with which body.
///
/// # Errors
/// If the simulation did not come to its end.
///
/// # Panics
/// If the case rejects the options that it has derived itself.
pub fn requests(case: &dyn Case, seed: u64) -> Result<Vec<String>, String> {
    let logged = logged(case, seed)?.into_iter();
    let told = logged.map(|logged| format!("{} {}", logged.at, logged.asked));
    Ok(told.collect())
}

/// The same, for programs.
pub(crate) fn logged(case: &dyn Case, seed: u64) -> Result<Vec<Logged>, String> {
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
    heard: Vec<Logged>,
}

impl Listener {
    fn hear(&mut self, world: &World, report: &Report) {
        for note in &report.notes {
            if let Some(asked) = note.body.get::<Asked>() {
                let own = world.process::<Hosted>(note.process);
                let own = own.expect("only they tell of requests");
                self.heard.push(Logged {
                    at: format!("{} {}", world.now(), world.name(note.process)),
                    program: own.program().as_str().to_owned(),
                    namespace: own.namespace().to_owned(),
                    asked: asked.clone(),
                });
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
