//! A run is a function of its seed.

use std::collections::BTreeSet;
use std::process::Command;

use shop_operator::correct;
use wavetank_host::requests;

use crate::cluster;

const SEED: &str = "SHOPS_SEED";
const PROCESSES: usize = 50;
const SEEDS: u64 = 200;
/// Two seeds may agree by chance.
const FEWEST: usize = 190;

fn log(seed: u64) -> Vec<String> {
    let case = cluster::command(correct::run).fixed("tests/short.yaml");
    requests(case.as_ref(), seed).expect("it comes to its end")
}

/// Not a test of its own: what the processes do.
#[test]
fn tells_its_requests() {
    if let Ok(seed) = std::env::var(SEED) {
        let log = log(seed.parse().expect("a number"));
        println!("\n<<<{}>>>", log.join("\n"));
    }
}

fn told_elsewhere(seed: u64) -> String {
    let me = std::env::current_exe().expect("this program");
    let mut child = Command::new(me);
    child.args(["--exact", "same::tells_its_requests", "--nocapture"]);
    let out = child.env(SEED, seed.to_string()).output().expect("it runs");
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let (_, log) = text.split_once("<<<").expect("it tells");
    log.split_once(">>>").expect("it tells all").0.to_owned()
}

#[test]
fn one_seed_is_one_log_in_fifty_processes() {
    let logs: BTreeSet<String> = (0..PROCESSES).map(|_| told_elsewhere(7)).collect();
    assert_eq!(logs.len(), 1);
    // And here, among whatever else this process has done.
    assert_eq!(logs.first(), Some(&log(7).join("\n")));
}

#[test]
fn seeds_differ() {
    let logs: BTreeSet<Vec<String>> = (0..SEEDS).map(log).collect();
    assert!(logs.len() >= FEWEST, "{} different logs", logs.len());
}
