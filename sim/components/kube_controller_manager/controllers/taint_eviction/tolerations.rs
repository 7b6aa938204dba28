//! How long a pod tolerates the taints of its node. Pure.

use std::time::Duration;

use wavetank_api::json::{self, Json};
use wavetank_components::scheduling::get_matching_tolerations;

/// How long a pod may stay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stays {
    /// Not at all: one taint is not tolerated.
    Not,
    /// So long, counted from when it was noticed.
    For(Duration),
    /// For ever.
    ForEver,
}

/// The tolerations of a pod.
pub(super) fn tolerations(pod: &Json) -> &[Json] {
    json::list(pod, &["spec", "tolerations"])
}

/// `getNoExecuteTaints`
pub(super) fn get_no_execute_taints(taints: &[Json]) -> Vec<Json> {
    let all = taints.iter().filter(|own| own["effect"] == "NoExecute");
    all.cloned().collect()
}

/// `getMinTolerationTime`
fn get_min_toleration_time(tolerations: &[&Json]) -> Stays {
    if tolerations.is_empty() {
        return Stays::For(Duration::ZERO);
    }
    let seconds = |own: &&Json| json::number(own, &["tolerationSeconds"]);
    match tolerations.iter().filter_map(seconds).min() {
        None => Stays::ForEver,
        Some(seconds) => Stays::For(Duration::from_secs(seconds.max(0).unsigned_abs())),
    }
}

/// How long a pod with these tolerations may stay with these taints.
pub(super) fn stays(taints: &[Json], tolerations: &[Json]) -> Stays {
    match get_matching_tolerations(taints, tolerations) {
        None => Stays::Not,
        Some(used) => get_min_toleration_time(&used),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_shortest_toleration_counts_and_none_is_for_ever() {
        let taint = |key: &str| json!({"key": key, "effect": "NoExecute"});
        let tolerates = |key: &str, seconds: Json| json!({"key": key, "operator": "Exists", "tolerationSeconds": seconds});
        let all = [
            tolerates("a", 9.into()),
            tolerates("b", Json::Null),
            tolerates("c", (-1).into()),
        ];
        let of = |keys: &[&str]| {
            let taints: Vec<Json> = keys.iter().map(|key| taint(key)).collect();
            stays(&taints, &all)
        };
        assert_eq!(of(&["a", "b"]), Stays::For(Duration::from_secs(9)));
        assert_eq!(of(&["b"]), Stays::ForEver);
        assert_eq!(of(&["c", "a"]), Stays::For(Duration::ZERO));
        assert_eq!(of(&["a", "d"]), Stays::Not);
        assert_eq!(of(&[]), Stays::For(Duration::ZERO));
    }
}
