//! Sweeps: lowest seed first, the same on any number of threads, with everything counted and
//! every violation on disk and blamed on what causes it.

use crate::support;

use std::fs;
use std::path::Path;
use std::sync::Mutex;

use wavetank::attribution::{Attribution, Depth, attribute};
use wavetank::campaign::{Campaign, Composed, Leg};
use wavetank::case::{Case, Options, run_seed};
use wavetank::sweep::{Candidate, Ended, Found, Sweep, Swept, Unwatched, Watch};
use wavetank::trace_file;
use wavetank_engine::drive::Ending;
use wavetank_engine::trace::Record;

use support::table::Table;
use support::{files, scratch};

fn sweep(table: &Table, out: &Path, jobs: usize, keep_going: bool) -> Swept {
    sweep_from(0, table, out, jobs, keep_going)
}

fn sweep_from(first: u64, table: &Table, out: &Path, jobs: usize, keep_going: bool) -> Swept {
    let sweep = Sweep {
        jobs,
        keep_going,
        ..Sweep::new(table, first..first + 60, out)
    };
    sweep.run(&Unwatched).expect("a sweep")
}

fn is_violated(table: &Table, seed: u64) -> bool {
    let outcome = run_seed(table, seed, None, Record::default());
    matches!(outcome.ending, Ending::Violated(_))
}

/// What must not depend on the number of threads.
fn essence(swept: &Swept) -> String {
    let found = |f: &Found| {
        let name = f
            .trace
            .as_ref()
            .expect("written")
            .file_name()
            .map(ToOwned::to_owned);
        let (violation, attribution) = (&f.violation, &f.attribution);
        format!(
            "{} {} {violation:?} {attribution:?} {name:?}",
            f.seed, f.events
        )
    };
    let candidate =
        |c: &Candidate| format!("{} {} {}", c.seeds, found(&c.first), found(&c.shortest));
    let candidates: Vec<String> = swept.candidates.iter().map(candidate).collect();
    format!("{:?} {:?} {candidates:#?}", swept.totals, swept.ended)
}

#[test]
fn the_lowest_seed_wins_on_any_number_of_threads() {
    let table = Table::new("ping-pong", &["renumbers"]);
    // Two clean seeds first, so that there is something to come before the violation.
    let clean = |seed: &u64| !is_violated(&table, *seed) && !is_violated(&table, seed + 1);
    let first = (0..).find(clean).expect("there are some");
    let lowest = (first..)
        .find(|seed| is_violated(&table, *seed))
        .expect("one is");
    let mut seen = Vec::new();
    for jobs in [1, 2, 7] {
        let out = scratch(&format!("lowest-{jobs}"));
        let swept = sweep_from(first, &table, &out, jobs, false);
        assert_eq!(swept.ended, Ended::Violation);
        assert_eq!(
            swept.totals.seeds,
            lowest - first + 1,
            "larger seeds are not counted"
        );
        assert_eq!(files(&out).len(), 1, "traces of larger seeds are gone");
        seen.push(essence(&swept));
    }
    assert!(seen.windows(2).all(|pair| pair[0] == pair[1]), "{seen:#?}");
}

#[test]
fn going_on_finds_the_same_on_any_number_of_threads() {
    let table = Table::new("ping-pong", &["blind", "superstitious"]);
    let (one, many) = (scratch("going-on-1"), scratch("going-on-5"));
    let (a, b) = (sweep(&table, &one, 1, true), sweep(&table, &many, 5, true));
    assert_eq!(essence(&a), essence(&b));
    assert_eq!((a.totals.seeds, a.ended), (60, Ended::AllSeeds));
    assert_eq!(a.candidates.len(), 2, "a panic is another violation");
    assert_eq!(files(&one), files(&many));
    for name in files(&one) {
        let read = |dir: &Path| fs::read(dir.join(&name)).expect("listed");
        assert!(read(&one) == read(&many), "{name} differs");
    }
}

#[test]
fn a_sweep_full_of_violations_keeps_few_traces() {
    let out = scratch("few-traces");
    let table = Table::new("ping-pong", &["blind"]);
    let swept = sweep(&table, &out, 2, true);
    let [candidate] = swept.candidates.as_slice() else {
        panic!("they look alike: {:?}", swept.candidates);
    };
    let violated = (0..60).filter(|seed| is_violated(&table, *seed)).count();
    assert_eq!(candidate.seeds, violated as u64);
    assert!(violated > 2);
    assert!(files(&out).len() <= 2, "{:?}", files(&out));
    assert!(candidate.shortest.events <= candidate.first.events);
    for found in [&candidate.first, &candidate.shortest] {
        let path = found.trace.as_ref().expect("written");
        let trace = trace_file::read(path).expect("whole");
        assert_eq!(trace.end().violation.as_ref(), Some(&found.violation));
    }
}

#[test]
fn a_violation_is_on_disk_before_anybody_hears_of_it() {
    struct Listener<'a>(&'a Path, Mutex<Vec<usize>>);
    impl Watch for Listener<'_> {
        fn progress(&self, _: u64, violations: u64) {
            if violations > 0 {
                self.1
                    .lock()
                    .expect("not poisoned")
                    .push(files(self.0).len());
            }
        }
    }
    let out = scratch("on-disk-first");
    let table = Table::new("ping-pong", &["blind"]);
    let listener = Listener(&out, Mutex::default());
    Sweep::new(&table, 0..60, &out)
        .run(&listener)
        .expect("a sweep");
    let seen = listener.1.into_inner().expect("not poisoned");
    assert!(
        !seen.is_empty() && seen.iter().all(|files| *files > 0),
        "{seen:?}"
    );
}

#[test]
fn everything_is_counted() {
    let table = Table::new("ping-pong", &[]);
    let swept = sweep(&table, &scratch("counted"), 2, true);
    let (mut events, mut lost, mut seeds_with_lost) = (0, 0, 0);
    for seed in 0..60 {
        let outcome = run_seed(&table, seed, None, Record::default());
        let at = outcome
            .world
            .properties()
            .position(|p| p.name() == "a-ball-was-lost");
        let times = outcome.tallies.tested[at.expect("it has that property")];
        events += outcome.tallies.events;
        lost += times;
        seeds_with_lost += u64::from(times > 0);
    }
    let property = swept.totals.properties["a-ball-was-lost"];
    assert_eq!(swept.totals.events, events);
    assert_eq!(
        (property.tested.total, property.tested.seeds),
        (lost, seeds_with_lost)
    );
    let observed = swept.totals.properties["no-ball-is-lost"];
    assert_eq!(observed.violated.total, lost, "an observation ends no run");
    assert!(swept.candidates.is_empty());
    assert!(swept.untested().is_empty());
    assert!(swept.totals.injected.values().all(|count| count.seeds > 0));
}

#[test]
fn blame_falls_on_what_makes_the_violation_vanish() {
    let blame = |defects: &[&str]| {
        let table = Table::new("ping-pong", defects);
        let out = scratch(&format!("blame-{}", defects.join("-")));
        let swept = sweep(&table, &out, 2, true);
        let of = |c: &Candidate| {
            let trace = trace_file::read(c.first.trace.as_ref().expect("written"));
            let trace = &trace.expect("whole");
            let again = attribute(&table, trace, Depth::Each);
            assert_eq!(again, c.first.attribution, "the trace tells it, too");
            let known = attribute(&table, trace, Depth::All);
            assert_eq!(known, Attribution::Known);
            again
        };
        swept.candidates.iter().map(of).collect::<Vec<_>>()
    };
    let each = |name: &str| Attribution::Each(vec![name.to_owned()]);
    assert!(blame(&["blind"]).iter().all(|b| *b == each("blind")));
    assert!(
        blame(&["renumbers"])
            .iter()
            .all(|b| *b == each("renumbers"))
    );
    assert!(
        blame(&["superstitious"])
            .iter()
            .all(|b| *b == each("superstitious"))
    );
    let both = Attribution::Together(vec!["blind".to_owned(), "renumbers".to_owned()]);
    assert!(blame(&["blind", "renumbers"]).contains(&both));
}

#[test]
fn without_a_switch_a_violation_is_a_candidate_finding() {
    /// The same game, whose defect nobody knows.
    struct Unknown(Table);
    impl Case for Unknown {
        fn name(&self) -> &str {
            "unknown"
        }
        fn identity(&self) -> serde_json::Value {
            self.0.identity()
        }
        fn derive(&self, seed: u64) -> Options {
            self.0.derive(seed)
        }
        fn world(&self, options: &Options) -> Result<wavetank_engine::World, String> {
            self.0.world(options)
        }
        fn fault_schedule(
            &self,
            options: &Options,
        ) -> wavetank_engine::drive::seeded::FaultSchedule {
            self.0.fault_schedule(options)
        }
        fn calm(&self) -> std::time::Duration {
            self.0.calm()
        }
    }
    let case = Unknown(Table::new("ping-pong", &["blind"]));
    let out = scratch("candidate-finding");
    let swept = Sweep::new(&case, 0..60, &out)
        .run(&Unwatched)
        .expect("a sweep");
    let path = swept.candidates[0].first.trace.as_ref().expect("written");
    let trace = trace_file::read(path).expect("whole");
    for depth in [Depth::Each, Depth::All] {
        assert_eq!(attribute(&case, &trace, depth), Attribution::Nothing);
    }
    let leg = Leg {
        name: "unknown".to_owned(),
        case: Box::new(case),
        composed: Composed::Shipped,
    };
    let mut campaign = Campaign::open(&out, vec![leg], 0).expect("a folder of its own");
    assert_eq!(campaign.step(1, &|| false), Ok(true));
    let [standing] = campaign.standings().try_into().expect("one leg");
    assert!(standing.findings().count() > 0, "{standing:?}");
}
