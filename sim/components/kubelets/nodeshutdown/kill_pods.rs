//! Which pods are killed together when a node shuts down, and how long others wait for them
//! (`pkg/kubelet/nodeshutdown/nodeshutdown_manager.go`, v1.36.2).

use std::time::Duration;

use wavetank_api::Object;
use wavetank_client::wait::{Member, wait_group};
use wavetank_engine::Rx;

use crate::defects::KubeletDefect;
use crate::kubelet::Kubelet;
use crate::notes::KillsPod;
use crate::pod::{self, SYSTEM_CRITICAL_PRIORITY, priority, priority_of_class};
use crate::workers::{StatusAfter, kill_pod_now, timeout_of_kill};

/// `nodeShutdownReason` and `nodeShutdownMessage`
pub(crate) const REASON: &str = "Terminated";
const MESSAGE: &str = "Pod was terminated in response to imminent node shutdown.";

/// `ShutdownGracePeriodByPodPriority`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Period {
    pub priority: i64,
    pub seconds: i64,
}

/// `migrateConfig`: two groups, of which the second has pods that are critical.
pub(crate) fn migrate_config(requested: Duration, critical: Duration) -> Vec<Period> {
    let (Some(default), false) = (requested.checked_sub(critical), requested.is_zero()) else {
        return Vec::new();
    };
    let seconds = |of: Duration| i64::try_from(of.as_secs()).unwrap_or(i64::MAX);
    vec![
        Period {
            priority: 0,
            seconds: seconds(default),
        },
        Period {
            priority: SYSTEM_CRITICAL_PRIORITY,
            seconds: seconds(critical),
        },
    ]
}

/// `periodRequested`
pub(super) fn period_requested(periods: &[Period]) -> Duration {
    let sum: i64 = periods.iter().map(|own| own.seconds).sum();
    Duration::from_secs(sum.unsigned_abs())
}

/// The number of the group of pods with this priority: that of the greatest one which is no greater, or the first.
fn group_of(periods: &[Period], priority: i64) -> usize {
    let greater = periods.iter().position(|own| own.priority > priority);
    greater.unwrap_or(periods.len()).saturating_sub(1)
}

/// `groupByPriority`
fn group_by_priority<'a>(
    periods: &[Period],
    pods: &'a [Object],
    priority: impl Fn(&Object) -> i64,
) -> Vec<(Period, Vec<&'a Object>)> {
    let mut groups: Vec<_> = periods.iter().map(|own| (*own, Vec::new())).collect();
    for pod in pods {
        groups[group_of(periods, priority(pod))].1.push(pod);
    }
    groups
}

impl Kubelet {
    /// `killPods`
    pub(super) async fn kill_pods(&self, rx: Rx, active_pods: &[Object]) {
        let ignores = KubeletDefect::ClassesOfStaticPodsAreIgnored;
        let priority = |pod: &Object| {
            let (own, of_class) = (priority(pod), priority_of_class(pod));
            match own != of_class && self.defects.has(ignores) {
                true => own,
                false => of_class,
            }
        };
        for (period, pods) in group_by_priority(&self.shutdown, active_pods, priority) {
            if pods.is_empty() {
                continue;
            }
            let all = pods.into_iter().map(|pod| {
                let one = self.kill_for_shutdown(rx, pod, period.seconds);
                Box::pin(one) as Member<'_, bool>
            });
            // Who is late goes on, and the next group begins.
            let limit = Duration::from_secs(period.seconds.unsigned_abs());
            let _ = rx.timeout(limit, wait_group(all.collect())).await;
        }
    }

    async fn kill_for_shutdown(&self, rx: Rx, pod: &Object, seconds: i64) -> bool {
        let own = pod::termination_grace_period(pod);
        let grace = own.filter(|own| *own <= seconds).unwrap_or(seconds);
        rx.note(KillsPod {
            pod: pod::pod_ref(pod),
            reason: REASON,
            group: group_of(&self.shutdown, priority_of_class(pod)),
            seconds: seconds.min(timeout_of_kill(grace)),
        });
        let status = StatusAfter {
            reason: REASON,
            message: MESSAGE.into(),
            fails_what_succeeded: false,
            has_phase: !self.defects.has(KubeletDefect::ShutDownPodsDoNotFail),
            has_condition: true,
        };
        kill_pod_now(self, rx, pod, grace, status).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn periods(all: &[(i64, i64)]) -> Vec<Period> {
        let all = all.iter();
        all.map(|(priority, seconds)| Period {
            priority: *priority,
            seconds: *seconds,
        })
        .collect()
    }

    #[test]
    fn critical_pods_have_the_rest_of_the_time() {
        let seconds = Duration::from_secs;
        let own = migrate_config(seconds(30), seconds(10));
        assert_eq!(own, periods(&[(0, 20), (2_000_000_000, 10)]));
        assert_eq!(period_requested(&own), seconds(30));
        assert_eq!(migrate_config(seconds(0), seconds(0)), []);
        assert_eq!(migrate_config(seconds(5), seconds(10)), []);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        /// Groups are ranges of priorities: whoever has a greater one is never killed before.
        #[test]
        fn pods_are_killed_in_the_order_of_their_priorities(
            groups in prop::collection::btree_set(-5_i64..5, 1..4),
            all in prop::collection::vec(-9_i64..9, 0..8),
        ) {
            let own: Vec<(i64, i64)> = groups.iter().map(|own| (*own, 1)).collect();
            let own = periods(&own);
            let pods = all.iter().map(|own| Object::new(json!({"spec": {"priority": own}})));
            let pods: Vec<Object> = pods.collect();
            let found = group_by_priority(&own, &pods, priority);
            let of = |pods: &[&Object]| pods.iter().map(|pod| priority(pod)).collect::<Vec<i64>>();
            prop_assert_eq!(found.iter().map(|(_, pods)| pods.len()).sum::<usize>(), all.len());
            let least = own[0].priority;
            for (at, (period, pods)) in found.iter().enumerate() {
                for priority in of(pods) {
                    prop_assert!(period.priority <= priority.max(least));
                    let next = own.get(at + 1);
                    prop_assert!(next.is_none_or(|next| priority < next.priority));
                }
            }
        }
    }
}
