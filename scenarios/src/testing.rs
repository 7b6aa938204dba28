//! One line in a test: a case is simulated under a few seeds, and a violation fails the test with
//! all that is needed to see it again.
//!
//! ```text
//! wavetank::seeds!(my_case_is_clean, MyCase::new(), 0..8);
//! ```
//!
//! From outside:
//! - `WAVETANK_SEED=7` (a number or a commit hash) or `WAVETANK_SEEDS=0..1000` choose other seeds,
//! - `WAVETANK_OUT=dir` says where traces go (else `wavetank` in cargo's target folder),
//! - `WAVETANK_REPLAY=file` replays that trace instead, and tells its story.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use wavetank_engine::drive::replay::Fit;

use crate::case::{Case, run_seed};
use crate::catalogue::Catalogue;
use crate::replay::{self, follow};
use crate::seeds::{Seeds, parse_seed};
use crate::sweep::{Found, Sweep, Swept, Unwatched};
use crate::trace_file::{self, Trace};

/// Defines a test that simulates a case under seeds: a name, the case (anything that derefs or
/// borrows to a `Case`), and the seeds `A..B` that are run by default.
#[macro_export]
macro_rules! seeds {
    ($(#[$attribute:meta])* $name:ident, $case:expr, $seeds:expr) => {
        $(#[$attribute])*
        #[test]
        fn $name() {
            $crate::testing::check($crate::testing::borrow(&$case), $seeds);
        }
    };
}

/// Lets [`seeds!`] take a case itself as well as a box of one.
pub trait Borrow {
    /// The case.
    fn case(&self) -> &dyn Case;
}

impl<T: Case> Borrow for T {
    fn case(&self) -> &dyn Case {
        self
    }
}

impl Borrow for Box<dyn Case> {
    fn case(&self) -> &dyn Case {
        self.as_ref()
    }
}

/// The case in it.
pub fn borrow(case: &impl Borrow) -> &dyn Case {
    case.case()
}

/// Simulates a case under seeds, on all cores. If it expects a violation, there must be one of
/// that property. Else there must be none, and under the default seeds every guarantee must have
/// been put to the test.
///
/// # Panics
/// If not; says how to see it again.
pub fn check(case: &dyn Case, default_seeds: impl Into<Seeds>) -> Option<Swept> {
    if let Some(path) = env::var_os("WAVETANK_REPLAY") {
        replay_one(case, Path::new(&path));
        return None;
    }
    let default_seeds = default_seeds.into();
    let seeds = chosen(default_seeds).unwrap_or_else(|why| panic!("{why}"));
    let out = out();
    let sweep = Sweep::new(case, seeds, &out);
    let swept = sweep.run(&Unwatched).unwrap_or_else(|why| panic!("{why}"));
    let found = swept.candidates.first().map(|candidate| &candidate.first);
    match (found, case.expects()) {
        (None, None) => {
            let untested = swept.untested();
            assert!(
                seeds != default_seeds || untested.is_empty(),
                "{}: no seed of {seeds} put these to the test: {}",
                case.name(),
                untested.join(", ")
            );
        }
        (Some(found), Some(expected)) if found.violation.property == expected => {}
        (Some(found), _) => panic!("{}", failure(case, found)),
        (None, Some(expected)) => panic!(
            "{}: the expected violation of `{expected}` was not found under the seeds {seeds}",
            case.name()
        ),
    }
    Some(swept)
}

/// The seeds that the environment asks for, or these.
fn chosen(default: Seeds) -> Result<Seeds, String> {
    let text = |name: &str| env::var_os(name).map(OsString::into_string).transpose();
    let read = |name: &str| text(name).map_err(|_| format!("{name} is not text"));
    match (read("WAVETANK_SEED")?, read("WAVETANK_SEEDS")?) {
        (Some(_), Some(_)) => Err("WAVETANK_SEED and WAVETANK_SEEDS exclude each other".to_owned()),
        (Some(seed), None) => parse_seed(&seed)
            .map(Seeds::one)
            .map_err(|why| format!("WAVETANK_SEED={seed}: {why}")),
        (None, Some(seeds)) => seeds
            .parse()
            .map_err(|why| format!("WAVETANK_SEEDS={seeds}: {why}")),
        (None, None) => Ok(default),
    }
}

/// Where traces go: cargo's target folder is the one above `deps`, in which tests lie.
fn out() -> PathBuf {
    if let Some(out) = env::var_os("WAVETANK_OUT") {
        return out.into();
    }
    let me = env::current_exe().unwrap_or_default();
    let deps = me.ancestors().find(|dir| dir.ends_with("deps"));
    let target = deps.and_then(Path::parent).and_then(Path::parent);
    target.unwrap_or(Path::new("target")).join("wavetank")
}

/// What a failing test says.
fn failure(case: &dyn Case, found: &Found) -> String {
    let seed = found.seed;
    let mut text = format!(
        "{}, seed {seed}: violation of {}\n  options  {}\n",
        case.name(),
        replay::in_words(&found.violation),
        case.derive(seed)
    );
    let mut line = |name: &str, value: &str| {
        writeln!(text, "  {name:<7}  {value}").expect("writing to a string cannot fail");
    };
    line("blame", &found.attribution.to_string());
    let trace = match &found.trace {
        Ok(path) => {
            line("trace", &path.display().to_string());
            let test = test_name();
            line(
                "replay",
                &format!("WAVETANK_REPLAY={} cargo test {test}", path.display()),
            );
            trace_file::read(path).map_err(|error| error.to_string())
        }
        Err(why) => Err(why.clone()),
    };
    let told =
        trace.and_then(|trace| replay::story(case, &trace).map_err(|error| error.to_string()));
    match told {
        Ok(story) => text + "  story\n    " + &story.join("\n    "),
        Err(why) => text + "  no story: " + &why,
    }
}

/// The test that is running: its thread has its name, unless there is only one thread.
#[allow(clippy::disallowed_methods, reason = "for a message; no world sees it")]
fn test_name() -> String {
    let thread = std::thread::current();
    match thread.name() {
        Some(name) if name != "main" => name.to_owned(),
        _ => String::new(),
    }
}

/// Replays one trace on a case, and fails with its story if it holds a violation.
fn replay_one(case: &dyn Case, path: &Path) {
    let trace = trace_file::read(path).unwrap_or_else(|why| panic!("{why}"));
    if trace.head.identity != case.identity() {
        // The variable concerns another test of the same run.
        return;
    }
    // By name: the code under test has probably changed since.
    let followed = follow(case, &trace, Fit::ByName, None, &mut |_, _, _| {})
        .unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    if let Some(found) = &followed.violation {
        panic!(
            "{}, seed {}: violation of {}\n  story\n    {}",
            trace.head.case,
            trace.head.seed,
            replay::in_words(found),
            followed.story().join("\n    ")
        );
    }
}

/// Replays every trace in a folder, and says how many there are. Each must still fit and come to
/// the verdict that it holds; names decide, since traces outlive builds.
///
/// # Panics
/// If one cannot be read or does not fit any more; says which ones.
pub fn replay_all(dir: &Path, catalogue: &dyn Catalogue) -> usize {
    let entries = fs::read_dir(dir).unwrap_or_else(|why| panic!("{}: {why}", dir.display()));
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a folder that can be listed").path())
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.ends_with(".trace") || name.ends_with(".trace.gz")
        })
        .collect();
    paths.sort();
    let failed: Vec<String> = paths
        .iter()
        .filter_map(|path| {
            let why = replay_stored(path, catalogue).err()?;
            Some(format!("{}: {why}", path.display()))
        })
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    paths.len()
}

fn replay_stored(path: &Path, catalogue: &dyn Catalogue) -> Result<(), String> {
    let trace = trace_file::read(path).map_err(|error| error.to_string())?;
    let case = catalogue.reopen(&trace.head.identity)?;
    follow(case.as_ref(), &trace, Fit::ByName, None, &mut |_, _, _| {})
        .map(drop)
        .map_err(|error| error.to_string())
}

/// The trace of one seed, as its bytes: for tests that compare runs.
pub fn trace_of(case: &dyn Case, seed: u64) -> Vec<u8> {
    let outcome = run_seed(case, seed, None, Default::default());
    let head = crate::head::Head::new(case, seed, case.derive(seed));
    Trace::of(head, &outcome).to_bytes()
}
