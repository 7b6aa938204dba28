//! The one-line helper for tests, and what it does under the variables of its environment.

use crate::support;

use std::path::Path;
use std::process::Command;

use support::table::Table;
use support::{Done, files, quiet_seed, scratch};

wavetank::seeds!(the_game_is_clean, Table::new("ping-pong", &[]), 0..8);
wavetank::seeds!(
    a_clumsy_player_is_caught,
    Table::new("clumsy", &["blind"]),
    0..8
);

wavetank::seeds!(
    #[ignore = "must fail: other tests run it"]
    blind,
    Table::new("ping-pong", &["blind"]),
    0..8
);

wavetank::seeds!(
    #[ignore = "other tests run it"]
    seeing,
    Box::new(Table::new("ping-pong", &[])) as Box<dyn wavetank::case::Case>,
    0..8
);

/// Runs one of the tests above in a process of its own.
fn test(name: &str, out: &Path, env: &[(&str, &str)]) -> Done {
    let me = std::env::current_exe().expect("a test has a file");
    let mut command = Command::new(me);
    for name in ["WAVETANK_SEED", "WAVETANK_SEEDS", "WAVETANK_REPLAY"] {
        command.env_remove(name);
    }
    command
        .args(["--exact", &format!("helper::{name}")])
        .args(["--ignored", "--test-threads=2"])
        .env("WAVETANK_OUT", out)
        .envs(env.iter().copied())
        .output()
        .expect("it starts")
        .into()
}

#[test]
fn a_failing_test_says_how_to_see_it_again() {
    let out = scratch("failing-test");
    let texts = [
        "ping-pong, seed ",
        "options  {\"spectators\":",
        "blame    blind",
        "hits ball",
    ];
    let done = test("blind", &out, &[]).expect(101, &texts);
    let [trace] = files(&out).try_into().expect("one trace");
    let path = out.join(&trace);
    let replay = format!(
        "WAVETANK_REPLAY={} cargo test helper::blind",
        path.display()
    );
    assert!(done.stdout.contains(&replay), "{}", done.stdout);
    let path = path.to_str().expect("a path of ours");
    test("blind", &out, &[("WAVETANK_REPLAY", path)]).expect(101, &["violation of every-ball"]);
    // Another case is not concerned.
    test("seeing", &out, &[("WAVETANK_REPLAY", path)]).expect(0, &[]);
}

#[test]
fn the_environment_chooses_the_seeds() {
    let (out, seed) = (scratch("chosen-seeds"), quiet_seed());
    let seed = seed.as_str();
    test("seeing", &out, &[]).expect(0, &["1 passed"]);
    test("blind", &out, &[("WAVETANK_SEED", seed)]).expect(0, &["1 passed"]);
    let clash = [("WAVETANK_SEED", seed), ("WAVETANK_SEEDS", "0..2")];
    test("blind", &out, &clash).expect(101, &["exclude each other"]);
    test("blind", &out, &[("WAVETANK_SEEDS", "2..1")]).expect(101, &["the range is empty"]);
    test("blind", &out, &[("WAVETANK_SEEDS", "0..50")]).expect(101, &["violation of"]);
}
