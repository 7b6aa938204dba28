//! How metrics of resources are had (`pkg/controller/podautoscaler/metrics`, v1.36.2: `client.go`, `utilization.go`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use wavetank_api::Stamp;
use wavetank_api::selector::LabelSelector;
use wavetank_components::metrics_servers::{ListPodMetrics, METRICS, PodMetrics, PodMetricsList};
use wavetank_engine::{Payload, ProcId, Rx};

/// The limit of the apiserver that stands between both upstream (`--request-timeout`).
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// `PodMetric`, in thousandths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PodMetric {
    pub timestamp: Stamp,
    pub window: Duration,
    pub value: i64,
}

/// `PodMetricsInfo`, by the names of pods.
pub(super) type PodMetricsInfo = BTreeMap<Arc<str>, PodMetric>;

/// `GetResourceMetric`
///
/// # Errors
/// If there are none, or nobody answers.
pub(super) async fn get_resource_metric(
    rx: Rx,
    server: Option<ProcId>,
    resource: &str,
    selector: &LabelSelector,
) -> Result<PodMetricsInfo, String> {
    let failed = |why: &str| format!("unable to fetch metrics from resource metrics API: {why}");
    let Some(server) = server else {
        let why = "the server could not find the requested resource (get pods.metrics.k8s.io)";
        return Err(failed(why));
    };
    let asked = ListPodMetrics {
        selector: selector.clone(),
    };
    let call = rx.call(&METRICS, server, Payload::new(asked));
    let answer = match rx.timeout(REQUEST_TIMEOUT, call).await {
        Some(Ok(answer)) => answer,
        _ => {
            let why =
                "the server is currently unable to handle the request (get pods.metrics.k8s.io)";
            return Err(failed(why));
        }
    };
    let PodMetricsList(all) = answer.expect();
    if all.is_empty() {
        return Err("no metrics returned from resource metrics API".to_owned());
    }
    // `getPodMetrics`
    let metric = |own: &PodMetrics| {
        let metric = PodMetric {
            timestamp: own.timestamp,
            window: own.window,
            value: *own.usage.get(resource)?,
        };
        Some((own.name.clone(), metric))
    };
    Ok(all.iter().filter_map(metric).collect())
}

/// What `GetResourceUtilizationRatio` comes to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Utilization {
    pub ratio: f64,
    /// In percent of what is requested.
    pub current: i64,
    /// What a pod uses on average.
    pub raw: i64,
}

/// `GetResourceUtilizationRatio`
///
/// # Errors
/// If none of the metrics is of a pod that requests something.
pub(super) fn get_resource_utilization_ratio(
    metrics: &PodMetricsInfo,
    requests: &BTreeMap<Arc<str>, i64>,
    target_utilization: i64,
) -> Result<Utilization, String> {
    let (mut metrics_total, mut requests_total, mut entries) = (0, 0, 0);
    for (pod, metric) in metrics {
        let Some(request) = requests.get(pod) else {
            continue;
        };
        metrics_total += metric.value;
        requests_total += request;
        entries += 1;
    }
    if requests_total == 0 {
        return Err("no metrics returned matched known pods".to_owned());
    }
    let current = metrics_total * 100 / requests_total;
    Ok(Utilization {
        ratio: current as f64 / target_utilization as f64,
        current,
        raw: metrics_total / entries,
    })
}

/// `GetMetricUsageRatio`, and what a pod uses on average.
pub(super) fn get_metric_usage_ratio(metrics: &PodMetricsInfo, target_usage: i64) -> (f64, i64) {
    let total: i64 = metrics.values().map(|metric| metric.value).sum();
    let usage = total / metrics.len() as i64;
    (usage as f64 / target_usage as f64, usage)
}
