//! A case: something that can be simulated under seeds. The bundled scenarios are cases
//! (`kube::Job`), and so is whatever a user's own crate builds on the engine.
//!
//! Here is what a case must say, and one run of one. Sweeps over many seeds are in `sweep`.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use wavetank_component::{Apart, BeginsAs, View};
use wavetank_engine::drive::plan::{FromPlan, Odd, Plan};
use wavetank_engine::drive::seeded::{FaultSchedule, Seeded};
use wavetank_engine::drive::story::Describer;
use wavetank_engine::drive::{Limits, Outcome};
use wavetank_engine::trace::Record;
use wavetank_engine::{Action, Check, ProcId, Time, World};

use crate::apart;
use crate::compared::Simulated;
use crate::explain::{Meaning, Unknown};
use crate::quiet::quietly;
use crate::scene::Draft;
use crate::search::Scope;

/// What a seed decides about a case before the first event, as it stands in a trace's head.
pub type Options = serde_json::Value;

/// A switch that a violation may be blamed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flip {
    /// The defect that is on, or the fix that is off.
    pub name: String,
    /// What it is, in one line.
    pub about: String,
}

/// A defect that has a place somewhere and cannot show there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Hidden {
    /// Its name.
    pub name: String,
    /// The options with which it shows, for people.
    pub shows_with: String,
}

/// Something that can be simulated under seeds.
pub trait Case: Send + Sync {
    /// Its name, as in reports and file names.
    fn name(&self) -> &str;

    /// What makes it this case: goes into the trace's head, and is enough to build it again.
    fn identity(&self) -> serde_json::Value;

    /// What this seed decides.
    fn derive(&self, seed: u64) -> Options;

    /// The world at time zero under these options.
    ///
    /// # Errors
    /// What is wrong with the options (they may come from a trace).
    fn world(&self, options: &Options) -> Result<World, String>;

    /// All that is chosen in it, if nothing is drawn: then every seed does the same.
    fn explicit(&self) -> Option<Plan> {
        None
    }

    /// What its scenario says so that a world begins with what is stored in this one.
    fn begins_as(&self, world: &World) -> Vec<BeginsAs> {
        let _ = world;
        Vec::new()
    }

    /// The same case, beginning in the middle.
    ///
    /// # Errors
    /// Why it cannot.
    fn staged(&self, draft: &Draft) -> Result<Box<dyn Case>, String> {
        let _ = draft;
        Err(format!("`{}` begins at its beginning only", self.name()))
    }

    /// What its scenario file says, if it has one.
    fn file(&self) -> Option<serde_json::Value> {
        None
    }

    /// Where its worlds are simulated, if they hold something that is no value: then there is no copy of a world.
    fn apart(&self) -> Option<Arc<dyn Apart>> {
        None
    }

    /// What the seed's generator has to work with.
    fn fault_schedule(&self, options: &Options) -> FaultSchedule;

    /// How long the calm lasts.
    fn calm(&self) -> Duration;

    /// What of the end of a run is compared with that of the same run without faults, if anything is.
    fn ending(&self, world: &World) -> Option<serde_json::Value> {
        let _ = world;
        None
    }

    /// What properties say to the end of a run beside that of the same run without faults, by their names.
    fn compare(
        &self,
        undisturbed: &serde_json::Value,
        run: &serde_json::Value,
    ) -> Vec<(&'static str, Check)> {
        let _ = (undisturbed, run);
        Vec::new()
    }

    /// Is there nothing of this in a run without faults?
    fn is_fault(&self, action: &Action) -> bool {
        matches!(action, Action::Fault(_))
    }

    /// How notes are put into words.
    fn describer(&self) -> Describer {
        Describer::new(|_, _| None)
    }

    /// What its messages mean, for whoever explains a trace.
    fn meaning(&self) -> Box<dyn Meaning> {
        Box::new(Unknown)
    }

    /// What a process holds of objects: its points of view.
    fn views(&self, _world: &World, _process: ProcId) -> Vec<View> {
        Vec::new()
    }

    /// The names of the processes that serve the Kubernetes API.
    fn servers(&self, _options: &Options) -> Vec<String> {
        Vec::new()
    }

    /// What may be other than it was meant: for people, a sentence each.
    fn hints(&self) -> Vec<String> {
        Vec::new()
    }

    /// What would put this property to the test, which it was not: for people.
    fn would_test(&self, property: &str) -> Option<String> {
        let _ = property;
        None
    }

    /// Defects that are on and fixes that are off: what a violation may be blamed on.
    fn flips(&self) -> Vec<Flip> {
        Vec::new()
    }

    /// The same case with these switches the other way.
    fn flipped(&self, _names: &[&str]) -> Option<Box<dyn Case>> {
        None
    }

    /// Defects that are off here and have a place: what it could be tested with.
    fn missing_defects(&self) -> Vec<Flip> {
        Vec::new()
    }

    /// Defects that are off here and have a place, but that its options hide.
    fn hidden_defects(&self) -> Vec<Hidden> {
        Vec::new()
    }

    /// Switches that have a place here, on or off.
    fn places(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Those whose places this thread has passed since it was asked last.
    fn take_passed(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// The property of which a violation is expected, if one is.
    fn expects(&self) -> Option<&str> {
        None
    }

    /// These options with less in them (fewer replicas, say), the smallest first: what shrinking
    /// tries. Every one must differ from these, and going on from one to the next must end.
    fn smaller(&self, _options: &Options) -> Vec<Options> {
        Vec::new()
    }

    /// How far `wavetank check` goes, if this can be searched.
    fn scope(&self) -> Option<Scope> {
        None
    }

    /// When a run under these options ends.
    fn until(&self, options: &Options) -> Time {
        self.fault_schedule(options).storm + self.calm()
    }
}

/// Simulates one seed.
///
/// # Panics
/// If the case rejects the options that it has derived itself.
pub fn run_seed(case: &dyn Case, seed: u64, limits: Option<Limits>, record: Record) -> Outcome {
    let outcome = run_seed_unless(case, seed, limits, record, &|| false);
    outcome.expect("nobody stops it")
}

/// Simulates one seed, unless this says that it is to stop.
///
/// # Errors
/// What was recorded until it stopped.
///
/// # Panics
/// If the case rejects the options that it has derived itself.
pub fn run_seed_unless(
    case: &dyn Case,
    seed: u64,
    limits: Option<Limits>,
    record: Record,
    stop: &dyn Fn() -> bool,
) -> Result<Outcome, Record> {
    let options = case.derive(seed);
    let world = case
        .world(&options)
        .expect("a case accepts its own options");
    if let Some(apart) = case.apart() {
        let simulation = || {
            let world = case.world(&options).expect("it was built before");
            let outcome = seeded(
                case,
                &options,
                seed,
                world,
                limits,
                Record::default(),
                &|| false,
            );
            Simulated::of(case, outcome.expect("nobody stops it"), Odd::default())
        };
        let simulated = apart::simulate(apart.as_ref(), world, simulation, stop);
        let judged = |simulated: Simulated| simulated.judged(case, &options).0;
        return simulated.map(judged).ok_or(record);
    }
    let outcome = seeded(case, &options, seed, world, limits, record, stop)?;
    let simulated = Simulated::of(case, outcome, Odd::default());
    Ok(simulated.judged(case, &options).0)
}

fn seeded(
    case: &dyn Case,
    options: &Options,
    seed: u64,
    world: World,
    limits: Option<Limits>,
    record: Record,
    stop: &dyn Fn() -> bool,
) -> Result<Outcome, Record> {
    let limits = limits.unwrap_or_else(|| Limits::until(case.until(options)));
    if let Some(plan) = case.explicit() {
        let mut choices = FromPlan::new(&plan);
        return quietly(|| choices.run_unless(world, limits, record, stop));
    }
    let fault_schedule = case.fault_schedule(options);
    let choices = Seeded::new(seed, &world, fault_schedule);
    quietly(|| choices.run_unless(world, limits, record, stop))
}

/// Simulates a plan.
///
/// # Errors
/// What is wrong with the options.
pub fn run_plan(
    case: &dyn Case,
    options: &Options,
    plan: &Plan,
    record: Record,
) -> Result<Outcome, String> {
    let simulated = run_plan_and_count(case, options, plan, record);
    simulated.map(|(outcome, _)| outcome)
}

/// Simulates a plan, and counts what was odd in it.
///
/// # Errors
/// What is wrong with the options.
pub fn run_plan_and_count(
    case: &dyn Case,
    options: &Options,
    plan: &Plan,
    record: Record,
) -> Result<(Outcome, Odd), String> {
    let run = |world: World, limits: Limits, record: Record| {
        let mut choices = FromPlan::new(plan);
        let outcome = choices.run_unless(world, limits, record, &|| false);
        (outcome.expect("nobody stops it"), choices.odd())
    };
    Ok(simulate(case, options, record, &run)?.judged(case, options))
}

/// How a world is run to its end.
pub(crate) type Runs<'a> = &'a (dyn Fn(World, Limits, Record) -> (Outcome, Odd) + Sync);

/// Simulates what a run does, and nothing beside it.
///
/// # Errors
/// What is wrong with the options.
pub(crate) fn simulate(
    case: &dyn Case,
    options: &Options,
    record: Record,
    run: Runs<'_>,
) -> Result<Simulated, String> {
    let world = case.world(options)?;
    let limits = Limits::until(case.until(options));
    let simulate = |world: World, record: Record| {
        let (outcome, odd) = quietly(|| run(world, limits, record));
        Simulated::of(case, outcome, odd)
    };
    let Some(apart) = case.apart() else {
        return Ok(simulate(world, record));
    };
    let simulation = || {
        let world = case.world(options).expect("it was built before");
        simulate(world, Record::default())
    };
    let simulated = apart::simulate(apart.as_ref(), world, simulation, &|| false);
    Ok(simulated.expect("nobody stops it"))
}
