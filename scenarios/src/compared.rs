//! A run beside the same run without faults: what was chosen in it is simulated again, with nothing injected, and its case
//! says whether the two ended as differently as they may.

use serde_json::Value as Json;
use wavetank_engine::ProcId;
use wavetank_engine::drive::plan::{Odd, Plan};
use wavetank_engine::drive::{Ending, Outcome};
use wavetank_engine::trace::FoundViolation;

use crate::case::{Case, Options, simulate_plan};

/// A run, and what its case compares of it.
pub(crate) struct Simulated {
    pub outcome: Outcome,
    pub odd: Odd,
    pub compared: Option<Json>,
}

impl Simulated {
    /// Nothing is compared where something else was found.
    pub fn of(case: &dyn Case, outcome: Outcome, odd: Odd) -> Simulated {
        let is_clean = outcome.ending == Ending::Clean;
        Simulated {
            compared: is_clean.then(|| case.ending(&outcome.world)).flatten(),
            outcome,
            odd,
        }
    }

    /// The verdict, with what only another run shows. The plan is that of this run, if it was made by one.
    pub fn judged(self, case: &dyn Case, options: &Options, plan: Option<&Plan>) -> (Outcome, Odd) {
        let Simulated {
            mut outcome,
            odd,
            compared,
        } = self;
        let found = compared.and_then(|own| match plan {
            Some(plan) => differs(case, options, plan, &own),
            None => differs(case, options, &chosen(&outcome), &own),
        });
        if let Some(found) = found {
            let mut properties = outcome.world.properties();
            if let Some(at) = properties.position(|property| property.name() == found.property) {
                outcome.tallies.violated[at] += 1;
            }
            outcome.ending = Ending::Violated(found);
        }
        (outcome, odd)
    }
}

fn chosen(outcome: &Outcome) -> Plan {
    let name = |process: ProcId| outcome.world.name(process).to_owned();
    let lines: Vec<_> = outcome.record.lines(&name, outcome.end()).collect();
    Plan::from_trace(lines.iter())
}

fn differs(case: &dyn Case, options: &Options, plan: &Plan, own: &Json) -> Option<FoundViolation> {
    let undisturbed = plan.undisturbed(&|action| case.is_fault(action));
    let other = simulate_plan(case, options, &undisturbed, Default::default());
    let other = other.expect("its options are those of the run").compared?;
    case.compare(&other, own)
}
