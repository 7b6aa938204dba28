//! Trying again what failed, with growing waits (`client-go/util/retry/util.go`, `wait.ExponentialBackoff`).

use std::future::Future;
use std::time::Duration;

use wavetank_engine::Rx;

use super::{JITTER, jitter};

/// `wait.Backoff`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Steps {
    /// How often it is tried.
    pub steps: u32,
    /// The first wait.
    pub duration: Duration,
    /// How many times as long the next is.
    pub factor: u32,
    /// How much longer a wait may be, in thousandths.
    pub jitter: u32,
}

/// `DefaultBackoff`
pub const DEFAULT_BACKOFF: Steps = Steps {
    steps: 4,
    duration: Duration::from_millis(10),
    factor: 5,
    jitter: 100,
};

/// `DefaultRetry`
pub const DEFAULT_RETRY: Steps = Steps {
    steps: 5,
    duration: Duration::from_millis(10),
    factor: 1,
    jitter: 100,
};

impl Steps {
    /// Waits before the next try (`Step`); false once all are used up.
    pub async fn wait(&mut self, rx: Rx) -> bool {
        self.steps = self.steps.saturating_sub(1);
        if self.steps == 0 {
            return false;
        }
        let drawn = rx.choose(JITTER).await;
        rx.sleep(jitter(self.duration, self.jitter, drawn)).await;
        self.duration *= self.factor;
        true
    }
}

/// `RetryOnConflict`: once more for each error that is a conflict, until the steps are used up; the last error then.
///
/// # Errors
/// What the last try came to.
pub async fn retry_on_conflict<E, F: Future<Output = Result<(), E>>>(
    rx: Rx,
    mut backoff: Steps,
    is_conflict: impl Fn(&E) -> bool,
    mut run: impl FnMut() -> F,
) -> Result<(), E> {
    loop {
        let done = run().await;
        let again = done.as_ref().is_err_and(&is_conflict);
        if !again || !backoff.wait(rx).await {
            return done;
        }
    }
}
