//! Which of what a manager has asked for may have been stored last. Requests of one manager may overlap: then they are stored
//! in any order, and answered in any other.

use std::collections::{BTreeMap, BTreeSet};

/// What a manager has applied to an object; each value is asked for once.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Own {
    /// The newest value that was answered, and the uid of the object that has it.
    pub applied: Option<(String, u64)>,
    /// What was asked for and not answered, each with what had been answered before it was asked for. It may be stored at any
    /// time.
    asked: BTreeMap<u64, BTreeSet<u64>>,
    /// What was answered, and may have been stored after all else.
    answered: BTreeSet<u64>,
}

impl Own {
    pub fn asks(&mut self, value: u64) {
        self.asked.insert(value, self.answered.clone());
    }

    pub fn has_applied(&mut self, uid: &str, value: u64) {
        // What had been answered before it was asked for was stored before it.
        let before = self.asked.remove(&value).unwrap_or_default();
        self.answered.retain(|own| !before.contains(own));
        self.answered.insert(value);
        if self.applied.as_ref().is_none_or(|(_, last)| *last < value) {
            self.applied = Some((uid.to_owned(), value));
        }
    }

    pub fn may_be_last(&self, value: u64) -> bool {
        self.answered.contains(&value) || self.asked.contains_key(&value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_after_another_the_last_one_counts() {
        let mut own = Own::default();
        own.asks(1);
        assert!(own.may_be_last(1), "it may be stored already");
        own.has_applied("u", 1);
        own.asks(2);
        own.has_applied("u", 2);
        assert!(own.may_be_last(2) && !own.may_be_last(1));
    }

    #[test]
    fn of_two_that_overlap_either_may_be_stored_last() {
        for answers in [[1, 2], [2, 1]] {
            let mut own = Own::default();
            own.asks(1);
            own.asks(2);
            for value in answers {
                own.has_applied("u", value);
            }
            assert!(own.may_be_last(1) && own.may_be_last(2), "{answers:?}");
            // Both were stored before this one was asked for.
            own.asks(3);
            own.has_applied("u", 3);
            assert!(!own.may_be_last(1) && !own.may_be_last(2) && own.may_be_last(3));
        }
    }

    #[test]
    fn what_is_never_answered_may_be_stored_at_any_time() {
        let mut own = Own::default();
        own.asks(1);
        own.asks(2);
        own.has_applied("u", 2);
        own.asks(3);
        own.has_applied("u", 3);
        assert!(own.may_be_last(1) && !own.may_be_last(2));
    }
}
