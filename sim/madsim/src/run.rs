//! A case under a seed of madsim: what `wavetank run` does with the engine's own order of events.

use std::time::Duration;

use madsim::Config;
use madsim::runtime::Runtime;
use madsim::time::sleep;
use wavetank::case::Case;
use wavetank::engine::trace::FoundViolation;

use crate::cluster::{Cluster, Seen};
use crate::storm;

/// What came of a seed.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The violation of a guarantee, if there was one; it ends the run.
    pub violation: Option<FoundViolation>,
    /// All that has happened, a line an event.
    pub log: Vec<String>,
    /// How many events there were.
    pub events: u64,
    /// How often each property was put to the test and held, by name.
    pub tested: Vec<(String, u64)>,
    /// How often each fault found its target, by name.
    pub injected: Vec<(String, u64)>,
}

/// Runs a case under a seed, in a runtime of madsim of its own.
///
/// # Panics
/// If the case rejects the options that it has derived itself.
pub fn run_seed(case: &dyn Case, seed: u64) -> Outcome {
    std::thread::scope(|scope| {
        // The keys of hash maps are a thread's: each seed has a thread of its own.
        let run = scope.spawn(|| {
            let runtime = Runtime::with_seed_and_config(seed, Config::default());
            runtime.block_on(run_here(case, seed))
        });
        run.join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Runs a case in the runtime of madsim that there is. `seed` decides the options of the case; all else is the runtime's.
///
/// # Panics
/// If the case rejects the options that it has derived itself.
pub async fn run_here(case: &dyn Case, seed: u64) -> Outcome {
    let options = case.derive(seed);
    let world = case
        .world(&options)
        .expect("a case accepts its own options");
    let names: Vec<String> = world
        .properties()
        .map(|own| own.name().to_owned())
        .collect();
    let schedule = case.fault_schedule(&options);
    let calm = case.calm();
    let cluster = Cluster::new(world);
    let whole = async {
        storm::storm(&cluster, &schedule).await;
        // Deadlines are a little later than the storm's end.
        sleep(calm + Duration::from_secs(1)).await;
    };
    tokio::select! {
        () = whole => {}
        () = cluster.violated() => {}
    }
    let Seen {
        log,
        events,
        tested,
        injected,
        verdict,
    } = cluster.seen();
    let injected = injected.into_iter();
    Outcome {
        violation: verdict,
        log,
        events,
        tested: names.into_iter().zip(tested).collect(),
        injected: injected
            .map(|(name, times)| (name.to_owned(), times))
            .collect(),
    }
}
