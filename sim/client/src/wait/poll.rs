//! Trying a condition at each tick until it holds. Whoever polls bounds it by dropping the future, as upstream
//! cancels the context.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use wavetank_engine::{Either, Rx};
use wavetank_version::Version;

use crate::gates;

/// Tries `condition` at once, then at each tick, until it holds.
///
/// `PollImmediateUntil` (v1.16, v1.20): the ticker starts after the first try, and a tick that finds the
/// condition being tried is dropped (`poller`). v1.36 (`loopConditionUntilContext` without `sliding`): the timer
/// starts before each try, and one that has fired meanwhile is found afterwards.
pub async fn poll_immediate_until<F: Future<Output = bool>>(
    rx: Rx,
    release: Version,
    interval: Duration,
    mut condition: impl FnMut() -> F,
) {
    if !release.has(gates::POLLS_HAVE_CONTEXTS) {
        if condition().await {
            return;
        }
        let mut tick = Box::pin(rx.sleep(interval));
        loop {
            tick.as_mut().await;
            tick = Box::pin(rx.sleep(interval));
            let mut tried = pin!(condition());
            let holds = loop {
                match rx.select(tick.as_mut(), tried.as_mut()).await {
                    Either::Left(()) => tick = Box::pin(rx.sleep(interval)),
                    Either::Right(holds) => break holds,
                }
            };
            if holds {
                return;
            }
        }
    }
    loop {
        let mut timer = Box::pin(rx.sleep(interval));
        let mut tried = pin!(condition());
        let (fired, holds) = match rx.select(timer.as_mut(), tried.as_mut()).await {
            Either::Left(()) => (true, tried.await),
            Either::Right(holds) => (false, holds),
        };
        if holds {
            return;
        }
        if !fired {
            timer.await;
        }
    }
}
