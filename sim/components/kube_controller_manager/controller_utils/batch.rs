//! How pods are made: a few at first (`slowStartBatch` of `pkg/controller/replicaset/replica_set.go`).

use wavetank_client::wait::{Member, wait_group};

use super::SyncError;

/// `SlowStartInitialBatchSize`
pub const SLOW_START_INITIAL_BATCH_SIZE: usize = 1;

/// `slowStartBatch`: batches, each twice as large as the one before; after one with an error there is no other. How many
/// succeeded, and the first error.
pub async fn slow_start_batch<'a>(
    count: usize,
    initial: usize,
    mut one: impl FnMut() -> Member<'a, Result<(), SyncError>>,
) -> (usize, Result<(), SyncError>) {
    let (mut remaining, mut successes) = (count, 0);
    let mut size = remaining.min(initial);
    while size > 0 {
        let done = wait_group((0..size).map(|_| one()).collect()).await;
        successes += done.iter().filter(|own| own.is_ok()).count();
        if let Some(error) = done.into_iter().find_map(Result::err) {
            return (successes, Err(error));
        }
        remaining -= size;
        size = remaining.min(2 * size);
    }
    (successes, Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    /// So many are to be made, and the one with this number fails: how many are tried, how many succeed.
    fn batches(count: usize, fails: usize) -> (usize, usize) {
        let mut tried = 0;
        let made = {
            let one = || {
                tried += 1;
                let fails = tried == fails;
                let why = || SyncError::Worded("no".to_owned());
                let done = if fails { Err(why()) } else { Ok(()) };
                Box::pin(std::future::ready(done)) as Member<'_, Result<(), SyncError>>
            };
            let mut all = pin!(slow_start_batch(count, 1, one));
            match all.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready((successes, _)) => successes,
                Poll::Pending => unreachable!("nothing waits"),
            }
        };
        (tried, made)
    }

    #[test]
    fn batches_double_until_one_fails() {
        assert_eq!(batches(10, 0), (10, 10));
        assert_eq!(batches(10, 1), (1, 0));
        assert_eq!(batches(10, 2), (3, 2));
        assert_eq!(batches(10, 5), (7, 6));
        assert_eq!(batches(0, 1), (0, 0));
    }
}
