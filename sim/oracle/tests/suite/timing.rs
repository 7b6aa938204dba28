//! How long addresses of servers stay that are gone, against what was measured of real ones.

use std::time::Duration;

use wavetank_oracle::corpus;
use wavetank_oracle::timing::{BOUND, Timing};

const WITHIN: Duration = Duration::from_secs(1);
/// Having sent GOAWAY, Go's HTTP/2 keeps a connection for so long (`goAwayTimeout`, net/http). Here a
/// server that is being stopped ends as soon as its last request is answered.
const GOAWAY_TIMEOUT: Duration = Duration::from_secs(1);

#[test]
fn addresses_go_as_fast_as_they_did() {
    let recordings = corpus::bundled().expect("the corpus");
    let recording = recordings
        .iter()
        .find(|recording| Timing::is_told_by(recording));
    let timing = Timing::of(recording.expect("it is bundled"), 100);
    println!("{timing}");
    assert_eq!(
        timing.cases.len(),
        10,
        "six were killed and four were stopped"
    );
    for case in timing.cases {
        let (recorded, simulated) = (case.recorded, case.simulated);
        let exits = [recorded.exit, simulated.exit].map(|exit| exit.unwrap_or_default());
        assert_eq!(
            exits.map(|exit| exit.is_zero()),
            [recorded.exit.is_none(); 2]
        );
        if recorded.exit.is_some() {
            let [recorded, simulated] = exits;
            assert!(recorded.abs_diff(simulated + GOAWAY_TIMEOUT) <= WITHIN / 2);
        }
        let pairs = [
            (recorded.lease, simulated.lease),
            (recorded.address, simulated.address),
        ];
        for (recorded, simulated) in pairs {
            assert!(recorded.abs_diff(simulated) <= WITHIN, "step {}", case.step);
        }
    }
    let within = |time: &Duration| *time <= BOUND;
    assert!(timing.addresses.iter().all(within), "some took longer");
    let longest = timing.addresses.last().expect("there were kills");
    assert!(
        *longest > BOUND - Duration::from_secs(4),
        "the bound is loose"
    );
}
