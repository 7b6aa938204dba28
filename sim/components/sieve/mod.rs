//! What Sieve does to controllers (Sun et al., "Automatic Reliability Testing for Cluster Management Controllers", OSDI
//! 2022): each pattern is something that a replica is told again and again, by a line of the scenario.
//!
//! - *intermediate state*: it ends right after one of its writes, before it knows, and begins again in the middle of what it
//!   was about.
//! - *stale state*: the same, while caches of apiservers do not take anything from etcd: it may find a state that it has
//!   left behind already.
//! - *unobserved state*: what it watches is kept from it for a while, and then comes at once: it has not seen what was in
//!   between.
//!
//! Here are the lines, and what becomes of a replica with client-go's informers; `alike` is the oracle that goes with
//! them, which compares a run with one without faults. Who carries the requests of a hosted program does to it what
//! these mean.

pub mod alike;
mod normal;
pub mod objects;
pub mod path;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use wavetank_client::cut_off;
use wavetank_client::informer::Informers;
use wavetank_component::{Load, Need, Section, Spec};
use wavetank_engine::{Name, Outcome, RoutineFuture, Rx, Task};

use crate::kube_apiserver;

/// It ends right after one of its writes.
pub const INTERMEDIATE: &str = "intermediate-state";
/// The same, while caches of apiservers lag.
pub const STALE: &str = "stale-state";
/// It hears nothing for a while.
pub const UNOBSERVED: &str = "unobserved-state";

/// What a replica is told.
pub const PATTERNS: [&str; 3] = [INTERMEDIATE, STALE, UNOBSERVED];

/// It ends after one of so many writes that come next,
pub const WRITES: u64 = 4;
/// if they come within this time.
pub const LAPSES: Duration = Duration::from_secs(10);
/// It hears nothing for up to so many seconds.
pub const LONGEST: u64 = 10;
/// A cache of an apiserver lags for up to so long (`lag` of `sim/apiserver/src/cacher/hold.rs`).
const LONGEST_LAG: Duration = Duration::from_secs(90);

thread_local! {
    /// Names that were asked for before. For each thread: a lock that somebody has while a process forks would be held for ever.
    static NAMES: RefCell<BTreeSet<&'static str>> = const { RefCell::new(BTreeSet::new()) };
}

/// `KEY-PATTERN`
pub fn named(key: &str, pattern: &str) -> &'static str {
    let name = format!("{key}-{pattern}");
    NAMES.with_borrow_mut(|names| match names.get(&*name) {
        Some(known) => known,
        None => {
            let name: &'static str = name.leak();
            names.insert(name);
            name
        }
    })
}

/// The lines of a scenario that ask for these, for the replicas with this key in `topology`, where there are some.
pub fn loads(key: &'static str, need: Need) -> Vec<Load> {
    let load = |pattern, about| {
        let load = Load::command(named(key, pattern), pattern, about, need);
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

/// What the workload has these replicas told, of all this.
fn asked(key: &str, spec: &Spec) -> impl Iterator<Item = &'static str> {
    let asked = spec.given.section(Section::Workload);
    let is_asked = move |pattern: &&str| asked.contains_key(&format!("{key}-{pattern}"));
    PATTERNS.into_iter().filter(is_asked)
}

/// Does the workload have these replicas told any of this?
pub fn is_asked(key: &str, spec: &Spec) -> bool {
    asked(key, spec).next().is_some()
}

/// How long after the storm the last of what these replicas are told is over.
pub fn is_over_after(key: &str, spec: &Spec) -> Duration {
    let over = asked(key, spec).map(|pattern| match pattern {
        STALE => LONGEST_LAG,
        UNOBSERVED => Duration::from_secs(LONGEST),
        _ => LAPSES,
    });
    over.max().unwrap_or_default()
}

const STRIKE: Name = Name::new("strike");

/// A replica is told one of these.
pub fn strike(pattern: &str) -> Option<Task> {
    let known = PATTERNS.into_iter().find(|known| *known == pattern)?;
    Some(Task::new(STRIKE, Name::new(known)))
}

/// The routine of a process with these informers that does it, if the task is such a one. Its client has to be
/// [watched](wavetank_client::RestClient::watched).
pub fn routine(task: &Task, informers: &Arc<Informers>) -> Option<RoutineFuture> {
    if task.kind() != STRIKE {
        return None;
    }
    let (rx, informers) = (Rx::new(), informers.clone());
    let pattern = task.args::<Name>().as_str();
    Some(Box::pin(async move {
        if pattern == UNOBSERVED {
            let seconds = rx.choose(LONGEST).await + 1;
            informers.hold_all(rx, Duration::from_secs(seconds));
        } else {
            let writes = rx.choose(WRITES).await as u32 + 1;
            cut_off::end_after(rx, writes, LAPSES).await;
        }
        Outcome::Done
    }))
}
