//! Whether processes understand what a scenario tells them, asked of the processes themselves before anything
//! is simulated. What the file says otherwise is looked at in `file`.

use wavetank_engine::{Action, ApplyError, Event, Fault, Report, World};

use super::fault_schedule::command;
use super::job::Job;
use crate::case::Case as _;
use crate::file::{self, Told};

/// Nothing hangs on which one it is.
const ANY_SEED: u64 = 0;

/// Points at what is not understood, in the text that the job was read from. A process that the seed has none of
/// is not asked.
///
/// # Errors
/// What is wrong, and where.
pub fn check(job: &Job, name: &str, text: &str) -> Result<(), String> {
    let mut world = job.world(&job.derive(ANY_SEED))?;
    for process in world.processes() {
        let process = world.name(process).to_owned();
        let start = Action::Fault(Fault::Start { process });
        act(&mut world, &start).map_err(|error| error.to_string())?;
    }
    let why = |tell: &Told| {
        world.find(&tell.process)?;
        let action = command(&tell.process, &tell.what, tell.with.clone());
        let error = act(&mut world.clone(), &action).err();
        error.map(|error| error.to_string())
    };
    file::understood(name, text, &job.scenario, why).map_err(|report| report.to_string())
}

fn act(world: &mut World, action: &Action) -> Result<Box<Report>, ApplyError> {
    world.apply(world.now(), Event::Act(action), &mut |sent| sent.nominal)
}
