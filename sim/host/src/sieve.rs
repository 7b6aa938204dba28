//! What Sieve does to controllers (Sun et al., "Automatic Reliability Testing for Cluster Management Controllers", OSDI
//! 2022): each pattern is something that a replica is told again and again, by a line of the scenario.
//!
//! - *intermediate state*: it ends right after one of its writes, before it knows, and begins again in the middle of what it
//!   was about.
//! - *stale state*: the same, while caches of apiservers do not take anything from etcd: it may find a state that it has
//!   left behind already.
//! - *unobserved state*: what it watches is kept from it for a while, and then comes at once: it has not seen what was in
//!   between.

use std::sync::Arc;
use std::time::Duration;

use wavetank_api::{Method, Request};
use wavetank_component::{Load, Need};
use wavetank_components::kube_apiserver;
use wavetank_engine::{Outcome, Rx};

use crate::observed::CutOff;
use crate::process::{EVERYTHING, Hosted, LAPSE, LET_GO};

const INTERMEDIATE: &str = "intermediate-state";
const STALE: &str = "stale-state";
const UNOBSERVED: &str = "unobserved-state";

/// What a replica is told.
pub(crate) const PATTERNS: [&str; 3] = [INTERMEDIATE, STALE, UNOBSERVED];

/// It ends after one of so many writes that come next,
const WRITES: u64 = 4;
/// if they come within this time.
const LAPSES: Duration = Duration::from_secs(10);
/// It hears nothing for up to so many seconds.
const LONGEST: u64 = 10;
/// A cache of an apiserver lags for up to so long (`lag` of `sim/apiserver/src/cacher/hold.rs`).
const LONGEST_LAG: Duration = Duration::from_secs(90);

fn named(key: &str, pattern: &str) -> &'static str {
    format!("{key}-{pattern}").leak()
}

/// The lines of a scenario that ask for these, for the operator with this key.
pub(crate) fn loads(key: &'static str) -> Vec<Load> {
    let load = |pattern, about| {
        let load = Load::command(named(key, pattern), pattern, about, Need::NOTHING);
        load.until_calm().disturbs()
    };
    let intermediate = "Each replica ends right after one of its writes, before it knows what came of it, and begins \
                        again: Sieve's intermediate state.";
    let stale = "Each replica ends right after one of its writes and begins again, while watch caches of apiservers take \
                 nothing from etcd: Sieve's stale state.";
    let unobserved = "Each replica hears nothing of what it watches for some seconds, and then of all at once: Sieve's \
                      unobserved state.";
    let stale = load(STALE, stale);
    let lag = Load {
        // One line asks for both.
        own_key: true,
        command: "lag",
        ..stale.to(kube_apiserver::NAME)
    };
    vec![
        load(INTERMEDIATE, intermediate),
        stale,
        lag,
        load(UNOBSERVED, unobserved),
    ]
}

/// How long after the storm the last of it is over, if there is such a line.
pub(crate) fn is_over_after(load: &Load) -> Duration {
    match load.command {
        "lag" => LONGEST_LAG,
        UNOBSERVED => Duration::from_secs(LONGEST),
        _ => LAPSES,
    }
}

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

/// Is it a write of the kind that these count? Whoever renews a lease or tells of an event is not in the middle of anything.
pub(crate) fn counts(request: &Request) -> bool {
    writes(request.method) && !is_housekeeping(&request.path)
}

/// Does it change anything?
pub(crate) fn writes(method: Method) -> bool {
    !matches!(method, Method::Get | Method::Head | Method::Options)
}

/// Leases and Events: what programs write beside their work.
pub(crate) fn is_housekeeping(path: &str) -> bool {
    let mut parts = path.split('/');
    parts.any(|part| ["leases", "events"].contains(&part))
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
