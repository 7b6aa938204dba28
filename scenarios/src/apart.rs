//! Simulations whose worlds hold something that is no value ([`Apart`]): each runs in a process of its own, and what
//! comes back is what it would be here, but for the world, which is as it was at time zero.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use wavetank_component::Apart;
use wavetank_engine::drive::plan::Odd;
use wavetank_engine::drive::{Ending, Missed, Outcome, Tallies};
use wavetank_engine::trace::{FoundViolation, Record};
use wavetank_engine::{Time, World};

use crate::compared::Simulated;

/// The property of which it is a violation that the process of a simulation comes to no good end.
const ENDS: &str = "simulation-ends";

/// What comes back, besides the record.
#[derive(Debug, Serialize, Deserialize)]
struct Returned {
    violation: Option<FoundViolation>,
    events: u64,
    injected: Vec<u64>,
    missed: Vec<Missed>,
    tested: Vec<u64>,
    violated: Vec<u64>,
    at: u64,
    odd: (u64, u64),
    /// What of its end is compared with that of a run without faults.
    ending: Option<Json>,
}

impl Returned {
    fn of(outcome: &Outcome, odd: Odd, ending: Option<Json>) -> Returned {
        let Tallies {
            events,
            injected,
            missed,
            tested,
            violated,
        } = outcome.tallies.clone();
        Returned {
            violation: outcome.end().violation,
            events,
            injected,
            missed,
            tested,
            violated,
            at: outcome.at.nanos(),
            odd: (odd.latencies, odd.choices),
            ending,
        }
    }

    fn simulated(self, world: World, record: Record) -> Simulated {
        let (latencies, choices) = self.odd;
        let ending = match self.violation {
            None => Ending::Clean,
            Some(found) => Ending::Violated(found),
        };
        let outcome = Outcome {
            ending,
            tallies: Tallies {
                events: self.events,
                injected: self.injected,
                missed: self.missed,
                tested: self.tested,
                violated: self.violated,
            },
            at: Time::from_nanos(self.at),
            world,
            record,
        };
        Simulated {
            outcome,
            odd: Odd { latencies, choices },
            compared: self.ending,
        }
    }

    /// A simulation whose process died, or did not end.
    fn lost(world: &World, why: String) -> Returned {
        let none = vec![0; world.properties().len()];
        Returned {
            violation: Some(FoundViolation {
                property: ENDS.to_owned(),
                kind: "simulation".to_owned(),
                object: String::new(),
                message: why,
            }),
            events: 0,
            injected: Vec::new(),
            missed: Vec::new(),
            tested: none.clone(),
            violated: none,
            at: 0,
            odd: (0, 0),
            ending: None,
        }
    }
}

/// Simulates in a process of its own; `world` is that of its time zero. `None` if it was stopped.
pub(crate) fn simulate(
    apart: &dyn Apart,
    world: World,
    simulation: impl Fn() -> Simulated + Sync,
    stop: &dyn Fn() -> bool,
) -> Option<Simulated> {
    let mut work = || {
        let Simulated {
            outcome,
            odd,
            compared,
        } = simulation();
        let returned = Returned::of(&outcome, odd, compared);
        let head = serde_json::to_vec(&returned).expect("it is JSON");
        let mut bytes = (head.len() as u64).to_le_bytes().to_vec();
        bytes.extend(head);
        bytes.extend(outcome.record.to_bytes());
        bytes
    };
    let (returned, record) = match apart.in_process(&mut work, stop) {
        Ok(Some(bytes)) => unpack(&bytes),
        Ok(None) => return None,
        Err(why) => (Returned::lost(&world, why), Record::default()),
    };
    Some(returned.simulated(world, record))
}

fn unpack(bytes: &[u8]) -> (Returned, Record) {
    const SAME: &str = "the same program has packed it";
    let (length, rest) = bytes.split_first_chunk::<8>().expect(SAME);
    let (head, record) = rest.split_at(u64::from_le_bytes(*length) as usize);
    let returned = serde_json::from_slice(head).expect(SAME);
    (returned, Record::from_bytes(record).expect(SAME))
}

/// Does the work where worlds of a case may be stepped: here, or on a thread for them.
pub(crate) fn on_thread<R>(apart: Option<&dyn Apart>, work: impl FnOnce() -> R) -> R {
    let Some(apart) = apart else {
        return work();
    };
    let (mut work, mut result) = (Some(work), None);
    apart.on_thread(&mut || {
        let work = work.take().expect("it is done once");
        result = Some(work());
    });
    result.expect("it was done")
}
