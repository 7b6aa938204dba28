//! What is written reads as what it was.

use proptest::prelude::*;

use serde_json::json;
use wavetank_cluster::Components;
use wavetank_component::Section;

use super::super::{Duration, Faults, Network, Range, Release, Scenario, from_json};
use super::{FULL, read};

const LEAST: &str = "\
name: full
about: The least there is.
topology: {apiservers: 1}
storm: 0s
calm: 1s
";

fn again(scenario: &Scenario) -> Scenario {
    from_json(&scenario.to_json(), &Components::default()).expect("what was written can be read")
}

fn processes(scenario: &Scenario) -> Vec<String> {
    let all = Components::default().processes(&scenario.spec(), None);
    let all = all.expect("it is possible").into_iter();
    all.flat_map(|(_, names)| names).collect()
}

#[test]
fn a_scenario_survives_json() {
    for text in [FULL, LEAST] {
        let scenario = read(text).unwrap_or_else(|report| panic!("{report}"));
        assert_eq!(again(&scenario), scenario);
    }
}

#[test]
fn json_is_yaml() {
    let scenario = read(FULL).expect("it is right");
    let json = serde_json::to_string_pretty(&scenario.to_json()).expect("it is JSON");
    assert_eq!(read(&json), Ok(scenario));
}

#[test]
fn what_is_left_out_has_its_default() {
    let scenario = read(LEAST).unwrap_or_else(|report| panic!("{report}"));
    assert_eq!(scenario.release, Release::default());
    assert_eq!(processes(&scenario), ["a1", "etcd"]);
    let options = scenario.given.section(Section::Options);
    assert_eq!(options["shutdown-delay"], "0s");
    assert_eq!(scenario.network, Network::default());
    assert_eq!(scenario.faults, Faults::default());
    assert_eq!(scenario.faults.budgets().count(), 0);
}

#[test]
fn what_is_given_is_read() {
    let scenario = read(FULL).unwrap_or_else(|report| panic!("{report}"));
    let topology = scenario.given.section(Section::Topology);
    let each = ["v1.16", "v1.20", "v1.36"].map(|release| json!({"release": release}));
    assert_eq!(topology["apiservers"], json!(each));
    assert_eq!(
        processes(&scenario),
        ["a1", "a2", "a3", "c1", "c2", "etcd", "u1", "u2", "u3"]
    );
    assert_eq!(scenario.calm, Duration::from_secs(180));
    let kinds: Vec<_> = scenario.faults.budgets().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, Faults::KINDS);
}

#[test]
fn an_etcd_alone_is_a_cluster() {
    let text = LEAST.replace("{apiservers: 1}", "{etcd: 3, etcd-clients: 2}");
    let scenario = read(&text).unwrap_or_else(|report| panic!("{report}"));
    assert_eq!(processes(&scenario), ["e1", "e2", "e3", "u1", "u2"]);
}

#[test]
fn any_file_name_but_a_path_is_mere_decoration() {
    let known = Components::default();
    assert!(super::parse("<stdin>", LEAST, &known).is_ok());
    assert!(super::parse("other.yaml", LEAST, &known).is_err());
}

proptest! {
    #[test]
    fn a_duration_survives_its_text(nanos: u64) {
        let duration = Duration(nanos);
        prop_assert_eq!(duration.to_string().parse(), Ok(duration));
    }

    #[test]
    fn a_round_duration_survives_its_text(count in 0..100_000_u64, power in 0..14_u32) {
        let duration = Duration(count * 10_u64.pow(power));
        prop_assert_eq!(duration.to_string().parse(), Ok(duration));
    }

    #[test]
    fn a_range_survives_its_text(one: u32, other: u32) {
        let range = Range::new(one.min(other), one.max(other));
        let json = serde_json::to_string(&range)?;
        prop_assert_eq!(serde_json::from_str::<Range<u32>>(&json)?, range);
    }

    /// Whatever is cut out of a scenario, it is read or reported, in bounded time.
    #[test]
    fn no_text_makes_it_panic(start in 0..FULL.len(), length in 0..400_usize, junk in "[-:{}\\[\\] a-z0-9&*!|>'\"#%@,é\t\n\r]{0,12}") {
        let end = (start + length).min(FULL.len());
        let text = format!("{}{junk}{}", &FULL[..start], &FULL[end..]);
        if let Err(report) = read(&text) {
            prop_assert!(!report.mistakes().is_empty());
            prop_assert!(report.to_string().contains("scenarios/full.yaml:"));
        }
    }
}
