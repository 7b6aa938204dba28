//! What the metrics of an autoscaler ask for (`computeReplicasForMetrics` and what it calls, v1.36.2).

use wavetank_api::quota::milli_value;
use wavetank_api::selector::LabelSelector;
use wavetank_api::{Json, Stamp, Stored, json};
use wavetank_engine::Rx;

use super::controller::HorizontalController;
use super::defects::HorizontalPodAutoscalerDefect as Bug;
use super::metrics::get_resource_metric;
use super::notes::IsAmbiguous;
use super::reconcile::Look;
use super::replica_calculator::{Calculated, ReplicaCalculator, Target, Tolerances};
use super::selectors;
use super::status::{resource_metric_status, set_condition};

/// `--horizontal-pod-autoscaler-tolerance`
const TOLERANCE: f64 = 0.1;

/// What all metrics come to.
#[derive(Clone, Debug)]
pub(super) struct Computed {
    pub replicas: i64,
    /// The metric that asks for so many.
    pub metric: String,
    pub statuses: Vec<Json>,
    /// So many could not be had.
    pub invalid: usize,
    /// Of the metrics that could be had: how many pods lack one, at most.
    pub missing: i64,
    /// When the oldest sample was taken.
    pub sampled: Stamp,
}

/// Why they come to nothing, and what there is to be said of those that could be had.
#[derive(Clone, Debug)]
pub(super) struct Failed {
    pub statuses: Option<Vec<Json>>,
}

/// What one metric asks for.
struct Proposal {
    calculated: Calculated,
    metric: String,
    status: Json,
    sampled: Stamp,
}

/// Why it cannot be had: the reason of the condition, and its message.
type Unable = (String, String);

/// `tolerancesForHpa`
fn tolerances_for_hpa(spec: &Json) -> Tolerances {
    let of = |direction| {
        let own = json::at(spec, &["behavior", direction, "tolerance"]);
        let milli = own.and_then(milli_value);
        milli.map_or(TOLERANCE, |milli| milli as f64 / 1000.0)
    };
    Tolerances {
        scale_down: of("scaleDown"),
        scale_up: of("scaleUp"),
    }
}

impl HorizontalController {
    /// The pods of a namespace that a selector selects.
    fn selected(&self, rx: Rx, namespace: &str, selector: &LabelSelector) -> Vec<Stored> {
        let mut pods = self.pods.list(rx);
        pods.retain(|pod| {
            pod.object.namespace() == namespace && selector.matches(pod.object.json())
        });
        pods
    }

    /// `validateAndParseSelector`
    ///
    /// # Errors
    /// If there is no selector, or other autoscalers select the same pods: a condition says so.
    pub(super) async fn validate_and_parse_selector(
        &self,
        rx: Rx,
        look: &mut Look,
    ) -> Result<LabelSelector, Failed> {
        let now = Stamp::of(rx.clock());
        let failed = Failed { statuses: None };
        let text = json::text(&look.scale, &["status", "selector"]).to_owned();
        let mut refuse = |reason, message: &str| {
            let why = (reason, message);
            set_condition(&mut look.autoscaler, "ScalingActive", false, why, now);
        };
        if text.is_empty() {
            refuse(
                "InvalidSelector",
                "the HPA target's scale is missing a selector",
            );
            return Err(failed);
        }
        let selector = match LabelSelector::parse(&text) {
            Ok(selector) => selector,
            Err(why) => {
                let message = format!(
                    "couldn't convert selector into a corresponding internal selector object: {why}"
                );
                refuse("InvalidSelector", &message);
                return Err(failed);
            }
        };
        selectors::put_selector(rx, &look.key, Some(selector.clone()));
        let pods = self.selected(rx, &look.namespace, &selector);
        let pods: Vec<Json> = pods.iter().map(Stored::json).collect();
        let mut selecting =
            selectors::hpas_controlling_pods_under_selector(rx, &look.namespace, &pods);
        if selecting.len() > 1 && !self.defects.has(Bug::AutoscalersSharePods) {
            if !self.defects.has(Bug::FixNameAutoscalersInOrder) {
                // Upstream takes them from a Go map, which begins anywhere.
                let first = rx.choose(selecting.len() as u64).await;
                selecting.rotate_left(first as usize);
            }
            let all = selecting.join(" ");
            let message =
                format!("pods by selector {text} are controlled by multiple HPAs: [{all}]");
            let why = ("AmbiguousSelector", &*message);
            set_condition(&mut look.autoscaler, "ScalingActive", false, why, now);
            rx.note(IsAmbiguous {
                autoscaler: look.key.clone(),
            });
            return Err(failed);
        }
        Ok(selector)
    }

    /// `computeReplicasForMetrics`
    ///
    /// # Errors
    /// If no metric can be had, or not all can, and the others ask for fewer replicas: a condition says so.
    pub(super) async fn compute_replicas_for_metrics(
        &self,
        rx: Rx,
        look: &mut Look,
    ) -> Result<Computed, Failed> {
        let selector = self.validate_and_parse_selector(rx, look).await?;
        let specs = json::list(&look.autoscaler, &["spec", "metrics"]).to_vec();
        let mut computed = Computed {
            replicas: 0,
            metric: String::new(),
            statuses: Vec::new(),
            invalid: 0,
            missing: 0,
            sampled: Stamp::of(rx.clock()),
        };
        let mut first_invalid: Option<Unable> = None;
        for spec in &specs {
            match self
                .compute_replicas_for_metric(rx, look, spec, &selector)
                .await
            {
                Err(why) => {
                    first_invalid.get_or_insert(why);
                    computed.invalid += 1;
                    computed.statuses.push(serde_json::json!({"type": ""}));
                }
                Ok(proposal) => {
                    let Calculated {
                        replicas, missing, ..
                    } = proposal.calculated;
                    if computed.replicas == 0 || replicas > computed.replicas {
                        computed.replicas = replicas;
                        computed.metric = proposal.metric;
                    }
                    computed.missing = computed.missing.max(missing);
                    computed.sampled = computed.sampled.min(proposal.sampled);
                    computed.statuses.push(proposal.status);
                }
            }
        }
        let now = Stamp::of(rx.clock());
        let passes = self.defects.has(Bug::InvalidMetricsArePassedOver);
        let would_scale_down = computed.replicas < look.current_replicas && !passes;
        if let Some((reason, message)) = first_invalid
            && (computed.invalid >= specs.len() || would_scale_down)
        {
            let why = (&*reason, &*message);
            set_condition(&mut look.autoscaler, "ScalingActive", false, why, now);
            return Err(Failed {
                statuses: Some(computed.statuses),
            });
        }
        let metric = &computed.metric;
        let message =
            format!("the HPA was able to successfully calculate a replica count from {metric}");
        let why = ("ValidMetricFound", &*message);
        set_condition(&mut look.autoscaler, "ScalingActive", true, why, now);
        Ok(computed)
    }

    /// `computeReplicasForMetric`: those of resources; there is no API of others.
    async fn compute_replicas_for_metric(
        &self,
        rx: Rx,
        look: &Look,
        spec: &Json,
        selector: &LabelSelector,
    ) -> Result<Proposal, Unable> {
        let kind = json::text(spec, &["type"]);
        let unable = |why: String| {
            let message = format!("the HPA was unable to compute the replica count: {why}");
            (format!("FailedGet{kind}Metric"), message)
        };
        if kind != "Resource" {
            let api = match kind {
                "External" => "external",
                "ContainerResource" => "resource",
                _ => "custom",
            };
            let why = format!("unable to fetch metrics from {api} metrics API: there is none");
            return Err(unable(why));
        }
        self.compute_status_for_resource_metric(rx, look, spec, selector)
            .await
            .map_err(unable)
    }

    /// `computeStatusForResourceMetric`
    async fn compute_status_for_resource_metric(
        &self,
        rx: Rx,
        look: &Look,
        spec: &Json,
        selector: &LabelSelector,
    ) -> Result<Proposal, String> {
        let resource = json::text(spec, &["resource", "name"]);
        let target = json::at(spec, &["resource", "target"]).unwrap_or(&Json::Null);
        let average = target.get("averageValue").and_then(milli_value);
        let utilization = json::number(target, &["averageUtilization"]);
        let (target, of) = match (average, utilization) {
            (Some(average), _) => (Target::AverageValue(average), "usage"),
            (None, Some(utilization)) => (Target::Utilization(utilization), "utilization"),
            (None, None) => {
                return Err("invalid resource metric source: neither an average utilization target nor an average value \
                     (usage) target was set"
                    .to_owned());
            }
        };
        let failed = |why: String| format!("failed to get {resource} {of}: {why}");
        let metrics = get_resource_metric(rx, self.metrics_server, resource, selector);
        let metrics = metrics.await.map_err(|why| {
            failed(format!(
                "unable to get metrics for resource {resource}: {why}"
            ))
        })?;
        let now = Stamp::of(rx.clock());
        let oldest = metrics.values().map(|metric| metric.timestamp).min();
        let calculator = ReplicaCalculator {
            current_replicas: look.current_replicas,
            target,
            resource,
            tolerances: tolerances_for_hpa(&look.autoscaler["spec"]),
            pods: &self.selected(rx, &look.namespace, selector),
            now,
            defects: self.defects,
        };
        let calculated = calculator.get_resource_replicas(metrics).map_err(failed)?;
        let metric = match target {
            Target::Utilization(_) => {
                format!("{resource} resource utilization (percentage of request)")
            }
            Target::AverageValue(_) => format!("{resource} resource"),
        };
        Ok(Proposal {
            calculated,
            metric,
            status: resource_metric_status(resource, calculated.utilization, calculated.raw),
            sampled: oldest.unwrap_or(now),
        })
    }
}
