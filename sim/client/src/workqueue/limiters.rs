//! How long an item that failed has to wait (`default_rate_limiters.go`): per item twice as long each time,
//! and all together no more than a bucket gives. The longer delay counts.

use std::collections::BTreeMap;
use std::time::Duration;
use wavetank_engine::mutant;

/// The first delay of an item, by default.
pub const ITEM_FIRST: Duration = Duration::from_millis(5);
/// The longest, by default.
pub const ITEM_LONGEST: Duration = Duration::from_secs(1000);
/// What the bucket holds.
const BURST: u32 = 100;

/// `ItemExponentialFailureRateLimiter`: 5 ms × 2ⁿ, up to 1000 s.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ItemBackoff<T> {
    failures: BTreeMap<T, u32>,
}

impl<T> Default for ItemBackoff<T> {
    fn default() -> Self {
        ItemBackoff {
            failures: BTreeMap::new(),
        }
    }
}

impl<T: Ord> ItemBackoff<T> {
    /// `When`
    pub fn when(&mut self, item: T) -> Duration {
        self.when_from(item, ITEM_FIRST)
    }

    /// The same with another first delay.
    pub fn when_from(&mut self, item: T, first: Duration) -> Duration {
        let failures = self.failures.entry(item).or_default();
        let factor = 1_u32.checked_shl(*failures).unwrap_or(u32::MAX);
        *failures += u32::from(!mutant!(
            "no-back-off",
            "an item that fails again and again does not wait longer"
        ));
        first.saturating_mul(factor).min(ITEM_LONGEST)
    }

    /// `Forget`
    pub fn forget(&mut self, item: &T) {
        self.failures.remove(item);
    }

    /// `NumRequeues`
    pub fn num_requeues(&self, item: &T) -> u32 {
        self.failures.get(item).copied().unwrap_or(0)
    }
}

/// `BucketRateLimiter`: 10 a second, 100 at once. Free of time: while [`Bucket::is_full`] is false its
/// owner calls [`Bucket::refill`] every [`Bucket::EVERY`]. A delay is then up to so much too long.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Bucket {
    /// How many were taken and are not refilled; above [`BURST`] they were promised.
    taken: u32,
}

impl Bucket {
    /// How long it takes to refill one.
    pub const EVERY: Duration = Duration::from_millis(100);

    /// `Reserve`, and the delay of what was reserved.
    pub fn reserve(&mut self) -> Duration {
        self.taken += 1;
        Bucket::EVERY * self.taken.saturating_sub(BURST)
    }

    /// One more.
    pub fn refill(&mut self) {
        self.taken = self.taken.saturating_sub(1);
    }

    /// Is there nothing to refill?
    pub fn is_full(&self) -> bool {
        self.taken == 0
    }
}

/// `DefaultControllerRateLimiter`: the longer of both.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Limiter<T> {
    /// Per item.
    pub items: ItemBackoff<T>,
    /// Of all.
    pub bucket: Bucket,
}

impl<T> Default for Limiter<T> {
    fn default() -> Self {
        Limiter {
            items: ItemBackoff::default(),
            bucket: Bucket::default(),
        }
    }
}

impl<T: Ord> Limiter<T> {
    /// `When`
    pub fn when(&mut self, item: T) -> Duration {
        self.when_within(item, ITEM_FIRST, ITEM_LONGEST)
    }

    /// The same where an item waits so long at first, and never longer than this.
    pub fn when_within(&mut self, item: T, first: Duration, longest: Duration) -> Duration {
        self.items
            .when_from(item, first)
            .min(longest)
            .max(self.bucket.reserve())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_item_waits_twice_as_long_each_time() {
        let mut limiter = ItemBackoff::default();
        let delays: Vec<u128> = (0..4).map(|_| limiter.when("a").as_millis()).collect();
        assert_eq!(delays, [5, 10, 20, 40]);
        for _ in 0..40 {
            limiter.when("a");
        }
        assert_eq!(limiter.when("a"), ITEM_LONGEST);
        assert_eq!(
            (limiter.when("b").as_millis(), limiter.num_requeues(&"a")),
            (5, 45)
        );
        limiter.forget(&"a");
        assert_eq!(limiter.when("a").as_millis(), 5);
    }

    #[test]
    fn a_queue_has_a_first_and_a_longest_delay_of_its_own() {
        let (first, longest) = (Duration::from_secs(1), Duration::from_secs(3));
        let mut limiter = Limiter::default();
        let mut seconds = || limiter.when_within("a", first, longest).as_secs();
        assert_eq!([seconds(), seconds(), seconds(), seconds()], [1, 2, 3, 3]);
    }

    #[test]
    fn the_longer_delay_counts() {
        let mut limiter = Limiter::default();
        for item in 0..100 {
            assert_eq!(limiter.when(item).as_millis(), 5);
        }
        assert_eq!(limiter.when(100).as_millis(), 100);
        assert_eq!(limiter.when(101).as_millis(), 200);
    }

    proptest! {
        /// Against `golang.org/x/time/rate` with a clock of 100 ms: tokens that may become negative.
        #[test]
        fn the_bucket_is_a_token_bucket(steps in prop::collection::vec((0..40u32, 0..150u32), 1..20)) {
            let mut bucket = Bucket::default();
            let mut tokens = i64::from(BURST);
            for (ticks, reserved) in steps {
                for _ in 0..ticks {
                    tokens = (tokens + 1).min(i64::from(BURST));
                    bucket.refill();
                }
                for _ in 0..reserved {
                    tokens -= 1;
                    let wait = Bucket::EVERY * u32::try_from((-tokens).max(0)).unwrap();
                    prop_assert_eq!(bucket.reserve(), wait);
                }
                prop_assert_eq!(bucket.is_full(), tokens == i64::from(BURST));
            }
        }
    }
}
