//! When a call is made again (`client/v3/retry.go`, `retry_interceptor.go`). The calls themselves do not belong here.

use std::time::Duration;
use wavetank_engine::mutant;

use crate::api::{Code, EtcdError};

/// `defaultUnaryMaxRetries`: so many attempts there are, with the first.
pub(super) const UNARY_MAX_RETRIES: u32 = 100;
/// `defaultBackoffWaitBetween`; its jitter of a tenth is left out.
const BACKOFF_WAIT_BETWEEN: Duration = Duration::from_millis(25);

/// `retryPolicy`: may a call be made again that may have had an effect?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RetryPolicy {
    /// Reads, and what may be done twice: the grant of a lease.
    Repeatable,
    /// Writes.
    NonRepeatable,
}

/// `roundRobinQuorumBackoff`: how long to wait before this attempt, of which the first is 0. As many attempts as make
/// a quorum of the endpoints come right after each other.
pub(super) fn round_robin_quorum_backoff(attempt: u32, endpoints: usize) -> Duration {
    let quorum = endpoints as u32 / 2 + 1;
    match attempt > 0 && attempt.is_multiple_of(quorum) {
        true => BACKOFF_WAIT_BETWEEN,
        false => Duration::ZERO,
    }
}

/// Is the call made again after this error?
///
/// A member that gives up because of its own deadline has not taken the request: whoever still has time asks again,
/// even for a write (`isContextError`). Of the others `isSafeRetryImmutableRPC` repeats all that says *unavailable*;
/// `isSafeRetryMutableRPC` asks for the words of an attempt that found no connection, which calls that wait until there
/// is one do not meet.
pub(super) fn is_safe_retry(error: EtcdError, policy: RetryPolicy) -> bool {
    match error.code() {
        Code::DeadlineExceeded => true,
        Code::Unavailable => {
            policy == RetryPolicy::Repeatable
                || mutant!(
                    "writes-are-repeated",
                    "a write whose outcome is unknown is made again"
                )
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quorum_is_asked_before_a_pause() {
        let waits = |endpoints| -> Vec<u128> {
            let all = (0..7).map(|attempt| round_robin_quorum_backoff(attempt, endpoints));
            all.map(|wait| wait.as_millis()).collect()
        };
        assert_eq!(waits(1), [0, 25, 25, 25, 25, 25, 25]);
        assert_eq!(waits(3), [0, 0, 25, 0, 25, 0, 25]);
        assert_eq!(waits(5), [0, 0, 0, 25, 0, 0, 25]);
    }

    #[test]
    fn what_is_unavailable_is_read_again_and_not_written_again() {
        use EtcdError as E;
        let unavailable = [
            E::NoLeader,
            E::LeaderChanged,
            E::Timeout,
            E::TimeoutLeaderFailed,
            E::TimeoutConnectionLost,
            E::Stopped,
            E::Unavailable,
        ];
        for error in unavailable {
            assert!(is_safe_retry(error, RetryPolicy::Repeatable), "{error}");
            assert!(!is_safe_retry(error, RetryPolicy::NonRepeatable), "{error}");
        }
        for policy in [RetryPolicy::Repeatable, RetryPolicy::NonRepeatable] {
            assert!(is_safe_retry(E::DeadlineExceeded, policy));
            let finals = [
                E::Compacted,
                E::LeaseNotFound,
                E::TooManyRequests,
                E::Cancelled,
            ];
            for error in finals {
                assert!(!is_safe_retry(error, policy), "{error}");
            }
        }
    }
}
