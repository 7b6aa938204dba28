//! How a server ends: hooks, the listener, and what is in flight, in the order of each release.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use wavetank_engine::{Caller, Cell, Outcome, Rx};
use wavetank_version::{Defect, Version};

use super::{ApiServer, Config, HOOKS_DONE, Hook, REPLACED, STOP_BEGUN, ServerNote};
use crate::ServerDefect;
use crate::gates;

/// `http.Server.Shutdown` and the wait for requests in flight (`ShutdownTimeout`).
const DRAIN_LIMIT: Duration = Duration::from_secs(60);
/// PreShutdown hooks bound themselves; so much more is overdue.
const HOOKS_GRACE: Duration = Duration::from_secs(5);
/// How long the first of them may take, where there are several.
pub(super) const FIRST_HOOK: Duration = Duration::from_secs(20);
/// How often a drain looks: upstream's `Shutdown` polls too (`net/http` `shutdownPollInterval`).
const DRAIN_POLL: Duration = Duration::from_millis(500);

static REQUESTS: Cell<u64> = Cell::new("requests-in-flight");
static WATCHES: Cell<u64> = Cell::new("watches-in-flight");

pub(crate) const LISTENER_CLOSES_BEFORE_REMOVAL: Defect = Defect::known(
    "listener-closes-before-removal",
    "PR #108033 (1.24)",
    "the listener closes while RemoveEndpoints still needs the loopback client",
)
.until(gates::LISTENER_CLOSES_LAST)
.shows_with("endpoint-reconciler-type", &["lease", "master-count"])
.shows_with("shutdown-delay", &["0s"]);

/// `Run` (v1.16, v1.20), `RunWithContext` (v1.36).
pub(super) async fn shutdown<H: Hook>(rx: Rx, config: Arc<Config>, hooks: Arc<[H]>) -> Outcome {
    let delay = rx.sleep(config.shutdown_delay);
    let limits = hooks.iter().map(Hook::shutdown_limit);
    let limit = limits.sum::<Duration>() + HOOKS_GRACE;
    let hooks = watch_over(rx, limit, run_pre_shutdown_hooks(rx, hooks.to_vec()));
    if config
        .defects
        .server
        .has(ServerDefect::ListenerClosesBeforeRemoval)
    {
        // As soon as the delay is over, whatever the hooks are doing.
        let close = async {
            delay.await;
            close_listener::<H>(rx);
        };
        rx.join(close, hooks).await;
    } else {
        // After both.
        rx.join(delay, hooks).await;
        close_listener::<H>(rx);
    }
    drain(rx, config.release).await;
    rx.note(ServerNote::Exiting);
    match rx.read(&REPLACED) {
        true => rx.restart(),
        false => rx.exit(),
    }
    Outcome::Done
}

/// Tells when the hooks are overdue, and waits on. The process may stand still until the limit has passed, and
/// their own deadlines with it: they get some seconds more, of which a pause takes one, and those that come after the
/// first one all that they may take.
async fn watch_over(rx: Rx, limit: Duration, hooks: impl Future<Output = ()>) {
    let mut hooks = std::pin::pin!(hooks);
    let more = limit.saturating_sub(FIRST_HOOK).as_secs() as usize;
    let looks = std::iter::repeat_n(Duration::from_secs(1), more);
    for limit in std::iter::once(limit).chain(looks) {
        if rx.timeout(limit, hooks.as_mut()).await.is_some() {
            return;
        }
    }
    rx.note(ServerNote::ShutdownOverdue);
    hooks.await;
}

/// `RunPreShutdownHooks`: one after another, in the order of a Go map.
async fn run_pre_shutdown_hooks<H: Hook>(rx: Rx, mut hooks: Vec<H>) {
    while !hooks.is_empty() {
        let next = match hooks.len() {
            1 => 0,
            n => rx.choose(n as u64).await as usize,
        };
        hooks.remove(next).pre_shutdown(rx).await;
    }
}

/// `http.Server.Shutdown`: the listener closes, then HTTP/2 clients get GOAWAY.
fn close_listener<H: Hook>(rx: Rx) {
    rx.process(|server: &mut ApiServer<H>| server.listening = false);
    rx.go_away();
    rx.note(ServerNote::ListenerClosed);
}

/// Requests in flight get up to 60 s. v1.16 does not wait for `Shutdown`, so open watches do not
/// hold it; in v1.20 and v1.36 they do.
async fn drain(rx: Rx, release: Version) {
    let drained = async {
        loop {
            let watches = match release.has(gates::SHUTDOWN_WAITS_FOR_WATCHES) {
                true => rx.read(&WATCHES),
                false => 0,
            };
            if rx.read(&REQUESTS) + watches == 0 {
                return;
            }
            rx.sleep(DRAIN_POLL).await;
        }
    };
    rx.timeout(DRAIN_LIMIT, drained).await;
}

/// What is in flight.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum InFlight {
    Request,
    Watch,
    /// A watch of the server's own informers: `RunPostStartHooks` gave them a context that ends when the
    /// listener closes, so no drain waits for it.
    OwnWatch,
}

impl InFlight {
    /// A watch that `caller` opened on the server that `config` is of.
    pub fn watch(config: &Config, caller: Caller) -> InFlight {
        match caller.process() == config.me {
            true => InFlight::OwnWatch,
            false => InFlight::Watch,
        }
    }

    fn counter(self) -> Option<&'static Cell<u64>> {
        match self {
            InFlight::Request => Some(&REQUESTS),
            InFlight::Watch => Some(&WATCHES),
            InFlight::OwnWatch => None,
        }
    }

    pub fn begin(self, rx: Rx) {
        if let Some(counter) = self.counter() {
            rx.update(counter, |n| *n += 1);
        }
    }

    pub fn end(self, rx: Rx) {
        if let Some(counter) = self.counter() {
            rx.update(counter, |n| *n -= 1);
        }
    }
}

pub(crate) fn is_stopping(rx: Rx) -> bool {
    rx.read(&STOP_BEGUN)
}

pub(crate) fn hooks_are_done(rx: Rx, config: &Config) -> bool {
    rx.read(&HOOKS_DONE) >= config.hooks
}
