//! What the tests of the command share: the game of the example, and the commands themselves.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use wavetank::case::run_seed;
use wavetank::catalogue::{Catalogue as _, Composition};
use wavetank::kube::Kube;
use wavetank::search::Search;
use wavetank_engine::drive::Ending;
use wavetank_engine::trace::Record;

#[path = "../../../examples/ping-pong/game.rs"]
pub mod game;
#[path = "../../../examples/pins/pin.rs"]
pub mod pin;
#[path = "../../../examples/pins/search.rs"]
pub mod pin_search;
pub mod pins;
pub mod planned;
#[path = "../../../examples/ping-pong/table.rs"]
pub mod table;

/// The root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All Rust files under a folder, but for tests, examples and what is built.
pub fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("it can be listed") {
        let path = entry.expect("it can be listed").path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        if path.is_dir() && !["tests", "target", "examples", "fuzz"].contains(&name) {
            sources(&path, found);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            found.push(path);
        }
    }
}

/// A seed under which no ball is lost, and even a blind player makes no mistake.
pub fn quiet_seed() -> String {
    let counts = |defects: &[&str], seed| {
        let table = table::Table::new("ping-pong", defects);
        let outcome = run_seed(&table, seed, None, Record::default());
        let lost = outcome.world.properties().zip(&outcome.tallies.tested);
        let mut lost = lost.filter(|(property, _)| property.name() == "a-ball-was-lost");
        (
            outcome.ending == Ending::Clean,
            lost.all(|(_, times)| *times == 0),
        )
    };
    let is_quiet = |seed: &u64| counts(&["blind"], *seed) == (true, true);
    (0..).find(is_quiet).expect("there is one").to_string()
}

/// A bundled scope, fixed but for these defects.
pub fn scope(name: &str, defects: &[&str]) -> Search {
    let composition = Composition {
        fixed: true,
        defects: defects.iter().map(|&defect| defect.to_owned()).collect(),
        ..Composition::default()
    };
    let case = Kube::default()
        .open(name, &composition)
        .expect("it is bundled");
    Search::of(case.as_ref()).expect("it is a scope")
}

/// An empty folder of this test.
pub fn scratch(test: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    if dir.exists() {
        fs::remove_dir_all(&dir).expect("left from the last run");
    }
    fs::create_dir_all(&dir).expect("cargo's folder for tests");
    dir
}

/// The command over the example's cases. Cargo builds examples together with tests.
pub fn game_command() -> Command {
    let me = std::env::current_exe().expect("a test has a file");
    let profile = me
        .parent()
        .and_then(Path::parent)
        .expect("tests lie in `deps`");
    let example = profile.join("examples").join("ping-pong");
    assert!(
        example.exists(),
        "build it: cargo build -p wavetank --examples"
    );
    clean(Command::new(example))
}

/// The command over the bundled cases.
pub fn wavetank() -> Command {
    clean(Command::new(env!("CARGO_BIN_EXE_wavetank")))
}

fn clean(mut command: Command) -> Command {
    command.env_remove("CARGO").env_remove("RUST_BACKTRACE");
    command
}

/// A finished command.
pub struct Done {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// The command in this folder.
pub fn run(dir: &Path, args: &[&str]) -> Done {
    let output = wavetank().current_dir(dir).args(args).output();
    output.expect("it starts").into()
}

impl Done {
    /// The code is this one, and each text is on stdout or stderr.
    #[track_caller]
    pub fn expect(self, code: i32, texts: &[&str]) -> Done {
        let Done { stdout, stderr, .. } = &self;
        assert_eq!(
            self.code,
            Some(code),
            "stdout:\n{stdout}\nstderr:\n{stderr}"
        );
        for text in texts {
            let found = stdout.contains(text) || stderr.contains(text);
            assert!(found, "no `{text}` in stdout:\n{stdout}\nstderr:\n{stderr}");
        }
        self
    }
}

impl From<Output> for Done {
    fn from(output: Output) -> Done {
        let text = |bytes| String::from_utf8(bytes).expect("the command prints UTF-8");
        Done {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

/// Runs the command over the example's cases in this folder.
pub fn game(dir: &Path, args: &[&str]) -> Done {
    let output = game_command().current_dir(dir).args(args).output();
    output.expect("the example starts").into()
}

/// A folder with the trace of a violation of the example's game.
pub fn violated(test: &str, defect: &str) -> (PathBuf, String) {
    let dir = scratch(test);
    let args = ["run", "ping-pong", "--defect", defect, "--out", "."];
    game(&dir, &args).expect(1, &[]);
    let [name] = files(&dir).try_into().expect("one trace");
    (dir, name)
}

/// The names of the files in a folder, sorted.
pub fn files(dir: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("listed")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}
