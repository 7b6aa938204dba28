//! Text forms, and the schema that describes them.

use wavetank_cluster::Components;

use super::super::{Duration, Faults, Format, Range, Written};

fn nanos(text: &str) -> Option<u64> {
    text.parse().ok().map(Duration::nanos)
}

#[test]
fn durations_are_read() {
    assert_eq!(nanos("10s"), Some(10_000_000_000));
    assert_eq!(nanos("1m30s"), Some(90_000_000_000));
    assert_eq!(nanos("200ms"), Some(200_000_000));
    assert_eq!(nanos("2.5s"), Some(2_500_000_000));
    assert_eq!(nanos("150us"), Some(150_000));
    assert_eq!(nanos("1h0.5m"), Some(3_630_000_000_000));
    assert_eq!(nanos("0s"), Some(0));
    assert_eq!(nanos("18446744073709551615ns"), Some(u64::MAX));
}

#[test]
fn other_texts_are_no_durations() {
    for text in [
        "", "s", "10", "1.s", ".5s", "1..5s", "-1s", "1s1m", "1s1s", "0.5ns", "10 s", "1e3s",
    ] {
        assert_eq!(nanos(text), None, "{text:?}");
    }
    assert_eq!(nanos("18446744073709551616ns"), None);
    assert_eq!(nanos("99999999h"), None);
}

#[test]
fn durations_are_written_in_their_largest_units() {
    let written = |nanos| Duration(nanos).to_string();
    assert_eq!(written(0), "0s");
    assert_eq!(written(90_000_000_000), "1m30s");
    assert_eq!(written(3_600_000_000_000), "1h");
    assert_eq!(written(3_600_200_000_000), "1h200ms");
    assert_eq!(written(2_500_000_000), "2.5s");
    assert_eq!(written(1_500), "1.5us");
    assert_eq!(written(7), "7ns");
}

#[test]
fn ranges_hold_both_ends() {
    let range = Range::read("5s..40s");
    assert_eq!(
        range,
        Ok(Range::new(Duration::from_secs(5), Duration::from_secs(40)))
    );
    let single = Range::<u32>::read("7").expect("a single value is a range");
    assert_eq!(
        (single.low, single.high, single.to_string()),
        (7, 7, "7".into())
    );
    for text in ["..", "5s..", "..5s", "5..6", "6s..5s", "1s..2s..3s", ""] {
        assert!(Range::<Duration>::read(text).is_err(), "{text:?}");
    }
}

#[test]
fn the_schema_knows_every_kind_of_fault() {
    let schema: serde_json::Value =
        serde_json::from_str(&Format::new(&Components::default()).json_schema())
            .expect("it is JSON");
    let kinds = schema["$defs"]["Faults"]["properties"]
        .as_object()
        .expect("faults have kinds");
    let mut expected = Faults::KINDS.to_vec();
    expected.sort_unstable();
    let mut kinds: Vec<_> = kinds.keys().map(String::as_str).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, expected);
}
