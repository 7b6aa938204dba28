//! A cache makes way for another in the life of its server. Upstream does this to a custom resource whenever
//! its definition is changed (`customresource_handler.go`: `removeStorage`, `tearDown`); here it may
//! happen to any.

use std::time::Duration;

use wavetank_api::kinds::Kinds;
use wavetank_engine::{Outcome, Rx, Task};

use super::note::CacheNote;
use super::{Cacher, Config, TEAR_DOWN, serving};

/// `tearDown`: so long requests may still begin to use it. Upstream also waits until none does; watches are
/// not among those.
const IN_FLIGHT: Duration = Duration::from_secs(1);

/// From now on another cache serves a resource that the driver draws.
pub(super) async fn rebuild(rx: Rx, config: Config, kinds: Kinds) -> Outcome {
    let old = Cacher::any(rx, config, &kinds).await;
    if old.is_stopped(rx) {
        return Outcome::Done; // with its server
    }
    rx.update(&serving(old.resource), |build| *build += 1);
    Cacher::serving(rx, config, old.resource).start_in(rx);
    Outcome::Become(Task::new(TEAR_DOWN, old))
}

pub(super) async fn tear_down(rx: Rx, old: Cacher) -> Outcome {
    rx.sleep(IN_FLIGHT).await;
    old.stop(rx);
    rx.note(CacheNote::TornDown(old.resource));
    Outcome::Done
}
