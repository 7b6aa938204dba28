//! Counts that may be percents (`k8s.io/apimachinery/pkg/util/intstr`).

use wavetank_api::json::Json;

/// Upstream's `GetScaledValueFromIntOrPercent`
pub fn get_scaled_value_from_int_or_percent(value: Option<&Json>, total: i64, up: bool) -> i64 {
    let Some(text) = value.and_then(Json::as_str) else {
        return value.and_then(Json::as_i64).unwrap_or(0);
    };
    let percent: i64 = text.trim_end_matches('%').parse().unwrap_or(0);
    let product = percent * total;
    if up {
        (product + 99) / 100
    } else {
        product / 100
    }
}
