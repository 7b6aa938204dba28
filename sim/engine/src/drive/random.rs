//! Randomness: ChaCha, one stream a concern. Integers only, so that no platform's arithmetic shows.

use std::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

use crate::time::nanos;

/// One stream of random numbers. What is drawn from it does not depend on any other stream.
#[derive(Clone, Debug)]
pub struct Stream(ChaCha8Rng);

impl Stream {
    /// The stream of `concern` (for example `faults/crash` or `latency/a1`) under `seed`.
    pub fn new(seed: u64, concern: &str) -> Stream {
        // FNV-1a: unlike a digest it stays what it is from build to build, and seeds with it.
        let fnv = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(concern.bytes().fold(0xcbf2_9ce4_8422_2325, fnv));
        Stream(rng)
    }

    /// A number below `bound`, which must not be 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // Multiply and take the high half; the bias is below 2^-32 for every bound used here.
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// A number in `low..=high`.
    pub fn within(&mut self, low: u64, high: u64) -> u64 {
        low + self.below((high.saturating_sub(low)).saturating_add(1).max(1))
    }

    /// True in `per_million` of a million cases.
    pub fn chance(&mut self, per_million: u32) -> bool {
        (u64::from(self.0.next_u32()) * 1_000_000) >> 32 < u64::from(per_million)
    }

    /// A duration in `low..=high`, each order of magnitude (of two) as likely as the next.
    pub fn spread(&mut self, low: Duration, high: Duration) -> Duration {
        let (low, high) = (nanos(low).max(1), nanos(high).max(1));
        let octaves = u64::from((high / low).max(1).ilog2());
        let octave = self.within(0, octaves);
        let from = low << octave;
        let to = from.saturating_mul(2).min(high).max(from);
        Duration::from_nanos(self.within(from, to).clamp(low, high.max(low)))
    }

    /// A duration in `low..=high`, all alike.
    pub fn uniform(&mut self, low: Duration, high: Duration) -> Duration {
        Duration::from_nanos(self.within(nanos(low), nanos(high)))
    }

    /// One of `items`, if there is any.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        match items.len() {
            0 => None,
            n => Some(&items[self.below(n as u64) as usize]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_fixed_for_ever() {
        // A change here changes the meaning of every seed: it must be deliberate.
        let mut stream = Stream::new(7, "faults/crash");
        let drawn: Vec<u64> = (0..4).map(|_| stream.below(1000)).collect();
        let mut again = Stream::new(7, "faults/crash");
        assert_eq!(drawn, (0..4).map(|_| again.below(1000)).collect::<Vec<_>>());
        let mut other = Stream::new(7, "faults/pause");
        assert_ne!(drawn, (0..4).map(|_| other.below(1000)).collect::<Vec<_>>());
    }

    #[test]
    fn spread_stays_within_its_bounds_and_reaches_both_ends() {
        let mut stream = Stream::new(1, "spread");
        let (low, high) = (Duration::from_millis(1), Duration::from_secs(10));
        let drawn: Vec<Duration> = (0..2000).map(|_| stream.spread(low, high)).collect();
        assert!(drawn.iter().all(|d| (low..=high).contains(d)));
        assert!(drawn.iter().any(|d| *d < low * 3));
        assert!(drawn.iter().any(|d| *d > high / 2));
        assert_eq!(stream.spread(high, high), high);
    }
}
