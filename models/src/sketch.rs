//! How many different states several searches have been at together, without all of their fingerprints: the smallest ones of
//! each say it, exactly where there are no more, and nearly where there are (*k minimum values*: Z. Bar-Yossef et al., *Counting
//! distinct elements in a data stream*, RANDOM 2002).

use std::collections::BTreeSet;

use wavetank_engine::Digest;

use crate::seen::Seen;

/// So many are kept: the estimate is off by a hundredth or so.
const KEPT: usize = 1 << 14;

/// The smallest fingerprints of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sketch(BTreeSet<Digest>);

impl Sketch {
    /// Those of all states that were seen.
    pub(crate) fn of(seen: &Seen) -> Sketch {
        let mut sketch = Sketch::default();
        seen.each(|digest| sketch.add(digest));
        sketch
    }

    /// One that was kept.
    pub fn from_digests(digests: impl IntoIterator<Item = Digest>) -> Sketch {
        let mut sketch = Sketch::default();
        digests.into_iter().for_each(|digest| sketch.add(digest));
        sketch
    }

    /// What to keep of it.
    pub fn digests(&self) -> impl Iterator<Item = Digest> + '_ {
        self.0.iter().copied()
    }

    /// Those of both.
    pub fn merge(&mut self, other: &Sketch) {
        other.digests().for_each(|digest| self.add(digest));
    }

    /// How many states there are, and whether that is exact.
    pub fn count(&self) -> (u64, bool) {
        match self.0.last() {
            Some(largest) if self.0.len() == KEPT => {
                let share = (*largest as f64 + 1.0) / (Digest::MAX as f64 + 1.0);
                (((KEPT - 1) as f64 / share) as u64, false)
            }
            _ => (self.0.len() as u64, true),
        }
    }

    fn add(&mut self, digest: Digest) {
        if self.0.len() < KEPT {
            self.0.insert(digest);
        } else if self.0.last().is_some_and(|largest| digest < *largest) && self.0.insert(digest) {
            self.0.pop_last();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As fingerprints are: spread over all numbers.
    fn spread(range: std::ops::Range<u64>) -> Sketch {
        Sketch::from_digests(range.map(|n| wavetank_engine::digest(&n)))
    }

    #[test]
    fn few_are_counted_exactly() {
        let mut all = spread(0..3_000);
        all.merge(&spread(2_000..5_000));
        assert_eq!(all.count(), (5_000, true));
    }

    #[test]
    fn many_are_counted_nearly() {
        let mut all = spread(0..300_000);
        all.merge(&spread(100_000..400_000));
        let (count, exact) = all.count();
        assert!(!exact && (388_000..412_000).contains(&count), "{count}");
        assert_eq!(
            all.count(),
            spread(0..400_000).count(),
            "nothing but the states matters"
        );
    }
}
