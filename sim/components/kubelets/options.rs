//! Keys of scenario files: whether there are static pods, how long a node may take to shut down, and when it
//! evicts pods.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wavetank_component::values::Duration as Written;
use wavetank_component::{Mistakes, Part, Section, Spec};

use crate::eviction::{Config, Threshold};
use crate::nodeshutdown::{Period, migrate_config};

fn is_false(own: &bool) -> bool {
    !own
}

/// Of `options`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Options {
    /// Whether kubelets run static pods: manifests on the disks of their nodes, which `use-manifests` changes.
    #[serde(skip_serializing_if = "is_false")]
    pub static_pods: bool,
    /// How long the shutdown of a node may take (`shutdownGracePeriod`); without it kubelets do not heed shutdowns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shutdown_grace_period: Option<Written>,
    /// How much of that is for critical pods, which are killed last (`shutdownGracePeriodCriticalPods`); without it 0s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shutdown_grace_period_critical_pods: Option<Written>,
    /// The same for any groups of pods (`shutdownGracePeriodByPodPriority`): how long those have whose priority is this one or
    /// greater, up to that of the next group.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shutdown_grace_period_by_pod_priority: Vec<ByPodPriority>,
    /// With less memory than this a node evicts a pod at once (`memory.available` of `evictionHard`, in Mi); without it none is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eviction_hard_memory: Option<u32>,
    /// With less memory than this for a while it evicts a pod in its grace period (the same of `evictionSoft`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eviction_soft_memory: Option<u32>,
    /// How long that while is (`evictionSoftGracePeriod`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eviction_soft_grace_period: Option<Written>,
    /// How much more than a threshold there has to be until it is not met any more (`evictionMinimumReclaim`, in Mi).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eviction_minimum_reclaim: Option<u32>,
    /// How many seconds of its grace period a pod has that is evicted after a while (`evictionMaxPodGracePeriod`); without it 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eviction_max_pod_grace_period: Option<u32>,
    /// How long a node says that there is pressure after it has seen that last (`evictionPressureTransitionPeriod`); without it 5m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eviction_pressure_transition_period: Option<Written>,
}

/// A group of pods.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ByPodPriority {
    /// The least priority in it.
    pub priority: i32,
    /// How long its pods have, in seconds.
    pub shutdown_grace_period_seconds: u32,
}

impl Part for Options {
    const SECTION: Section = Section::Options;
}

/// `evictionPressureTransitionPeriod` where it is not given.
const TRANSITION_PERIOD: Duration = Duration::from_secs(300);
const BY_PRIORITY: &str = "shutdown-grace-period-by-pod-priority";

impl Options {
    /// The groups in which a shutdown kills pods; none where it is not heeded.
    pub(crate) fn shutdown(&self) -> Vec<Period> {
        let of = |own: Option<Written>| {
            own.map_or(Duration::ZERO, |own| Duration::from_nanos(own.nanos()))
        };
        if self.shutdown_grace_period_by_pod_priority.is_empty() {
            return migrate_config(
                of(self.shutdown_grace_period),
                of(self.shutdown_grace_period_critical_pods),
            );
        }
        let all = self.shutdown_grace_period_by_pod_priority.iter();
        let all = all.map(|own| Period {
            priority: i64::from(own.priority),
            seconds: i64::from(own.shutdown_grace_period_seconds),
        });
        let mut all: Vec<Period> = all.collect();
        all.sort_by_key(|own| own.priority);
        all
    }

    /// What is watched of memory.
    pub(crate) fn eviction(&self) -> Config {
        let of = |own: Option<Written>| own.map(|own| Duration::from_nanos(own.nanos()));
        let threshold = |value: u32, grace_period_seconds| Threshold {
            value: i64::from(value),
            grace_period_seconds,
            min_reclaim: i64::from(self.eviction_minimum_reclaim.unwrap_or(0)),
        };
        let soft = of(self.eviction_soft_grace_period).unwrap_or_default();
        let lasts = of(self.eviction_pressure_transition_period);
        Config {
            hard: self.eviction_hard_memory.map(|own| threshold(own, 0)),
            soft: self
                .eviction_soft_memory
                .map(|own| threshold(own, soft.as_secs())),
            pressure_transition_period: lasts.unwrap_or(TRANSITION_PERIOD),
            max_pod_grace_period_seconds: i64::from(
                self.eviction_max_pod_grace_period.unwrap_or(0),
            ),
        }
    }

    /// Which of the keys of shutdowns and evictions are given.
    fn given(&self) -> Vec<&'static str> {
        let all = [
            ("eviction-hard-memory", self.eviction_hard_memory.is_some()),
            ("eviction-soft-memory", self.eviction_soft_memory.is_some()),
            (
                "eviction-soft-grace-period",
                self.eviction_soft_grace_period.is_some(),
            ),
            (
                "eviction-minimum-reclaim",
                self.eviction_minimum_reclaim.is_some(),
            ),
            (
                "eviction-max-pod-grace-period",
                self.eviction_max_pod_grace_period.is_some(),
            ),
            (
                "eviction-pressure-transition-period",
                self.eviction_pressure_transition_period.is_some(),
            ),
            (
                "shutdown-grace-period",
                self.shutdown_grace_period.is_some(),
            ),
            (
                "shutdown-grace-period-critical-pods",
                self.shutdown_grace_period_critical_pods.is_some(),
            ),
            (
                BY_PRIORITY,
                !self.shutdown_grace_period_by_pod_priority.is_empty(),
            ),
        ];
        let given = all.into_iter().filter(|(_, given)| *given);
        given.map(|(key, _)| key).collect()
    }
}

/// What is wrong with these keys, as upstream's `ValidateKubeletConfiguration` finds it.
pub(crate) fn check(spec: &Spec, has_kubelets: bool, mistakes: &mut Mistakes) {
    let options: Options = spec.part();
    let given = options.given();
    let mut wrong = |key, message: &str, help: &str| {
        mistakes.key(Section::Options, key, message, help.to_owned());
    };
    if !has_kubelets {
        for key in given {
            let message = format!("`{key}` is for kubelets, and there are none");
            wrong(key, &message, &format!("remove `{key}`"));
        }
        return;
    }
    let other = [
        "shutdown-grace-period",
        "shutdown-grace-period-critical-pods",
    ];
    let other = other.iter().find(|key| given.contains(*key));
    if let Some(other) = other.filter(|_| given.contains(&BY_PRIORITY)) {
        let message = "the time for a shutdown is given in two ways";
        wrong(BY_PRIORITY, message, &format!("remove `{other}`"));
    }
    let soft = ["eviction-soft-memory", "eviction-soft-grace-period"];
    if soft.iter().filter(|key| given.contains(*key)).count() == 1 {
        let [is, lacks] = match given.contains(&soft[0]) {
            true => soft,
            false => [soft[1], soft[0]],
        };
        let message = format!("`{is}` is of no use without `{lacks}`");
        wrong(is, &message, &format!("add `{lacks}`, or remove `{is}`"));
    }
    let seconds = |own: Option<Written>| {
        let own = own.map_or(0, Written::nanos);
        let is_short = own > 0 && own < 1_000_000_000;
        (own, is_short)
    };
    let (all, all_is_short) = seconds(options.shutdown_grace_period);
    let (critical, critical_is_short) = seconds(options.shutdown_grace_period_critical_pods);
    for (key, is_short) in [
        ("shutdown-grace-period", all_is_short),
        ("shutdown-grace-period-critical-pods", critical_is_short),
    ] {
        if is_short {
            wrong(key, "it is either 0s or at least 1s", "write 1s or more");
        }
    }
    if critical > all {
        let message = "critical pods have more time than there is";
        wrong(
            "shutdown-grace-period-critical-pods",
            message,
            "make it shorter than `shutdown-grace-period`",
        );
    }
    let mut priorities: Vec<i32> = options
        .shutdown_grace_period_by_pod_priority
        .iter()
        .map(|own| own.priority)
        .collect();
    priorities.sort_unstable();
    let count = priorities.len();
    priorities.dedup();
    if priorities.len() < count {
        let message = "two groups begin with one priority";
        wrong(BY_PRIORITY, message, "give each another priority");
    }
}
