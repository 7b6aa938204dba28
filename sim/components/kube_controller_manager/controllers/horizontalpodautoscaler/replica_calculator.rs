//! How many replicas a metric asks for (`pkg/controller/podautoscaler/replica_calculator.go`, v1.36.2). Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use wavetank_api::quota::milli_value;
use wavetank_api::{Json, Stamp, Stored, json};
use wavetank_version::Set;

use super::defects::HorizontalPodAutoscalerDefect as Bug;
use super::metrics::{
    PodMetric, PodMetricsInfo, get_metric_usage_ratio, get_resource_utilization_ratio,
};

/// `--horizontal-pod-autoscaler-cpu-initialization-period`, in seconds.
const CPU_INITIALIZATION_PERIOD: i64 = 5 * 60;
/// `--horizontal-pod-autoscaler-initial-readiness-delay`, in seconds.
const DELAY_OF_INITIAL_READINESS_STATUS: i64 = 30;

/// `Tolerances`
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Tolerances {
    pub scale_down: f64,
    pub scale_up: f64,
}

impl Tolerances {
    /// `isWithin`
    fn is_within(self, usage_ratio: f64) -> bool {
        (1.0 - self.scale_down..=1.0 + self.scale_up).contains(&usage_ratio)
    }
}

/// What a metric is to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Target {
    /// In percent of what pods request.
    Utilization(i64),
    /// On average, in thousandths.
    AverageValue(i64),
}

/// What it is calculated from.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReplicaCalculator<'a> {
    pub current_replicas: i64,
    pub target: Target,
    pub resource: &'a str,
    pub tolerances: Tolerances,
    /// The pods that are selected.
    pub pods: &'a [Stored],
    pub now: Stamp,
    pub defects: Set<Bug>,
}

/// What comes of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Calculated {
    pub replicas: i64,
    /// In percent, where that is the target.
    pub utilization: Option<i64>,
    /// What a pod uses on average, in thousandths.
    pub raw: i64,
    /// Of so many pods there is no metric.
    pub missing: i64,
}

/// `groupPods`
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Grouped {
    ready: i64,
    unready: BTreeSet<Arc<str>>,
    missing: BTreeSet<Arc<str>>,
    ignored: BTreeSet<Arc<str>>,
}

fn phase(pod: &Stored) -> &str {
    json::text(pod.object.json(), &["status", "phase"])
}

/// Is what a pod uses of the processor not to be believed yet?
fn is_unready(pod: &Json, metric: &PodMetric, now: Stamp) -> bool {
    let mut conditions = json::list(pod, &["status", "conditions"]).iter();
    let ready = conditions.find(|own| own["type"] == "Ready");
    let started = Stamp::parse(json::text(pod, &["status", "startTime"]));
    let (Some(ready), Some(started)) = (ready, started) else {
        return true;
    };
    let is_false = ready["status"] == "False";
    let Some(changed) = Stamp::parse(json::text(ready, &["lastTransitionTime"])) else {
        return is_false;
    };
    match started.plus_seconds(CPU_INITIALIZATION_PERIOD) > now {
        true => {
            let window = metric.window.as_secs() as i64;
            is_false || metric.timestamp < changed.plus_seconds(window)
        }
        false => is_false && started.plus_seconds(DELAY_OF_INITIAL_READINESS_STATUS) > changed,
    }
}

impl ReplicaCalculator<'_> {
    /// `groupPods`
    fn group_pods(&self, metrics: &PodMetricsInfo) -> Grouped {
        let mut grouped = Grouped::default();
        for pod in self.pods {
            let name: Arc<str> = pod.object.name().into();
            let failed = phase(pod) == "Failed";
            if failed && self.defects.has(Bug::FailedPodsAreUnready) {
                grouped.unready.insert(name);
            } else if pod.object.is_being_deleted() || failed {
                grouped.ignored.insert(name);
            } else if phase(pod) == "Pending" {
                grouped.unready.insert(name);
            } else {
                let Some(metric) = metrics.get(&name) else {
                    grouped.missing.insert(name);
                    continue;
                };
                let looks = self.resource == "cpu" && !self.defects.has(Bug::UnreadyPodsCount);
                match looks && is_unready(pod.object.json(), metric, self.now) {
                    true => drop(grouped.unready.insert(name)),
                    false => grouped.ready += 1,
                }
            }
        }
        grouped
    }

    /// Upstream's `calculateRequests`, by the containers of each pod.
    fn calculate_requests(&self) -> Result<BTreeMap<Arc<str>, i64>, String> {
        let request = |pod: &Stored| {
            let json = pod.object.json();
            let beside = json::list(json, &["spec", "initContainers"]).iter();
            let beside = beside.filter(|own| own["restartPolicy"] == "Always");
            let containers = json::list(json, &["spec", "containers"]).iter();
            let requests = containers.chain(beside).map(|container| {
                let request = json::at(container, &["resources", "requests", self.resource]);
                request.and_then(milli_value).ok_or_else(|| {
                    let (resource, name) = (self.resource, pod.object.name());
                    let of = json::text(container, &["name"]);
                    format!("missing request for {resource} in container {of} of Pod {name}")
                })
            });
            let sum: Result<i64, String> = requests.sum();
            Ok((pod.object.name().into(), sum?))
        };
        self.pods.iter().map(request).collect()
    }

    /// `GetResourceReplicas`, and `calcPlainMetricReplicas` for what pods use on average: they differ in what the ratio is of,
    /// and in what pods are taken to use of which there is no metric.
    ///
    /// # Errors
    /// If no pod has a metric that counts.
    pub fn get_resource_replicas(&self, mut metrics: PodMetricsInfo) -> Result<Calculated, String> {
        if self.pods.is_empty() {
            return Err("no pods returned by selector while calculating replica count".to_owned());
        }
        if self.defects.has(Bug::FixKnownPodsCount) {
            let known: BTreeSet<&str> = self.pods.iter().map(|pod| pod.object.name()).collect();
            metrics.retain(|pod, _| known.contains(&**pod));
        }
        let grouped = self.group_pods(&metrics);
        let left_out =
            |pod: &Arc<str>| grouped.ignored.contains(pod) || grouped.unready.contains(pod);
        metrics.retain(|pod, _| !left_out(pod));
        if metrics.is_empty() {
            let why = "did not receive metrics for targeted pods (pods might be unready)";
            return Err(why.to_owned());
        }
        let requests = match self.target {
            Target::Utilization(_) => self.calculate_requests()?,
            Target::AverageValue(_) => BTreeMap::new(),
        };
        let (usage_ratio, mut calculated) = self.usage_ratio(&metrics, &requests)?;
        calculated.missing = grouped.missing.len() as i64;
        let scale_up_with_unready = !grouped.unready.is_empty() && usage_ratio > 1.0;
        if !scale_up_with_unready && grouped.missing.is_empty() {
            if !self.tolerances.is_within(usage_ratio) {
                calculated.replicas = (usage_ratio * grouped.ready as f64).ceil() as i64;
            }
            return Ok(calculated);
        }
        for pod in &grouped.missing {
            let value = if usage_ratio < 1.0 {
                self.value_of_missing(requests.get(pod).copied())
            } else if usage_ratio > 1.0 {
                0
            } else {
                continue;
            };
            metrics.insert(pod.clone(), self.assumed(value));
        }
        if scale_up_with_unready {
            let unready = grouped.unready.iter().cloned();
            metrics.extend(unready.map(|pod| (pod, self.assumed(0))));
        }
        let (new_ratio, _) = self.usage_ratio(&metrics, &requests)?;
        let turns =
            (usage_ratio < 1.0 && new_ratio > 1.0) || (usage_ratio > 1.0 && new_ratio < 1.0);
        if self.tolerances.is_within(new_ratio) || turns {
            return Ok(calculated);
        }
        let new_replicas = (new_ratio * metrics.len() as f64).ceil() as i64;
        let current = self.current_replicas;
        let turns = (new_ratio < 1.0 && new_replicas > current)
            || (new_ratio > 1.0 && new_replicas < current);
        if !turns {
            calculated.replicas = new_replicas;
        }
        Ok(calculated)
    }

    /// What a pod is taken to use of which there is no metric, where fewer replicas would do.
    fn value_of_missing(&self, request: Option<i64>) -> i64 {
        if self.defects.has(Bug::MissingPodsUseNothing) {
            return 0;
        }
        match self.target {
            Target::Utilization(target) => request.unwrap_or(0) * target.max(100) / 100,
            Target::AverageValue(target) => target,
        }
    }

    fn assumed(&self, value: i64) -> PodMetric {
        PodMetric {
            timestamp: self.now,
            window: std::time::Duration::ZERO,
            value,
        }
    }

    /// How far what is used is from what is to be used, and what is told of it: the replicas stay.
    fn usage_ratio(
        &self,
        metrics: &PodMetricsInfo,
        requests: &BTreeMap<Arc<str>, i64>,
    ) -> Result<(f64, Calculated), String> {
        let (ratio, utilization, raw) = match self.target {
            Target::Utilization(target) => {
                let own = get_resource_utilization_ratio(metrics, requests, target)?;
                (own.ratio, Some(own.current), own.raw)
            }
            Target::AverageValue(target) => {
                let (ratio, usage) = get_metric_usage_ratio(metrics, target);
                (ratio, None, usage)
            }
        };
        let calculated = Calculated {
            replicas: self.current_replicas,
            utilization,
            raw,
            missing: 0,
        };
        Ok((ratio, calculated))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::time::Duration;
    use wavetank_api::Object;

    fn stamp(text: &str) -> Stamp {
        Stamp::parse(text).expect("an instant")
    }

    fn pod(name: &str, phase: &str, ready: &str) -> Stored {
        Stored {
            resource_version: 1,
            object: Object::new(json!({
                "metadata": {"name": name},
                "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "100m"}}}]},
                "status": {
                    "phase": phase, "startTime": "2026-01-01T00:00:00Z",
                    "conditions": [{
                        "type": "Ready", "status": ready, "lastTransitionTime": "2026-01-01T00:00:10Z",
                    }],
                },
            })),
        }
    }

    /// What pods use, in thousandths, and what comes of it if half of what they request is to be used.
    fn replicas(pods: &[Stored], used: &[(&str, i64)], defects: Set<Bug>) -> i64 {
        let asked_for = pods.iter().filter(|pod| phase(pod) != "Failed").count();
        let measured = |(name, value): &(&str, i64)| {
            let metric = PodMetric {
                timestamp: stamp("2026-01-01T00:01:00Z"),
                window: Duration::from_secs(15),
                value: *value,
            };
            (Arc::from(*name), metric)
        };
        let calculator = ReplicaCalculator {
            current_replicas: asked_for as i64,
            target: Target::Utilization(50),
            resource: "cpu",
            tolerances: Tolerances {
                scale_down: 0.1,
                scale_up: 0.1,
            },
            pods,
            now: stamp("2026-01-01T00:01:05Z"),
            defects,
        };
        let metrics = used.iter().map(measured).collect();
        let calculated = calculator.get_resource_replicas(metrics);
        calculated.expect("there are metrics").replicas
    }

    #[test]
    fn replicas_follow_use_beyond_the_tolerance() {
        let pods = [pod("a", "Running", "True"), pod("b", "Running", "True")];
        let both = |own| replicas(&pods, &[("a", own), ("b", own)], Set::NONE);
        assert_eq!([both(100), both(54), both(56), both(25)], [4, 2, 3, 1]);
    }

    #[test]
    fn what_is_missing_or_unready_makes_it_careful() {
        let pods = [
            pod("a", "Running", "True"),
            pod("b", "Running", "True"),
            pod("c", "Pending", "False"),
        ];
        let none = Set::NONE;
        assert_eq!(replicas(&pods, &[("a", 100), ("b", 100)], none), 4);
        assert_eq!(replicas(&pods[..2], &[("a", 10)], none), 2, "b may use all");
        let wrong = none.with(Bug::MissingPodsUseNothing, true);
        assert_eq!(replicas(&pods[..2], &[("a", 10)], wrong), 1);
    }

    #[test]
    fn pods_that_are_gone_count_until_they_are_not_measured() {
        let pods = [pod("a", "Running", "True"), pod("b", "Running", "True")];
        let used = [("a", 150), ("gone", 0), ("gone-too", 0)];
        assert_eq!(replicas(&pods, &used, Set::NONE), 6, "finding 63");
        let right = Set::NONE.with(Bug::FixKnownPodsCount, true);
        assert_eq!(replicas(&pods, &used, right), 3);
    }

    #[test]
    fn failed_pods_do_not_slow_it_down() {
        let pods = [
            pod("a", "Running", "True"),
            pod("b", "Failed", "False"),
            pod("c", "Failed", "False"),
        ];
        assert_eq!(replicas(&pods, &[("a", 140)], Set::NONE), 3);
        let wrong = Set::NONE.with(Bug::FailedPodsAreUnready, true);
        assert_eq!(
            replicas(&pods, &[("a", 140)], wrong),
            1,
            "they seem to help"
        );
    }
}
