//! Which volume fits a claim (`index.go`, and `FindMatchingVolume` of `component-helpers/storage/volume/pv_helpers.go`). Pure. Where
//! several fit alike upstream takes the first in the order of a Go map, and this the first by name.

use std::collections::BTreeMap;

use wavetank_api::Stored;
use wavetank_api::json::{self, Json};
use wavetank_api::kinds::deployments::label_selector_as_selector;
use wavetank_version::Set;

use super::defects::BinderDefect;
use super::fields::{
    AVAILABLE, access_modes, capacity, check_volume_mode_mismatches, claim_ref, class_of,
    is_volume_bound_to_claim, phase, requested,
};

/// `ContainsAllAccessModes`, `CheckAccessModes`
fn contains_all_access_modes(volume: &[Json], claim: &[Json]) -> bool {
    claim.iter().all(|mode| volume.contains(mode))
}

/// `checkVolumeSatisfyClaim`. Classes of attributes are left out.
pub(super) fn check_volume_satisfy_claim(
    volume: &Stored,
    claim: &Json,
    defects: Set<BinderDefect>,
) -> bool {
    let own = volume.object.json();
    !is_going(volume, defects)
        && capacity(own) >= requested(claim)
        && class_of(own) == class_of(claim)
        && !check_volume_mode_mismatches(claim, own)
        && contains_all_access_modes(access_modes(own), access_modes(claim))
}

/// May it not be given to anybody any more?
fn is_going(volume: &Stored, defects: Set<BinderDefect>) -> bool {
    volume.object.is_being_deleted() && !defects.has(BinderDefect::VolumesThatGoAreGiven)
}

/// `findBestMatchForClaim`, `findByClaim`: of the volumes with the fewest access modes that a claim may have.
pub(super) fn find_best_match_for_claim<'a>(
    volumes: &'a [Stored],
    claim: &Stored,
    delay_binding: bool,
    defects: Set<BinderDefect>,
) -> Option<&'a Stored> {
    let modes = access_modes(claim.object.json());
    // `allPossibleMatchingAccessModes`
    let mut possible: BTreeMap<(usize, String), Vec<&Stored>> = BTreeMap::new();
    for volume in volumes {
        let own = access_modes(volume.object.json());
        if contains_all_access_modes(own, modes) {
            let key = (own.len(), Json::from(own.to_vec()).to_string());
            possible.entry(key).or_default().push(volume);
        }
    }
    let mut possible = possible.into_values();
    possible.find_map(|alike| find_matching_volume(&alike, claim, delay_binding, defects))
}

/// `FindMatchingVolume`, as the controller asks for it: the volume that is kept for the claim, else the smallest that fits.
fn find_matching_volume<'a>(
    volumes: &[&'a Stored],
    claim: &Stored,
    delay_binding: bool,
    defects: Set<BinderDefect>,
) -> Option<&'a Stored> {
    let asked = claim.object.json();
    let selector = json::at(asked, &["spec", "selector"]).filter(|own| own.is_object());
    let selector = selector.and_then(label_selector_as_selector);
    let mut smallest: Option<&'a Stored> = None;
    for &volume in volumes {
        let own = volume.object.json();
        let is_kept = is_volume_bound_to_claim(own, &claim.object);
        if claim_ref(own).is_some() && !is_kept
            || capacity(own) < requested(asked)
            || check_volume_mode_mismatches(asked, own)
            || is_going(volume, defects)
        {
            continue;
        }
        if is_kept {
            return Some(volume);
        }
        // A scheduler binds these.
        if delay_binding
            || phase(own) != AVAILABLE
            || selector.as_ref().is_some_and(|wanted| !wanted.matches(own))
            || class_of(own) != class_of(asked)
        {
            continue;
        }
        if smallest.is_none_or(|least| capacity(least.object.json()) > capacity(own)) {
            smallest = Some(volume);
        }
    }
    smallest
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use wavetank_api::Object;

    fn stored(json: Json) -> Stored {
        Stored {
            object: Object::new(json),
            resource_version: 1,
        }
    }

    fn volume(name: &str, size: &str, modes: &[&str]) -> Json {
        json!({
            "metadata": {"name": name},
            "spec": {"capacity": {"storage": size}, "accessModes": modes, "storageClassName": "s"},
            "status": {"phase": "Available"},
        })
    }

    fn claim() -> Stored {
        stored(json!({
            "metadata": {"namespace": "ns", "name": "c", "uid": "u"},
            "spec": {
                "accessModes": ["ReadWriteOnce"], "storageClassName": "s",
                "resources": {"requests": {"storage": "2Gi"}},
            },
        }))
    }

    fn found(volumes: Vec<Json>, delay: bool) -> Option<String> {
        let all: Vec<Stored> = volumes.into_iter().map(stored).collect();
        let best = find_best_match_for_claim(&all, &claim(), delay, Set::default());
        best.map(|own| own.object.name().to_owned())
    }

    #[test]
    fn the_smallest_volume_with_the_fewest_modes_fits_best() {
        let once = ["ReadWriteOnce"];
        let both = ["ReadWriteOnce", "ReadOnlyMany"];
        let small = || volume("small", "1Gi", &once);
        let all = vec![
            small(),
            volume("both", "2Gi", &both),
            volume("large", "4Gi", &once),
            volume("right", "3Gi", &once),
        ];
        assert_eq!(found(all, false).as_deref(), Some("right"));
        let both = volume("both", "2Gi", &both);
        assert_eq!(found(vec![small(), both], false).as_deref(), Some("both"));
        assert_eq!(found(vec![small()], false), None);
    }

    #[test]
    fn a_volume_that_is_kept_for_the_claim_comes_first_also_where_a_scheduler_binds() {
        let free = volume("free", "2Gi", &["ReadWriteOnce"]);
        let mut kept = volume("kept", "8Gi", &["ReadWriteOnce"]);
        json::set(
            &mut kept,
            &["spec", "claimRef"],
            json!({"namespace": "ns", "name": "c"}),
        );
        let mut others = volume("others", "2Gi", &["ReadWriteOnce"]);
        let other = json!({"namespace": "ns", "name": "c", "uid": "of-before"});
        json::set(&mut others, &["spec", "claimRef"], other);
        let all = || vec![free.clone(), kept.clone(), others.clone()];
        assert_eq!(found(all(), false).as_deref(), Some("kept"));
        assert_eq!(found(all(), true).as_deref(), Some("kept"));
        assert_eq!(found(vec![free.clone(), others.clone()], true), None);
        assert_eq!(found(vec![others], false), None);
    }

    #[test]
    fn what_is_not_available_of_another_class_or_going_does_not_fit() {
        let of = |path: &[&str], value: &str| {
            let mut own = volume("v", "2Gi", &["ReadWriteOnce"]);
            json::set(&mut own, path, value);
            own
        };
        assert_eq!(
            found(vec![of(&["status", "phase"], "Pending")], false),
            None
        );
        assert_eq!(
            found(vec![of(&["spec", "storageClassName"], "t")], false),
            None
        );
        assert_eq!(
            found(vec![of(&["spec", "volumeMode"], "Block")], false),
            None
        );
        let going = of(&["metadata", "deletionTimestamp"], "2026-01-01T00:00:00Z");
        assert_eq!(found(vec![going], false), None);
    }
}
