//! What is written reads as what it was.

use proptest::prelude::*;

use super::super::{Apiservers, Choices, Duration, Faults, Network, Range, Release, Scenario};
use super::{FULL, read};

const LEAST: &str = "\
name: full
about: The least there is.
topology: {apiservers: 1}
storm: 0s
calm: 1s
";

fn again(scenario: &Scenario) -> Scenario {
    let json = serde_json::to_string(scenario).expect("scenarios can be written");
    serde_json::from_str(&json).expect("and read again")
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
    let json = serde_json::to_string_pretty(&scenario).expect("scenarios can be written");
    assert_eq!(read(&json), Ok(scenario));
}

#[test]
fn what_is_left_out_has_its_default() {
    let scenario = read(LEAST).unwrap_or_else(|report| panic!("{report}"));
    assert_eq!(scenario.release, Release::default());
    assert_eq!(scenario.release.0.name, "v1.36");
    assert_eq!(scenario.releases(), [Release::default()]);
    assert_eq!(scenario.topology.processes(), ["etcd", "a1"]);
    assert_eq!(
        scenario.options.shutdown_delay,
        Choices::only(Duration::ZERO)
    );
    assert_eq!(scenario.network, Network::default());
    assert_eq!(scenario.faults, Faults::default());
    assert_eq!(scenario.faults.budgets().count(), 0);
}

#[test]
fn what_is_given_is_read() {
    let scenario = read(FULL).unwrap_or_else(|report| panic!("{report}"));
    assert!(matches!(scenario.topology.apiservers, Apiservers::Each(_)));
    let releases = scenario.releases();
    let names: Vec<&str> = releases.iter().map(|release| release.0.name).collect();
    assert_eq!(names, ["v1.16", "v1.20", "v1.36"]);
    assert_eq!(
        scenario.topology.processes(),
        ["etcd", "a1", "a2", "a3", "c1", "c2", "u1", "u2", "u3"]
    );
    assert_eq!(scenario.calm, Duration::from_secs(180));
    let kinds: Vec<_> = scenario.faults.budgets().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, Faults::KINDS);
}

#[test]
fn an_etcd_alone_is_a_cluster() {
    let text = LEAST.replace("{apiservers: 1}", "{etcd: 3, etcd-clients: 2}");
    let scenario = read(&text).unwrap_or_else(|report| panic!("{report}"));
    assert_eq!(scenario.releases(), []);
    let processes = scenario.topology.processes();
    assert_eq!(processes, ["e1", "e2", "e3", "u1", "u2"]);
}

#[test]
fn any_file_name_but_a_path_is_mere_decoration() {
    let known = super::KNOWN;
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
