//! Static pods of one full name start one after another, in the order in which the workers heard of them. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::runtime::cri::Uid;

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Line {
    /// `startedStaticPodsByFullname`
    started: BTreeMap<Arc<str>, Uid>,
    /// `waitingToStartStaticPodsByFullname`
    waiting: BTreeMap<Arc<str>, Vec<Uid>>,
}

impl Line {
    pub(super) fn started(&self, name: &str) -> Option<&Uid> {
        self.started.get(name)
    }

    pub(super) fn joins(&mut self, name: &Arc<str>, uid: &Uid) {
        self.waiting
            .entry(name.clone())
            .or_default()
            .push(uid.clone());
    }

    /// One that has ended, or never began, is no more in the way of others.
    pub(super) fn leaves(&mut self, name: Option<&Arc<str>>, uid: &str) {
        if let Some(name) = name
            && self.started(name).is_some_and(|own| **own == *uid)
        {
            self.started.remove(name);
        }
    }

    /// `allowStaticPodStart`: those before it that are over do not count.
    pub(super) fn allow_static_pod_start(
        &mut self,
        name: &Arc<str>,
        uid: &Uid,
        is_over: impl Fn(&Uid) -> bool,
    ) -> bool {
        if let Some(started) = self.started(name) {
            return started == uid;
        }
        let waiting = self.waiting.remove(name).unwrap_or_default();
        let next = waiting.iter().position(|own| !is_over(own));
        let is_next = next.is_none_or(|at| waiting[at] == *uid);
        let left = match next {
            Some(at) if is_next => &waiting[at + 1..],
            Some(at) => &waiting[at..],
            None => &[],
        };
        if !left.is_empty() {
            self.waiting.insert(name.clone(), left.to_vec());
        }
        if is_next {
            self.started.insert(name.clone(), uid.clone());
        }
        is_next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_starts_at_a_time_and_those_that_are_over_are_passed() {
        let name: Arc<str> = "web_default".into();
        let [a, b, c] = ["a", "b", "c"].map(Uid::from);
        let mut own = Line::default();
        for uid in [&a, &b, &c] {
            own.joins(&name, uid);
        }
        let over_b = |own: &Uid| **own == *"b";
        assert!(!own.allow_static_pod_start(&name, &c, over_b));
        assert!(own.allow_static_pod_start(&name, &a, over_b));
        assert!(!own.allow_static_pod_start(&name, &c, over_b));
        own.leaves(Some(&name), &a);
        assert!(own.allow_static_pod_start(&name, &c, over_b));
        assert_eq!(own.waiting, BTreeMap::new());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Whoever asks in which order, they start in the order in which they came, and all of them.
        #[test]
        fn they_start_in_their_order(asks in prop::collection::vec(0_usize..4, 1..40)) {
            let name: Arc<str> = "web_default".into();
            let all = ["a", "b", "c", "d"].map(Uid::from);
            let mut own = Line::default();
            all.iter().for_each(|uid| own.joins(&name, uid));
            let mut next = 0;
            for ask in asks {
                let may = own.allow_static_pod_start(&name, &all[ask], |_| false);
                prop_assert_eq!(may, ask == next);
                if may {
                    own.leaves(Some(&name), &all[ask]);
                    next += 1;
                }
                if next == all.len() {
                    break;
                }
            }
        }
    }
}
