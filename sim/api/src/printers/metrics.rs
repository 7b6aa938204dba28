//! What an autoscaler looks at (`formatHPAMetrics`).

use super::cells::{Cells, name, text};
use super::duration::age;
use crate::json::{self, Json};
use crate::times::Stamp;

/// How many metrics are shown.
const MOST: usize = 2;
const UNKNOWN: &str = "<unknown>";

/// `printHorizontalPodAutoscaler`
pub(super) fn print_horizontal_pod_autoscaler(
    autoscaler: &Json,
    now: Stamp,
) -> (Cells, Option<Json>) {
    let number = |path: &[&str]| json::number(autoscaler, path);
    let of = |field| text(autoscaler, &["spec", "scaleTargetRef", field]);
    let least = number(&["spec", "minReplicas"]);
    let cells = vec![
        name(autoscaler),
        format!("{}/{}", of("kind"), of("name")).into(),
        format_metrics(autoscaler).into(),
        least
            .map_or_else(|| "<unset>".to_owned(), |least| least.to_string())
            .into(),
        number(&["spec", "maxReplicas"]).unwrap_or(0).into(),
        number(&["status", "currentReplicas"]).unwrap_or(0).into(),
        age(autoscaler, now),
    ];
    (cells, None)
}

fn format_metrics(autoscaler: &Json) -> String {
    let specs = json::list(autoscaler, &["spec", "metrics"]);
    let statuses = json::list(autoscaler, &["status", "currentMetrics"]);
    let one = |(at, spec): (usize, &Json)| format_metric(spec, statuses.get(at));
    let all: Vec<String> = specs.iter().enumerate().map(one).collect();
    match all.len() {
        0 => "<none>".to_owned(),
        count if count > MOST => {
            format!("{} + {} more...", all[..MOST].join(", "), count - MOST)
        }
        _ => all.join(", "),
    }
}

fn format_metric(spec: &Json, status: Option<&Json>) -> String {
    let source = match text(spec, &["type"]) {
        "External" => "external",
        "Pods" => "pods",
        "Object" => "object",
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        _ => return "<unknown type>".to_owned(),
    };
    let target = |field| json::at(spec, &[source, "target", field]);
    let now = |field| status.and_then(|own| json::at(own, &[source, "current", field]));
    let amount = |value: Option<&Json>, missing: &str| match value.and_then(Json::as_str) {
        Some(text) => text.to_owned(),
        None => missing.to_owned(),
    };
    let percent = |value: Option<&Json>, missing: &str| match value.and_then(Json::as_i64) {
        Some(number) => format!("{number}%"),
        None => missing.to_owned(),
    };
    // A quantity of a status that is there shows as zero if it is unset.
    let missing = match status.and_then(|own| own.get(source)) {
        Some(_) => "0",
        None => UNKNOWN,
    };
    let average = target("averageValue");
    let is_resource = matches!(source, "resource" | "containerResource");
    let shown = match (is_resource, average) {
        (true, Some(_)) => {
            format!(
                "{}/{}",
                amount(now("averageValue"), missing),
                amount(average, "")
            )
        }
        (true, None) => format!(
            "{}/{}",
            percent(now("averageUtilization"), UNKNOWN),
            percent(target("averageUtilization"), "<auto>")
        ),
        (false, _) if source == "pods" => {
            format!(
                "{}/{}",
                amount(now("averageValue"), missing),
                amount(average, "0")
            )
        }
        (false, Some(_)) => {
            format!(
                "{}/{} (avg)",
                amount(now("averageValue"), UNKNOWN),
                amount(average, "")
            )
        }
        (false, None) => {
            format!(
                "{}/{}",
                amount(now("value"), missing),
                amount(target("value"), "0")
            )
        }
    };
    match is_resource {
        true => format!("{}: {shown}", text(spec, &[source, "name"])),
        false => shown,
    }
}
