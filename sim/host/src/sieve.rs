//! What Sieve's patterns, which the module [`sieve`](wavetank_components::sieve) has, do to a hosted program.

use std::sync::Arc;
use std::time::Duration;

use wavetank_components::sieve::{LAPSES, LONGEST, UNOBSERVED, WRITES};
use wavetank_engine::{Outcome, Rx};

use crate::observed::CutOff;
use crate::process::{EVERYTHING, Hosted, LAPSE, LET_GO};

/// A replica is told one.
pub(crate) async fn strike(rx: Rx, pattern: String) -> Outcome {
    if pattern == UNOBSERVED {
        let seconds = rx.choose(LONGEST).await + 1;
        rx.process(|own: &mut Hosted| {
            own.held.insert(EVERYTHING.to_owned());
        });
        rx.arm(LET_GO, Duration::from_secs(seconds));
    } else {
        let writes = rx.choose(WRITES).await as u32 + 1;
        rx.process(|own: &mut Hosted| own.ends_after = Some(writes));
        rx.arm(LAPSE, LAPSES);
    }
    Outcome::Done
}

/// A write is done. Does the replica end before it hears of it?
pub(crate) fn is_cut_off(rx: Rx, id: u64, what: &Arc<str>) -> bool {
    let ends = rx.process(|own: &mut Hosted| {
        let left = own.ends_after?.saturating_sub(1);
        own.ends_after = (left > 0).then_some(left);
        Some(left == 0)
    });
    if ends != Some(true) {
        return false;
    }
    let what = what.clone();
    rx.note(CutOff { id, what });
    rx.restart();
    true
}
