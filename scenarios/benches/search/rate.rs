//! How fast a search is as it goes on, with and without `recovers`: `cargo bench --bench search -- rate [SCOPE..]`.
//! Without a name it takes a scope of three apiservers, two faults and one deviation.

use std::sync::Mutex;
use std::time::Instant;

use wavetank::catalogue::{Catalogue as _, Composition};
use wavetank::kube::Kube;
use wavetank::search::Search;
use wavetank_models::{Explorer, Progress, Recovery, Reduction};

const SCOPE: &str = include_str!("three-recovers.yaml");

/// A line each so many states,
const EACH: u64 = 10_000;
/// and no more lines than these.
const LINES: u64 = 10;

fn opened(scope: Option<&str>) -> Search {
    let fixed = Composition {
        fixed: true,
        ..Composition::default()
    };
    let case = match scope {
        Some(scope) => Kube::default().open(scope, &fixed),
        None => Kube::default().case("three-recovers.yaml", SCOPE, &fixed),
    };
    let case = case.unwrap_or_else(|why| panic!("{why}"));
    Search::of(case.as_ref()).unwrap_or_else(|why| panic!("{why}"))
}

/// A table each: states, how long the last of them took, and how many steps of recovery each took.
pub fn rate(scope: Option<&str>) {
    let search = opened(scope);
    println!("{}", scope.unwrap_or("three-recovers"));
    for calm in [None, search.calm] {
        let recovery = calm.map(Recovery::within);
        match calm {
            None => println!("  without `recovers`"),
            Some(calm) => println!("  with `recovers` within {calm:?}"),
        }
        println!(
            "    {:>8} {:>10} {:>22} {:>16}",
            "states", "states/s", "recovery steps/state", "steps/s"
        );
        let last = Mutex::new((Instant::now(), Progress::default()));
        let watch = |progress: &Progress| {
            let mut last = last.lock().expect("nobody panics with it");
            let (since, before) = &mut *last;
            let states = progress.unique - before.unique;
            if states >= EACH {
                let seconds = since.elapsed().as_secs_f64();
                let healing = progress.healing - before.healing;
                let generated = progress.generated - before.generated;
                println!(
                    "    {:>8} {:>10.0} {:>22.1} {:>16.0}",
                    progress.unique,
                    states as f64 / seconds,
                    healing as f64 / states as f64,
                    (healing + generated) as f64 / seconds,
                );
                *since = Instant::now();
                *before = *progress;
            }
            progress.unique < EACH * LINES
        };
        let explorer = Explorer {
            model: &search.model,
            recovery: recovery.as_ref(),
            reduction: Reduction::NONE,
            threads: 1,
            watch: &watch,
        };
        explorer.run_from(search.starts());
    }
}
