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

/// `RetryOnConflict`: once more for each error that is a conflict, until the steps are used up; the last error then.
///
/// # Errors
/// What the last try came to.
pub async fn retry_on_conflict<E, F: Future<Output = Result<(), E>>>(
    rx: Rx,
    backoff: Steps,
    is_conflict: impl Fn(&E) -> bool,
    mut run: impl FnMut() -> F,
) -> Result<(), E> {
    let mut wait = backoff.duration;
    for left in (0..backoff.steps).rev() {
        match run().await {
            Err(error) if is_conflict(&error) && left > 0 => {
                let drawn = rx.choose(JITTER).await;
                rx.sleep(jitter(wait, backoff.jitter, drawn)).await;
                wait *= backoff.factor;
            }
            done => return done,
        }
    }
    Ok(())
}
